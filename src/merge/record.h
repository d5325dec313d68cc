// Decoded records as the CPU executor's inner loops see them.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "table/format.h"
#include "table/internal_key.h"
#include "table/key_front.h"

namespace sluice {

// Sixteen bytes of a user key, from a common offset `skip` on, as a big-endian number, zero-padded
// where the key ends. Among keys that share their first `skip` bytes, different words order as the
// keys do; equal words leave it open.
__extension__ typedef unsigned __int128 KeyWord;

inline constexpr size_t kKeyWordBytes = sizeof(KeyWord);

// Bytes that may be read past the end of every key and value below, and written past the end of
// what is copied: copies and loads go in whole vectors.
inline constexpr size_t kSlackBytes = 64;

// The internal key lies at `key`, user_bytes + 8 long.
struct Record {
  KeyWord word;
  const char* key;
  const char* value;
  uint64_t trailer;
  uint64_t hash;  // RecordChecksum but for the value's fold
  uint32_t user_bytes;
  uint32_t value_bytes;

  std::string_view user_key() const { return {key, user_bytes}; }
  std::string_view internal_key() const { return {key, user_bytes + kTrailerBytes}; }
};

// REQUIRES: skip <= user_bytes.
inline KeyWord LoadKeyWord(const char* key, size_t user_bytes, size_t skip) {
  const size_t n = std::min(user_bytes - skip, kKeyWordBytes);
  const Vector bytes = LoadVector(key + skip) & LeadingMask(n);
  const Vector reversed =
      __builtin_shufflevector(bytes, bytes, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  KeyWord word;
  std::memcpy(&word, &reversed, sizeof(word));
  return word;
}

// Leading zero bytes. REQUIRES: x != 0.
inline uint32_t LeadingZeroBytes(KeyWord x) {
  const auto high = static_cast<uint64_t>(x >> 64);
  return (high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<uint64_t>(x))) / 8;
}

}  // namespace sluice
