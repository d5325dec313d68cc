#include "merge/fold.h"

#include <algorithm>
#include <array>

#include "merge/fold_avx512.h"

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
SLUICE_AVX512 uint64_t FoldAvx512(const char* in, size_t n, char* out, size_t ahead) {
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
  const __m512i rotated = _mm512_rolv_epi64(lanes, internal::Turns(0));
  const __m256i half =
      _mm256_xor_si256(_mm512_castsi512_si256(rotated), _mm512_extracti64x4_epi64(rotated, 1));
  const __m128i quarter =
      _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  const auto folded = reinterpret_cast<Vector>(quarter);
  return internal::LaneAt(folded, 0) ^ internal::LaneAt(folded, 1);
}

SLUICE_AVX512 uint64_t SumEightAvx512(const UnfoldedRecord* records) {
  const __m512i turns = internal::Turns(5);
  __m512i folds[8];
  uint64_t hashes[8];
  for (int i = 0; i < 8; ++i) {
    folds[i] =
        _mm512_rolv_epi64(internal::FoldLanes(records[i].value, records[i].value_bytes), turns);
    hashes[i] = records[i].hash;
  }
  const __m512i sums = _mm512_xor_si512(internal::XorEach(folds), _mm512_loadu_si512(hashes));
  return internal::AddWords(sums);
}

const bool kHasAvx512 = internal::HasAvx512();

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
