// What the workloads do, as data.

#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/distribution.h"
#include "bench/records.h"
#include "bench/two_runs.h"

namespace sluice::bench {

enum class Op {
  kGet,
  kMultiGet,         // of --batch-size keys
  kPut,              // of a key that is chosen
  kInsert,           // of the next new key
  kReadModifyWrite,  // of a key that is chosen
  kScan,             // from a key that is chosen
  kDelete,
  kNext,  // of one iterator, from the first record on
  kPrev,  // from the last one back
  kPop,   // seeks the first record, deletes it, and inserts the next new key
};
inline constexpr size_t kOps = 10;
std::string_view Name(Op op);

struct Workload {
  enum class Keys {
    kDrawn,     // by a distribution
    kMissing,   // so too, but keys that are not there
    kInOrder,   // each once
    kShuffled,  // each once
  };
  enum class Upkeep { kNone, kFlush, kCompact };

  std::string_view name;
  std::string_view what;  // for --help
  std::array<int, kOps> percent{};
  Keys keys = Keys::kDrawn;
  KeyOrder order = KeyOrder::kOrdered;
  // For kDrawn; none: the user's choice, or else uniform.
  std::optional<DistributionSpec> distribution = {};
  bool own_distribution = false;  // the user's choice does not change it
  bool fresh = false;             // begins with a new, empty database
  bool overload = false;          // as long as the user says, though fresh; reported apart
  bool writer = false;            // one more thread, which overwrites as it can
  bool wave = false;              // comes as wave.h says
  uint64_t spared = 0;            // not 0: every so-manieth key is not deleted
  bool short_scans = false;       // of 1 up to a most records; else of a number the user gives
  bool prefix_scans = false;      // of a group, between bounds
  Upkeep upkeep = Upkeep::kNone;  // instead of all that
  // Before the upkeep, and not timed: a new database of two runs, whose records are then the
  // operations.
  std::optional<TwoRuns> two_runs = {};

  bool each_key_once() const { return keys == Keys::kInOrder || keys == Keys::kShuffled; }
};

const std::vector<Workload>& Workloads();
// Null if there is none of this name.
const Workload* FindWorkload(std::string_view name);

}  // namespace sluice::bench
