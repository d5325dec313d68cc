#include "device/model/table_walk.h"

#include "table/codec.h"

namespace sluice::model {

namespace {

// The block at `handle` as it is stored; empty if it reaches past the end.
std::string_view Content(std::string_view image, const BlockHandle& handle) {
  return HandleFits(handle, image.size()) ? image.substr(handle.offset, handle.size)
                                          : std::string_view();
}

}  // namespace

RawTable InputTable(const MergeTable& table) {
  return {table.image, Content(table.image, table.index), table.index.offset};
}

RawTable OutputTable(std::string_view data, std::string_view index) {
  return {data, index.substr(0, index.size() - std::min(index.size(), kBlockTrailerBytes))};
}

void TableWalk::Next() {
  entry_.Next();
  if (!entry_.Valid()) {
    NextBlock();
  }
}

uint64_t TableWalk::shared() const {
  const char* const entries = block_.entries().data();
  EntryHeader header{};
  DecodeEntryHeader(entries + entry_.offset(), entries + entry_.end_offset(), &header);
  return header.shared;
}

bool TableWalk::OpenBlock(std::string_view image) {
  stored_ = Content(image, handle_);
  const size_t type_at = handle_.offset + handle_.size;
  compressed_ = type_at < image.size() &&
                Compression{static_cast<uint8_t>(image[type_at])} == Compression::kSnappy;
  held_ = stored_;
  if (compressed_) {
    if (!Uncompress(Compression::kSnappy, stored_, uncompressed_.get()).ok()) {
      return false;
    }
    held_ = *uncompressed_;
  }
  return Block::Parse(held_, &block_).ok();
}

void TableWalk::NextBlock() {
  entry_ = {};
  while (!entry_.Valid()) {
    first_block_ = false;
    while (!index_.Valid()) {
      if (table_ == tables_.size()) {
        return;
      }
      const RawTable& table = tables_[table_++];
      Block index;
      if (!Block::Parse(table.index, &index).ok()) {
        table_ = tables_.size();
        return;
      }
      index_restarts_ = index.restarts();
      index_entries_bytes_ = index.entries().size();
      index_end_offset_ = table.index_offset + index.entries().size();
      index_ = BlockIterator(index);
      index_.SeekToFirst();
      first_block_ = true;
    }
    std::string_view value = index_.value();
    index_key_bytes_ = index_.key().size();
    handle_bytes_ = value.size();
    index_entry_bytes_ = index_.end_offset() - index_.offset();
    if (!handle_.ReadFrom(&value) || !OpenBlock(tables_[table_ - 1].image)) {
      table_ = tables_.size();
      index_ = {};
      return;
    }
    index_.Next();
    entry_ = BlockIterator(block_);
    entry_.SeekToFirst();
  }
}

}  // namespace sluice::model
