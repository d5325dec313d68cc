#include "leveldb/input_map.h"

#include <gtest/gtest.h>

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
  EXPECT_FALSE(ranges[0].has_begin);
  EXPECT_EQ(ranges[0].end, "d");
  EXPECT_EQ(ranges[1].begin, "d");
  EXPECT_EQ(ranges[1].end, "g");
  EXPECT_EQ(ranges[2].begin, "g");
  EXPECT_FALSE(ranges[2].has_end);
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
