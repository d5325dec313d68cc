// The index of a RocksDB table: of each data block its place, and a key that none of its keys comes
// after and all of the next block do.
//
//   entry := shared | unshared | value bytes | key[shared..] | value       (all three varint32)
//   value := handle | [first internal key of the block, length-prefixed]
//
// Keys are internal keys, or user keys if no user key stands in two blocks. With delta-encoded
// values (format_version 4 on) an entry has no length of its value, and one that shares bytes of its
// key has in place of the handle the difference of the sizes of its block and the one before it
// (varint64, zigzag), which ends where it begins.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "table/block.h"
#include "table/format.h"
#include "util/status.h"

namespace sluice {

// How an index is written.
struct RocksIndexFormat {
  bool user_keys = false;
  bool delta_values = false;
  bool first_keys = false;  // an index of type kBinarySearchWithFirstKey
};

// Walks one block of an index front to back.
class RocksIndexIterator {
 public:
  // `block` outlives it.
  RocksIndexIterator(const Block& block, const RocksIndexFormat& format)
      : block_(block), format_(format) {}

  // Moves to the next entry, the first one at first. False at the end, or if there is an error.
  bool Next();
  // Corruption that says at which byte of the block.
  const Status& status() const { return status_; }

  // The entry's key as an internal key: a user key sorts as the last of its versions does.
  const std::string& key() const { return key_; }
  const BlockHandle& handle() const { return handle_; }

 private:
  bool Fail(std::string_view cause);
  // Reads the handle at the front of `*in`.
  bool ReadHandle(uint32_t shared, std::string_view* in);
  // Whether restarts and entries agree at the entry that begins at offset_.
  bool CheckRestart(uint32_t shared);

  const Block& block_;
  const RocksIndexFormat format_;
  size_t offset_ = 0;
  size_t next_ = 0;
  uint32_t restart_ = 0;
  std::string stored_key_;
  std::string key_;
  BlockHandle handle_;
  Status status_;
};

// Which keys of an index are shortened: none, those between blocks, or the last one, too.
enum class RocksIndexShortening : uint8_t { kNone, kSeparators, kSeparatorsAndSuccessor };

// Builds an index of one block, as RocksDB does for `format_version`.
class RocksIndexBuilder {
 public:
  RocksIndexBuilder(uint32_t format_version, uint32_t restart_interval,
                    RocksIndexShortening shortening = RocksIndexShortening::kSeparators)
      : must_have_trailers_(format_version <= 2),
        delta_values_(format_version >= 4),
        restart_interval_(restart_interval),
        shortening_(shortening) {}

  // Adds the next data block: its first and last internal keys and its place.
  void Add(std::string_view first, std::string_view last, const BlockHandle& handle);

  // The block's contents. REQUIRES: no call after it.
  std::string Finish();
  // How it is written. REQUIRES: finished.
  RocksIndexFormat format() const {
    return {.user_keys = !must_have_trailers_, .delta_values = delta_values_};
  }

 private:
  struct Entry {
    std::string key;  // an internal key
    BlockHandle handle;
  };

  // Takes this user key for an entry's, unless it is empty.
  static void Shorten(std::string_view user_key, Entry* entry);

  bool must_have_trailers_;
  const bool delta_values_;
  const uint32_t restart_interval_;
  const RocksIndexShortening shortening_;
  std::vector<Entry> entries_;
};

}  // namespace sluice
