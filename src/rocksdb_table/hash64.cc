// It differs from the final XXH3 throughout: in the prime that mixes the result, in how up to 16 bytes
// are taken in, and above 240 bytes in which lane a word is added to and which stripes are the last.

#include "rocksdb_table/hash64.h"

#include "util/coding.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice {

namespace {

constexpr uint64_t kPrime32[] = {0x9e3779b1, 0x85ebca77, 0xc2b2ae3d};
constexpr uint64_t kPrime64[] = {0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
                                 0x85ebca77c2b2ae63, 0x27d4eb2f165667c5};
constexpr size_t kSecretBytes = 192;
constexpr size_t kStripeBytes = 64;
constexpr size_t kLanes = kStripeBytes / 8;
constexpr size_t kSecretStep = 8;                                         // from stripe to stripe
constexpr size_t kStripes = (kSecretBytes - kStripeBytes) / kSecretStep;  // of a block

// Words of the library's secret, which is the same.
uint64_t Secret(size_t offset) {
  static_assert(sizeof(XXH3_kSecret) == kSecretBytes);
  return DecodeFixed64(reinterpret_cast<const char*>(XXH3_kSecret) + offset);
}

uint64_t Avalanche(uint64_t hash) {
  hash ^= hash >> 37;
  hash *= kPrime64[2];
  return hash ^ hash >> 32;
}

uint64_t FoldedProduct(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t HashShort(const char* p, size_t n) {
  if (n > 8) {
    const uint64_t low = DecodeFixed64(p) ^ Secret(0);
    const uint64_t high = DecodeFixed64(p + n - 8) ^ Secret(8);
    return Avalanche(n + low + high + FoldedProduct(low, high));
  }
  if (n >= 4) {
    const uint64_t word = DecodeFixed32(p) | uint64_t{DecodeFixed32(p + n - 4)} << 32;
    const uint64_t keyed = word ^ Secret(0);
    const uint64_t mixed = n + (keyed ^ keyed >> 51) * kPrime32[0];
    return Avalanche((mixed ^ mixed >> 47) * kPrime64[1]);
  }
  if (n > 0) {
    const auto byte = [p](size_t i) { return static_cast<uint8_t>(p[i]); };
    const uint32_t word =
        byte(0) | byte(n >> 1) << 8 | byte(n - 1) << 16 | static_cast<uint32_t>(n) << 24;
    return Avalanche((word ^ (Secret(0) & 0xffffffff)) * kPrime64[0]);
  }
  return FoldedProduct(Secret(0), kPrime64[1]);
}

uint64_t Mix16(const char* p, size_t secret) {
  return FoldedProduct(DecodeFixed64(p) ^ Secret(secret),
                       DecodeFixed64(p + 8) ^ Secret(secret + 8));
}

// 17 to 128 bytes: pairs of 16 bytes, from both ends.
uint64_t HashMiddle(const char* p, size_t n) {
  uint64_t hash = n * kPrime64[0];
  for (size_t i = (n - 1) / 32 + 1; i-- > 0;) {
    hash += Mix16(p + 16 * i, 32 * i);
    hash += Mix16(p + n - 16 * (i + 1), 32 * i + 16);
  }
  return Avalanche(hash);
}

// 129 to 240 bytes: 16 by 16.
uint64_t HashLonger(const char* p, size_t n) {
  constexpr size_t kLastSecret = 136 - 17;
  uint64_t hash = n * kPrime64[0];
  for (size_t i = 0; i < 8; ++i) {
    hash += Mix16(p + 16 * i, 16 * i);
  }
  hash = Avalanche(hash);
  for (size_t i = 8; i < n / 16; ++i) {
    hash += Mix16(p + 16 * i, 16 * (i - 8) + 3);
  }
  return Avalanche(hash + Mix16(p + n - 16, kLastSecret));
}

// Adds a stripe to the lanes.
void AddStripe(const char* p, size_t secret, uint64_t* lanes) {
  for (size_t i = 0; i < kLanes; ++i) {
    const uint64_t word = DecodeFixed64(p + 8 * i);
    const uint64_t keyed = word ^ Secret(secret + 8 * i);
    lanes[i] += word + (keyed & 0xffffffff) * (keyed >> 32);
  }
}

uint64_t HashLong(const char* p, size_t n) {
  constexpr size_t kBlockBytes = kStripes * kStripeBytes;
  uint64_t lanes[kLanes] = {kPrime32[2], kPrime64[0], kPrime64[1], kPrime64[2],
                            kPrime64[3], kPrime32[1], kPrime64[4], kPrime32[0]};
  const char* const end = p + n;
  for (; static_cast<size_t>(end - p) >= kBlockBytes; p += kBlockBytes) {
    for (size_t i = 0; i < kStripes; ++i) {
      AddStripe(p + i * kStripeBytes, i * kSecretStep, lanes);
    }
    for (size_t i = 0; i < kLanes; ++i) {
      const uint64_t lane = lanes[i] ^ lanes[i] >> 47;
      lanes[i] = (lane ^ Secret(kSecretBytes - kStripeBytes + 8 * i)) * kPrime32[0];
    }
  }
  for (size_t i = 0; static_cast<size_t>(end - p) >= kStripeBytes; p += kStripeBytes, ++i) {
    AddStripe(p, i * kSecretStep, lanes);
  }
  if (n % kStripeBytes != 0) {
    AddStripe(end - kStripeBytes, kSecretBytes - kStripeBytes - 7, lanes);
  }
  uint64_t hash = n * kPrime64[0];
  for (size_t i = 0; i < kLanes; i += 2) {
    hash += FoldedProduct(lanes[i] ^ Secret(11 + 8 * i), lanes[i + 1] ^ Secret(19 + 8 * i));
  }
  return Avalanche(hash);
}

}  // namespace

uint64_t RocksHash64(std::string_view bytes) {
  const char* const p = bytes.data();
  const size_t n = bytes.size();
  return n <= 16    ? HashShort(p, n)
         : n <= 128 ? HashMiddle(p, n)
         : n <= 240 ? HashLonger(p, n)
                    : HashLong(p, n);
}

}  // namespace sluice
