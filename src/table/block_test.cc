#include "table/block.h"

#include <gtest/gtest.h>

#include "table/block_builder.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

std::string BuildBlock(const std::vector<TestEntry>& entries, uint32_t restart_interval) {
  BlockBuilder builder(restart_interval);
  for (const TestEntry& entry : entries) {
    builder.Add(entry.key, entry.value);
  }
  const size_t expected = builder.bytes();
  const std::string_view block = builder.Finish();
  EXPECT_EQ(block.size(), expected);
  return std::string(block);
}

TEST(BlockBuilder, EncodesAsTheFormatSays) {
  BlockBuilder builder(2);
  builder.Add(InternalKey("abc", 1), "x");
  builder.Add(InternalKey("abd", 1), "");
  builder.Add(InternalKey("abde", 1), "yz");
  const std::string trailer("\x01\x01\0\0\0\0\0\0", 8);
  std::string expected(
      "\0\x0b\x01"
      "abc",
      6);
  expected += trailer + "x";
  expected += std::string(
                  "\x02\x09\0"
                  "d",
                  4) +
              trailer;
  expected += std::string(
                  "\0\x0c\x02"
                  "abde",
                  7) +
              trailer + "yz";
  PutFixed32(&expected, 0);
  PutFixed32(&expected, 27);
  PutFixed32(&expected, 2);
  EXPECT_EQ(builder.bytes(), expected.size());
  EXPECT_EQ(builder.Finish(), expected);
}

// The trailers' first bytes are equal, too, but a trailer is never shared.
TEST(BlockBuilder, VersionsOfOneKeyShareTheUserKeyOnly) {
  BlockBuilder builder(16);
  builder.Add(InternalKey("k", 7), "");
  builder.Add(InternalKey("k", 6), "");
  const std::string_view block = builder.Finish();
  EXPECT_EQ(block.substr(12, 3), std::string_view("\x01\x08\0", 3));
}

TEST(BlockBuilder, EmptyBlockHasOneRestart) {
  BlockBuilder builder(16);
  EXPECT_TRUE(builder.empty());
  EXPECT_EQ(builder.Finish(), std::string_view("\0\0\0\0\1\0\0\0", 8));
  builder.Reset();
  builder.Add(InternalKey("a", 1), "");
  EXPECT_FALSE(builder.empty());
  EXPECT_EQ(builder.last_key(), InternalKey("a", 1));
}

TEST(Block, IteratesBothWaysAndSeeks) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 200; ++round) {
    const auto interval = static_cast<uint32_t>(Uniform(&random, 1, 40));
    const auto entries = RandomEntries(&random, {.count = Uniform(&random, 0, 150),
                                                 .most_key_bytes = Uniform(&random, 1, 300),
                                                 .most_value_bytes = 300});
    const std::string contents = BuildBlock(entries, interval);
    Block block;
    ASSERT_TRUE(Block::Parse(contents, &block).ok());
    EXPECT_EQ(block.restarts(), std::max<size_t>(1, (entries.size() + interval - 1) / interval));
    BlockIterator it(block);
    EXPECT_FALSE(it.Valid());
    it.SeekToFirst();
    std::string before;
    for (const TestEntry& entry : entries) {
      ASSERT_TRUE(it.Valid());
      EXPECT_EQ(it.key(), entry.key);
      EXPECT_EQ(it.value(), entry.value);
      EXPECT_EQ(it.repeats(), !before.empty() && UserKey(before) == UserKey(entry.key));
      before = entry.key;
      it.Next();
    }
    EXPECT_FALSE(it.Valid());
    EXPECT_FALSE(it.repeats());
    EXPECT_EQ(it.key(), before);
    it.SeekToLast();
    for (size_t i = entries.size(); i-- > 0;) {
      ASSERT_TRUE(it.Valid());
      EXPECT_EQ(it.key(), entries[i].key);
      EXPECT_EQ(it.value(), entries[i].value);
      it.Prev();
    }
    EXPECT_FALSE(it.Valid());
    for (const TestEntry& probe : RandomEntries(&random, {.count = 50})) {
      it.Seek(probe.key);
      const auto expected = std::lower_bound(
          entries.begin(), entries.end(), probe.key,
          [](const TestEntry& e, const std::string& key) { return InternalKeyLess(e.key, key); });
      ASSERT_EQ(it.Valid(), expected != entries.end());
      if (it.Valid()) {
        EXPECT_EQ(it.key(), expected->key);
      }
    }
    for (const TestEntry& entry : entries) {
      it.Seek(entry.key);
      ASSERT_TRUE(it.Valid());
      EXPECT_EQ(it.key(), entry.key);
    }
    EXPECT_TRUE(it.status().ok());
  }
}

