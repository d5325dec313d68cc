// A block of a RocksDB table as it stands in the file: compressed or not, with its trailer.
//
// RocksDB's numbers of compressions are not all LevelDB's, and what stands in the block differs:
//
//   1 Snappy, 4 LZ4, 5 LZ4 by its slower compressor: as in our tables (table/codec.h)
//   7 Zstandard: length of the contents (varint32) | frame
//
// Others (zlib, bzip2, Xpress, the Zstandard of before its first release) are NotSupported, by name.

#pragma once

#include <string>
#include <string_view>

#include "rocksdb_table/format.h"
#include "table/codec.h"
#include "util/status.h"

namespace sluice {

// Reads the block at `handle`, which has to end by `end`: checks its checksum, then decompresses it.
// `*contents` views `image`, or `*buffer` if the block was compressed. Errors say which offset.
Status ReadRocksBlock(std::string_view image, uint64_t end, const RocksFooter& footer,
                      const BlockHandle& handle, std::string* buffer, std::string_view* contents);

// The name of the compression that a stored block has, as RocksDB numbers it.
std::string_view RocksCompressionName(uint8_t type);

// Appends `contents` to `out`, a file from byte `base` on, as a stored block with trailer, compressed as
// `wanted` if that saves an eighth, as RocksDB does. `buffer` is scratch space.
BlockHandle AppendRocksBlock(std::string_view contents, const RocksFooter& footer,
                             const Codec& wanted, std::string* buffer, uint64_t base,
                             std::string* out);
// The same of contents that `out` already has, from `begin` on, and which are not to be compressed.
BlockHandle EndRocksBlock(size_t begin, const RocksFooter& footer, uint64_t base, std::string* out);

}  // namespace sluice
