#include "bench/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice::bench {

// Values below 2 << kSubBits have buckets of their own; above, a value's highest kSubBits + 1 bits
// name its bucket.
template <int kSubBits>
size_t BasicHistogram<kSubBits>::Bucket(uint64_t ns) {
  ns = std::min(ns, (uint64_t{1} << kRangeBits) - 1);
  const int shift = std::max(0, static_cast<int>(std::bit_width(ns)) - 1 - kSubBits);
  return (static_cast<size_t>(shift) << kSubBits) + static_cast<size_t>(ns >> shift);
}

template <int kSubBits>
uint64_t BasicHistogram<kSubBits>::BucketEnd(size_t bucket) {
  if (bucket < size_t{2} << kSubBits) {
    return bucket;
  }
  const size_t shift = (bucket >> kSubBits) - 1;
  const size_t top = bucket - (shift << kSubBits);
  return (uint64_t{top + 1} << shift) - 1;
}

template <int kSubBits>
void BasicHistogram<kSubBits>::Add(uint64_t ns) {
  ++counts_[Bucket(ns)];
  ++count_;
  sum_ += ns;
  max_ = std::max(max_, ns);
}

template <int kSubBits>
void BasicHistogram<kSubBits>::Merge(const BasicHistogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) {
    counts_[i] += other.counts_[i];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

template <int kSubBits>
uint64_t BasicHistogram<kSubBits>::PercentileNs(double percent) const {
  const auto wanted = static_cast<uint64_t>(
      std::max(1.0, std::ceil(static_cast<double>(count_) * std::min(percent, 100.0) / 100)));
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= wanted) {
      return std::min(BucketEnd(i), max_);
    }
  }
  return 0;
}

template class BasicHistogram<7>;
template class BasicHistogram<3>;

}  // namespace sluice::bench
