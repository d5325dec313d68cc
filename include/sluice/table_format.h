/// @file
/// What tables are made of, as far as an Executor sees it (docs/formats.md has all of it).
///
///     internal key := user key | trailer (8 bytes, little-endian: sequence number << 8 | type)
///
/// Internal keys are ordered by user key, ascending bytewise, then by trailer, descending: the
/// newest version of a user key comes first.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/export.h"

namespace sluice {

/// What a record says about its key. One more type, 2, refers to a value that is kept elsewhere: to
/// an executor it is a value as any other, whose bytes it copies.
enum class RecordType : uint8_t {
  kDeletion = 0,  ///< a tombstone: the key is gone
  kValue = 1,     ///< a value
};

using SequenceNumber = uint64_t;                                  ///< 56 bits
inline constexpr SequenceNumber kMaxSequence = (1ull << 56) - 1;  ///< sees every version
inline constexpr size_t kTrailerBytes = 8;                        ///< of an internal key

/// Which checksum the trailers of a table's data blocks have. Index blocks have the first, always.
enum class BlockChecksum : uint8_t {
  kCrc32c = 0,  ///< LevelDB's: the masked CRC32C of block and type
  kXxh3 = 1,    ///< RocksDB's kXXH3: from XXH3 of the block, its type, and maybe its offset
};

/// After every block: compression type (1 byte) and a checksum (fixed32).
inline constexpr size_t kBlockTrailerBytes = 5;

/// Where a block stands in its file: two varint64. `size` does not count the trailer.
struct SLUICE_EXPORT BlockHandle {
  uint64_t offset = 0;  ///< of the first byte
  uint64_t size = 0;    ///< in bytes

  /// Encodes the handle at the end of `*out`.
  void AppendTo(std::string* out) const;
  /// Reads a handle from the front of `*in`; false if malformed.
  bool ReadFrom(std::string_view* in);

  bool operator==(const BlockHandle&) const = default;
};

}  // namespace sluice
