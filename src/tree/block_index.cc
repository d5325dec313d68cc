#include "tree/block_index.h"

#include <algorithm>

#include "table/block.h"
#include "table/internal_key.h"

namespace sluice {

namespace {

// The first `bytes` of 8, as a number that orders as they do. REQUIRES: 1 to 8; all 8 can be read.
uint64_t WordOf(const char* eight, size_t bytes) {
  return __builtin_bswap64(DecodeFixed64(eight)) & ~uint64_t{0} << 8 * (sizeof(uint64_t) - bytes);
}

// The same of the user key's bytes from `skip` on, 0 if there are none: its trailer can be read.
uint64_t WordAt(std::string_view internal_key, size_t skip) {
  const size_t left = internal_key.size() - kTrailerBytes - skip;
  return left == 0 ? 0 : WordOf(internal_key.data() + skip, std::min(left, sizeof(uint64_t)));
}

}  // namespace

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
  const size_t blocks = index->blocks_.size();
  if (blocks > 0) {
    // The keys are in order, so all share what the first and the last share.
    const std::string_view first = UserKey(index->last_key(0));
    const size_t common = CommonPrefix(first, UserKey(index->last_key(blocks - 1)));
    index->common_ = first.substr(0, common);
    index->common_end_ = common % sizeof(uint64_t) == 0
                             ? 0
                             : WordOf(first.data() + common / sizeof(uint64_t) * sizeof(uint64_t),
                                      common % sizeof(uint64_t));
  }
  index->words_.reserve(blocks);
  for (size_t i = 0; i < blocks; ++i) {
    const std::string_view key = index->last_key(i);
    index->words_.push_back(WordAt(key, std::min(index->common_.size(), UserKey(key).size())));
  }
  index->blocks_.shrink_to_fit();
  index->filters_.shrink_to_fit();
  index->keys_.shrink_to_fit();
  index->key_ends_.shrink_to_fit();
  return {};
}

inline int BlockIndex::CompareCommon(std::string_view internal_key) const {
  const size_t common = common_.size();
  if (internal_key.size() < common + kTrailerBytes) {
    return UserKey(internal_key).compare(common_);
  }
  const auto compare = [](uint64_t a, uint64_t b) { return a < b ? -1 : a > b ? 1 : 0; };
  constexpr size_t kWord = sizeof(uint64_t);
  size_t i = 0;
  for (; i + kWord <= common; i += kWord) {
    const uint64_t word = WordOf(internal_key.data() + i, kWord);
    if (const int order = compare(word, WordOf(common_.data() + i, kWord)); order != 0) {
      return order;
    }
  }
  return i == common ? 0 : compare(WordOf(internal_key.data() + i, common - i), common_end_);
}

size_t BlockIndex::Find(std::string_view internal_key) const {
  if (words_.empty()) {
    return 0;
  }
  if (const int order = CompareCommon(internal_key); order != 0) {
    return order < 0 ? 0 : words_.size();
  }
  const uint64_t word = WordAt(internal_key, common_.size());
  // Without branches: searches in several indexes overlap.
  const uint64_t* at = words_.data();
  for (size_t left = words_.size(); left > 1; left -= left / 2) {
    at += at[left / 2 - 1] < word ? left / 2 : 0;
  }
  size_t i = at - words_.data() + (*at < word ? 1 : 0);
  while (i < words_.size() && words_[i] == word &&
         CompareInternalKeys(last_key(i), internal_key) < 0) {
    ++i;
  }
  return i;
}

size_t BlockIndex::heap_bytes() const {
  return words_.capacity() * sizeof(uint64_t) + common_.capacity() +
         blocks_.capacity() * sizeof(BlockPlace) + filters_.capacity() + keys_.capacity() +
         key_ends_.capacity() * sizeof(uint32_t);
}

}  // namespace sluice
