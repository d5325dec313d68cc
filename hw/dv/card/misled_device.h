// A unit that is misled: one word of its job changes on its way to it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "sluice/executor.h"
#include "sluice_abi.h"
#include "util/coding.h"
#include "util/status.h"

namespace sluice::dv {

// Adds `add` to the word at `offset` of the next job's descriptor, or of its first table's, until
// the job has ended. Unit: an RtlDevice.
template <typename Unit>
class MisledDevice : public Unit {
 public:
  using Unit::Unit;

  Status Start(uint64_t descriptor) override {
    uint64_t at = descriptor;
    if (in_table) {
      SLUICE_RETURN_IF_ERROR(ReadWord(descriptor + abi::job::kRun, &at));
      at &= abi::job::kRunAddrMask;
    }
    at += offset;
    uint64_t word = 0;
    SLUICE_RETURN_IF_ERROR(ReadWord(at, &word));
    SLUICE_RETURN_IF_ERROR(WriteWord(at, word + std::exchange(add, 0)));
    SLUICE_RETURN_IF_ERROR(Unit::Start(descriptor));
    at_ = at;
    word_ = word;
    return {};
  }
  Status Wait(uint64_t cycles, uint8_t* status) override {
    SLUICE_RETURN_IF_ERROR(Unit::Wait(cycles, status));
    return WriteWord(at_, word_);
  }

  bool in_table = false;
  size_t offset = 0;
  uint64_t add = 0;

 private:
  Status ReadWord(uint64_t address, uint64_t* word) {
    char bytes[8] = {};
    SLUICE_RETURN_IF_ERROR(this->Read(address, sizeof(bytes), bytes));
    *word = DecodeFixed64(bytes);
    return {};
  }
  Status WriteWord(uint64_t address, uint64_t word) {
    char bytes[8];
    EncodeFixed64(bytes, word);
    return this->Write(address, {bytes, sizeof(bytes)});
  }

  uint64_t at_ = 0;
  uint64_t word_ = 0;
};

// Where a job can be misled to, and how the unit must end if no memory is there.
struct Misleading {
  bool in_table;
  size_t offset;
  MergeStatus status;
};
inline constexpr Misleading kMisleadings[] = {
    {false, abi::job::kDataAddr, MergeStatus::kWriteError},
    {false, abi::job::kIndexAddr, MergeStatus::kWriteError},
    {false, abi::job::kCompletionAddr, MergeStatus::kWriteError},
    {false, abi::job::kRun, MergeStatus::kReadError},
    {true, abi::table_descriptor::kIndexAddr, MergeStatus::kReadError},
    {true, abi::table_descriptor::kDataAddr, MergeStatus::kReadError}};

}  // namespace sluice::dv
