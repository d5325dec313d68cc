#include "merge/block_scan.h"

#include <bit>

#include "merge/fold_avx512.h"
#include "table/format.h"
#include "table/internal_key.h"

namespace sluice {

#ifdef __x86_64__

namespace {

constexpr size_t kBatch = 8;
constexpr int kXorOfThree = 0x96;  // of vpternlog

// The sum of the checksums of the first `n` records. `folds` has in each vector eight words whose
// XOR is a record's.
SLUICE_AVX512 inline uint64_t Sum(const __m512i (&folds)[kBatch], size_t n) {
  return internal::AddWords(
      _mm512_maskz_mov_epi64(static_cast<__mmask8>((1u << n) - 1), internal::XorEach(folds)));
}

SLUICE_AVX512 bool ScanAvx512(const char* p, const char* limit, ScannedKey* key,
                              ScannedRecords* records) {
  // fold(key) XOR rotl(fold(value), 5), lane by lane.
  const __m512i key_turns = internal::Turns(0);
  const __m512i value_turns = internal::Turns(5);
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
  uint64_t user_bytes = 0;
  uint64_t trailer = 0;
  uint64_t descends = 0;
  do {
    const uint32_t header = DecodeFixed32(p);
    const uint64_t shared = header & 0xff;
    const uint64_t unshared = header >> 8 & 0xff;
    uint32_t value_bytes = header >> 16 & 0xff;
    p += 3;
    if (value_bytes >= 0x80) {
      value_bytes = (value_bytes & 0x7f) | header >> 24 << 7;
      ++p;
      if ((header >> 24 >= 0x80) && (p = DecodeVarint32(p - 2, limit, &value_bytes)) == nullptr) {
        return false;
      }
    }
    // Of lengths of two bytes the first is at least 0x80, and then the key is too long. An entry
    // with too few bytes of its own for a trailer has a part of the last key, which does not ascend.
    user_bytes = shared + unshared - kTrailerBytes;
    if (shared > may_share || user_bytes > kMostUserBytes ||
        static_cast<int64_t>(unshared + value_bytes) > limit - p) {
      return false;
    }
    may_share = user_bytes;
    // Seen from here, what is not shared stands where it belongs in the key.
    const __m512i own =
        _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, static_cast<uint32_t>(user_bytes)), p - shared);
    const __m512i previous = user_key;
    user_key = _mm512_mask_mov_epi8(own, _bzhi_u64(~0ull, static_cast<uint32_t>(shared)), previous);
    const uint64_t differs = _mm512_cmpneq_epu8_mask(user_key, previous);
    if (differs == 0) {
      return false;  // perhaps a longer key all the same
    }
    // Shorter keys, which are padded with zeros, come before those that they begin.
    descends |= _mm512_cmplt_epu8_mask(user_key, previous) & differs & -differs;
    const char* const value = p + unshared;
    trailer = DecodeFixed64(value - kTrailerBytes);
    ++found.entries;
    found.tombstones += IsTombstone(trailer);
    const uint64_t rest =
        std::rotl(trailer, 3) ^ ((user_bytes + kTrailerBytes) << 32 | value_bytes);
    folds[batched] = _mm512_ternarylogic_epi64(
        _mm512_rolv_epi64(user_key, key_turns),
        _mm512_rolv_epi64(internal::FoldLanes(value, value_bytes), value_turns),
        _mm512_zextsi128_si512(_mm_cvtsi64_si128(static_cast<int64_t>(rest))), kXorOfThree);
    p = value + value_bytes;
    if (++batched == kBatch) {
      found.checksum += Sum(folds, kBatch);
      batched = 0;
    }
  } while (p < limit);
  if (descends != 0) {
    return false;
  }
  found.checksum += Sum(folds, batched);
  key->user_bytes = user_bytes;
  key->trailer = trailer;
  _mm512_storeu_si512(key->bytes, user_key);
  *records = found;
  return true;
}

}  // namespace

bool ScanAscending(const char* p, const char* limit, ScannedKey* key, ScannedRecords* records) {
  static const bool has_avx512 = internal::HasAvx512();
  return has_avx512 && ScanAvx512(p, limit, key, records);
}

#else

bool ScanAscending(const char*, const char*, ScannedKey*, ScannedRecords*) { return false; }

#endif

}  // namespace sluice
