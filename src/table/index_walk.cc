#include "table/index_walk.h"

#include <fmt/format.h>

#include "table/stored_block.h"

namespace sluice {

Status OpenIndex::In(std::string_view image, const BlockHandle& handle, OpenIndex* index) {
  index->offset = handle.offset;
  SLUICE_RETURN_IF_ERROR(
      ReadStoredBlock(image, handle, &index->buffer, &index->contents).WithContext("index block"));
  return index->AtIndex(Block::Parse(index->contents, &index->block));
}

Status OpenIndex::Apart(std::string_view index_block, OpenIndex* index) {
  if (index_block.size() < kBlockTrailerBytes) {
    return Status::Corruption(
        fmt::format("index block of {} bytes has no trailer", index_block.size()));
  }
  return In(index_block, {0, index_block.size() - kBlockTrailerBytes}, index);
}

Status OpenIndex::MalformedHandle(size_t entry_offset) const {
  return AtIndex(Status::Corruption(
      fmt::format("malformed block handle in the entry at byte {}", entry_offset)));
}

Status OpenIndex::AtIndex(const Status& status) const {
  return status.WithContext(fmt::format("offset {}: index block", offset));
}

Status CheckFollows(const BlockHandle& handle, uint64_t* end) {
  if (handle.offset < *end) {
    return Status::Corruption(
        fmt::format("offset {}: block starts before the one before it ends", handle.offset));
  }
  *end = handle.offset + handle.size + kBlockTrailerBytes;
  return {};
}

}  // namespace sluice
