#include "tree/key_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "util/testing.h"

namespace sluice {
namespace {

TEST(KeyBounds, KnowWhatTheirKeysBeginWith) {
  EXPECT_EQ(SharedPrefixBytes("abcd", "abce"), 4u);
  EXPECT_EQ(SharedPrefixBytes("abcd", "abcf"), 3u);
  EXPECT_EQ(SharedPrefixBytes("abcd", "abcea"), 3u);
  EXPECT_EQ(SharedPrefixBytes("abcd1", "abce"), 4u);
  EXPECT_EQ(SharedPrefixBytes("ab\xff\xff", "ac"), 4u);
  EXPECT_EQ(SharedPrefixBytes("ab\xff\xff"
                              "1",
                              "ac"),
            4u);
  EXPECT_EQ(SharedPrefixBytes("\xff", ""), 0u);
  EXPECT_EQ(SharedPrefixBytes("ab", "abc"), 2u);
}

// All strings of up to five bytes out of the last three: what is said to begin all keys does, and
// nothing longer does.
TEST(KeyBounds, AgreesWithAllShortKeys) {
  const std::string bytes("\xfd\xfe\xff");
  std::vector<std::string> keys = {""};
  for (size_t i = 0; keys[i].size() < 5; ++i) {
    for (const char byte : bytes) {
      keys.push_back(keys[i] + byte);
    }
  }
  std::sort(keys.begin(), keys.end());
  TestRandom random(TestSeed());
  for (int round = 0; round < TestRounds(3000); ++round) {
    const size_t low = Uniform(&random, 0, keys.size() - 2);
    const size_t high = Uniform(&random, low + 1, std::min(keys.size() - 1, low + 40));
    const std::string& lower = keys[low];
    const std::string& upper = keys[high];
    const auto all_begin_with = [&](size_t n) {
      return std::all_of(keys.begin() + static_cast<ptrdiff_t>(low),
                         keys.begin() + static_cast<ptrdiff_t>(high), [&](const std::string& key) {
                           return key.starts_with(std::string_view(lower).substr(0, n));
                         });
    };
    const size_t shared = SharedPrefixBytes(lower, upper);
    ASSERT_LE(shared, lower.size());
    EXPECT_TRUE(all_begin_with(shared)) << round;
    if (shared < lower.size()) {
      EXPECT_FALSE(all_begin_with(shared + 1)) << round;
    }
  }
}

}  // namespace
}  // namespace sluice
