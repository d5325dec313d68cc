// A block as it stands in a file: compressed or not, with its trailer.

#pragma once

#include <string>
#include <string_view>

#include "table/block_sum.h"
#include "table/codec.h"
#include "table/format.h"
#include "util/status.h"

namespace sluice {

// Reads the block at `handle` of `image`: checks that it lies within, then its checksum, then its
// compression type, and decompresses it. `*contents` views `image`, or `*buffer` if the block was
// compressed. `dictionary`: of the table, for data blocks; null if it has none. Errors say which
// offset.
Status ReadStoredBlock(std::string_view image, const BlockHandle& handle, std::string* buffer,
                       std::string_view* contents, const ZstdDictionary* dictionary = nullptr);

// As above, and says how the block was stored. `sum`: of the table's data blocks, if it is one.
Status ReadStoredBlock(std::string_view image, const BlockHandle& handle, std::string* buffer,
                       std::string_view* contents, Compression* stored_as,
                       const ZstdDictionary* dictionary = nullptr, const BlockSum& sum = {});

// The CRC, unmasked, of a raw block of these contents: its type is covered, too.
uint32_t RawBlockCrc(std::string_view contents);

// Appends `contents` to `out` as a stored block with trailer, compressed as `wanted` if that saves an
// eighth, as in LevelDB. `buffer` is scratch space. Returns the size without trailer.
size_t AppendStoredBlock(std::string_view contents, const Codec& wanted, std::string* buffer,
                         std::string* out, const ZstdDictionary* dictionary = nullptr);

}  // namespace sluice
