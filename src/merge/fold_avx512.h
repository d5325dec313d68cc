// The folds of eight records at once, for those who compile parts of themselves for AVX-512.

#pragma once

#ifdef __x86_64__

#include <cstdint>

#include "merge/x86_vectors.h"

namespace sluice::internal {

// By how much fold turns each of its lanes, plus `more`.
SLUICE_AVX512 inline __m512i Turns(int more) {
  return _mm512_add_epi64(_mm512_set_epi64(77, 66, 55, 44, 33, 22, 11, 0), _mm512_set1_epi64(more));
}

// The words of `n` bytes, XORed by eights: fold's lanes, not yet turned.
SLUICE_AVX512 inline __m512i FoldLanes(const char* in, uint64_t n) {
  __m512i lanes = _mm512_setzero_si512();
  for (; n >= 64; in += 64, n -= 64) {
    lanes = _mm512_xor_si512(lanes, _mm512_loadu_si512(in));
  }
  return _mm512_xor_si512(lanes, _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, n), in));
}

// Lanes of 128 bits: those of two vectors, XORed by twos, in one.
SLUICE_AVX512 inline __m512i XorLanes(__m512i a, __m512i b) {
  return _mm512_xor_si512(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
}

// The XOR of the eight words of each of eight vectors.
SLUICE_AVX512 inline __m512i XorEach(const __m512i (&v)[8]) {
  __m512i pairs[4];
  for (int i = 0; i < 4; ++i) {
    pairs[i] = _mm512_xor_si512(_mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]),
                                _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]));
  }
  return XorLanes(XorLanes(pairs[0], pairs[1]), XorLanes(pairs[2], pairs[3]));
}

// The sum of eight words modulo 2^64, which for _mm512_reduce_add_epi64 would be an overflow.
SLUICE_AVX512 inline uint64_t AddWords(__m512i v) {
  const __m256i half = _mm256_add_epi64(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
  const __m128i quarter =
      _mm_add_epi64(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(quarter)) +
         static_cast<uint64_t>(_mm_extract_epi64(quarter, 1));
}

}  // namespace sluice::internal

#endif
