// The fixed parts of LevelDB's table format (docs/formats.md).
//
//   table   := data block* | [filter block] | metaindex block | index block | footer
//              (every block followed by its trailer; blocks may stand in any order, the footer
//              and the index say where)
//   block   := entry* | restart offset (fixed32)* | number of restarts (fixed32)
//   entry   := shared (varint32) | unshared (varint32) | value bytes (varint32)
//              | key[shared..] | value
//   trailer := compression type (1 byte) | masked CRC32C of block and type (fixed32)
//   handle  := offset (varint64) | size without trailer (varint64)
//   footer  := metaindex handle | index handle | zeros up to 40 bytes | magic (fixed64)

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "sluice/compression.h"
#include "sluice/table_format.h"
#include "util/coding.h"
#include "util/crc32c.h"
#include "util/status.h"

namespace sluice {

inline constexpr size_t kFooterBytes = 48;
inline constexpr uint64_t kTableMagic = 0xdb4775248b80fb57ull;
// The metaindex's name for the block of properties, keys and values that describe the table.
inline constexpr std::string_view kPropertiesName = "sluice.properties";
// The metaindex's name for the block that says where the parts of an extent's head are, and which
// keys each has: last key of a part -> its handle. A part is a block, too: last key of a data
// block -> its handle and, behind that, its Bloom filter, which is empty if it has none.
inline constexpr std::string_view kPartsName = "sluice.parts";
// Behind a part's handle: nothing, or, if its filters also have a prefix of each key that is not
// shorter, how many bytes that has (fixed32). False if it is malformed.
inline bool ReadPrefixBytes(std::string_view text, size_t* bytes) {
  *bytes = text.size() == sizeof(uint32_t) ? DecodeFixed32(text.data()) : 0;
  return text.empty() || *bytes > 0;
}
// The metaindex's name for the dictionary that the data blocks are compressed with.
inline constexpr std::string_view kDictionaryName = "sluice.dictionary";

struct Footer {
  BlockHandle metaindex;
  BlockHandle index;

  void AppendTo(std::string* out) const;
  // `file_bytes`: size of the whole file, which both blocks must lie in. The error says what is
  // wrong, with its offset; the caller adds the file's name.
  static Status Parse(std::string_view footer, uint64_t file_bytes, Footer* out);
};

// The trailer of a block whose CRC32C is `content_crc`, to the kBlockTrailerBytes at `p`; returns
// one past it.
inline char* EncodeBlockTrailer(char* p, Compression type, uint32_t content_crc) {
  *p = static_cast<char>(type);
  EncodeFixed32(p + 1, MaskCrc(ExtendCrc32c(content_crc, {p, 1})));
  return p + kBlockTrailerBytes;
}

// Appends the trailer of `block` to `out`, which may hold the block itself.
void AppendBlockTrailer(std::string_view block, Compression type, std::string* out);

// Checks that `handle` and its trailer lie in a table of `table_bytes`.
bool HandleFits(const BlockHandle& handle, uint64_t table_bytes);

// The three lengths that lead an entry.
struct EntryHeader {
  uint32_t shared;
  uint32_t unshared;
  uint32_t value_bytes;
};

// Decodes the header at `p`, not reading at or past `limit`; returns one past it, or nullptr if it
// is malformed. Does not check that key and value fit.
inline const char* DecodeEntryHeader(const char* p, const char* limit, EntryHeader* header) {
  if (limit - p >= 3) {
    const auto* b = reinterpret_cast<const uint8_t*>(p);
    header->shared = b[0];
    header->unshared = b[1];
    header->value_bytes = b[2];
    if ((b[0] | b[1] | b[2]) < 0x80) {
      return p + 3;
    }
  }
  if ((p = DecodeVarint32(p, limit, &header->shared)) == nullptr ||
      (p = DecodeVarint32(p, limit, &header->unshared)) == nullptr) {
    return nullptr;
  }
  return DecodeVarint32(p, limit, &header->value_bytes);
}

inline constexpr size_t kMaxEntryHeaderBytes = 3 * kMaxVarint32Bytes;

// Writes the header at `p`, which has room for kMaxEntryHeaderBytes; returns one past it.
inline char* EncodeEntryHeader(char* p, const EntryHeader& header) {
  if ((header.shared | header.unshared | header.value_bytes) < 0x80) {
    p[0] = static_cast<char>(header.shared);
    p[1] = static_cast<char>(header.unshared);
    p[2] = static_cast<char>(header.value_bytes);
    return p + 3;
  }
  p = EncodeVarint(p, header.shared);
  p = EncodeVarint(p, header.unshared);
  return EncodeVarint(p, header.value_bytes);
}

// How many leading bytes `a` and `b` have in common.
inline size_t CommonPrefix(std::string_view a, std::string_view b) {
  const size_t limit = std::min(a.size(), b.size());
  size_t n = 0;
  for (; n + 8 <= limit; n += 8) {
    if (const uint64_t diff = DecodeFixed64(a.data() + n) ^ DecodeFixed64(b.data() + n);
        diff != 0) {
      return n + std::countr_zero(diff) / 8;
    }
  }
  while (n < limit && a[n] == b[n]) {
    ++n;
  }
  return n;
}

}  // namespace sluice
