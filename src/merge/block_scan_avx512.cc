// ScanAscending with keys of up to 64 bytes in a register.

#ifdef __x86_64__

#include <bit>

#include "merge/block_scan.h"
#include "merge/block_scan_entry.h"
#include "merge/fold_avx512.h"

namespace sluice::internal {

namespace {

constexpr size_t kBatch = 8;
constexpr int kXorOfThree = 0x96;  // of vpternlog

// The sum of the checksums of the first `n` records. `folds` has in each vector eight words whose
// XOR is a record's.
SLUICE_AVX512 inline uint64_t Sum(const __m512i (&folds)[kBatch], size_t n) {
  return AddWords(_mm512_maskz_mov_epi64(static_cast<__mmask8>((1u << n) - 1), XorEach(folds)));
}

}  // namespace

SLUICE_AVX512 bool ScanAvx512(const char* p, const char* limit, ScannedKey* key,
                              ScannedRecords* records) {
  // fold(key) XOR rotl(fold(value), 5), lane by lane.
  const __m512i key_turns = Turns(0);
  const __m512i value_turns = Turns(5);
  constexpr uint64_t kMostUserBytes = 64;
  if (key->user_bytes > kMostUserBytes) {
    return false;
  }
  __m512i folds[kBatch] = {};
  size_t batched = 0;
  ScannedRecords found;
  __m512i user_key =
      _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, key->user_bytes), key->bytes);  // then zeros
  uint64_t may_share = 0;
  uint64_t trailer = 0;
  uint64_t descends = 0;
  do {
    ScannedLengths lengths;
    if ((p = ReadLengths(p, limit, may_share, kMostUserBytes, &lengths)) == nullptr) {
      return false;
    }
    may_share = lengths.user_bytes;
    // Seen from here, what is not shared stands where it belongs in the key.
    const __m512i own =
        _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, lengths.user_bytes), p - lengths.shared);
    const __m512i previous = user_key;
    user_key = _mm512_mask_mov_epi8(own, _bzhi_u64(~0ull, lengths.shared), previous);
    const uint64_t differs = _mm512_cmpneq_epu8_mask(user_key, previous);
    if (differs == 0) {
      return false;  // perhaps a longer key all the same
    }
    // Shorter keys, which are padded with zeros, come before those that they begin.
    descends |= _mm512_cmplt_epu8_mask(user_key, previous) & differs & -differs;
    const char* const value = p + lengths.unshared;
    trailer = DecodeFixed64(value - kTrailerBytes);
    ++found.entries;
    found.tombstones += IsTombstone(trailer);
    const uint64_t rest =
        std::rotl(trailer, 3) ^ ((lengths.user_bytes + kTrailerBytes) << 32 | lengths.value_bytes);
    folds[batched] = _mm512_ternarylogic_epi64(
        _mm512_rolv_epi64(user_key, key_turns),
        _mm512_rolv_epi64(FoldLanes(value, lengths.value_bytes), value_turns),
        _mm512_zextsi128_si512(_mm_cvtsi64_si128(static_cast<int64_t>(rest))), kXorOfThree);
    p = value + lengths.value_bytes;
    if (++batched == kBatch) {
      found.checksum += Sum(folds, kBatch);
      batched = 0;
    }
  } while (p < limit);
  if (descends != 0) {
    return false;
  }
  found.checksum += Sum(folds, batched);
  key->user_bytes = may_share;
  key->trailer = trailer;
  _mm512_storeu_si512(key->bytes, user_key);
  *records = found;
  return true;
}

}  // namespace sluice::internal

#endif
