// The fixed parts of RocksDB's block-based tables, of format_version 2 to 6 (docs/formats.md).
//
//   table   := data block* | [filter block] | [index partition*] | index block | properties block
//              | metaindex block | footer
//              (every block followed by its trailer; the footer and the metaindex say where)
//   trailer := compression type (1 byte) | checksum of block and type (fixed32)
//   footer  := checksum type (1 byte) | place (40 bytes) | format_version (fixed32)
//              | magic (fixed64)
//   place   := metaindex handle | index handle | zeros                          (version 2 to 5)
//            | 3e 00 7a 00 | footer's checksum (fixed32) | base of context checksums (fixed32)
//              | size of the metaindex, which ends at the footer (fixed32) | zeros    (version 6)
//
// Checksums are the masked CRC32C that LevelDB has, or the low half of a hash by xxHash; of XXH3, and
// of the modifiers that version 6 adds, table/block_sum.h says more.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "table/block_sum.h"
#include "table/format.h"
#include "util/status.h"

namespace sluice {

inline constexpr size_t kRocksFooterBytes = 53;
inline constexpr uint64_t kRocksTableMagic = 0x88e241b785f4cff7ull;
inline constexpr uint32_t kLeastRocksFormatVersion = 2;
inline constexpr uint32_t kMostRocksFormatVersion = 6;

// How RocksDB numbers its checksums.
enum class RocksChecksum : uint8_t {
  kNone = 0,
  kCrc32c = 1,
  kXxHash = 2,
  kXxHash64 = 3,
  kXxh3 = 4
};

// The checksum of a block's contents and the type behind them, which `bytes` ends with.
uint32_t RocksBlockChecksum(RocksChecksum type, std::string_view bytes);

struct RocksFooter {
  RocksChecksum checksum = RocksChecksum::kXxh3;
  uint32_t format_version = 5;
  uint32_t checksum_base = 0;  // of context checksums; 0: there are none
  BlockHandle metaindex;
  BlockHandle index;  // from version 6 on the metaindex has it instead

  // What is added to the checksum of the block at `offset`.
  uint32_t ChecksumModifier(uint64_t offset) const {
    return BlockSumModifier(checksum_base, offset);
  }

  // For a footer that stands at `offset`, where the metaindex block ends.
  void AppendTo(uint64_t offset, std::string* out) const;
  // Reads the footer of a file. Corruption with the offset; NotSupported, with a name for it, if
  // this is another kind of table, or a version or a checksum that is not known. The caller adds the
  // file's name.
  static Status Parse(std::string_view image, RocksFooter* footer);
};

// Whether the file ends as a table does that only RocksDB writes, of whatever kind.
bool IsRocksTable(std::string_view image);

// For a record that is neither a value nor a deletion: NotSupported with what RocksDB calls it, or
// Corruption if RocksDB has no such type.
Status CheckOtherRocksType(uint8_t type);

}  // namespace sluice
