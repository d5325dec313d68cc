// Compression of blocks, by libraries (docs/formats.md):
//
//   snappy := as Snappy has it, which begins with the length of the contents
//   lz4    := length of the contents (varint32) | LZ4 block
//   zstd   := Zstandard frame that says the length of the contents
//
// Thread-safe: what a library wants to keep from call to call, a thread has of its own.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/compression.h"
#include "util/status.h"

namespace sluice {

// How blocks are to be compressed.
struct Codec {
  Compression type = Compression::kNone;
  int zstd_level = 3;

  bool operator==(const Codec&) const = default;
};

// Compresses `contents` into `*out`, replacing what it holds; false if it is too long for that, or
// not to be compressed at all.
bool Compress(const Codec& codec, std::string_view contents, std::string* out);

// Uncompresses into `*out`, replacing what it holds. Corruption if `stored` is malformed, or claims
// a length that no `stored.size()` bytes can have: then no memory is set aside for it. NotSupported
// if the type is unknown; kNone is.
Status Uncompress(Compression type, std::string_view stored, std::string* out);

}  // namespace sluice
