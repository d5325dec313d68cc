// Point lookups in a block, without putting keys together.

#pragma once

#include <cstdint>
#include <string_view>

#include "table/block.h"
#include "util/status.h"

namespace sluice {

struct BlockMatch {
  bool found = false;
  uint64_t trailer = 0;
  std::string_view value{};  // views the block
};

// The first entry of `block` at or after `internal_key` if it has the same user key: the newest
// version that a snapshot sees. Costs a binary search over the restarts, and a walk over at most a
// restart interval that compares only bytes that can decide. Corruption where it met entries that
// make no sense; it does not look at others.
Status SearchBlock(const Block& block, std::string_view internal_key, BlockMatch* match);

}  // namespace sluice
