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

using FoldFunction = uint64_t (*)(const char*, size_t, char*, size_t);

const std::array<FoldFunction, 2> kFold = __builtin_cpu_supports("avx512bw")
                                              ? std::array{FoldAvx512<false>, FoldAvx512<true>}
                                              : std::array{FoldVectors<false>, FoldVectors<true>};
#endif

}  // namespace

uint64_t FoldLong(const char* in, size_t n, char* out, size_t ahead) {
#ifdef __x86_64__
  return kFold[out != nullptr](in, n, out, ahead);
#else
  return out != nullptr ? FoldVectors<true>(in, n, out, ahead)
                        : FoldVectors<false>(in, n, out, ahead);
#endif
}

}  // namespace sluice
