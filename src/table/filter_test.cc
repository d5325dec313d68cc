#include "table/filter.h"

#include <gtest/gtest.h>

#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

// util/hash_test.cc of LevelDB has these answers for other seeds; the byte-for-byte comparison with
// real filters is tests/interop's.
TEST(Bloom, NoFalseNegativesAndFewFalsePositives) {
  for (const int bits : {1, 5, 10, 20}) {
    for (const size_t n : {1, 7, 100, 10000}) {
      std::vector<uint32_t> hashes;
      for (size_t i = 0; i < n; ++i) {
        hashes.push_back(BloomHash("key" + std::to_string(i)));
      }
      std::string filter;
      AppendBloomFilter(hashes, bits, &filter);
      for (const uint32_t h : hashes) {
        ASSERT_TRUE(BloomMayMatch(filter, h));
      }
      int wrong = 0;
      for (int i = 0; i < 10000; ++i) {
        wrong += BloomMayMatch(filter, BloomHash("other" + std::to_string(i)));
      }
      if (bits == 10 && n > 8) {
        EXPECT_LE(wrong, 300);
      }
    }
  }
}

// By the definition: probe i is (hash + i * step) mod bits, with 64 bits at least.
TEST(Bloom, SetsTheBitsThatItSays) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> hashes(Uniform(&random, 0, 2000));
    for (uint32_t& hash : hashes) {
      hash = Uniform(&random, 0, 9) == 0 ? UINT32_MAX - static_cast<uint32_t>(random() & 3)
                                         : static_cast<uint32_t>(random());
    }
    const auto bits_per_key = static_cast<int>(Uniform(&random, 1, 20));
    std::string filter;
    AppendBloomFilter(hashes, bits_per_key, &filter);
    std::string expected((std::max<size_t>(hashes.size() * bits_per_key, 64) + 7) / 8, '\0');
    const auto bits = static_cast<uint32_t>(8 * expected.size());
    const auto probes = static_cast<int>(static_cast<uint8_t>(filter.back()));
    for (uint32_t hash : hashes) {
      const uint32_t step = hash >> 17 | hash << 15;
      for (int i = 0; i < probes; ++i, hash += step) {
        expected[hash % bits / 8] =
            static_cast<char>(expected[hash % bits / 8] | 1 << hash % bits % 8);
      }
    }
    ASSERT_EQ(filter.substr(0, filter.size() - 1), expected);
  }
}

TEST(Bloom, OddFiltersDoNotMisleadOrOverrun) {
  EXPECT_FALSE(BloomMayMatch("", 1));
  EXPECT_FALSE(BloomMayMatch("\x06", 1));
  EXPECT_TRUE(BloomMayMatch(std::string_view("\0\x1f", 2), 1));
  EXPECT_TRUE(BloomMayMatch(std::string_view("\0\0", 2), 1));
  EXPECT_FALSE(BloomMayMatch(std::string_view("\0\x01", 2), 1));
}

TEST(FilterBlock, EachBlockHasItsOwnFilter) {
  FilterBlockBuilder builder(10);
  builder.StartBlock(0);
  builder.AddKey("foo");
  builder.StartBlock(2000);
  builder.AddKey("bar");
  builder.StartBlock(3100);
  builder.AddKey("box");
  builder.StartBlock(9000);
  builder.AddKey("hello");
  builder.StartBlock(9100);
  const std::string contents(builder.Finish());
  FilterBlock block;
  ASSERT_TRUE(FilterBlock::Parse(contents, &block).ok());
  EXPECT_EQ(block.count(), 5u);
  EXPECT_TRUE(block.KeyMayMatch(0, "foo"));
  EXPECT_TRUE(block.KeyMayMatch(2000, "bar"));
  EXPECT_FALSE(block.KeyMayMatch(0, "box"));
  EXPECT_TRUE(block.KeyMayMatch(3100, "box"));
  EXPECT_FALSE(block.KeyMayMatch(3100, "foo"));
  EXPECT_FALSE(block.KeyMayMatch(4100, "box")) << "an empty filter matches nothing";
  EXPECT_TRUE(block.KeyMayMatch(9000, "hello"));
  EXPECT_TRUE(block.KeyMayMatch(100000, "foo")) << "no filter, no verdict";
}

TEST(FilterBlock, NoKeysNoFilters) {
  FilterBlockBuilder builder(10);
  builder.StartBlock(0);
  const std::string_view contents = builder.Finish();
  EXPECT_EQ(contents, std::string_view("\0\0\0\0\x0b", 5));
  FilterBlock block;
  ASSERT_TRUE(FilterBlock::Parse(contents, &block).ok());
  EXPECT_EQ(block.count(), 0u);
}

TEST(FilterBlock, MalformedOnesAreRefused) {
  FilterBlock block;
  for (const std::string& contents : {
           std::string(), std::string("\0\0\0\x0b", 4), std::string("\0\0\0\0\x40", 5),  // base 64
           std::string("\1\0\0\0\x0b", 5),                       // offsets start past themselves
           std::string("abc\0\0\0\0\0\0\0\0\x0b", 12),           // 7 bytes of offsets
           std::string("abcd\5\0\0\0\4\0\0\0\x0b", 13),          // a filter past the filters
           std::string("abcd\3\0\0\0\2\0\0\0\4\0\0\0\x0b", 17),  // offsets going back
       }) {
    EXPECT_TRUE(FilterBlock::Parse(contents, &block).IsCorruption());
  }
}

TEST(BloomBitsEstimate, FindsTheValueAFilterWasBuiltWith) {
  TestRandom random(TestSeed());
  for (int bits = 1; bits <= 100; ++bits) {
    BloomBitsEstimate estimate;
    for (int filters = 0; filters < 20 && !estimate.exact(); ++filters) {
      std::vector<uint32_t> hashes(Uniform(&random, 1, 100));
      std::string filter;
      AppendBloomFilter(hashes, bits, &filter);
      estimate.Add(filter, hashes.size());
      EXPECT_GE(estimate.bits_per_key(), bits);
    }
    EXPECT_TRUE(estimate.exact());
    EXPECT_EQ(estimate.bits_per_key(), bits);
  }
}

TEST(BloomBitsEstimate, SaysSoIfNothingExplainsAFilter) {
  BloomBitsEstimate estimate;
  estimate.Add(std::string(100, '\x06'),
               7);  // 792 bits for 7 keys are 113 per key: 30 probes, not 6
  EXPECT_EQ(estimate.bits_per_key(), 0);
}

}  // namespace
}  // namespace sluice
