#include "merge/fold.h"

#ifdef __x86_64__
#pragma GCC diagnostic push
#ifndef __clang__
// GCC 12 warns about its own _mm512_undefined_epi32.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include <algorithm>
#include <array>

namespace sluice {

namespace {

template <bool kCopy>
uint64_t FoldVectors(const char* in, size_t n, char* out, size_t ahead) {
  Vector lanes[4] = {};
  const auto step = [&](size_t i, Vector mask) {
    const Vector v = LoadVector(in + 16 * i);
    if (kCopy) {
      StoreVector(out + 16 * i, v);
    }
    lanes[i] ^= v & mask;
  };
  while (n >= 64) {
    __builtin_prefetch(in + ahead);
    for (size_t i = 0; i < 4; ++i) {
      step(i, ~Vector{});
    }
    in += 64;
    out += kCopy ? 64 : 0;
    n -= 64;
  }
  for (size_t i = 0; n > 0; ++i) {
    step(i, LeadingMask(std::min<size_t>(n, 16)));
    n -= std::min<size_t>(n, 16);
  }
  uint64_t fold = 0;
  for (int i = 0; i < 4; ++i) {
    fold ^= std::rotl(internal::LaneAt(lanes[i], 0), 22 * i) ^
            std::rotl(internal::LaneAt(lanes[i], 1), 22 * i + 11);
  }
  return fold;
}

#ifdef __x86_64__
template <bool kCopy>
__attribute__((target("avx512f,avx512bw"))) uint64_t FoldAvx512(const char* in, size_t n, char* out,
                                                                size_t ahead) {
  __m512i lanes = _mm512_setzero_si512();
  while (n >= 64) {
    _mm_prefetch(in + ahead, _MM_HINT_T0);
    const __m512i v = _mm512_loadu_si512(in);
    if (kCopy) {
      _mm512_storeu_si512(out, v);
    }
    lanes = _mm512_xor_si512(lanes, v);
    in += 64;
    out += kCopy ? 64 : 0;
    n -= 64;
  }
  _mm_prefetch(in + ahead, _MM_HINT_T0);
  if (n > 0) {
    const __mmask64 mask = ~0ull >> (64 - n);
    const __m512i v = _mm512_maskz_loadu_epi8(mask, in);
    if (kCopy) {
      _mm512_storeu_si512(out, v);
    }
    lanes = _mm512_xor_si512(lanes, v);
  }
  const __m512i rotated =
      _mm512_rolv_epi64(lanes, _mm512_set_epi64(77 - 64, 66 - 64, 55, 44, 33, 22, 11, 0));
  const __m256i half =
      _mm256_xor_si256(_mm512_castsi512_si256(rotated), _mm512_extracti64x4_epi64(rotated, 1));
  const __m128i quarter =
      _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  const auto folded = reinterpret_cast<Vector>(quarter);
  return internal::LaneAt(folded, 0) ^ internal::LaneAt(folded, 1);
}

// Lanes of 128 bits: those of two vectors, XORed by twos, in one.
__attribute__((target("avx512f"))) inline __m512i XorLanes(__m512i a, __m512i b) {
  return _mm512_xor_si512(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
}

// The XOR of the eight words of each of eight vectors.
__attribute__((target("avx512f"))) inline __m512i XorEach(const __m512i (&v)[8]) {
  __m512i pairs[4];
  for (int i = 0; i < 4; ++i) {
    pairs[i] = _mm512_xor_si512(_mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]),
                                _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]));
  }
  return XorLanes(XorLanes(pairs[0], pairs[1]), XorLanes(pairs[2], pairs[3]));
}

__attribute__((target("avx512f,avx512bw"))) uint64_t SumEightAvx512(const UnfoldedRecord* records) {
  const __m512i turns = _mm512_set_epi64(77 - 64, 66 - 64, 55, 44, 33, 22, 11, 0);
  __m512i folds[8];
  uint64_t hashes[8];
  for (int i = 0; i < 8; ++i) {
    const char* in = records[i].value;
    uint64_t n = records[i].value_bytes;
    __m512i lanes = _mm512_setzero_si512();
    for (; n >= 64; in += 64, n -= 64) {
      lanes = _mm512_xor_si512(lanes, _mm512_loadu_si512(in));
    }
    if (n > 0) {
      lanes = _mm512_xor_si512(lanes, _mm512_maskz_loadu_epi8(~0ull >> (64 - n), in));
    }
    folds[i] = _mm512_rolv_epi64(lanes, turns);
    hashes[i] = records[i].hash;
  }
  const __m512i sums =
      _mm512_xor_si512(_mm512_rol_epi64(XorEach(folds), 5), _mm512_loadu_si512(hashes));
  return static_cast<uint64_t>(_mm512_reduce_add_epi64(sums));
}

const bool kHasAvx512 = __builtin_cpu_supports("avx512bw");

using FoldFunction = uint64_t (*)(const char*, size_t, char*, size_t);

const std::array<FoldFunction, 2> kFold = kHasAvx512
                                              ? std::array{FoldAvx512<false>, FoldAvx512<true>}
                                              : std::array{FoldVectors<false>, FoldVectors<true>};
#endif

}  // namespace

uint64_t SumChecksums(std::array<UnfoldedRecord, kFoldBatch>* records, size_t n) {
#ifdef __x86_64__
  if (kHasAvx512) {
    std::fill(records->begin() + n, records->end(), UnfoldedRecord());  // which count nothing
    return SumEightAvx512(records->data());
  }
#endif
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const UnfoldedRecord& record = (*records)[i];
    sum += record.hash ^ std::rotl(Fold<false>(record.value, record.value_bytes, nullptr), 5);
  }
  return sum;
}

uint64_t FoldLong(const char* in, size_t n, char* out, size_t ahead) {
#ifdef __x86_64__
  return kFold[out != nullptr](in, n, out, ahead);
#else
  return out != nullptr ? FoldVectors<true>(in, n, out, ahead)
                        : FoldVectors<false>(in, n, out, ahead);
#endif
}

}  // namespace sluice
