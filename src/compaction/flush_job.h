// Memtables to extents of level 0 (X-Engine 3.3.1): written as they are, merged with nothing, but
// for range deletions (flush_ranges.h).

#pragma once

#include <cstdint>
#include <vector>

#include "compaction/flush_ranges.h"
#include "compaction/record_packer.h"
#include "tree/extent_writer.h"
#include "tree/version.h"
#include "util/status.h"

namespace sluice {

struct FlushResult {
  uint64_t input_records = 0;
  uint64_t tombstones = 0;  // of those made for range deletions, the ones that were written
  uint64_t output_records = 0;
  uint64_t values_apart = 0;    // of these, large values
  uint64_t shadowed = 0;        // of the input, versions that no snapshot sees
  std::vector<Extent> extents;  // one run
};

// Writes `memtables`, newest first, as one run. `snapshots` are as in MergeTask, and the same
// versions of each key are kept, tombstones too. `ranges`, planned, are the memtables' range
// deletions; null if they have none. Corruption if the records met in the memtables are not those
// that were added.
Status FlushMemtables(const std::vector<MemtablePtr>& memtables,
                      const std::vector<SequenceNumber>& snapshots, FlushRanges* ranges,
                      const RunFormat& format, ExtentWriter* writer, FlushResult* result);

}  // namespace sluice
