// ScanAscending with keys of up to 32 bytes in a register.

#ifdef __x86_64__

#include <bit>

#include "merge/block_scan.h"
#include "merge/block_scan_entry.h"
#include "merge/fold_avx2.h"

namespace sluice::internal {

SLUICE_AVX2 bool ScanAvx2(const char* p, const char* limit, ScannedKey* key,
                          ScannedRecords* records) {
  constexpr size_t kBatch = 4;
  constexpr uint64_t kMostUserBytes = 32;
  if (key->user_bytes > kMostUserBytes) {
    return false;
  }
  const __m256i key_turns = FourTurns(0);
  // Four words each, whose XOR is a record's checksum.
  __m256i folds[kBatch];
  size_t batched = 0;
  ScannedRecords found;
  __m256i user_key =
      _mm256_and_si256(Load32(key->bytes), LeadingBytes(key->user_bytes));  // then zeros
  uint64_t may_share = 0;
  uint64_t trailer = 0;
  uint32_t descends = 0;
  do {
    ScannedLengths lengths;
    if ((p = ReadLengths(p, limit, may_share, kMostUserBytes, &lengths)) == nullptr) {
      return false;
    }
    may_share = lengths.user_bytes;
    // Seen from here, what is not shared stands where it belongs in the key. What is shared has been
    // read from this block.
    const __m256i own =
        _mm256_and_si256(Load32(p - lengths.shared), LeadingBytes(lengths.user_bytes));
    const __m256i previous = user_key;
    user_key = _mm256_blendv_epi8(own, previous, LeadingBytes(lengths.shared));
    const auto differs =
        ~static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(user_key, previous)));
    if (differs == 0) {
      return false;  // perhaps a longer key all the same
    }
    // Shorter keys, which are padded with zeros, come before those that they begin.
    const __m256i least = _mm256_min_epu8(user_key, previous);
    const auto below =
        static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(user_key, least)));
    descends |= below & differs & -differs;
    const char* const value = p + lengths.unshared;
    trailer = DecodeFixed64(value - kTrailerBytes);
    ++found.entries;
    found.tombstones += IsTombstone(trailer);
    const uint64_t rest =
        std::rotl(trailer, 3) ^ ((lengths.user_bytes + kTrailerBytes) << 32 | lengths.value_bytes);
    const __m256i of_value = TurnLanes(FoldEightLanes(value, lengths.value_bytes), 5);
    const __m256i of_key =
        _mm256_xor_si256(TurnEach(user_key, key_turns),
                         _mm256_zextsi128_si256(_mm_cvtsi64_si128(static_cast<int64_t>(rest))));
    folds[batched] = _mm256_xor_si256(of_value, of_key);
    p = value + lengths.value_bytes;
    if (++batched == kBatch) {
      found.checksum += AddFourWords(XorEachOfFour(folds));
      batched = 0;
    }
  } while (p < limit);
  if (descends != 0) {
    return false;
  }
  for (size_t i = batched; i < kBatch; ++i) {
    folds[i] = _mm256_setzero_si256();
  }
  found.checksum += AddFourWords(XorEachOfFour(folds));
  key->user_bytes = may_share;
  key->trailer = trailer;
  Store32(key->bytes, user_key);
  *records = found;
  return true;
}

}  // namespace sluice::internal

#endif
