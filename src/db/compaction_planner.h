// What of a compaction has to be merged at all (X-Engine 3.3.2, data reuse; its Figure 8 is a
// test).
//
//  1. An extent is reused, by a change of metadata alone, if no other run has a record between its
//     first and last key. That looks at records, not at key ranges: a block or extent of another
//     run that only spans it, because its keys are sparse, is split there.
//  2. Between reused extents, and extents of the output run that no input touches, lie gaps. In a
//     gap, blocks that overlap no other run's are copied as bytes.
//  3. What is left is merged, in tasks of similar size.
//
// The steps of a plan are in key order, and what they make is the output run's new part.

#pragma once

#include <cstdint>
#include <vector>

#include "db/compaction_picker.h"
#include "merge/input_map.h"
#include "tree/extent_reader.h"
#include "util/status.h"

namespace sluice {

// Some blocks of an extent that stand together.
struct BlockRange {
  ExtentPtr extent;
  size_t first = 0;
  size_t end = 0;
};

struct CompactionStep {
  enum class Kind {
    kReuse,  // `extent` as it is
    kStay,   // `extent`, of the output run and no input: an output extent must not span it
    kCopy,   // `blocks`
    kMerge,  // `runs`' records in `range`
  };

  Kind kind = Kind::kMerge;
  ExtentPtr extent{};
  BlockRange blocks{};
  KeyRange range{};
  std::vector<std::vector<BlockRange>> runs{};  // newest first, none empty; all blocks in `range`
};

struct PlanOptions {
  uint64_t task_bytes = uint64_t{64} << 20;  // of input, of one merge step
  // Fewer blocks in a row are merged: a seam costs part of a block, and a task more.
  size_t least_blocks_copied = 4;
  // Smaller extents are not reused by a pick that rewrites.
  uint32_t least_bytes_rewritten = 0;
  // Extents elsewhere are not reused but copied: the output's level lies in another directory.
  const DataFile* file = nullptr;
};

// `output_run`: all of the output's run as it is. Reads blocks where ranges alone do not tell.
Status PlanCompaction(const CompactionPick& pick, const RunIndex& output_run,
                      const PlanOptions& options, ExtentReader* reader,
                      std::vector<CompactionStep>* steps);

}  // namespace sluice
