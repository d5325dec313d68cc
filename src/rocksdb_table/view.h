// A table of RocksDB as one that every executor reads: the same entries in the same blocks, but raw,
// with LevelDB's trailers and LevelDB's index. A copy, as checksums and compressions differ.

#pragma once

#include <string_view>

#include "rocksdb_table/table.h"
#include "table/recode.h"
#include "util/status.h"

namespace sluice {

// User keys that are asked for; blocks that have none of them are left out.
struct RocksViewRange {
  bool has_begin = false;
  bool has_end = false;
  std::string_view begin;  // with has_begin: the first
  std::string_view end;    // with has_end: the first behind them
};

// Calls visit for each data block that may have such keys, as RocksTable::ForEachDataBlock does.
Status ForEachBlockInRange(const RocksTable& table, const RocksViewRange& range,
                           const RocksTable::Visit& visit);

struct RocksView {
  RecodedTable table;
  // Where each block begins in the view's image, and where in the table; ascending in both.
  std::vector<std::pair<uint64_t, uint64_t>> offsets;

  // Between these, both included, all records have their sequence numbers, as far as blocks are sound.
  SequenceNumber smallest_sequence = kMaxSequence;
  SequenceNumber largest_sequence = 0;

  // Where the block of the table stands that has `offset` of the view.
  uint64_t OffsetInTable(uint64_t offset) const;
};

// Makes the view of a table. Errors say the offset of the block in the table, not the file;
// NotSupported: it has records that are neither values nor deletions. What else may be wrong with
// the entries executors find.
Status ViewRocksTable(const RocksTable& table, const RocksViewRange& range, RocksView* view);

}  // namespace sluice
