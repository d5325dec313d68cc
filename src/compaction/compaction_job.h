// Does what a plan says: reads, merges, copies, writes (X-Engine 3.3.2). The tree changes only when
// the caller applies the edit. A plan for a part of its pick ends before some key: the inputs before
// it are dealt with, and those that reach over it are left as slices.
//
// A window of merge steps is under way at once: while some are merged, perhaps on several units,
// the inputs of later ones are planned and read and the outputs of earlier ones written.
//
// No compaction may lose or invent a record, whatever mistake planner, executor or device makes.
// Each step is checked before it is carried out (plan_checker.h), and at the end the records must
// balance: those of the inputs, as the metadata counts them, are those reused, copied and merged,
// and those merged are written or were dropped for a reason. If they do not, the inputs are counted
// again, so that an extent which has lost or gained records by damage is told from a mistake.

#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "compaction/compaction_planner.h"
#include "compaction/value_relocation.h"
#include "merge/outputs.h"
#include "offload/driver.h"
#include "table/snappy_encoder.h"
#include "tree/extent_reader.h"
#include "tree/extent_writer.h"
#include "util/status.h"

namespace sluice {

struct CompactionJobOptions {
  ExtentFormat extent;
  uint32_t block_bytes = 4 << 10;
  uint32_t restart_interval = 16;
  std::vector<SequenceNumber> snapshots{};  // as MergeTask has them
  size_t window = 2;                        // merge steps under way at once
  bool offload = true;                      // otherwise the CPU merges, on this thread
  ValueFormat values{};                     // of values that are moved
};

// Numbers of records; each record is in exactly one of the first three.
struct RecordBalance {
  uint64_t reused = 0;
  uint64_t copied = 0;
  uint64_t merged = 0;
  uint64_t merged_out = 0;  // of the merged ones, kept
  uint64_t dropped = 0;
};

struct CompactionResult {
  // One for each input of the pick, newest first: the extents that were compacted, and what is left
  // of the last one, if anything is.
  struct Input {
    std::vector<ExtentPtr> extents;
    std::optional<Extent> rest;
  };
  std::vector<Input> inputs;
  bool whole = true;              // else only a part of the pick, from its first key on, was done
  std::vector<Extent> added;      // new ones
  std::vector<ExtentPtr> reused;  // inputs that are part of the output
  uint64_t copied_blocks = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  RecordBalance records;
  // After an error: the input that could not be read, if that was the cause.
  ExtentPtr damaged;
  // After an error: the plan or the records were wrong, and no input explains it.
  bool unsound = false;
};

// Bits per key of the filters that `executor` is to make of blocks for extents of this format; 0:
// none, and ExtentBuilder makes them. No executor makes filters that have prefixes, too.
inline uint32_t FilterBits(const ExtentFormat& format, const Executor& executor) {
  return format.prefix_bytes == 0 && executor.makes_filters()
             ? static_cast<uint32_t>(format.bloom_bits_per_key)
             : 0;
}

// Whether `executor` is to compress blocks for extents of this format.
inline bool CompressedBy(const Executor& executor, const ExtentFormat& format) {
  return format.codec.type == Compression::kSnappy && executor.compresses();
}

// What ExtentBuilder is to store of an output's block; empty: it makes that of the contents, as
// executors leave long ones raw. `compressed`: the executor was to compress them. A CRC that is
// stored again covers what happens to the block between executor and device.
inline std::string_view StoredAs(const OutputBlock& block, const ExtentFormat& format,
                                 bool compressed) {
  const bool as_it_is = format.codec.type == Compression::kNone
                            ? !block.compressed()
                            : compressed && block.contents.size() <= kMaxUnitSnappyBytes;
  return as_it_is ? block.stored : "";
}

// Blocks until done; gives up soon after `*stop` is set, with Busy.
Status RunCompaction(const CompactionPick& pick, const RunIndex& output_run,
                     const PlanOptions& plan, const CompactionJobOptions& options,
                     OffloadDriver* driver, ExtentReader* reader, ExtentWriter* writer,
                     const std::atomic<bool>* stop, CompactionResult* result);

// Reduces the pick to what its next part has to compact: no inputs if nothing is left.
void TakeOut(const CompactionResult& done, CompactionPick* pick);

}  // namespace sluice
