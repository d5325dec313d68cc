#include "compaction/pick_division.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr uint64_t kKeys = 1'000'000;
constexpr uint32_t kExtentBytes = 2 << 20;

std::string Key(uint64_t number) { return fmt::format("{:07}", number); }

// `runs` runs over all keys, each of some extents of one size at places of its own.
CompactionPick RandomPick(TestRandom* random, size_t runs) {
  CompactionPick pick;
  for (size_t run = 0; run < runs; ++run) {
    CompactionInput& input = pick.inputs.emplace_back();
    input.run = {0, run + 1};
    const uint64_t extents = Uniform(random, 3, 7);
    const uint64_t length = kKeys / extents;
    for (uint64_t begin = Uniform(random, 0, length - 1); begin + length <= kKeys;
         begin += length) {
      Extent extent;
      extent.bytes = kExtentBytes;
      extent.smallest = InternalKey(Key(begin), 1);
      extent.largest = InternalKey(Key(begin + length - 1), 1);
      input.extents.push_back(std::make_shared<const Extent>(extent));
    }
  }
  return pick;
}

uint64_t Number(std::string_view user_key) { return std::stoull(std::string(user_key)); }

// What the pick has of each share, if an extent's records are spread evenly.
std::vector<double> BytesOf(const CompactionPick& pick, const std::vector<std::string>& borders) {
  std::vector<double> bytes(borders.size() + 1);
  for (const CompactionInput& input : pick.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      const uint64_t first = Number(UserKey(extent->smallest));
      const uint64_t end = Number(UserKey(extent->largest)) + 1;
      for (size_t share = 0; share < bytes.size(); ++share) {
        const uint64_t from = std::max(first, share == 0 ? 0 : Number(borders[share - 1]));
        const uint64_t to = std::min(end, share == borders.size() ? kKeys : Number(borders[share]));
        bytes[share] += to <= from
                            ? 0
                            : static_cast<double>(extent->bytes) * static_cast<double>(to - from) /
                                  static_cast<double>(end - first);
      }
    }
  }
  return bytes;
}

// Also where a run has few extents, of which each border cuts one.
TEST(PickDivision, SharesAreOfSimilarSize) {
  TestRandom random(TestSeed());
  for (const size_t shares : {2, 3}) {
    double first = 0;
    double largest = 0;  // of a pick's shares, on average
    double worst = 0;
    constexpr int kRounds = 300;
    for (int round = 0; round < kRounds; ++round) {
      const CompactionPick pick = RandomPick(&random, Uniform(&random, 8, 16));
      const std::vector<std::string> borders = BordersOf(pick, shares, 1);
      ASSERT_EQ(borders.size(), shares - 1);
      ASSERT_TRUE(std::is_sorted(borders.begin(), borders.end()));
      const std::vector<double> bytes = BytesOf(pick, borders);
      const double even =
          std::accumulate(bytes.begin(), bytes.end(), 0.0) / static_cast<double>(shares);
      first += bytes.front() / even / kRounds;
      const double most = *std::max_element(bytes.begin(), bytes.end()) / even;
      largest += most / kRounds;
      worst = std::max(worst, most);
    }
    EXPECT_NEAR(first, 1, 0.07) << shares;
    EXPECT_LT(largest, 1.15) << shares;
    EXPECT_LT(worst, 1.6) << shares;
  }
}

TEST(PickDivision, ASmallPickIsNotDivided) {
  TestRandom random(TestSeed());
  const CompactionPick pick = RandomPick(&random, 16);  // some extent begins in the last quarter
  uint64_t bytes = 0;
  for (const CompactionInput& input : pick.inputs) {
    bytes += input.extents.size() * kExtentBytes;
  }
  EXPECT_EQ(BordersOf(pick, 2, bytes / 2).size(), 1u);
  EXPECT_EQ(BordersOf(pick, 2, bytes / 2 + 1).size(), 0u);
  EXPECT_EQ(BordersOf(pick, 8, bytes / 4).size(), 3u);
}

// Borders lie in the pick's range, whatever its extents have beyond.
TEST(PickDivision, BordersLieInTheRange) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 100; ++round) {
    CompactionPick pick = RandomPick(&random, 5);
    const uint64_t begin = Uniform(&random, 0, kKeys / 2);
    pick.range = {.has_begin = true,
                  .has_end = true,
                  .begin = Key(begin),
                  .end = Key(Uniform(&random, begin + 1, kKeys))};
    for (const std::string& border : BordersOf(pick, 4, 1)) {
      EXPECT_GT(border, pick.range.begin);
      EXPECT_LT(border, pick.range.end);
    }
  }
}

}  // namespace
}  // namespace sluice
