// What names a block in a Cache: its extent and its offset there. Extent numbers must not be used
// again, or the blocks of the old one must be erased first.

#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "util/hash.h"

namespace sluice {

class BlockKey {
 public:
  // The key of no block.
  BlockKey() = default;
  BlockKey(uint64_t extent, uint32_t offset) {
    std::memcpy(bytes_, &extent, sizeof(extent));
    std::memcpy(bytes_ + sizeof(extent), &offset, sizeof(offset));
    hash_ = Hash64(bytes());
  }

  std::string_view bytes() const { return {bytes_, sizeof(bytes_)}; }
  uint64_t hash() const { return hash_; }

 private:
  char bytes_[sizeof(uint64_t) + sizeof(uint32_t)] = {};
  uint64_t hash_ = 0;
};

}  // namespace sluice
