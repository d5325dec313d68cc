// Reads only the keys of blocks, front to back, for filters and counts. Takes a few nanoseconds per
// key; BlockIterator, which also seeks and reads values, takes five times as long.

#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "table/block.h"
#include "table/format.h"
#include "table/internal_key.h"
#include "table/key_front.h"
#include "util/status.h"

namespace sluice {

// Thread-compatible.
class KeyScanner {
 public:
  // The first key of a block of internal keys; Corruption where BlockIterator would say so, or if
  // there is none.
  static Status FirstKey(const Block& block, std::string_view* key) {
    const char* const begin = block.entries().data();
    EntryHeader header;
    const char* const p = DecodeEntryHeader(begin, begin + block.entries().size(), &header);
    if (p == nullptr || !Fits(header, p, block, 0)) {
      return FaultOf(block);
    }
    *key = {p, header.unshared};
    return {};
  }

  // Calls visit(internal key, same), visit(internal key, same, value), or visit(internal key, same,
  // value, unshared), whichever it takes, for each entry; same: it has the user key of the one
  // before, perhaps in the block scanned before; unshared: so many bytes of the key stand in front of
  // the value. A key is valid until the next. Corruption, behind the last good entry, where
  // BlockIterator would say so.
  template <typename Visit>
  Status Scan(const Block& block, const Visit& visit) {
    const std::string_view entries = block.entries();
    const char* const limit = entries.data() + entries.size();
    size_t base = 0;  // bytes of the key that an entry may share with
    KeyFront front;
    for (const char* p = entries.data(); p < limit;) {
      EntryHeader header;
      p = DecodeEntryHeader(p, limit, &header);
      if (p == nullptr || !Fits(header, p, block, base)) {
        return FaultOf(block);
      }
      const size_t bytes = size_t{header.shared} + header.unshared;
      const size_t user_bytes = bytes - kTrailerBytes;
      const bool same = bytes == bytes_ && SameFrom(header.shared, user_bytes, p);
      Reserve(bytes + KeyFront::kBytes);
      if (static_cast<size_t>(limit - p) >= KeyFront::kBytes) [[likely]] {
        front.Rebuild(key_.data(), bytes, header.shared, p, key_.data());
      } else {
        std::memcpy(key_.data() + header.shared, p, header.unshared);
        front.Load(key_.data());
      }
      bytes_ = base = bytes;
      const std::string_view value(p + header.unshared, header.value_bytes);
      if constexpr (std::is_invocable_v<Visit, std::string_view, bool, std::string_view,
                                        uint32_t>) {
        visit(last_key(), same, value, header.unshared);
      } else if constexpr (std::is_invocable_v<Visit, std::string_view, bool, std::string_view>) {
        visit(last_key(), same, value);
      } else {
        visit(last_key(), same);
      }
      p += size_t{header.unshared} + header.value_bytes;
    }
    return {};
  }

  // The key visited last; empty: none yet.
  std::string_view last_key() const { return {key_.data(), bytes_}; }

 private:
  static bool Fits(const EntryHeader& header, const char* p, const Block& block, size_t base) {
    const std::string_view entries = block.entries();
    return header.shared <= base && uint64_t{header.shared} + header.unshared >= kTrailerBytes &&
           uint64_t{header.unshared} + header.value_bytes <=
               static_cast<size_t>(entries.data() + entries.size() - p);
  }

  // Why there is no entry where one has to be.
  static Status FaultOf(const Block& block) {
    BlockIterator at(block);
    at.SeekToFirst();
    while (at.Valid()) {
      at.Next();
    }
    return at.status().ok() ? Status::Corruption("data block without entries") : at.status();
  }

  // Whether the key's bytes from `first` to `end` are those at `p`. The first one tells, as a rule.
  bool SameFrom(size_t first, size_t end, const char* p) const {
    return first >= end ||
           (key_[first] == *p && std::memcmp(key_.data() + first, p, end - first) == 0);
  }

  void Reserve(size_t bytes) {
    if (key_.size() < bytes) {
      key_.resize(2 * bytes);
    }
  }

  std::string key_;  // and what else there is room for
  size_t bytes_ = 0;
};

}  // namespace sluice
