#include "bench/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "util/testing.h"

namespace sluice::bench {
namespace {

constexpr uint64_t kDraws = 1'000'000;

std::vector<double> ZipfShares(uint64_t n, double theta) {
  std::vector<double> shares;
  double sum = 0;
  for (uint64_t k = 1; k <= n; ++k) {
    shares.push_back(std::pow(static_cast<double>(k), -theta));
    sum += shares.back();
  }
  for (double& share : shares) {
    share /= sum;
  }
  return shares;
}

// Pearson's statistic over cells with at least some expected draws, the rest pooled, as a number of
// standard deviations of its distribution from its mean (Wilson and Hilferty's approximation).
double ChiSquareDeviation(const std::vector<uint64_t>& counts, const std::vector<double>& shares) {
  double statistic = 0;
  double cells = 0;
  double rest_counted = 0;
  double rest_expected = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = shares[i] * static_cast<double>(kDraws);
    const auto counted = static_cast<double>(counts[i]);
    if (expected < 10) {
      rest_counted += counted;
      rest_expected += expected;
      continue;
    }
    statistic += (counted - expected) * (counted - expected) / expected;
    ++cells;
  }
  if (rest_expected >= 10) {
    statistic += (rest_counted - rest_expected) * (rest_counted - rest_expected) / rest_expected;
    ++cells;
  }
  const double freedom = cells - 1;
  const double scaled = 2 / (9 * freedom);
  return (std::cbrt(statistic / freedom) - (1 - scaled)) / std::sqrt(scaled);
}

// A right sampler fails one in 10^8 times.
constexpr double kMostDeviation = 5.6;

TEST(Zipf, IsAsExactSharesSay) {
  const uint64_t seed = TestSeed();
  for (const double theta : {0.0, 0.5, 0.99, 0.999999999, 1.0, 1.0000001, 1.5, 3.0}) {
    for (const uint64_t n : {2, 3, 10, 1000, 100'000}) {
      SCOPED_TRACE(testing::Message() << "theta " << theta << ", n " << n);
      const Zipf zipf(n, theta);
      Random random(seed + n);
      std::vector<uint64_t> counts(n);
      for (uint64_t i = 0; i < kDraws; ++i) {
        const uint64_t rank = zipf.Draw(&random);
        ASSERT_GE(rank, 1U);
        ASSERT_LE(rank, n);
        ++counts[rank - 1];
      }
      EXPECT_LT(ChiSquareDeviation(counts, ZipfShares(n, theta)), kMostDeviation);
    }
  }
}

TEST(Zipf, OneKey) {
  Random random(TestSeed());
  const Zipf zipf(1, 1.0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(zipf.Draw(&random), 1U);
  }
}

// With 10^10 items, YCSB's first has the share 1 / zeta, whose digits its sources give
// (ScrambledZipfianGenerator.ZETAN).
TEST(Zipf, HottestOfYcsbsItems) {
  Random random(TestSeed());
  const Zipf zipf(10'000'000'000, 0.99);
  uint64_t first = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    first += zipf.Draw(&random) == 1 ? 1 : 0;
  }
  const double expected = static_cast<double>(kDraws) / 26.46902820178302;
  EXPECT_NEAR(static_cast<double>(first), expected, 6 * std::sqrt(expected));
}

TEST(Permutation, IsOne) {
  const uint64_t seed = TestSeed();
  for (const uint64_t n : {1, 2, 3, 4, 5, 16, 17, 1000, 65536, 65537}) {
    const Permutation permutation(n, seed);
    std::set<uint64_t> images;
    for (uint64_t x = 0; x < n; ++x) {
      EXPECT_LT(permutation(x), n);
      images.insert(permutation(x));
    }
    EXPECT_EQ(images.size(), n);
  }
}

TEST(Permutation, Scatters) {
  constexpr uint64_t kN = 1'000'000;
  const Permutation permutation(kN, TestSeed());
  // How many of a thousand neighbours land in the lower half.
  int low = 0;
  for (uint64_t x = 0; x < 1000; ++x) {
    low += permutation(x) < kN / 2 ? 1 : 0;
  }
  EXPECT_NEAR(low, 500, 100);
}

std::vector<uint64_t> Counts(const KeyChooser& chooser, uint64_t keys, uint64_t inserted,
                             uint64_t seed) {
  std::vector<uint64_t> counts(std::max(keys, inserted));
  Random random(seed);
  for (uint64_t i = 0; i < kDraws; ++i) {
    const uint64_t key = chooser.Draw(&random, inserted);
    EXPECT_LT(key, counts.size());
    ++counts[key];
  }
  return counts;
}

TEST(KeyChooser, UniformIsUniform) {
  const KeyChooser chooser({.kind = DistributionSpec::Kind::kUniform}, 1000, 1);
  EXPECT_LT(
      ChiSquareDeviation(Counts(chooser, 1000, 1000, TestSeed()), std::vector<double>(1000, 1e-3)),
      kMostDeviation);
}

TEST(KeyChooser, ZipfGivesEveryRankAKeyOfItsOwn) {
  const KeyChooser chooser({.kind = DistributionSpec::Kind::kZipf, .theta = 1.0}, 1000, 7);
  std::vector<uint64_t> counts = Counts(chooser, 1000, 1000, TestSeed());
  EXPECT_GT(std::max_element(counts.begin(), counts.end()) - counts.begin(), 0);
  // In the order of ranks, which the permutation has hidden.
  const Permutation scatter(1000, 7);
  std::vector<uint64_t> by_rank;
  for (uint64_t rank = 0; rank < 1000; ++rank) {
    by_rank.push_back(counts[scatter(rank)]);
  }
  EXPECT_LT(ChiSquareDeviation(by_rank, ZipfShares(1000, 1.0)), kMostDeviation);
}

TEST(KeyChooser, YcsbScattersItsHottestItem) {
  const KeyChooser chooser({.kind = DistributionSpec::Kind::kYcsb}, 1000, 1);
  const std::vector<uint64_t> counts = Counts(chooser, 1000, 1000, TestSeed());
  const auto hottest = std::max_element(counts.begin(), counts.end());
  // The item's own share, and that of the others that are hashed to the same key.
  EXPECT_NEAR(static_cast<double>(*hottest) / kDraws, 1 / 26.469 + 1e-3, 5e-3);
  // What FNV-1a makes of eight zero bytes, made positive, modulo 1000.
  uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < 8; ++i) {
    hash *= 0x100000001b3;
  }
  hash = static_cast<int64_t>(hash) < 0 ? -hash : hash;
  EXPECT_EQ(static_cast<uint64_t>(hottest - counts.begin()), hash % 1000);
}

TEST(KeyChooser, LatestPrefersTheYoungest) {
  const KeyChooser chooser({.kind = DistributionSpec::Kind::kLatest, .theta = 0.99}, 1000, 1);
  std::vector<uint64_t> counts = Counts(chooser, 1000, 1500, TestSeed());
  std::reverse(counts.begin(), counts.end());
  counts.resize(1000);
  EXPECT_LT(ChiSquareDeviation(counts, ZipfShares(1000, 0.99)), kMostDeviation);
}

TEST(Distribution, Parses) {
  using Kind = DistributionSpec::Kind;
  DistributionSpec spec;
  for (const auto& [text, expected] : std::vector<std::pair<std::string, DistributionSpec>>{
           {"uniform", {.kind = Kind::kUniform}},
           {"latest", {.kind = Kind::kLatest}},
           {"zipf", {.kind = Kind::kZipf, .theta = 0.99}},
           {"zipf:1", {.kind = Kind::kZipf, .theta = 1}},
           {"zipf:1.25", {.kind = Kind::kZipf, .theta = 1.25}}}) {
    EXPECT_TRUE(ParseDistribution(text, &spec).ok()) << text;
    EXPECT_EQ(spec, expected) << text;
  }
  EXPECT_EQ(ToString(DistributionSpec{.kind = Kind::kZipf, .theta = 1.25}), "zipf:1.25");
  for (const std::string text :
       {"", "normal", "zipf:", "zipf:x", "zipf:1x", "zipf:-1", "uniform:1", "zipf:nan"}) {
    EXPECT_EQ(ParseDistribution(text, &spec).code(), Status::Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace sluice::bench
