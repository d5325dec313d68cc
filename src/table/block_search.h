// Searches in a block, without putting keys together.

#pragma once

#include <cstdint>
#include <string_view>

#include "table/block.h"
#include "util/status.h"

namespace sluice {

// An entry of a block. Its key is what it shares with the one before it, then what is here.
struct BlockEntry {
  EntryHeader header;
  const char* start;
  const char* key;  // what it does not share
  const char* end;

  std::string_view value() const { return {end - header.value_bytes, header.value_bytes}; }
};

enum class BlockPlace {
  kAtKey,   // a version of the user key
  kBehind,  // another key
  kEnd,     // all entries are before the key
  // Entries make no sense, or share bytes of trailers, which LevelDB writes and Sluice does not.
  kUnclear,
};

// Where the first entry of `block` at or after `internal_key` is; but with kEnd and kUnclear,
// `*entry` is that one. The bytes that it shares with the one before it, it shares with
// `internal_key`. Costs a binary search over the restarts, and a walk over at most a restart
// interval that compares only bytes that can decide.
BlockPlace FindInBlock(const Block& block, std::string_view internal_key, BlockEntry* entry);

struct BlockMatch {
  bool found = false;
  uint64_t trailer = 0;
  std::string_view value{};  // views the block
};

// The first entry of `block` at or after `internal_key` if it has the same user key: the newest
// version that a snapshot sees. Corruption where it met entries that make no sense; it does not
// look at others.
Status SearchBlock(const Block& block, std::string_view internal_key, BlockMatch* match);

}  // namespace sluice
