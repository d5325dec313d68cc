// One compaction of RocksDB's tables by an executor.
//
// 1. Open each input; whatever a MergeTask cannot express is declined, by name.
// 2. Put the inputs in runs whose keys are in order. The CPU reads them as they are; for any other
//    executor view them as tables that it reads.
// 3. Merge. If the executor cannot, the CPU does it.
// 4. Write each output with RocksDB's framing, sync it, and check it as it stands in the file.
//
// An error leaves no files, and the inputs as they are: RocksDB then does the job by itself.

#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "job_text.h"
#include "rocksdb_table/table_writer.h"
#include "sluice/env.h"
#include "sluice/executor.h"
#include "util/status.h"

namespace sluice::rocks {

struct Job {
  std::string dir;         // of the inputs
  std::string output_dir;  // exists, on the same file system
  JobInput input;
  bool bottommost = false;  // nothing older holds any of the job's keys
  uint32_t block_bytes = 4096;
  uint32_t restart_interval = 16;
  uint64_t file_bytes = 64 << 20;  // of an output, about
  RocksTableOptions format;
  // Inputs have had records that are neither values nor deletions, which properties do not tell of:
  // looks at all keys before it merges.
  bool look_for_other_types = false;
  std::function<void(uint64_t bytes)> before_write;  // may wait; null: does not
  const std::atomic<bool>* cancelled = nullptr;      // null: cannot be
};

struct JobReport {
  std::vector<OutputFile> files;
  MergeStats merge;
  uint64_t bytes_read = 0;     // of the input files, as far as they were needed
  uint64_t bytes_written = 0;  // of the output files
  bool other_types = false;    // it was declined for records that are neither values nor deletions
  bool retried = false;        // the executor could not, the CPU did it
  std::string retry_reason;
};

// `executor`: null for the CPU. Errors: NotSupported names what is declined; Busy: cancelled; others are those of files.
Status RunJob(Env* env, const Job& job, Executor* executor, JobReport* report);

}  // namespace sluice::rocks
