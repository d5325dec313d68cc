// Compacting a closed LevelDB database, in place.
//
//   CpuExecutor executor;
//   CompactReport report;
//   Status status = CompactDatabase(Env::Posix(), "/data/db", &executor, {}, nullptr, &report);
//
// All levels, and what the logs still hold, become one sorted level: of each key the newest
// version, no tombstones. LevelDB opens the result as if it had compacted by itself; the filter
// policy and whether blocks are compressed with Snappy stay as they are.
//
// 1. Take LevelDB's LOCK; read CURRENT, its MANIFEST and the logs; check every live table.
// 2. Merge, in tasks that cover disjoint key ranges; write and sync the new tables.
// 3. Write and sync a MANIFEST for the new state, then rename a new CURRENT in place: from here
//    on LevelDB finds the new state, until here the old one, whenever the process dies.
// 4. Remove what the new state does not need, as LevelDB does on opening.
//
// An error before step 3 leaves the database as it was, and removes the new files. What a killed
// run leaves behind, the next run or LevelDB's next open removes.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sluice/executor.h"
#include "util/status.h"

namespace sluice {

class Env;

struct CompactOptions {
  // For the new tables. LevelDB's own defaults; a database does not record what it was made with.
  uint32_t block_bytes = 4096;
  uint64_t table_bytes = 2 << 20;  // of uncompressed data blocks
  uint32_t restart_interval = 16;
  // About how much input (as stored) one merge task gets. Bounds the memory of tasks that need
  // several passes and of devices, and how often progress is told while a device runs.
  uint64_t task_bytes = 256 << 20;
  // Run a task that the executor could not do (a limit, device trouble) again on the CPU. Input
  // that is corrupt for the CPU too, and tables that cannot be written, remain errors.
  bool retry_on_cpu = true;
};

struct CompactProgress {
  uint64_t done_bytes = 0;  // of input; never falls
  uint64_t total_bytes = 0;
};

using CompactCallback = std::function<void(const CompactProgress&)>;

// A task that was run again on the CPU.
struct CompactRetry {
  MergeStatus status;
  std::string reason;
};

struct CompactReport {
  // Sums over all tasks. Of a task with several passes, input is what the database gave and output
  // what the last pass wrote; cycles (of devices) and stalls are of all passes. Bytes are of data
  // blocks, before compression on output.
  MergeStats merge;

  uint64_t input_tables = 0;  // live tables before
  uint64_t log_files = 0;     // logs folded in
  uint64_t log_records = 0;   // writes found in them
  uint64_t output_tables = 0;
  uint64_t input_file_bytes = 0;   // of tables and logs before
  uint64_t output_file_bytes = 0;  // of tables after
  uint32_t output_level = 0;
  bool snappy = false;          // output blocks are compressed
  int filter_bits_per_key = 0;  // of the Bloom filters; 0: none

  uint64_t runs = 0;            // sorted runs that the database consisted of
  uint64_t tasks = 0;           // key ranges, of one executor task or several passes each
  uint64_t bytes_read = 0;      // by all passes of all tasks; merge.input_bytes if each had one
  uint64_t passes = 0;          // executor tasks
  double executor_seconds = 0;  // in the executor (and in CPU retries), without writing tables
  double seconds = 0;           // altogether
  uint64_t files_left = 0;      // obsolete ones that could not be removed; LevelDB will try again
  std::vector<CompactRetry> retries;
};

// Compacts the database in `dir` with `executor`. `callback` may be empty; it is called from this
// thread. `*report` is complete if the result is ok. A database without any record is left as it
// is, with a report of zeros. Costs: reads every table once, holds the logs' records in memory.
//
// Errors: NotFound (no such directory, or not a LevelDB database), Busy (LOCK is held),
// NotSupported (another comparator or filter policy, a RocksDB directory), Corruption (file and
// offset named), IoError.
Status CompactDatabase(Env* env, const std::string& dir, Executor* executor,
                       const CompactOptions& options, const CompactCallback& callback,
                       CompactReport* report);

}  // namespace sluice
