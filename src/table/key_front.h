// Decoding of keys by whole vectors, for loops that go over all entries of a block.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice {

// 32 bytes of 0xff, then 32 of 0: from kMaskBytes + 32 - n on, a mask of n <= 32 leading bytes.
alignas(64) inline constexpr struct MaskBytes {
  uint8_t bytes[64 + 16] = {};
  constexpr MaskBytes() {
    for (int i = 0; i < 32; ++i) {
      bytes[i] = 0xff;
    }
  }
} kMaskBytes;

// Sixteen bytes in a register, of any processor: an extension of GCC and Clang.
typedef uint8_t Vector __attribute__((vector_size(16)));

inline Vector LoadVector(const char* p) {
  Vector v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
inline void StoreVector(char* p, Vector v) { std::memcpy(p, &v, sizeof(v)); }

// Bytes [first, first + 16) of a mask of n leading bytes; n <= 32, first 0 or 16.
inline Vector LeadingMask(size_t n, size_t first = 0) {
  return LoadVector(reinterpret_cast<const char*>(kMaskBytes.bytes) + 32 - n + first);
}

// The first 32 bytes of the key decoded last, which the next one shares some of. Kept in registers:
// loads of what two stores wrote just before would wait for both to leave the store buffer.
struct KeyFront {
  static constexpr size_t kBytes = 32;

  Vector low = {};
  Vector high = {};

  void Load(const char* key) {
    low = LoadVector(key);
    high = LoadVector(key + 16);
  }

  // Writes to `key` the next one, of `bytes`: the first `shared` of `previous`, which may be where
  // `key` is, then `suffix`. Both keys have room for kBytes, and as many may be read from `suffix`
  // on.
  void Rebuild(char* key, size_t bytes, size_t shared, const char* suffix, const char* previous) {
    // Seen from here, the suffix stands where it belongs in the key. These bytes exist: a key is no
    // longer than the entries of its block up to it.
    const char* const aligned = suffix - shared;
    const size_t kept = std::min(shared, kBytes);
    const Vector low_mask = LeadingMask(kept);
    const Vector high_mask = LeadingMask(kept, 16);
    low = (low_mask & low) | (~low_mask & LoadVector(aligned));
    high = (high_mask & high) | (~high_mask & LoadVector(aligned + 16));
    StoreVector(key, low);
    StoreVector(key + 16, high);
    if (bytes > kBytes) {
      if (shared > kBytes && previous != key) {
        std::memcpy(key + kBytes, previous + kBytes, shared - kBytes);
      }
      const size_t from = std::max(shared, kBytes);
      std::memcpy(key + from, aligned + from, bytes - from);
    }
  }
};

}  // namespace sluice
