#include "table/block_search.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

namespace {

Status Malformed(const Block& block, const char* p) {
  return Status::Corruption(
      fmt::format("malformed entry at byte {} of the block", p - block.entries().data()));
}

struct EntryView {
  EntryHeader header;
  const char* key;  // the unshared part
  const char* end;
};

// Decodes the entry at `p`; false if it is malformed.
bool ReadEntry(const char* p, const char* limit, EntryView* entry) {
  entry->key = DecodeEntryHeader(p, limit, &entry->header);
  if (entry->key == nullptr ||
      uint64_t{entry->header.unshared} + entry->header.value_bytes >
          static_cast<uint64_t>(limit - entry->key) ||
      entry->header.unshared < kTrailerBytes) {
    return false;
  }
  entry->end = entry->key + entry->header.unshared + entry->header.value_bytes;
  return true;
}

// A block that shares bytes of trailers, which LevelDB writes and Sluice does not.
Status SearchSlowly(const Block& block, std::string_view internal_key, BlockMatch* match) {
  BlockIterator at(block);
  at.Seek(internal_key);
  if (at.Valid() && UserKey(at.key()) == UserKey(internal_key)) {
    *match = {true, Trailer(at.key()), at.value()};
  }
  return at.status();
}

}  // namespace

Status SearchBlock(const Block& block, std::string_view internal_key, BlockMatch* match) {
  *match = {};
  const std::string_view user_key = UserKey(internal_key);
  const uint64_t newest = Trailer(internal_key);
  const char* const begin = block.entries().data();
  const char* const limit = begin + block.entries().size();

  // The last restart whose key is before the target; the first one if there is none.
  uint32_t low = 0;
  uint32_t high = block.restarts() - 1;
  while (low < high) {
    const uint32_t middle = (low + high + 1) / 2;
    const uint64_t offset = block.restart(middle);
    EntryView entry;
    if (offset >= block.entries().size() || !ReadEntry(begin + offset, limit, &entry) ||
        entry.header.shared != 0) {
      return SearchSlowly(block, internal_key, match);
    }
    if (CompareInternalKeys({entry.key, entry.header.unshared}, internal_key) < 0) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }

  // Every entry passed is before the target and shares its first `matched` bytes with it. So one
  // that shares more with its predecessor is before the target too, and one that shares less is
  // behind it.
  size_t matched = 0;
  const char* p = begin + block.restart(low);
  if (block.restart(low) > block.entries().size()) {
    return SearchSlowly(block, internal_key, match);
  }
  for (EntryView entry; p < limit; p = entry.end) {
    if (!ReadEntry(p, limit, &entry)) {
      // The entry may share bytes of its trailer.
      return SearchSlowly(block, internal_key, match);
    }
    const size_t shared = entry.header.shared;
    if (shared == 0) {
      matched = 0;  // at a restart that says nothing
    }
    if (shared > matched) {
      continue;
    }
    if (shared < matched) {
      return {};
    }
    const std::string_view rest(entry.key, entry.header.unshared - kTrailerBytes);
    const std::string_view wanted = user_key.substr(matched);
    const size_t common = CommonPrefix(rest, wanted);
    if (common == wanted.size()) {
      if (common < rest.size()) {
        return {};  // longer than the target
      }
      const uint64_t trailer = DecodeFixed64(rest.data() + rest.size());
      if (trailer <= newest) {
        *match = {true, trailer, {entry.end - entry.header.value_bytes, entry.header.value_bytes}};
        return {};
      }
    } else if (common < rest.size() &&
               static_cast<uint8_t>(rest[common]) > static_cast<uint8_t>(wanted[common])) {
      return {};
    }
    matched += common;
  }
  return p == limit ? Status() : Malformed(block, p);
}

}  // namespace sluice
