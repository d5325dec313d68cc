// Drives read_path_bench: runs in memory in, records and faults out.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "../common/testbench.h"
#include "read_path_model.h"
#include "sluice/executor.h"
#include "table_builder.h"

namespace sluice::dv {

inline constexpr size_t kWays = 2;
inline constexpr size_t kV = READ_PATH_VALUE_BYTES;
inline constexpr size_t kW = READ_PATH_BUS_BYTES;
inline constexpr Limits kLimits{.max_key_bytes = READ_PATH_MAX_KEY_BYTES,
                                .max_value_bytes = 1 << 17};

struct Fault {
  uint8_t status = 0;
  uint16_t table = 0;
  uint64_t offset = 0;
};

// What came out of one way.
struct WayResult {
  std::vector<Record> records;  // complete ones: key, trailer and all of the value
  size_t keys = 0;              // complete ones
  bool eos = false;
  std::optional<Fault> index_fault, data_fault;
  uint64_t input_bytes = 0;
  uint64_t first_hash_cycle = 0, last_hash_cycle = 0;
};

struct Rates {
  unsigned key_percent = 100;
  unsigned value_percent = 100;
  unsigned record_percent = 100;
};

class ReadPath {
 public:
  explicit ReadPath(uint64_t seed);

  // Runs one run per way until each has ended or failed. Values are taken only once their record
  // info was, as the unit's transfer does.
  std::vector<WayResult> Run(const std::vector<RunImage>& runs, const Rates& rates);
  // The byte at `address` cannot be read: by either port, with all of its beat.
  void AddError(uint64_t address) { options.poison.emplace_back(address, address + 1); }
  bool Broken(uint64_t address, uint64_t bytes, size_t beat_bytes) const;
  void Reset();

  std::mt19937_64 rng;
  Memory memory;
  rtlsim::MemoryOptions options;

 private:
  struct Way {
    std::string key;
    std::vector<Record> keys;
    std::vector<uint32_t> value_bytes;
    std::vector<uint16_t> tags;
    std::vector<uint64_t> hashes;
    std::string values;  // whole beats
    uint64_t beats_owed = 0;
    WayResult result;
  };

  void Drive(const std::vector<RunImage>& runs, const Rates& rates, bool start);
  void Observe(size_t way);
  void ObserveKey(size_t way);
  void ObserveFaults(size_t way);
  void Assemble(Way* way);

  Testbench<Model> tb_;
  rtlsim::AxiReadPort index_;
  rtlsim::AxiReadPort data_;
  std::vector<Way> ways_;
};

}  // namespace sluice::dv
