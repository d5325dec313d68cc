#include "rocksdb_table/index.h"

#include <fmt/format.h>

#include "table/internal_key.h"

namespace sluice {

namespace {

// The type in the trailer of a separator, which only has to sort before all others of its user key.
// RocksDB takes the highest type it knows; this is that of 7.8.
constexpr uint64_t kSeparatorTrailer = kMaxSequence << 8 | 0x16;

uint64_t ZigZag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}

int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1 ^ (uint64_t{0} - (value & 1)));
}

// A short user key that is after `last`, no longer than it, and before `next`; empty if there is
// none. The choice is RocksDB's.
std::string Separator(std::string_view last, std::string_view next) {
  size_t at = CommonPrefix(last, next);
  if (at >= std::min(last.size(), next.size())) {
    return {};
  }
  const auto byte = [last](size_t i) { return static_cast<uint8_t>(last[i]); };
  if (at + 1 == next.size() && byte(at) + 1 == static_cast<uint8_t>(next[at])) {
    // With this byte one higher it would be `next`. Any byte behind it will do.
    do {
      ++at;
    } while (at < last.size() && byte(at) == 0xff);
    if (at == last.size()) {
      return {};
    }
  }
  std::string separator(last.substr(0, at + 1));
  separator.back() = static_cast<char>(byte(at) + 1);
  return separator;
}

// A short user key that is after `last`; empty if there is none. The choice is RocksDB's.
std::string Successor(std::string_view last) {
  const size_t at = last.find_first_not_of('\xff');
  if (at == std::string_view::npos) {
    return {};
  }
  std::string successor(last.substr(0, at + 1));
  successor.back() = static_cast<char>(static_cast<uint8_t>(last[at]) + 1);
  return successor;
}

}  // namespace

bool RocksIndexIterator::Fail(std::string_view cause) {
  status_ = Status::Corruption(fmt::format("entry at byte {} of the block: {}", offset_, cause));
  return false;
}

bool RocksIndexIterator::CheckRestart(uint32_t shared) {
  if (restart_ < block_.restarts() && block_.restart(restart_) <= offset_) {
    if (block_.restart(restart_) != offset_ || shared != 0) {
      return Fail("the restart array points to no whole key");
    }
    ++restart_;
  }
  return true;
}

bool RocksIndexIterator::ReadHandle(uint32_t shared, std::string_view* in) {
  if (format_.delta_values && shared != 0) {
    uint64_t delta;
    if (!GetVarint64(in, &delta)) {
      return Fail("malformed size of a block");
    }
    const uint64_t offset = handle_.offset + handle_.size + kBlockTrailerBytes;
    handle_ = {offset, handle_.size + static_cast<uint64_t>(UnZigZag(delta))};
    return true;
  }
  return handle_.ReadFrom(in) || Fail("malformed block handle");
}

bool RocksIndexIterator::Next() {
  const std::string_view entries = block_.entries();
  offset_ = next_;
  if (!status_.ok() || offset_ >= entries.size()) {
    if (status_.ok() && !entries.empty() && restart_ != block_.restarts()) {
      return Fail("the restart array points past the entries");
    }
    return false;
  }
  std::string_view in = entries.substr(offset_);
  uint32_t shared;
  uint32_t unshared;
  uint32_t value_bytes = 0;
  if (!GetVarint32(&in, &shared) || !GetVarint32(&in, &unshared) ||
      (!format_.delta_values && !GetVarint32(&in, &value_bytes)) || shared > stored_key_.size() ||
      uint64_t{unshared} + value_bytes > in.size()) {
    return Fail("lengths do not fit");
  }
  if (!CheckRestart(shared)) {
    return false;
  }
  stored_key_.resize(shared);
  stored_key_.append(in.substr(0, unshared));
  in.remove_prefix(unshared);
  std::string_view value = format_.delta_values ? in : in.substr(0, value_bytes);
  const size_t value_room = value.size();
  std::string_view first_key;
  if (!ReadHandle(shared, &value)) {
    return false;
  }
  if (format_.first_keys && !GetLengthPrefixed(&value, &first_key)) {
    return Fail("malformed first key of a block");
  }
  if (!format_.delta_values && !value.empty()) {
    return Fail("bytes behind the block handle");
  }
  next_ = entries.size() - in.size() + value_room - value.size();
  if (!format_.user_keys && stored_key_.size() < kTrailerBytes) {
    return Fail("key too short for an internal key");
  }
  key_ = stored_key_;
  if (format_.user_keys) {
    PutFixed64(&key_, 0);
  }
  return true;
}

void RocksIndexBuilder::Shorten(std::string_view user_key, Entry* entry) {
  if (!user_key.empty()) {
    entry->key.assign(user_key);
    PutFixed64(&entry->key, kSeparatorTrailer);
  }
}

void RocksIndexBuilder::Add(std::string_view first, std::string_view last,
                            const BlockHandle& handle) {
  if (!entries_.empty()) {
    Entry& before = entries_.back();
    if (UserKey(before.key) == UserKey(first)) {
      must_have_trailers_ = true;
    } else if (shortening_ != RocksIndexShortening::kNone) {
      Shorten(Separator(UserKey(before.key), UserKey(first)), &before);
    }
  }
  entries_.push_back({std::string(last), handle});
}

std::string RocksIndexBuilder::Finish() {
  if (shortening_ == RocksIndexShortening::kSeparatorsAndSuccessor && !entries_.empty()) {
    Shorten(Successor(UserKey(entries_.back().key)), &entries_.back());
  }
  std::string block;
  std::vector<uint32_t> restarts;
  std::string_view before;
  BlockHandle handle_before;
  uint32_t until_restart = 0;
  for (const Entry& entry : entries_) {
    const std::string_view key = must_have_trailers_ ? entry.key : UserKey(entry.key);
    size_t shared = 0;
    if (until_restart == 0) {
      restarts.push_back(static_cast<uint32_t>(block.size()));
      until_restart = restart_interval_;
    } else {
      shared = CommonPrefix(before, key);
    }
    --until_restart;
    std::string value;
    if (delta_values_ && shared != 0) {
      PutVarint(&value, ZigZag(static_cast<int64_t>(entry.handle.size - handle_before.size)));
    } else {
      entry.handle.AppendTo(&value);
    }
    PutVarint(&block, shared);
    PutVarint(&block, key.size() - shared);
    if (!delta_values_) {
      PutVarint(&block, value.size());
    }
    block.append(key.substr(shared));
    block.append(value);
    before = key;
    handle_before = entry.handle;
  }
  if (restarts.empty()) {
    restarts.push_back(0);
  }
  for (const uint32_t restart : restarts) {
    PutFixed32(&block, restart);
  }
  PutFixed32(&block, static_cast<uint32_t>(restarts.size()));
  return block;
}

}  // namespace sluice
