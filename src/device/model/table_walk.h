// Walks the records of tables, raw ones or with Snappy, for what costs time: lengths, and where
// blocks begin and end.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/executor.h"
#include "table/block.h"

namespace sluice::model {

// A table's bytes; `index` is the index block's content.
struct RawTable {
  std::string_view image;
  std::string_view index;
  uint64_t index_offset = 0;  // in device memory, modulo 64
};

RawTable InputTable(const MergeTable& table);
// `index` as MergeOutput has it, with trailer.
RawTable OutputTable(std::string_view data, std::string_view index);

// The tables' bytes outlive it. At whatever makes no sense the walk ends.
class TableWalk {
 public:
  explicit TableWalk(std::vector<RawTable> tables) : tables_(std::move(tables)) { NextBlock(); }

  bool Valid() const { return entry_.Valid(); }
  void Next();
  // To the first record of the next block that has one.
  void NextBlock();

  // REQUIRES of the following: Valid(). Internal key; lives until Next.
  std::string_view key() const { return entry_.key(); }
  uint64_t user_bytes() const { return entry_.key().size() - kTrailerBytes; }
  uint64_t value_bytes() const { return entry_.value().size(); }
  // Bytes of the key that the entry leaves out.
  uint64_t shared() const;
  // Where the record ends in its block.
  uint64_t end_offset() const { return entry_.end_offset(); }

  bool block_begins() const { return entry_.offset() == 0; }
  bool block_ends() const { return entry_.end_offset() == block_.entries().size(); }
  bool table_begins() const { return first_block_ && block_begins(); }
  bool table_ends() const { return block_ends() && !index_.Valid(); }

  // The block as it is stored, and whether that is compressed; what it holds.
  std::string_view stored() const { return stored_; }
  bool compressed() const { return compressed_; }
  std::string_view held() const { return held_; }

  // The block's place in its table; its number of restarts; its index entry.
  const BlockHandle& handle() const { return handle_; }
  uint64_t entries_bytes() const { return block_.entries().size(); }
  uint64_t restarts() const { return block_.restarts(); }
  uint64_t index_key_bytes() const { return index_key_bytes_; }
  uint64_t handle_bytes() const { return handle_bytes_; }
  uint64_t index_entry_bytes() const { return index_entry_bytes_; }

  // The index block's entries; its bytes; where its restart array begins, modulo 64, and that with
  // the trailer.
  uint64_t blocks() const { return index_restarts_; }
  uint64_t index_bytes() const { return index_entries_bytes_ + index_end_bytes(); }
  uint64_t index_end_offset() const { return index_end_offset_; }
  uint64_t index_end_bytes() const { return 4 * index_restarts_ + 4 + kBlockTrailerBytes; }

 private:
  bool OpenBlock(std::string_view image);

  std::vector<RawTable> tables_;
  size_t table_ = 0;  // the one to open next
  BlockIterator index_;
  bool first_block_ = false;
  uint64_t index_restarts_ = 0;
  uint64_t index_entries_bytes_ = 0;
  uint64_t index_end_offset_ = 0;
  BlockHandle handle_;
  uint64_t index_key_bytes_ = 0;
  uint64_t handle_bytes_ = 0;
  uint64_t index_entry_bytes_ = 0;
  std::string_view stored_;
  bool compressed_ = false;
  std::string_view held_;
  std::unique_ptr<std::string> uncompressed_ = std::make_unique<std::string>();
  Block block_;
  BlockIterator entry_;
};

}  // namespace sluice::model
