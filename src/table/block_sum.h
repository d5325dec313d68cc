// What the trailers of a table's data blocks say of them: the masked CRC32C of LevelDB, or what
// RocksDB makes of XXH3. The second XORs a block's type, times a prime, to the low half of the hash of
// its contents. From RocksDB's format_version 6 on, a modifier that depends on the block's offset is
// added, so that a block in the wrong place is found out.

#pragma once

#include <cstdint>
#include <string_view>

#include "sluice/table_format.h"

namespace sluice {

// Of a block's contents and the type behind them, which `block` ends with; without the modifier.
uint32_t Xxh3BlockSum(std::string_view block);

// For the block at `offset`, of a table with this base; 0 is one without modifiers.
inline uint32_t BlockSumModifier(uint32_t base, uint64_t offset) {
  return base == 0 ? 0
                   : base ^ (static_cast<uint32_t>(offset) + static_cast<uint32_t>(offset >> 32));
}

// Those of one table. The default is LevelDB's.
struct BlockSum {
  BlockChecksum kind = BlockChecksum::kCrc32c;
  uint32_t base = 0;  // of modifiers, with XXH3

  // As it is stored behind `block`, contents and type, which stands at `offset` of the table.
  uint32_t Of(std::string_view block, uint64_t offset) const;
  // Gives the block at `handle` of `image`, whose type is there, this checksum.
  void Seal(char* image, const BlockHandle& handle) const;
};

}  // namespace sluice
