// The keys and values that workloads write and read.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/random.h"

namespace sluice::bench {

// How keys sort. Ordered: as their numbers, as in db_bench. Hashed: at random, as in YCSB, so that
// keys inserted one after the other lie apart. Grouped: kGroupKeys in a row begin with the same
// kMinKeyBytes, and the groups sort at random.
enum class KeyOrder { kOrdered, kHashed, kGrouped };

inline constexpr size_t kMinKeyBytes = 8;
inline constexpr uint64_t kGroupKeys = 10;

// A key of `bytes` bytes, at least kMinKeyBytes, of groups one more: eight of number, highest first,
// one of the place in its group, if there are groups, then '0's. Reuses *key.
inline void MakeKey(uint64_t number, KeyOrder order, size_t bytes, std::string* key) {
  key->assign(bytes, '0');
  const uint64_t prefix = order == KeyOrder::kHashed    ? Mix(number + 1)
                          : order == KeyOrder::kGrouped ? Mix(number / kGroupKeys + 1)
                                                        : number;
  for (size_t i = 0; i < 8; ++i) {
    (*key)[i] = static_cast<char>(prefix >> (8 * (7 - i)));
  }
  if (order == KeyOrder::kGrouped) {
    (*key)[kMinKeyBytes] = static_cast<char>('0' + number % kGroupKeys);
  }
}

// Values of random length that compress to about half, as those of db_bench: pieces of 100 bytes,
// the second half of each like the first. Thread-compatible.
class ValueSource {
 public:
  ValueSource(size_t min_bytes, size_t max_bytes, uint64_t seed);

  // Lives as long as this.
  std::string_view Next();

 private:
  size_t min_;
  size_t max_;
  Random random_;
  std::string pool_;
  size_t at_ = 0;
};

}  // namespace sluice::bench
