// One compaction of LevelDB's tables by an executor.
//
// 1. Decline what an executor cannot do exactly as LevelDB would.
// 2. Read the inputs: LevelDB's tables are what executors take.
// 3. Merge, in ranges of keys between which LevelDB would begin a new file so that none overlaps too
//    much of the level below the outputs.
// 4. Compress, add the filter, write, sync, and check each output as it stands in the file.
//
// An error leaves no files, and the inputs as they are: LevelDB then does the compaction by itself.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/executor.h"
#include "sluice_leveldb_compaction.h"
#include "util/status.h"

namespace sluice::ldb {

struct JobReport {
  std::vector<LevelDbTable> tables;
  MergeStats merge;      // sums; of all ranges
  uint64_t retries = 0;  // merges whose outputs were not right, which the CPU did again
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
};

// A range of user keys that are merged together.
struct JobRange {
  bool has_begin = false;
  bool has_end = false;
  std::string begin;  // inclusive
  std::string end;    // exclusive
  bool bottommost = false;
};

// The ranges that a compaction falls into: together all keys, in order.
std::vector<JobRange> SplitJob(const LevelDbCompaction& compaction);

// Errors: NotSupported names what is declined; Busy: cancelled; others are those of files and of
// what they hold. `executor` takes any number of runs and snapshots, and does on the CPU what a unit
// cannot.
Status RunJob(const LevelDbCompaction& compaction, Executor* executor,
              const std::atomic<bool>& cancelled, JobReport* report);

}  // namespace sluice::ldb
