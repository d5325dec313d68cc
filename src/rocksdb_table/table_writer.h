// Writes RocksDB's tables of blocks that an executor made: the way out of a merge.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rocksdb_table/bloom.h"
#include "rocksdb_table/format.h"
#include "rocksdb_table/index.h"
#include "rocksdb_table/properties.h"
#include "table/block.h"
#include "table/codec.h"
#include "table/format.h"
#include "table/key_scan.h"
#include "util/status.h"

namespace sluice {

struct RocksTableOptions {
  uint32_t format_version = 5;  // 2 to 6
  RocksChecksum checksum = RocksChecksum::kXxh3;
  uint32_t checksum_base = 0;  // with version 6: not 0, and another one for each file
  Codec codec = {};            // of data blocks, and of the index
  bool compress_index = true;
  uint32_t index_restart_interval = 1;
  RocksIndexShortening index_shortening = RocksIndexShortening::kSeparators;
  uint32_t bloom_millibits_per_key = 0;  // of a filter as format_version 5 has; 0: no filter
  // The sequence numbers of values up to this one become 0, as RocksDB has it in a last level where no
  // snapshot tells them apart; 0: none. The blocks must then share no bytes of trailers.
  SequenceNumber zero_up_to = 0;
  // What the caller knows about the table: ids, names, times. What the contents say is added. Without
  // "rocksdb.creating.session.identity" and "rocksdb.original.file.number" RocksDB tells the file
  // apart by its own session and the file's number, or, where it knows neither, not at all; with
  // them, both together must be unlike those of any other file.
  RocksProperties properties = {};
};

// Blocks as MergeOutput has them (sluice/executor.h): data blocks with trailers, to stand at the
// start of a file, and the index block with trailer, whose keys are the blocks' full last keys.
struct RocksTableParts {
  std::string_view data;
  std::string_view index_block;
};

// What a finished table has.
struct RocksTableSummary {
  RocksProperties properties;
  uint64_t entries = 0;
  SequenceNumber smallest_sequence = kMaxSequence;  // of the records
  SequenceNumber largest_sequence = 0;
};

// What becomes of an internal key by RocksTableOptions::zero_up_to.
std::string ZeroSequence(std::string_view internal_key, SequenceNumber zero_up_to);

class RocksTableWriter {
 public:
  // Gets the file's bytes, some hundred KiB at once; an error ends the table.
  using Append = std::function<Status(std::string_view bytes)>;

  RocksTableWriter(RocksTableOptions options, Append append);
  RocksTableWriter(const RocksTableWriter&) = delete;
  RocksTableWriter& operator=(const RocksTableWriter&) = delete;

  // Adds a data block: contents without trailer, and its full last internal key. Checks that entries
  // lie within it. Costs: a copy, its checksum and one look at each entry; with a filter a hash of
  // each key.
  Status AddBlock(std::string_view contents, std::string_view last_key);
  // Adds all blocks of a table, and checks their CRCs on the way.
  Status AddBlocks(const RocksTableParts& parts);
  // Adds the rest. The last call.
  Status Finish(RocksTableSummary* summary);

 private:
  // What the entries of all blocks add up to.
  struct Totals {
    void Add(uint64_t key_size, uint64_t value_size, uint64_t trailer);

    uint64_t entries = 0;
    uint64_t deletions = 0;
    uint64_t key_bytes = 0;
    uint64_t value_bytes = 0;
    SequenceNumber smallest_sequence = kMaxSequence;
    SequenceNumber largest_sequence = 0;
  };

  // Counts a block's entries and adds their keys to the filter. `entries`: the same ones, in which
  // sequence numbers become 0.
  Status AddEntries(const Block& block, char* entries);
  BlockHandle AddStored(std::string_view contents, const Codec& codec);
  // Appends a block that is not compressed, and names it in the metaindex.
  BlockHandle AddNamed(std::string_view name, std::string_view contents);
  Status Write();

  const RocksTableOptions options_;
  const Append append_;
  uint64_t written_ = 0;  // bytes of the file
  std::string bytes_;     // of it that follow
  RocksFooter footer_;
  RocksIndexBuilder index_;
  std::optional<RocksBloomBuilder> bloom_;
  KeyScanner keys_;
  Totals totals_;
  uint64_t blocks_ = 0;
  std::string scratch_;
  std::string block_;     // that is to be compressed
  std::string last_key_;  // of the block added last
  std::vector<std::pair<std::string, BlockHandle>> named_;
};

}  // namespace sluice
