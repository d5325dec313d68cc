#include "merge/fold.h"

#include <algorithm>
#include <array>

#include "merge/fold_avx2.h"
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

// Those that there are not count nothing; their values have kSlackBytes as well.
void FillUp(std::array<UnfoldedRecord, kFoldBatch>* records, size_t n) {
  static constexpr std::array<char, kSlackBytes> kNoValue{};
  std::fill(records->begin() + n, records->end(), UnfoldedRecord{.value = kNoValue.data()});
}

SLUICE_AVX512 uint64_t SumAvx512(std::array<UnfoldedRecord, kFoldBatch>* records, size_t n) {
  FillUp(records, n);
  const __m512i turns = internal::Turns(5);
  __m512i folds[kFoldBatch];
  uint64_t hashes[kFoldBatch];
  for (size_t i = 0; i < kFoldBatch; ++i) {
    const UnfoldedRecord& record = (*records)[i];
    folds[i] = _mm512_rolv_epi64(internal::FoldLanes(record.value, record.value_bytes), turns);
    hashes[i] = record.hash;
  }
  const __m512i sums = _mm512_xor_si512(internal::XorEach(folds), _mm512_loadu_si512(hashes));
  return internal::AddWords(sums);
}

template <bool kCopy>
SLUICE_AVX2 uint64_t FoldAvx2(const char* in, size_t n, char* out, size_t ahead) {
  internal::EightLanes lanes{_mm256_setzero_si256(), _mm256_setzero_si256()};
  __m256i low;
  __m256i high;
  for (;; in += 64, n -= 64) {
    _mm_prefetch(in + ahead, _MM_HINT_T0);
    low = internal::Load32(in);
    high = internal::Load32(in + 32);
    if (kCopy) {
      internal::Store32(out, low);
      internal::Store32(out + 32, high);
      out += 64;
    }
    if (n < 64) {
      break;
    }
    lanes.low = _mm256_xor_si256(lanes.low, low);
    lanes.high = _mm256_xor_si256(lanes.high, high);
  }
  lanes.low = _mm256_xor_si256(lanes.low, _mm256_and_si256(low, internal::LeadingBytes(n)));
  lanes.high = _mm256_xor_si256(lanes.high, _mm256_and_si256(high, internal::LeadingBytes(n, 32)));
  const __m256i turned = internal::TurnLanes(lanes, 0);
  const __m128i half =
      _mm_xor_si128(_mm256_castsi256_si128(turned), _mm256_extracti128_si256(turned, 1));
  const auto folded = reinterpret_cast<Vector>(half);
  return internal::LaneAt(folded, 0) ^ internal::LaneAt(folded, 1);
}

SLUICE_AVX2 uint64_t SumAvx2(std::array<UnfoldedRecord, kFoldBatch>* records, size_t n) {
  FillUp(records, n);
  uint64_t sum = 0;
  for (size_t first = 0; first < kFoldBatch; first += 4) {
    __m256i folds[4];
    uint64_t hashes[4];
    for (size_t i = 0; i < 4; ++i) {
      const UnfoldedRecord& record = (*records)[first + i];
      folds[i] = internal::TurnLanes(internal::FoldEightLanes(record.value, record.value_bytes), 5);
      hashes[i] = record.hash;
    }
    sum += internal::AddFourWords(_mm256_xor_si256(
        internal::XorEachOfFour(folds), internal::Load32(reinterpret_cast<const char*>(hashes))));
  }
  return sum;
}
#endif

uint64_t SumOneByOne(std::array<UnfoldedRecord, kFoldBatch>* records, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const UnfoldedRecord& record = (*records)[i];
    sum += record.hash ^ std::rotl(Fold<false>(record.value, record.value_bytes, nullptr), 5);
  }
  return sum;
}

}  // namespace

namespace internal {

std::span<const FoldForm> FoldForms() {
  static constexpr FoldForm kForms[] = {
#ifdef __x86_64__
      {"AVX512", HasAvx512, FoldAvx512<false>, FoldAvx512<true>, SumAvx512},
      {"AVX2", HasAvx2, FoldAvx2<false>, FoldAvx2<true>, SumAvx2},
#endif
      {"Plain", [] { return true; }, FoldVectors<false>, FoldVectors<true>, SumOneByOne},
  };
  return kForms;
}

}  // namespace internal

namespace {

const internal::FoldForm& kForm = *std::ranges::find_if(
    internal::FoldForms(), [](const internal::FoldForm& form) { return form.has(); });

}  // namespace

uint64_t SumChecksums(std::array<UnfoldedRecord, kFoldBatch>* records, size_t n) {
  return kForm.sum(records, n);
}

uint64_t FoldLong(const char* in, size_t n, char* out, size_t ahead) {
  return (out != nullptr ? kForm.copy : kForm.fold)(in, n, out, ahead);
}

}  // namespace sluice
