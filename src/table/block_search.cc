#include "table/block_search.h"

#include <algorithm>
#include <cstddef>

#include "table/internal_key.h"

namespace sluice {

namespace {

// Decodes the entry at `p`; false if it is malformed, or shares bytes of its trailer.
bool ReadEntry(const char* p, const char* limit, BlockEntry* entry) {
  entry->start = p;
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

// Each entry tells where the next one is, so a walk would wait for memory at each: all are asked
// for before the first is looked at.
void Prefetch(const char* begin, const char* end) {
  constexpr ptrdiff_t kLine = 64;
  constexpr ptrdiff_t kMost = 2048;  // what fits into as many entries as a restart has, as a rule
  for (ptrdiff_t i = kLine; i < std::min(end - begin, kMost); i += kLine) {
    __builtin_prefetch(begin + i);
  }
}

}  // namespace

BlockPlace FindInBlock(const Block& block, std::string_view internal_key, BlockEntry* entry) {
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
    if (offset >= block.entries().size() || !ReadEntry(begin + offset, limit, entry) ||
        entry->header.shared != 0) {
      return BlockPlace::kUnclear;
    }
    if (CompareInternalKeys({entry->key, entry->header.unshared}, internal_key) < 0) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }

  // Every entry passed is before the target and shares its first `matched` bytes with it. So one
  // that shares more with its predecessor is before the target too, and one that shares less is
  // behind it.
  size_t matched = 0;
  size_t user_key_bytes = 0;  // of the entry before
  if (block.restart(low) > block.entries().size()) {
    return BlockPlace::kUnclear;
  }
  Prefetch(begin + block.restart(low),
           low + 1 < block.restarts() ? begin + block.restart(low + 1) : limit);
  for (const char* p = begin + block.restart(low); p < limit; p = entry->end) {
    if (!ReadEntry(p, limit, entry)) {
      return BlockPlace::kUnclear;
    }
    const size_t shared = entry->header.shared;
    if (shared > user_key_bytes) {
      return BlockPlace::kUnclear;
    }
    user_key_bytes = shared + entry->header.unshared - kTrailerBytes;
    if (shared == 0) {
      matched = 0;  // at a restart that says nothing
    }
    if (shared > matched) {
      continue;
    }
    if (shared < matched) {
      return BlockPlace::kBehind;
    }
    const std::string_view rest(entry->key, entry->header.unshared - kTrailerBytes);
    const std::string_view wanted = user_key.substr(matched);
    const size_t common = CommonPrefix(rest, wanted);
    if (common == wanted.size()) {
      if (common < rest.size()) {
        return BlockPlace::kBehind;  // longer than the target
      }
      if (DecodeFixed64(rest.data() + rest.size()) <= newest) {
        return BlockPlace::kAtKey;
      }
    } else if (common < rest.size() &&
               static_cast<uint8_t>(rest[common]) > static_cast<uint8_t>(wanted[common])) {
      return BlockPlace::kBehind;
    }
    matched += common;
  }
  return BlockPlace::kEnd;
}

Status SearchBlock(const Block& block, std::string_view internal_key, BlockMatch* match) {
  *match = {};
  BlockEntry entry;
  switch (FindInBlock(block, internal_key, &entry)) {
    case BlockPlace::kAtKey:
      *match = {true, DecodeFixed64(entry.end - entry.header.value_bytes - kTrailerBytes),
                entry.value()};
      return {};
    case BlockPlace::kBehind:
    case BlockPlace::kEnd:
      return {};
    case BlockPlace::kUnclear:
      break;
  }
  BlockIterator at(block);
  at.Seek(internal_key);
  if (at.Valid() && UserKey(at.key()) == UserKey(internal_key)) {
    *match = {true, Trailer(at.key()), at.value()};
  }
  return at.status();
}

}  // namespace sluice
