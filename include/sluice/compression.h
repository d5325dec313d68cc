/// @file
/// How blocks are compressed, and how that is written.

#pragma once

#include <cstdint>
#include <string_view>

#include "sluice/export.h"

namespace sluice {

/// Kinds of compression. The numbers stand in tables (docs/formats.md): those of LevelDB where it
/// has the kind, else RocksDB's.
enum class Compression : uint8_t {
  kNone = 0,    ///< blocks are stored as they are
  kSnappy = 1,  ///< Snappy
  kZstd = 2,    ///< Zstandard: the smallest blocks; LevelDB 1.23 cannot read them
  kLz4 = 4,     ///< LZ4: about Snappy's size, read faster; LevelDB cannot read them
};

/// A kind as a word: "none", "snappy", "zstd", "lz4"; "unknown" for any other number.
SLUICE_EXPORT std::string_view CompressionName(Compression compression);
/// The kind that has this name; false if none has.
SLUICE_EXPORT bool ParseCompression(std::string_view name, Compression* compression);

}  // namespace sluice
