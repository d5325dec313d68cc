// Runs of LevelDB tables for the benches, well-formed or broken on purpose, and a reference decoder
// that says what the read side must make of them.

#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "device/rtlsim/axi_memory.h"
#include "sluice/executor.h"
#include "sluice_abi.h"
#include "table/format.h"
#include "table/internal_key.h"

namespace sluice::dv {

// Device memory from `base` on, which fills up from there.
struct Memory {
  explicit Memory(uint64_t base) : dram(64 << 20, base) {}

  uint64_t end() const { return dram.base() + bytes; }
  uint64_t Append(std::string_view data) {
    data.copy(dram.At(end()), data.size());
    bytes += data.size();
    return end() - data.size();
  }
  std::string Read(uint64_t address, size_t n) const { return {dram.At(address), n}; }

  rtlsim::Dram dram;
  uint64_t bytes = 0;  // in use
};

struct Record {
  std::string user_key;
  uint64_t trailer = 0;
  std::string value;

  std::string InternalKey() const;
  bool operator==(const Record&) const = default;
};

// Entries, restart array and count, as LevelDB's BlockBuilder makes them: prefixes are shared up to
// any byte of the internal key.
class BlockBuilder {
 public:
  explicit BlockBuilder(unsigned restart_interval) : interval_(restart_interval) {}

  // At most `max_shared` bytes are shared. The digits of `padding` to base 5, the lowest first,
  // tell how many bytes more than necessary encode the header's varints, up to five in all.
  void Add(std::string_view key, std::string_view value, size_t max_shared = SIZE_MAX,
           unsigned padding = 0);
  // An entry as it must not be.
  void AddRaw(std::string_view bytes) { bytes_.append(bytes); }
  size_t bytes() const { return bytes_.size(); }
  std::string Finish() const;

 private:
  unsigned interval_;
  unsigned since_restart_ = 0;
  std::string bytes_;
  std::string last_key_;
  std::vector<uint32_t> restarts_{0};
};

// `block` with its type byte and stored CRC.
std::string Seal(std::string block, uint8_t type = 0);

// One table as it stands in device memory, before it is placed there. Blocks are sealed.
struct TableImage {
  std::vector<std::string> blocks;
  std::vector<std::string> last_keys;
  unsigned index_interval = 1;
  std::string index;          // sealed; made from the blocks by BuildIndex
  std::string index_padding;  // trails every handle

  void BuildIndex();
};

// The tables of a run in device memory.
struct RunImage {
  struct Table {
    uint64_t index_address;
    uint32_t index_bytes;
    uint64_t data_address;
    uint64_t data_bytes;
  };
  uint64_t tables_address = 0;
  std::vector<Table> tables;
};

// Writes the tables to random places in `memory`, and their descriptors.
RunImage Place(const std::vector<TableImage>& tables, Memory* memory, std::mt19937_64& rng);

struct Limits {
  size_t max_key_bytes = 1024;
  size_t max_value_bytes = 1 << 17;
};

// What must come out: the records before the first fault, and the fault.
struct Expectation {
  std::vector<Record> records;
  MergeStatus status = MergeStatus::kOk;
  bool in_index = false;
  bool in_content = false;  // of a data block whose CRC is good
  uint16_t table = 0;
  uint64_t offset = 0;
  uint64_t input_bytes = 0;
};

// `broken(address, bytes)`: the memory answers a read of these bytes with an error.
Expectation Decode(const RunImage& run, const Memory& memory, const Limits& limits,
                   const std::function<bool(uint64_t, uint64_t)>& broken);

}  // namespace sluice::dv
