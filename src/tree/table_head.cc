#include "tree/table_head.h"

#include <fmt/format.h>

#include <algorithm>

#include "table/block.h"
#include "table/stored_block.h"

namespace sluice {

namespace {

// As a rule, an index with one block per 4 KiB and filters with 10 bits per key fit.
constexpr uint32_t kFirstReadBytes = 64 << 10;

// Up to 8 bytes as a number that orders as they do.
uint64_t WordOf(std::string_view bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i) {
    word = word << 8 | (i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : 0);
  }
  return word;
}

// The end of a table in memory, from `begin` on.
struct Tail {
  uint64_t begin = 0;
  std::string bytes;

  Status ReadBlock(const BlockHandle& handle, std::string* buffer,
                   std::string_view* contents) const {
    return ReadStoredBlock(bytes, {handle.offset - begin, handle.size}, buffer, contents);
  }
};

Status ReadTail(const Extent& extent, uint64_t from, Tail* tail) {
  tail->begin = from;
  tail->bytes.resize(extent.bytes - from);
  return extent.place->file()->Read(extent.place->offset() + from, tail->bytes.size(),
                                    tail->bytes.data());
}

Status ReadHead(const Extent& extent, TableHead** head) {
  if (extent.bytes < kFooterBytes) {
    return Status::Corruption(fmt::format("extent of {} bytes", extent.bytes));
  }
  Tail tail;
  SLUICE_RETURN_IF_ERROR(
      ReadTail(extent, extent.bytes - std::min(extent.bytes, kFirstReadBytes), &tail));
  Footer footer;
  SLUICE_RETURN_IF_ERROR(
      Footer::Parse(std::string_view(tail.bytes).substr(tail.bytes.size() - kFooterBytes),
                    extent.bytes, &footer));
  if (const uint64_t first = std::min(footer.index.offset, footer.metaindex.offset);
      first < tail.begin) {
    SLUICE_RETURN_IF_ERROR(ReadTail(extent, first, &tail));
  }
  std::string buffer;
  std::string_view contents;
  Block metaindex;
  SLUICE_RETURN_IF_ERROR(tail.ReadBlock(footer.metaindex, &buffer, &contents));
  const std::string metaindex_contents(contents);  // the tail may be read again
  SLUICE_RETURN_IF_ERROR(Block::Parse(metaindex_contents, &metaindex));
  std::string filter;
  std::unique_ptr<const ZstdDictionary> dictionary;
  BlockIterator at(metaindex, KeyKind::kPlain);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    const bool is_dictionary = at.key() == kDictionaryName;
    if (!is_dictionary && at.key() != kBloomFilterName) {
      continue;
    }
    BlockHandle handle;
    std::string_view value = at.value();
    if (!handle.ReadFrom(&value) || !HandleFits(handle, extent.bytes)) {
      return Status::Corruption(
          fmt::format("malformed handle of the {} block", is_dictionary ? "dictionary" : "filter"));
    }
    if (handle.offset < tail.begin) {
      SLUICE_RETURN_IF_ERROR(ReadTail(extent, handle.offset, &tail));
    }
    SLUICE_RETURN_IF_ERROR(tail.ReadBlock(handle, &buffer, &contents));
    if (is_dictionary) {
      SLUICE_RETURN_IF_ERROR(ZstdDictionary::Parse(contents, &dictionary));
    } else {
      filter.assign(contents);
    }
  }
  SLUICE_RETURN_IF_ERROR(at.status());
  SLUICE_RETURN_IF_ERROR(tail.ReadBlock(footer.index, &buffer, &contents));
  TableHead* made;
  SLUICE_RETURN_IF_ERROR(
      TableHead::Make(contents, std::move(filter), &made, std::move(dictionary)));
  // If the pages were given to another extent, for example by a copy of the database, they hold a
  // sound table, too.
  if (made->blocks() == 0 || made->last_key(made->blocks() - 1) != extent.last_of_table()) {
    made->Unref();
    return Status::Corruption("the pages hold the table of another extent");
  }
  *head = made;
  return {};
}

}  // namespace

Status TableHead::Read(const Extent& extent, TableHead** head) {
  return ReadHead(extent, head)
      .WithContext(fmt::format("{}, extent {} at offset {}", extent.place->file()->path(),
                               extent.number, extent.place->offset()));
}

Status TableHead::Make(std::string_view index, std::string filter, TableHead** head,
                       std::unique_ptr<const ZstdDictionary> dictionary) {
  const auto made = std::unique_ptr<TableHead, void (*)(TableHead*)>(
      new TableHead, [](TableHead* h) { h->Unref(); });
  Block block;
  SLUICE_RETURN_IF_ERROR(Block::Parse(index, &block));
  BlockIterator at(block);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    BlockHandle handle;
    std::string_view value = at.value();
    if (!handle.ReadFrom(&value)) {
      return Status::Corruption("malformed handle in the index");
    }
    if (handle.offset > UINT32_MAX || handle.size > UINT32_MAX) {
      return Status::Corruption("the index names a block where no extent reaches");
    }
    made->blocks_.push_back({.offset = static_cast<uint32_t>(handle.offset),
                             .bytes = static_cast<uint32_t>(handle.size)});
    made->keys_.append(at.key());
    made->key_ends_.push_back(static_cast<uint32_t>(made->keys_.size()));
  }
  SLUICE_RETURN_IF_ERROR(at.status());
  const size_t blocks = made->blocks_.size();
  if (blocks > 0) {
    // The keys are in order, so all share what the first and the last share.
    made->skip_ = CommonPrefix(UserKey(made->last_key(0)), UserKey(made->last_key(blocks - 1)));
  }
  made->words_.reserve(blocks);
  for (size_t i = 0; i < blocks; ++i) {
    const std::string_view user_key = UserKey(made->last_key(i));
    made->words_.push_back(WordOf(user_key.substr(std::min(made->skip_, user_key.size()))));
  }
  made->filter_bytes_ = std::move(filter);
  if (!made->filter_bytes_.empty()) {
    FilterBlock filters;
    SLUICE_RETURN_IF_ERROR(FilterBlock::Parse(made->filter_bytes_, &filters));
    for (BlockPlace& place : made->blocks_) {
      if (filters.IndexOf(place.offset) < filters.count()) {
        const std::string_view bits = filters.FilterOf(place.offset);
        place.filter = static_cast<uint32_t>(bits.data() - made->filter_bytes_.data());
        place.filter_bytes = static_cast<uint32_t>(bits.size());
      }
    }
  }
  made->memory_bytes_ = sizeof(TableHead) + made->words_.capacity() * sizeof(uint64_t) +
                        made->blocks_.capacity() * sizeof(BlockPlace) + made->keys_.capacity() +
                        made->key_ends_.capacity() * sizeof(uint32_t) +
                        made->filter_bytes_.capacity() +
                        (dictionary != nullptr ? dictionary->memory_bytes() : 0);
  made->dictionary_ = std::move(dictionary);
  made->Ref();
  *head = made.get();
  return {};
}

size_t TableHead::Find(std::string_view internal_key) const {
  const std::string_view user_key = UserKey(internal_key);
  if (blocks_.empty()) {
    return 0;
  }
  const std::string_view common = std::string_view(keys_).substr(0, skip_);
  if (const int order = user_key.substr(0, skip_).compare(common); order != 0) {
    return order < 0 ? 0 : blocks_.size();
  }
  const uint64_t word = WordOf(user_key.substr(skip_));
  // Without branches: searches in several heads overlap.
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

}  // namespace sluice