TEST(Block, PlainKeysMayBeShort) {
  BlockBuilder builder(1);
  builder.Add("", "0");
  builder.Add("a", "1");
  const std::string contents(builder.Finish());
  Block block;
  ASSERT_TRUE(Block::Parse(contents, &block).ok());
  BlockIterator plain(block, KeyKind::kPlain);
  plain.SeekToLast();
  ASSERT_TRUE(plain.Valid());
  EXPECT_EQ(plain.key(), "a");
  plain.Prev();
  ASSERT_TRUE(plain.Valid());
  EXPECT_EQ(plain.key(), "");
  BlockIterator internal(block);
  internal.SeekToFirst();
  EXPECT_FALSE(internal.Valid());
  EXPECT_TRUE(internal.status().IsCorruption());
}

// `contents` must be refused, or end with an error when walked.
void ExpectCorrupt(std::string contents, const std::string& cause) {
  Block block;
  Status status = Block::Parse(contents, &block);
  if (status.ok()) {
    BlockIterator it(block);
    for (it.SeekToFirst(); it.Valid(); it.Next()) {
    }
    status = it.status();
  }
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_NE(status.message().find(cause), std::string::npos) << status.ToString();
}

TEST(Block, FaultsAreNamed) {
  const std::string tail("\0\0\0\0\1\0\0\0", 8);
  ExpectCorrupt("", "cannot hold a restart array");
  ExpectCorrupt(std::string(7, '\0'), "cannot hold a restart array");
  ExpectCorrupt(std::string(8, '\0'), "claims 0 restarts");
  ExpectCorrupt(std::string("\0\0\0\0\2\0\0\0", 8), "claims 2 restarts");
  ExpectCorrupt(std::string("\4\0\0\0\1\0\0\0", 8), "first restart of the block is 4");
  ExpectCorrupt("\x80" + tail, "entry at byte 0 of the block: malformed header");
  ExpectCorrupt("\x01\x08" + std::string("\0abcdefgh", 9) + tail, "shares more");
  ExpectCorrupt(std::string("\0\x09\0abcdefgh", 11) + tail, "reaches past");
  ExpectCorrupt(std::string("\0\x08\x01"
                            "abcdefgh",
                            11) +
                    tail,
                "reaches past");
  ExpectCorrupt(std::string("\0\xff\xff\xff\xff\x0f\xff\xff\xff\xff\x0f", 11) + tail,
                "reaches past");
  ExpectCorrupt(std::string("\0\x07\0abcdefg", 10) + tail, "too short for an internal key");
}

TEST(Block, WildRestartsEndInAnErrorOrAnEntry) {
  TestRandom random(TestSeed());
  const auto entries = RandomEntries(&random, {.count = 60});
  const std::string good = BuildBlock(entries, 4);
  for (int round = 0; round < 2000; ++round) {
    std::string bad = good;
    Block block;
    ASSERT_TRUE(Block::Parse(good, &block).ok());
    const size_t array = block.entries().size();
    const auto i = Uniform(&random, 1, block.restarts() - 1);
    EncodeFixed32(bad.data() + array + 4 * i,
                  static_cast<uint32_t>(Uniform(&random, 0, 1) != 0 ? Uniform(&random, 0, array + 8)
                                                                    : random()));
    ASSERT_TRUE(Block::Parse(bad, &block).ok());
    BlockIterator it(block);
    it.Seek(entries[Uniform(&random, 0, entries.size() - 1)].key);
    it.SeekToLast();
    for (size_t steps = 0; it.Valid(); ++steps, it.Prev()) {
      ASSERT_LE(steps, bad.size());
    }
  }
}

}  // namespace
}  // namespace sluice
