#include "rocksdb_table/xxh3.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <cstddef>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice {

namespace {

#ifdef __x86_64__

#define SLUICE_AVX2 __attribute__((target("avx2")))

constexpr size_t kStripeBytes = 64;
constexpr size_t kBlockStripes = (sizeof(XXH3_kSecret) - kStripeBytes) / 8;
constexpr size_t kBlockBytes = kBlockStripes * kStripeBytes;
// Up to so many bytes the library hashes in other ways.
constexpr size_t kShortBytes = 240;
// How far ahead memory is fetched, which is likely to be hashed next.
constexpr size_t kAhead = 512;

SLUICE_AVX2 inline __m256i LoadHalf(const void* p, size_t half) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p) + half);
}

// Adds a stripe to the lanes, under the secret from `offset` on.
SLUICE_AVX2 inline void AddStripe(const char* p, size_t offset, __m256i (&lanes)[2]) {
  __builtin_prefetch(p + kAhead);
  for (size_t half = 0; half < 2; ++half) {
    const __m256i words = LoadHalf(p, half);
    const __m256i keyed = _mm256_xor_si256(words, LoadHalf(XXH3_kSecret + offset, half));
    const __m256i products = _mm256_mul_epu32(keyed, _mm256_srli_epi64(keyed, 32));
    const __m256i neighbours = _mm256_shuffle_epi32(words, _MM_SHUFFLE(1, 0, 3, 2));
    lanes[half] = _mm256_add_epi64(lanes[half], _mm256_add_epi64(products, neighbours));
  }
}

// Mixes the lanes at the end of a block.
SLUICE_AVX2 inline void Scramble(__m256i (&lanes)[2]) {
  const __m256i prime = _mm256_set1_epi64x(XXH_PRIME32_1);
  for (size_t half = 0; half < 2; ++half) {
    const __m256i mixed =
        _mm256_xor_si256(_mm256_xor_si256(lanes[half], _mm256_srli_epi64(lanes[half], 47)),
                         LoadHalf(XXH3_kSecret + sizeof(XXH3_kSecret) - kStripeBytes, half));
    const __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(mixed, 32), prime);
    lanes[half] = _mm256_add_epi64(_mm256_mul_epu32(mixed, prime), _mm256_slli_epi64(high, 32));
  }
}

// REQUIRES: more than kShortBytes.
SLUICE_AVX2 uint64_t HashAvx2(const char* p, size_t n) {
  alignas(kStripeBytes) uint64_t words[8] = XXH3_INIT_ACC;
  __m256i lanes[2] = {LoadHalf(words, 0), LoadHalf(words, 1)};
  const char* const last = p + n - kStripeBytes;
  size_t stripes = (n - 1) / kStripeBytes;
  for (; stripes >= kBlockStripes; stripes -= kBlockStripes, p += kBlockBytes) {
    for (size_t i = 0; i < kBlockStripes; ++i) {
      AddStripe(p + i * kStripeBytes, 8 * i, lanes);
    }
    Scramble(lanes);
  }
  for (size_t i = 0; i < stripes; ++i) {
    AddStripe(p + i * kStripeBytes, 8 * i, lanes);
  }
  AddStripe(last, sizeof(XXH3_kSecret) - kStripeBytes - 7, lanes);
  _mm256_store_si256(reinterpret_cast<__m256i*>(words), lanes[0]);
  _mm256_store_si256(reinterpret_cast<__m256i*>(words) + 1, lanes[1]);
  return XXH3_mergeAccs(words, XXH3_kSecret + 11, n * XXH_PRIME64_1);
}

#endif

}  // namespace

uint64_t Xxh3(std::string_view bytes) {
#ifdef __x86_64__
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (bytes.size() > kShortBytes && has_avx2) {
    return HashAvx2(bytes.data(), bytes.size());
  }
#endif
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace sluice
