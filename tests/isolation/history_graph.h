// The part of checking a history that is the same whatever its transactions write: which of Adya's
// phenomena (Weak Consistency, MIT 1999; names as there) its dependencies show.
//
//   G0       a cycle of write dependencies: dirty writes
//   G1c      a cycle of write and read dependencies
//   G2       (serializable) a cycle of write and read dependencies and anti-dependencies
//   G-SIa    (snapshot) a dependency on a transaction that committed after the snapshot was taken
//   G-SIb    (snapshot) there is no order of snapshots and commits in which everybody sees what was
//            committed before its snapshot, and nothing else; a cycle with an anti-dependency
//
// What happened when is known from ticks of one clock, drawn before and after calls: only what must
// be wrong, whenever in between things took effect, is an anomaly.

#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

enum class CheckedIsolation { kReadCommitted, kSnapshot, kSerializable };

// How a transaction ended, and ticks.
struct RecordedSpan {
  enum class End { kCommitted, kAborted };

  End end = End::kCommitted;
  uint64_t begin_before = 0;   // its first call began later
  uint64_t snapshot_by = 0;    // its first call had returned
  uint64_t commit_before = 0;  // its commit began later
  uint64_t commit_by = 0;      // its commit had returned
};

// Edges to others, by transaction.
using HistoryGraph = std::vector<std::set<size_t>>;

struct HistoryDependencies {
  HistoryGraph writes;                                // who wrote the next version
  HistoryGraph reads;                                 // who read what it wrote
  std::vector<std::pair<size_t, size_t>> overwrites;  // a reader, and who wrote the next version
  std::vector<size_t> commits{};  // those that wrote, in the order they took effect, if it is known
};

// What is wrong, each led by a name from above.
std::vector<std::string> CheckDependencies(const std::vector<RecordedSpan>& spans,
                                           const HistoryDependencies& dependencies,
                                           CheckedIsolation isolation);

}  // namespace sluice
