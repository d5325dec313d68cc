// What a recorded history of transactions says about their isolation, for tests.
//
// Transactions append unique numbers to lists, as in Elle (Kingsbury, Alvaro, VLDB'20): a list that
// is read tells the order of all versions of its key, so that dependencies are known and not
// guessed. Phenomena are Adya's (Weak Consistency, MIT 1999; names as there):
//
//   G0       a cycle of write dependencies: dirty writes
//   G1a      a committed transaction read what an aborted one wrote
//   G1b      it read what its writer overwrote later
//   G1c      a cycle of write and read dependencies
//   lost     a committed append that is in no version, or versions that are not one line
//   own      a transaction did not read its own writes
//   stale    (read committed) a read without what was committed before it began
//   G-SIa    (snapshot) a dependency on a transaction that committed after the snapshot was taken
//   G-SIb    (snapshot) a cycle with exactly one anti-dependency, of dependencies and of the order
//   in
//            which transactions ended and began
//
// What happened when is known from ticks of one clock, drawn before and after calls: only what must
// be wrong, whenever in between things took effect, is an anomaly.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice {

struct RecordedRead {
  std::string key;
  std::vector<uint64_t> list;
  uint64_t before = 0;  // tick
};

struct RecordedTransaction {
  enum class End { kCommitted, kAborted };

  End end = End::kCommitted;
  std::vector<RecordedRead> reads{};
  std::map<std::string, std::vector<uint64_t>> appends{};  // by key, in order
  // For each read, how many of its own appends to the key came before; as `reads`.
  std::vector<size_t> own_appends{};

  // Ticks.
  uint64_t begin_before = 0;   // its first call began later
  uint64_t snapshot_by = 0;    // its first call had returned
  uint64_t commit_before = 0;  // its commit began later
  uint64_t commit_by = 0;      // its commit had returned
};

enum class CheckedIsolation { kReadCommitted, kSnapshot };

// `last`: what each key holds at the end. Returns what is wrong, each led by one of the names
// above.
std::vector<std::string> CheckHistory(const std::vector<RecordedTransaction>& transactions,
                                      const std::map<std::string, std::vector<uint64_t>>& last,
                                      CheckedIsolation isolation);

}  // namespace sluice
