#include "merge/input_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "util/testing.h"

namespace sluice {
namespace {

TEST(InputMap, EmptyIsOneRange) {
  InputMap map;
  map.Sort();
  const std::vector<KeyRange> ranges = map.Split(100);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_TRUE(ranges[0].Overlaps("", ""));
  EXPECT_EQ(map.BytesUpTo("x"), 0u);
}

TEST(InputMap, SplitsBetweenPieces) {
  InputMap map;
  for (const char* key : {"a", "c", "e", "g"}) {
    map.Add(key, 10);
  }
  map.Add("d", 5);
  map.Sort();
  EXPECT_EQ(map.total_bytes(), 45u);
  EXPECT_EQ(map.BytesUpTo("0"), 0u);
  EXPECT_EQ(map.BytesUpTo("c"), 20u);
  EXPECT_EQ(map.BytesUpTo("cc"), 20u);
  EXPECT_EQ(map.BytesUpTo("z"), 45u);

  const std::vector<KeyRange> ranges = map.Split(20);
  ASSERT_EQ(ranges.size(), 3u);
  // Borders at 15 and 30 would be even.
  EXPECT_FALSE(ranges[0].has_begin);
  EXPECT_EQ(ranges[0].end, "d");
  EXPECT_EQ(ranges[1].begin, "d");
  EXPECT_EQ(ranges[1].end, "g");
  EXPECT_EQ(ranges[2].begin, "g");
  EXPECT_FALSE(ranges[2].has_end);
}

// No small rest at the end: all ranges are within a piece of the mean.
TEST(InputMap, SplitsEvenly) {
  std::mt19937_64 rng(TestSeed());
  for (int round = 0; round < 100; ++round) {
    InputMap map;
    uint64_t most = 0;
    for (uint64_t i = rng() % 200; i > 0; --i) {
      const uint64_t bytes = 1 + rng() % 1000;
      most = std::max(most, bytes);
      map.Add(std::to_string(1000 + i), bytes);
    }
    map.Sort();
    const uint64_t target = 1 + rng() % 5000;
    const std::vector<KeyRange> ranges = map.Split(target);
    const uint64_t wanted = std::max<uint64_t>(1, (map.total_bytes() + target - 1) / target);
    ASSERT_LE(ranges.size(), wanted);
    if (target < 3 * most) {
      continue;  // borders may collapse
    }
    ASSERT_EQ(ranges.size(), wanted);
    uint64_t begin = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      ASSERT_EQ(ranges[i].has_begin, i > 0);
      ASSERT_EQ(ranges[i].has_end, i + 1 < ranges.size());
      uint64_t end = map.total_bytes();
      if (ranges[i].has_end) {
        ASSERT_EQ(ranges[i].end, ranges[i + 1].begin);
        // Pieces below the border: those at it belong to the next range.
        end = map.BytesUpTo(std::to_string(std::stoi(ranges[i].end) - 1));
      }
      EXPECT_NEAR(static_cast<double>(end - begin),
                  static_cast<double>(map.total_bytes()) / static_cast<double>(wanted),
                  static_cast<double>(most) + 1);
      begin = end;
    }
  }
}

TEST(InputMap, AGiantKeyIsARange) {
  InputMap map;
  map.Add("a", 10);
  map.Add("b", 80);
  map.Add("c", 10);
  map.Sort();
  const std::vector<KeyRange> ranges = map.Split(20);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[0].end, "b");
  EXPECT_EQ(ranges[1].end, "c");
}

TEST(InputMap, NeverSplitsAKey) {
  InputMap map;
  map.Add("k", 100);
  map.Add("k", 100);
  map.Add("l", 100);
  map.Sort();
  const std::vector<KeyRange> ranges = map.Split(10);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].end, "l");
}

TEST(KeyRange, Overlaps) {
  const KeyRange range{.has_begin = true, .has_end = true, .begin = "b", .end = "d"};
  EXPECT_TRUE(range.Overlaps("a", "b"));
  EXPECT_TRUE(range.Overlaps("a", "z"));
  EXPECT_TRUE(range.Overlaps("cz", "z"));
  EXPECT_FALSE(range.Overlaps("a", "az"));
  EXPECT_FALSE(range.Overlaps("d", "z"));
}

}  // namespace
}  // namespace sluice
