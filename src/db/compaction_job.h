// Does what a plan says: reads, merges, copies, writes (X-Engine 3.3.2). The tree changes only when
// the caller applies the edit.
//
// A window of merge steps is under way at once: while some are merged, perhaps on several units,
// the inputs of later ones are read and the outputs of earlier ones written.

#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "db/compaction_planner.h"
#include "offload/driver.h"
#include "tree/extent_reader.h"
#include "tree/extent_writer.h"
#include "util/status.h"

namespace sluice {

struct CompactionJobOptions {
  ExtentFormat extent;
  uint32_t block_bytes = 16 << 10;
  uint32_t restart_interval = 16;
  SequenceNumber oldest_snapshot = 0;
  size_t window = 2;  // merge steps under way at once
};

struct CompactionResult {
  std::vector<Extent> added;      // new ones
  std::vector<ExtentPtr> reused;  // inputs that are part of the output
  uint64_t copied_blocks = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t input_records = 0;  // of merge steps
  uint64_t output_records = 0;
};

// Blocks until done; gives up soon after `*stop` is set, with Busy.
Status RunCompaction(const CompactionPick& pick, const std::vector<CompactionStep>& steps,
                     const CompactionJobOptions& options, OffloadDriver* driver,
                     ExtentReader* reader, ExtentWriter* writer, const std::atomic<bool>* stop,
                     CompactionResult* result);

}  // namespace sluice
