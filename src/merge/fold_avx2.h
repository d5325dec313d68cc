// The folds of four records at once, for those who compile parts of themselves for AVX2.

#pragma once

#ifdef __x86_64__

#include <array>
#include <cstdint>

#include "merge/x86_vectors.h"

namespace sluice::internal {

// 64 bytes of ones, and as many of zeros.
inline constexpr auto kOnesThenZeros = [] {
  std::array<uint8_t, 128> bytes{};
  for (size_t i = 0; i < 64; ++i) {
    bytes[i] = 0xff;
  }
  return bytes;
}();

// Ones in the first n - from bytes of a vector, if there are any. REQUIRES: n <= 64; from is 0 or 32.
SLUICE_AVX2 inline __m256i LeadingBytes(uint64_t n, uint64_t from = 0) {
  const uint8_t* const p = kOnesThenZeros.data() + 64 + from - n;
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

SLUICE_AVX2 inline __m256i Load32(const char* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

SLUICE_AVX2 inline void Store32(char* p, __m256i v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}

// By how much fold turns its first four lanes, plus `more`, which may be that of the other four.
inline constexpr int kTurnsOfFour = 44;
SLUICE_AVX2 inline __m256i FourTurns(int more) {
  return _mm256_add_epi64(_mm256_set_epi64x(33, 22, 11, 0), _mm256_set1_epi64x(more));
}

// Each word, by less than 128 bits.
SLUICE_AVX2 inline __m256i TurnEach(__m256i v, __m256i turns) {
  const __m256i most = _mm256_set1_epi64x(64);
  turns = _mm256_and_si256(turns, _mm256_set1_epi64x(63));
  return _mm256_or_si256(_mm256_sllv_epi64(v, turns),
                         _mm256_srlv_epi64(v, _mm256_sub_epi64(most, turns)));
}

// Fold's lanes, not yet turned.
struct EightLanes {
  __m256i low;
  __m256i high;
};

// The words of `n` bytes, XORed by eights. 64 bytes can be read behind them.
SLUICE_AVX2 inline EightLanes FoldEightLanes(const char* in, uint64_t n) {
  EightLanes lanes{_mm256_setzero_si256(), _mm256_setzero_si256()};
  for (; n >= 64; in += 64, n -= 64) {
    lanes.low = _mm256_xor_si256(lanes.low, Load32(in));
    lanes.high = _mm256_xor_si256(lanes.high, Load32(in + 32));
  }
  lanes.low = _mm256_xor_si256(lanes.low, _mm256_and_si256(Load32(in), LeadingBytes(n)));
  lanes.high = _mm256_xor_si256(lanes.high, _mm256_and_si256(Load32(in + 32), LeadingBytes(n, 32)));
  return lanes;
}

// Four words, whose XOR is the fold, turned by `more` bits.
SLUICE_AVX2 inline __m256i TurnLanes(const EightLanes& lanes, int more) {
  return _mm256_xor_si256(TurnEach(lanes.low, FourTurns(more)),
                          TurnEach(lanes.high, FourTurns(more + kTurnsOfFour)));
}

// The XOR of the four words of each of four vectors.
SLUICE_AVX2 inline __m256i XorEachOfFour(const __m256i (&v)[4]) {
  const __m256i a =
      _mm256_xor_si256(_mm256_unpacklo_epi64(v[0], v[1]), _mm256_unpackhi_epi64(v[0], v[1]));
  const __m256i b =
      _mm256_xor_si256(_mm256_unpacklo_epi64(v[2], v[3]), _mm256_unpackhi_epi64(v[2], v[3]));
  return _mm256_xor_si256(_mm256_permute2x128_si256(a, b, 0x20),
                          _mm256_permute2x128_si256(a, b, 0x31));
}

// The sum of four words modulo 2^64.
SLUICE_AVX2 inline uint64_t AddFourWords(__m256i v) {
  const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(half)) +
         static_cast<uint64_t>(_mm_extract_epi64(half, 1));
}

}  // namespace sluice::internal

#endif
