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

typedef uint64_t Lanes __attribute__((vector_size(16)));

inline uint64_t LaneAt(Vector v, int i) { return reinterpret_cast<Lanes>(v)[i]; }

}  // namespace internal

// As FoldLong, with short inputs in line.
template <bool kCopy>
inline uint64_t Fold(const char* in, size_t n, char* out, size_t ahead = 0) {
  if (n > 32) {
    return FoldLong(in, n, kCopy ? out : nullptr, ahead);
  }
  if (kCopy) {
    __builtin_prefetch(in + ahead);
  }
  const Vector a = LoadVector(in);
  const Vector b = LoadVector(in + 16);
  if (kCopy) {
    StoreVector(out, a);
    StoreVector(out + 16, b);
  }
  const Vector low = a & LeadingMask(n);
  const Vector high = b & LeadingMask(n, 16);
  return internal::LaneAt(low, 0) ^ std::rotl(internal::LaneAt(low, 1), 11) ^
         std::rotl(internal::LaneAt(high, 0), 22) ^ std::rotl(internal::LaneAt(high, 1), 33);
}

}  // namespace sluice
