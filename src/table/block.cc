#include "table/block.h"

#include <fmt/format.h>

#include "table/block_search.h"

namespace sluice {

Status Block::Parse(std::string_view contents, Block* block) {
  if (contents.size() < 8) {
    return Status::Corruption(
        fmt::format("block of {} bytes cannot hold a restart array", contents.size()));
  }
  const size_t most = contents.size() / 4 - 1;
  const uint32_t restarts = DecodeFixed32(contents.data() + contents.size() - 4);
  if (restarts == 0 || restarts > most) {
    return Status::Corruption(fmt::format("block of {} bytes claims {} restarts, may have 1 to {}",
                                          contents.size(), restarts, most));
  }
  block->entries_ = contents.substr(0, contents.size() - 4 - 4 * size_t{restarts});
  block->restarts_ = restarts;
  if (block->restart(0) != 0) {
    return Status::Corruption(
        fmt::format("first restart of the block is {}, not 0", block->restart(0)));
  }
  return {};
}

Status BlockIterator::status() const {
  if (fault_ == nullptr) {
    return {};
  }
  return Status::Corruption(
      fmt::format("entry at byte {} of the block: {}", fault_offset_, fault_));
}

bool BlockIterator::Fail(size_t offset, const char* cause) {
  valid_ = repeats_ = false;
  fault_ = cause;
  fault_offset_ = offset;
  return false;
}

bool BlockIterator::JumpToRestart(uint32_t i) {
  valid_ = repeats_ = false;
  fault_ = nullptr;
  key_.Clear();
  next_ = block_.restart(i);
  // An empty block has one restart, at its end; otherwise an entry stands at each.
  if (next_ >= block_.entries().size() && next_ != 0) {
    return Fail(next_, "restart points past the entries");
  }
  return true;
}

bool BlockIterator::ParseEntry() {
  valid_ = repeats_ = false;
  const std::string_view entries = block_.entries();
  if (next_ >= entries.size()) {
    return false;
  }
  offset_ = next_;
  const char* const limit = entries.data() + entries.size();
  EntryHeader header;
  const char* p = DecodeEntryHeader(entries.data() + offset_, limit, &header);
  if (p == nullptr) {
    return Fail(offset_, "malformed header");
  }
  if (header.shared > key_.size()) {
    return Fail(offset_, "shares more of its key than the one before has");
  }
  if (uint64_t{header.unshared} + header.value_bytes > static_cast<size_t>(limit - p)) {
    return Fail(offset_, "reaches past the entries");
  }
  if (uint64_t{header.shared} + header.unshared < min_key_bytes_) {
    return Fail(offset_, "key too short for an internal key");
  }
  const bool repeats = Repeats(header, p);
  key_.Replace(header.shared, p, header.unshared, limit - p);
  p += header.unshared;
  value_ = {p, header.value_bytes};
  next_ = p + header.value_bytes - entries.data();
  valid_ = true;
  repeats_ = repeats;
  return true;
}

bool BlockIterator::RestartKey(uint32_t i, std::string_view* key) {
  const std::string_view entries = block_.entries();
  const size_t offset = block_.restart(i);
  if (offset >= entries.size()) {
    return Fail(offset, "restart points past the entries");
  }
  const char* const limit = entries.data() + entries.size();
  EntryHeader header;
  const char* const p = DecodeEntryHeader(entries.data() + offset, limit, &header);
  if (p == nullptr || header.shared != 0 || header.unshared > static_cast<size_t>(limit - p)) {
    return Fail(offset, "no whole key at a restart");
  }
  if (header.unshared < kTrailerBytes) {
    return Fail(offset, "key too short for an internal key");
  }
  *key = {p, header.unshared};
  return true;
}

void BlockIterator::SeekToFirst() {
  if (block_.restarts() != 0 && JumpToRestart(0)) {
    ParseEntry();
  }
}

void BlockIterator::SeekToLast() {
  if (block_.restarts() == 0 || !JumpToRestart(block_.restarts() - 1)) {
    return;
  }
  while (ParseEntry() && next_ < block_.entries().size()) {
  }
}

void BlockIterator::Seek(std::string_view target) {
  assert(min_key_bytes_ == kTrailerBytes);
  valid_ = repeats_ = false;
  fault_ = nullptr;
  if (block_.entries().empty()) {
    return;
  }
  BlockEntry entry;
  switch (FindInBlock(block_, target, &entry)) {
    case BlockPlace::kAtKey:
    case BlockPlace::kBehind:
      key_.Replace(0, target.data(), entry.header.shared, target.size());
      key_.Replace(entry.header.shared, entry.key, entry.header.unshared,
                   block_.entries().data() + block_.entries().size() - entry.key);
      value_ = entry.value();
      offset_ = entry.start - block_.entries().data();
      next_ = entry.end - block_.entries().data();
      valid_ = true;
      if (CompareInternalKeys(key(), target) < 0) {
        SeekSlowly(target);  // the entries are not in order
      }
      return;
    case BlockPlace::kEnd:
      next_ = block_.entries().size();
      return;
    case BlockPlace::kUnclear:
      SeekSlowly(target);
      return;
  }
}

void BlockIterator::SeekSlowly(std::string_view target) {
  // The last restart whose key comes before target, or the first one.
  uint32_t left = 0;
  uint32_t right = block_.restarts() - 1;
  while (left < right) {
    const uint32_t middle = left + (right - left + 1) / 2;
    std::string_view key;
    if (!RestartKey(middle, &key)) {
      return;
    }
    if (CompareInternalKeys(key, target) < 0) {
      left = middle;
    } else {
      right = middle - 1;
    }
  }
  if (!JumpToRestart(left)) {
    return;
  }
  while (ParseEntry() && CompareInternalKeys(key(), target) < 0) {
  }
}

void BlockIterator::Prev() {
  assert(valid_);
  const size_t original = offset_;
  // The last restart before this entry. Offsets in the array are unchecked, so they are compared
  // one by one rather than searched: a block with a wild array is walked wrongly, never for ever.
  uint32_t i = block_.restarts();
  do {
    if (i == 0) {
      valid_ = repeats_ = false;
      return;
    }
    --i;
  } while (block_.restart(i) >= original);
  if (!JumpToRestart(i)) {
    return;
  }
  while (ParseEntry() && next_ < original) {
  }
}

}  // namespace sluice
