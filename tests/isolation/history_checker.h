// What a recorded history of transactions says about their isolation, for tests.
//
// Transactions append unique numbers to lists, as in Elle (Kingsbury, Alvaro, VLDB'20): a list that
// is read tells the order of all versions of its key, so that dependencies are known and not
// guessed. Phenomena are Adya's (Weak Consistency, MIT 1999; names as there):
//
//   G1a      a committed transaction read what an aborted one wrote
//   G1b      it read what its writer overwrote later
//   lost     a committed append that is in no version, or versions that are not one line
//   own      a transaction did not read its own writes
//   stale    (read committed, serializable) a read without what was committed before it began; a
//            transaction that is serializable because it locks what it reads reads the newest
//   and those of history_graph.h

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isolation/history_graph.h"

namespace sluice {

struct RecordedRead {
  std::string key;
  std::vector<uint64_t> list;
  uint64_t before = 0;  // tick
};

struct RecordedTransaction : RecordedSpan {
  std::vector<RecordedRead> reads{};
  std::map<std::string, std::vector<uint64_t>> appends{};  // by key, in order
  // For each read, how many of its own appends to the key came before; as `reads`.
  std::vector<size_t> own_appends{};
};

// `last`: what each key holds at the end. Returns what is wrong, each led by one of the names
// above.
std::vector<std::string> CheckHistory(const std::vector<RecordedTransaction>& transactions,
                                      const std::map<std::string, std::vector<uint64_t>>& last,
                                      CheckedIsolation isolation);

}  // namespace sluice
