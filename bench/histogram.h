// Latencies, counted as HdrHistogram counts them (G. Tene): buckets of equal width within a power
// of two, so that every value from 1 ns to hours is known to better than 1 in 2^kSubBits.
//
// Thread-compatible.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::bench {

template <int kSubBits>
class BasicHistogram {
 public:
  // Nanoseconds; what is beyond the range counts as its end.
  void Add(uint64_t ns);
  void Merge(const BasicHistogram& other);

  uint64_t count() const { return count_; }
  uint64_t max_ns() const { return max_; }
  double MeanNs() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }
  // The least value that `percent` of all do not exceed, rounded up to its bucket's end; 0 of none.
  uint64_t PercentileNs(double percent) const;

 private:
  static constexpr int kRangeBits = 42;
  static constexpr size_t kBuckets = size_t{kRangeBits - kSubBits + 1} << kSubBits;

  static size_t Bucket(uint64_t ns);
  static uint64_t BucketEnd(size_t bucket);  // the largest value in it

  std::array<uint64_t, kBuckets> counts_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

using Histogram = BasicHistogram<7>;        // 36 KiB
using CoarseHistogram = BasicHistogram<3>;  // 2.5 KiB

}  // namespace sluice::bench
