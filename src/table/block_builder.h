// Builds a block: entries with shared prefixes, restart array, count (format.h draws it).
//
// Shares as sluice/executor.h says: bytes of user keys only, never of their trailers, so that hardware and
// software agree on every byte. A restart interval of 1 shares nothing and takes any keys, which is
// what index and metaindex blocks are made of.

#pragma once

#include <cassert>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table/format.h"
#include "table/internal_key.h"

namespace sluice {

class BlockBuilder {
 public:
  // REQUIRES: restart_interval >= 1.
  explicit BlockBuilder(uint32_t restart_interval) : restart_interval_(restart_interval) {
    Reset();
  }

  // REQUIRES: not finished; `key` comes after all keys so far, and has at least kTrailerBytes
  // unless the restart interval is 1; the block stays below 4 GiB.
  void Add(std::string_view key, std::string_view value) {
    assert(restart_interval_ == 1 || key.size() >= kTrailerBytes);
    size_t shared = 0;
    if (since_restart_ == restart_interval_) {
      restarts_.push_back(static_cast<uint32_t>(size_));
      since_restart_ = 0;
    } else if (since_restart_ > 0) {
      shared = CommonPrefix(UserKey(last_key_), UserKey(key));
    }
    ++since_restart_;
    const std::string_view unshared = key.substr(shared);
    Reserve(kMaxEntryHeaderBytes + unshared.size() + value.size());
    char* p = EncodeEntryHeader(buffer_.get() + size_, {static_cast<uint32_t>(shared),
                                                        static_cast<uint32_t>(unshared.size()),
                                                        static_cast<uint32_t>(value.size())});
    p = std::copy(unshared.begin(), unshared.end(), p);
    p = std::copy(value.begin(), value.end(), p);
    size_ = p - buffer_.get();
    last_key_.assign(key);
  }

  // What the finished block will have, were this all.
  size_t bytes() const { return size_ + 4 * restarts_.size() + 4; }
  bool empty() const { return size_ == 0; }
  // The key added last. REQUIRES: there is one.
  const std::string& last_key() const { return last_key_; }

  // Ends the block; the view lives until Reset.
  std::string_view Finish() {
    Reserve(bytes() - size_);
    char* p = buffer_.get() + size_;
    for (const uint32_t restart : restarts_) {
      EncodeFixed32(p, restart);
      p += 4;
    }
    EncodeFixed32(p, static_cast<uint32_t>(restarts_.size()));
    return {buffer_.get(), bytes()};
  }

  void Reset() {
    size_ = 0;
    restarts_.assign(1, 0);
    since_restart_ = 0;
    last_key_.clear();
  }

 private:
  void Reserve(size_t more) {
    if (capacity_ - size_ >= more) {
      return;
    }
    capacity_ = std::max(2 * capacity_, size_ + more);
    auto grown = std::make_unique_for_overwrite<char[]>(capacity_);
    std::copy_n(buffer_.get(), size_, grown.get());
    buffer_ = std::move(grown);
  }

  const uint32_t restart_interval_;
  std::unique_ptr<char[]> buffer_;
  size_t size_ = 0;
  size_t capacity_ = 0;
  std::vector<uint32_t> restarts_;
  uint32_t since_restart_ = 0;
  std::string last_key_;
};

}  // namespace sluice
