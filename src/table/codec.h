// Compression of blocks, by libraries (docs/formats.md):
//
//   snappy := as Snappy has it, which begins with the length of the contents
//   lz4    := length of the contents (varint32) | LZ4 block
//   zstd   := Zstandard frame that says the length of the contents, and the number of its dictionary
//             if it has one
//
// Thread-safe: each thread has its own of what a library keeps from call to call.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/compression.h"
#include "util/status.h"

namespace sluice {

inline constexpr size_t kMostDictionaryBytes = size_t{1} << 20;

// How blocks are to be compressed.
struct Codec {
  Compression type = Compression::kNone;
  int zstd_level = 3;
  // The size of a dictionary for Zstandard, which the writer of tables trains
  // (tree/extent_builder.h); 0: none.
  uint32_t dictionary_bytes = 0;

  bool operator==(const Codec&) const = default;
};

// A dictionary for Zstandard, with what blocks of a table have in common: a small block alone has
// little to repeat. Immutable, and prepared for use once.
class ZstdDictionary {
 public:
  // Reads one as it stands in a table. Corruption if it is no dictionary.
  static Status Parse(std::string_view bytes, std::unique_ptr<const ZstdDictionary>* dictionary);
  // Trains one from blocks, one behind the other in `samples`. Null if these are too few.
  static std::unique_ptr<const ZstdDictionary> Train(std::string_view samples,
                                                     const std::vector<size_t>& sizes,
                                                     const Codec& codec);
  ~ZstdDictionary();

  // The bytes of a trained one, to be stored in the table.
  std::string_view bytes() const { return bytes_; }
  size_t memory_bytes() const;

 private:
  friend bool Compress(const Codec&, std::string_view, std::string*, const ZstdDictionary*);
  friend Status Uncompress(Compression, std::string_view, std::string*, const ZstdDictionary*);
  struct Ready;

  ZstdDictionary();

  std::string bytes_;
  std::unique_ptr<Ready> ready_;
};

// Compresses `contents` into `*out`, replacing what it holds; false if it is too long for that, or
// not to be compressed at all. `dictionary`: a trained one, or null.
bool Compress(const Codec& codec, std::string_view contents, std::string* out,
              const ZstdDictionary* dictionary = nullptr);

// Uncompresses into `*out`, replacing what it holds. Corruption if `stored` is malformed, has
// another dictionary, or claims a length that no `stored.size()` bytes can have: then no memory is
// allocated for it. NotSupported if the type is unknown, or kNone.
Status Uncompress(Compression type, std::string_view stored, std::string* out,
                  const ZstdDictionary* dictionary = nullptr);

}  // namespace sluice
