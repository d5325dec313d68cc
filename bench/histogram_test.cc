#include "bench/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/random.h"
#include "bench/seconds.h"
#include "util/testing.h"

namespace sluice::bench {
namespace {

TEST(Histogram, Empty) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.PercentileNs(50), 0U);
  EXPECT_EQ(histogram.MeanNs(), 0);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t ns = 1; ns <= 200; ++ns) {
    histogram.Add(ns);
  }
  EXPECT_EQ(histogram.PercentileNs(0), 1U);
  EXPECT_EQ(histogram.PercentileNs(50), 100U);
  EXPECT_EQ(histogram.PercentileNs(99), 198U);
  EXPECT_EQ(histogram.PercentileNs(100), 200U);
  EXPECT_EQ(histogram.max_ns(), 200U);
  EXPECT_EQ(histogram.MeanNs(), 100.5);
}

// Against sorted values, from nanoseconds to an hour.
TEST(Histogram, IsCloseEverywhere) {
  Random random(TestSeed());
  Histogram histogram;
  Histogram half;
  std::vector<uint64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    const auto ns = static_cast<uint64_t>(std::pow(3.6e12, random.Real()));
    values.push_back(ns);
    (i % 2 == 0 ? histogram : half).Add(ns);
  }
  histogram.Merge(half);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(histogram.count(), values.size());
  EXPECT_EQ(histogram.max_ns(), values.back());
  for (const double percent : {0.0, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const auto at = static_cast<size_t>(
        std::max(1.0, std::ceil(static_cast<double>(values.size()) * percent / 100)));
    const auto exact = static_cast<double>(values[at - 1]);
    const auto told = static_cast<double>(histogram.PercentileNs(percent));
    EXPECT_GE(told, exact) << percent;
    EXPECT_LE(told, exact * (1 + 1.0 / 128) + 1) << percent;
  }
}

TEST(Histogram, BeyondTheRange) {
  Histogram histogram;
  histogram.Add(UINT64_MAX / 2);
  EXPECT_EQ(histogram.max_ns(), UINT64_MAX / 2);
  EXPECT_EQ(histogram.PercentileNs(100), (uint64_t{1} << 42) - 1);
}

TEST(Histogram, CoarseOnesAreCloseEnough) {
  Random random(TestSeed());
  CoarseHistogram histogram;
  std::vector<uint64_t> values;
  for (int i = 0; i < 1000; ++i) {
    values.push_back(random.Next() >> (24 + random.Next() % 40));
    histogram.Add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const size_t rank : {1, 10, 500, 990, 1000}) {
    const auto exact = static_cast<double>(values[rank - 1]);
    const auto found = static_cast<double>(histogram.PercentileNs(static_cast<double>(rank) / 10));
    EXPECT_GE(found, exact);
    EXPECT_LE(found, exact * 1.125 + 1);
  }
}

TEST(Seconds, CountCallsBySecond) {
  using std::chrono::milliseconds;
  Seconds one;
  one.Add(milliseconds(0), 10);
  one.Add(milliseconds(999), 30);
  one.Add(milliseconds(2000), 5);
  Seconds other;
  other.Add(milliseconds(1), 20);
  other.Add(milliseconds(3500), 7);
  Seconds all;
  all.Merge(one);
  all.Merge(other);
  ASSERT_EQ(all.all().size(), 4u);
  all.Cut(3.6);
  ASSERT_EQ(all.all().size(), 3u);
  EXPECT_EQ(all.all()[0].count(), 3u);
  EXPECT_EQ(all.all()[0].max_ns(), 30u);
  EXPECT_EQ(all.all()[1].count(), 0u);
  EXPECT_EQ(all.all()[2].PercentileNs(99), 5u);
  all.Cut(0.5);
  EXPECT_TRUE(all.all().empty());
}

}  // namespace
}  // namespace sluice::bench
