#include "rocksdb_table/index.h"

#include <gtest/gtest.h>

#include "rocksdb_table/testing.h"

namespace sluice {
namespace {

struct Entry {
  std::string key;
  BlockHandle handle;

  bool operator==(const Entry&) const = default;
};

std::vector<Entry> Walk(std::string_view contents, const RocksIndexFormat& format, Status* status) {
  Block block;
  *status = Block::Parse(contents, &block);
  std::vector<Entry> entries;
  if (status->ok()) {
    RocksIndexIterator it(block, format);
    while (it.Next()) {
      entries.push_back({it.key(), it.handle()});
    }
    *status = it.status();
  }
  return entries;
}

// The user key that the index has between a block that ends with `last` and one that begins with
// `next`.
std::string SeparatorOf(std::string_view last, std::string_view next) {
  RocksIndexBuilder builder(5, 1);
  builder.Add(InternalKey(last, 9), InternalKey(last, 9), {0, 10});
  builder.Add(InternalKey(next, 9), InternalKey("z", 9), {15, 10});
  const std::string contents = builder.Finish();
  EXPECT_TRUE(builder.format().user_keys);
  Status status;
  return std::string(UserKey(Walk(contents, builder.format(), &status).at(0).key));
}

TEST(RocksIndex, SeparatorsAreShort) {
  EXPECT_EQ(SeparatorOf("abcd", "abxy"), "abd");
  EXPECT_EQ(SeparatorOf("abcd", "abd"), "abce");  // "abd" would be the next key
  EXPECT_EQ(SeparatorOf("abcd", "abdx"), "abd");
  EXPECT_EQ(SeparatorOf("ab\xff\xff"
                        "c",
                        "ac"),
            "ab\xff\xff"
            "d");
  EXPECT_EQ(SeparatorOf("ab\xff\xff", "ac"), "ab\xff\xff");
  EXPECT_EQ(SeparatorOf("abc", "abcd"), "abc");  // a prefix of the next
}

TEST(RocksIndex, KeysHaveTrailersIfAUserKeyStandsInTwoBlocks) {
  for (const bool split : {false, true}) {
    RocksIndexBuilder builder(4, 1);
    builder.Add(InternalKey("a", 9), InternalKey("b", 9), {0, 10});
    builder.Add(InternalKey(split ? "b" : "c", 3), InternalKey("d", 9), {15, 10});
    builder.Finish();
    EXPECT_EQ(builder.format().user_keys, !split);
  }
  RocksIndexBuilder old(2, 1);
  old.Add(InternalKey("a", 9), InternalKey("b", 9), {0, 10});
  old.Finish();
  EXPECT_FALSE(old.format().user_keys);
  EXPECT_FALSE(old.format().delta_values);
}

// In order, after the last key of each block and before the first of the next.
TEST(RocksIndex, RandomBlocksAreFoundAgain) {
  TestRandom random(TestSeed());
  for (int round = 0; round < TestRounds(300); ++round) {
    const std::vector<TestEntry> keys = RandomEntries(
        &random,
        {.count = Uniform(&random, 2, 200), .alphabet = Uniform(&random, 0, 1) != 0 ? 256u : 3u});
    RocksIndexBuilder builder(static_cast<uint32_t>(Uniform(&random, 2, 6)),
                              static_cast<uint32_t>(Uniform(&random, 1, 5)));
    std::vector<BlockHandle> handles;
    uint64_t offset = Uniform(&random, 0, 1) != 0 ? 0 : uint64_t{1} << 40;
    for (size_t i = 0; i + 1 < keys.size(); i += 2) {
      handles.push_back({offset, Uniform(&random, 0, 1 << Uniform(&random, 1, 20))});
      offset += handles.back().size + kBlockTrailerBytes;
      builder.Add(keys[i].key, keys[i + 1].key, handles.back());
    }
    const std::string contents = builder.Finish();
    Status status;
    const std::vector<Entry> entries = Walk(contents, builder.format(), &status);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(entries.size(), handles.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      EXPECT_EQ(entries[i].handle, handles[i]);
      EXPECT_LE(CompareInternalKeys(keys[2 * i + 1].key, entries[i].key), 0);
      if (i + 1 < entries.size()) {
        EXPECT_LT(CompareInternalKeys(entries[i].key, keys[2 * i + 2].key), 0);
      }
    }
  }
}

TEST(RocksIndex, FaultsNameTheEntry) {
  const auto fault = [](std::string_view entries, const RocksIndexFormat& format) {
    std::string contents(entries);
    PutFixed32(&contents, 0);
    PutFixed32(&contents, 1);
    Status status;
    Walk(contents, format, &status);
    EXPECT_TRUE(status.IsCorruption());
    return status.message();
  };
  using namespace std::string_view_literals;
  const std::string_view at_0 = "entry at byte 0 of the block: ";
  EXPECT_EQ(fault("\x01\x01\x02"
                  "a\0\0"sv,
                  {}),
            std::string(at_0) + "lengths do not fit");
  EXPECT_EQ(fault("\x00\x70\x02"
                  "a\0\0"sv,
                  {}),
            std::string(at_0) + "lengths do not fit");
  EXPECT_EQ(fault("\x00\x01\x02"
                  "a\0\0"sv,
                  {}),
            std::string(at_0) + "key too short for an internal key");
  EXPECT_EQ(fault("\x00\x01\x03"
                  "a\0\0\0"sv,
                  {.user_keys = true}),
            std::string(at_0) + "bytes behind the block handle");
  EXPECT_EQ(fault("\x00\x01\x01"
                  "a\x80"sv,
                  {.user_keys = true}),
            std::string(at_0) + "malformed block handle");
  EXPECT_EQ(fault("\x00\x01"
                  "a\0\0\x01\x01"
                  "b"sv,
                  {.user_keys = true, .delta_values = true}),
            "entry at byte 5 of the block: malformed size of a block");
  EXPECT_EQ(fault("\x00\x01\x03"
                  "a\0\0\x05"sv,
                  {.user_keys = true, .first_keys = true}),
            std::string(at_0) + "malformed first key of a block");
}

TEST(RocksIndex, RestartsPointToWholeKeys) {
  std::string contents(
      "\x00\x01\x02"
      "a\0\0"
      "\x01\x01\x02"
      "b\0\0",
      12);
  PutFixed32(&contents, 0);
  PutFixed32(&contents, 6);
  PutFixed32(&contents, 2);
  Status status;
  Walk(contents, {.user_keys = true}, &status);
  EXPECT_EQ(status.message(),
            "entry at byte 6 of the block: the restart array points to no whole key");
}

}  // namespace
}  // namespace sluice
