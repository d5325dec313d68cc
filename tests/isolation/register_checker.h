// As history_checker.h, for transactions that write without reading what they write over: values
// are unique numbers, and versions come in an order that the test has from elsewhere (from the redo
// log, say). Phenomena:
//
//   G1a      a committed transaction read what an aborted one wrote
//   G1b      it read, or others built on, what its writer overwrote later
//   lost     a committed write that is no version, or a version from nowhere
//   own      a transaction did not read its own write
//   stale    a value that was no longer, or not yet, there
//   P4       a lost update: between what a transaction read and what it wrote there came another
//            one (read committed: only where it read for update)
//   and those of history_graph.h
//
// A read that found nothing could have seen any deletion, or what was before the first write.
// Which, is told from ticks; where several are possible it proves nothing, and is left out.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isolation/history_graph.h"

namespace sluice {

struct RegisterOperation {
  enum class Kind { kRead, kReadForUpdate, kPut, kDelete };

  Kind kind = Kind::kRead;
  std::string key;
  uint64_t number = 0;  // read or written, a deletion's too, unique; 0: read nothing
  // Ticks, of reads.
  uint64_t before = 0;
  uint64_t after = 0;
};

struct RegisterTransaction : RecordedSpan {
  std::vector<RegisterOperation> operations{};
};

struct RegisterVersions {
  std::map<std::string, std::vector<uint64_t>> of_key;  // numbers, deletions' too, oldest first
  // The transactions that wrote, in the order of their commits; empty: unknown.
  std::vector<size_t> commits{};
};

struct RegisterReport {
  std::vector<std::string> anomalies;  // each led by one of the names above
  size_t reads = 0;                    // of committed transactions, of what others wrote
  size_t left_out = 0;                 // of them
};

RegisterReport CheckRegisters(const std::vector<RegisterTransaction>& transactions,
                              const RegisterVersions& versions, CheckedIsolation isolation);

}  // namespace sluice
