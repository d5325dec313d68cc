// The fold of RecordChecksum (sluice/executor.h) at the speed of the caches.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "merge/record.h"

namespace sluice {

// fold(bytes); copies them to `out` on the way unless it is null. Both ends have kSlackBytes.
// Prefetches what stands `ahead` bytes behind, wherever that is.
uint64_t FoldLong(const char* in, size_t n, char* out, size_t ahead);

// A record whose checksum lacks the fold of its value.
struct UnfoldedRecord {
  const char* value = nullptr;
  uint64_t value_bytes = 0;
  uint64_t hash = 0;  // RecordChecksum but for the value's fold
};

// Those that SumChecksums takes at once.
inline constexpr size_t kFoldBatch = 8;

// The sum of the checksums of the first `n` records, at most kFoldBatch of them; the others are
// overwritten. Takes less than a call to Fold for each. Values have kSlackBytes.
uint64_t SumChecksums(std::array<UnfoldedRecord, kFoldBatch>* records, size_t n);

namespace internal {

typedef uint64_t Lanes __attribute__((vector_size(16)));

inline uint64_t LaneAt(Vector v, int i) { return reinterpret_cast<Lanes>(v)[i]; }

// FoldLong without and with a copy, and SumChecksums, in one form.
struct FoldForm {
  const char* name;
  bool (*has)();  // whether the processor has what it takes
  uint64_t (*fold)(const char* in, size_t n, char* out, size_t ahead);
  uint64_t (*copy)(const char* in, size_t n, char* out, size_t ahead);
  uint64_t (*sum)(std::array<UnfoldedRecord, kFoldBatch>* records, size_t n);
};

// The fastest first; any processor has the last one.
std::span<const FoldForm> FoldForms();

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
