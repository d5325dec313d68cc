// A block's entries: bounds-checked view and iterator.
//
// Nothing here trusts a byte: whatever the contents, no read leaves them and every call ends. A
// block found malformed ends the iteration with a Corruption that says at which byte of the block.

#pragma once

#include <cassert>
#include <cstring>
#include <string>
#include <string_view>

#include "table/format.h"
#include "table/internal_key.h"
#include "table/key_buffer.h"
#include "util/status.h"

namespace sluice {

// Views a block's contents (uncompressed, without trailer), which outlive it.
class Block {
 public:
  Block() = default;

  // Checks that the restart array lies in the block, and that it starts where the block does.
  static Status Parse(std::string_view contents, Block* block);

  std::string_view entries() const { return entries_; }
  uint32_t restarts() const { return restarts_; }
  // The offset of an entry that shares no bytes with the one before it. Not checked.
  uint32_t restart(uint32_t i) const {
    assert(i < restarts_);
    return DecodeFixed32(entries_.data() + entries_.size() + 4 * size_t{i});
  }

 private:
  std::string_view entries_;
  uint32_t restarts_ = 0;
};

// The keys of a block: internal keys, each of at least kTrailerBytes, or any bytes in bytewise
// order (metaindex).
enum class KeyKind { kInternal, kPlain };

// Walks a block's entries both ways. The block's contents outlive it.
class BlockIterator {
 public:
  // Over no entries.
  BlockIterator() = default;
  explicit BlockIterator(const Block& block, KeyKind kind = KeyKind::kInternal)
      : block_(block), min_key_bytes_(kind == KeyKind::kInternal ? kTrailerBytes : 0) {}

  // Over another block. Keeps the memory that it has.
  void Reset(const Block& block) {
    block_ = block;
    valid_ = repeats_ = false;
    fault_ = nullptr;
  }

  bool Valid() const { return valid_; }
  // Ok at an entry and past either end; Corruption where the block made no sense.
  Status status() const;

  void SeekToFirst();
  void SeekToLast();
  // To the first entry at or after `target`, an internal key. REQUIRES: KeyKind::kInternal.
  void Seek(std::string_view target);

  // REQUIRES of the following: Valid().
  void Next() { ParseEntry(); }
  void Prev();
  // Both live until the iterator moves. The key still stands when Next has come to the end.
  std::string_view key() const { return key_.view(); }
  std::string_view value() const { return value_; }
  // After a Next: whether it came to an entry with the user key of the one before.
  bool repeats() const { return repeats_; }
  // Where the entry starts in the block, and where the next one does.
  size_t offset() const { return offset_; }
  size_t end_offset() const { return next_; }

 private:
  // As Seek, through whole keys. REQUIRES: there are entries.
  void SeekSlowly(std::string_view target);
  // Stands before restart `i`; false, with the fault recorded, if there cannot be an entry.
  bool JumpToRestart(uint32_t i);
  // Moves to the entry at next_, if there is one.
  bool ParseEntry();
  // Whether the next key, which shares `header.shared` bytes with this one, has its user key.
  bool Repeats(const EntryHeader& header, const char* unshared) const {
    if (size_t{header.shared} + header.unshared != key_.size() || key_.size() < kTrailerBytes) {
      return false;
    }
    const size_t user_bytes = key_.size() - kTrailerBytes;
    return header.shared >= user_bytes ||
           (key_.data()[header.shared] == *unshared &&
            std::memcmp(key_.data() + header.shared, unshared, user_bytes - header.shared) == 0);
  }
  // The key at restart `i`, which has to be whole.
  bool RestartKey(uint32_t i, std::string_view* key);
  bool Fail(size_t offset, const char* cause);

  Block block_;
  size_t min_key_bytes_ = kTrailerBytes;
  bool valid_ = false;
  bool repeats_ = false;
  size_t offset_ = 0;
  size_t next_ = 0;
  KeyBuffer key_;
  std::string_view value_;
  const char* fault_ = nullptr;
  size_t fault_offset_ = 0;
};

}  // namespace sluice
