#include "tree/block_index.h"

#include "table/block.h"

namespace sluice {

Status BlockIndex::Parse(std::string_view contents, BlockIndex* index) {
  *index = {};
  Block block;
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
  BlockIterator at(block);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    BlockHandle handle;
    std::string_view filter = at.value();
    if (!handle.ReadFrom(&filter)) {
      return Status::Corruption("malformed handle in the index");
    }
    if (filter.size() == 1) {
      return Status::Corruption("malformed filter in the index");
    }
    if (handle.offset > UINT32_MAX || handle.size > UINT32_MAX) {
      return Status::Corruption("the index names a block where no extent reaches");
    }
    index->blocks_.push_back({.offset = static_cast<uint32_t>(handle.offset),
                              .bytes = static_cast<uint32_t>(handle.size),
                              .filter = static_cast<uint32_t>(index->filters_.size()),
                              .filter_bytes = static_cast<uint32_t>(filter.size())});
    index->filters_.append(filter);
    index->keys_.append(at.key());
    index->key_ends_.push_back(static_cast<uint32_t>(index->keys_.size()));
  }
  SLUICE_RETURN_IF_ERROR(at.status());
  index->last_keys_ =
      KeyWords(index->blocks_.size(), [index](size_t i) { return index->last_key(i); });
  index->blocks_.shrink_to_fit();
  index->filters_.shrink_to_fit();
  index->keys_.shrink_to_fit();
  index->key_ends_.shrink_to_fit();
  return {};
}

size_t BlockIndex::heap_bytes() const {
  return last_keys_.heap_bytes() + blocks_.capacity() * sizeof(BlockPlace) + filters_.capacity() +
         keys_.capacity() + key_ends_.capacity() * sizeof(uint32_t);
}

}  // namespace sluice
