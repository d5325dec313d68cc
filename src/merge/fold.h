// The fold of RecordChecksum (sluice/executor.h) at the speed of the caches.

#pragma once

#include <bit>
#include <cstdint>

#include "merge/record.h"

namespace sluice {

// fold(bytes); copies them to `out` on the way unless it is null. Both ends have kSlackBytes.
// Prefetches what stands `ahead` bytes behind, wherever that is.
uint64_t FoldLong(const char* in, size_t n, char* out, size_t ahead);

namespace internal {

inline uint64_t LaneAt(__m128i v, int i) {
  return static_cast<uint64_t>(i == 0 ? _mm_cvtsi128_si64(v)
                                      : _mm_cvtsi128_si64(_mm_unpackhi_epi64(v, v)));
}

}  // namespace internal

// As FoldLong, with short inputs in line.
template <bool kCopy>
inline uint64_t Fold(const char* in, size_t n, char* out, size_t ahead = 0) {
  if (n > 32) {
    return FoldLong(in, n, kCopy ? out : nullptr, ahead);
  }
  if (kCopy) {
    _mm_prefetch(in + ahead, _MM_HINT_T0);
  }
  const __m128i a = LoadVector(in);
  const __m128i b = LoadVector(in + 16);
  if (kCopy) {
    StoreVector(out, a);
    StoreVector(out + 16, b);
  }
  const __m128i low = _mm_and_si128(a, LeadingMask(n));
  const __m128i high = _mm_and_si128(b, LeadingMask(n, 16));
  return internal::LaneAt(low, 0) ^ std::rotl(internal::LaneAt(low, 1), 11) ^
         std::rotl(internal::LaneAt(high, 0), 22) ^ std::rotl(internal::LaneAt(high, 1), 33);
}

}  // namespace sluice
