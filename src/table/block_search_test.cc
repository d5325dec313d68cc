#include "table/block_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "table/block_builder.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Finds an entry by a walk over all.
BlockMatch Expected(const Block& block, std::string_view target) {
  BlockIterator at(block);
  at.SeekToFirst();
  while (at.Valid() && InternalKeyLess(at.key(), target)) {
    at.Next();
  }
  return at.Valid() && UserKey(at.key()) == UserKey(target)
             ? BlockMatch{true, Trailer(at.key()), at.value()}
             : BlockMatch{};
}

TEST(SearchBlock, FindsWhatAWalkFinds) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 500; ++round) {
    const std::vector<TestEntry> entries =
        RandomEntries(&random, {.count = Uniform(&random, 1, 200),
                                .most_key_bytes = Uniform(&random, 0, 20),
                                .most_value_bytes = 20,
                                .alphabet = static_cast<unsigned>(Uniform(&random, 1, 4))});
    BlockBuilder builder(static_cast<uint32_t>(Uniform(&random, 1, 20)));
    for (const TestEntry& entry : entries) {
      builder.Add(entry.key, entry.value);
    }
    const std::string contents(builder.Finish());
    Block block;
    ASSERT_TRUE(Block::Parse(contents, &block).ok());
    for (int i = 0; i < 100; ++i) {
      // A key of the block with another sequence number, or one like it.
      std::string user_key(UserKey(entries[Uniform(&random, 0, entries.size() - 1)].key));
      if (Uniform(&random, 0, 2) == 0) {
        user_key.resize(Uniform(&random, 0, user_key.size()));
        user_key.append(Uniform(&random, 0, 2), static_cast<char>('a' + Uniform(&random, 0, 4)));
      }
      const std::string target =
          InternalKey(user_key, Uniform(&random, 0, kMaxSequence), RecordType{0xff});
      BlockMatch match;
      ASSERT_TRUE(SearchBlock(block, target, &match).ok());
      const BlockMatch expected = Expected(block, target);
      ASSERT_EQ(match.found, expected.found);
      ASSERT_EQ(match.trailer, expected.trailer);
      ASSERT_EQ(match.value, expected.value);
    }
  }
}

// LevelDB's blocks share what keys have in common, trailers or not: here, too, bytes of a trailer
// with those of the next key.
TEST(SearchBlock, ToleratesSharedTrailers) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> keys;
    for (uint64_t n = Uniform(&random, 2, 40); n > 0; --n) {
      std::string user_key;
      for (uint64_t bytes = Uniform(&random, 0, 12); bytes > 0; --bytes) {
        user_key.push_back(static_cast<char>(Uniform(&random, 0, 1)));
      }
      keys.push_back(InternalKey(user_key, Uniform(&random, 0, 2)));
    }
    std::sort(keys.begin(), keys.end(), InternalKeyLess);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    std::string contents;
    std::string_view last;
    for (const std::string& key : keys) {
      const size_t shared = CommonPrefix(last, key);
      for (const size_t field : {shared, key.size() - shared, size_t{0}}) {
        contents.push_back(static_cast<char>(field));
      }
      contents.append(key, shared);
      last = key;
    }
    PutFixed32(&contents, 0);
    PutFixed32(&contents, 1);
    Block block;
    ASSERT_TRUE(Block::Parse(contents, &block).ok());
    for (int i = 0; i < 50; ++i) {
      std::string target(UserKey(keys[Uniform(&random, 0, keys.size() - 1)]));
      for (uint64_t bytes = Uniform(&random, 0, 3); bytes > 0; --bytes) {
        target.push_back(static_cast<char>(Uniform(&random, 0, 1)));
      }
      target = InternalKey(target, Uniform(&random, 0, 3));
      const auto expected = std::lower_bound(keys.begin(), keys.end(), target, InternalKeyLess);
      BlockIterator at(block);
      at.Seek(target);
      ASSERT_TRUE(at.status().ok());
      ASSERT_EQ(at.Valid(), expected != keys.end());
      if (at.Valid()) {
        ASSERT_EQ(at.key(), *expected);
      }
      BlockMatch match;
      ASSERT_TRUE(SearchBlock(block, target, &match).ok());
      ASSERT_EQ(match.found, expected != keys.end() && UserKey(*expected) == UserKey(target));
    }
  }
}

// Whatever the bytes, a search ends and stays in the block (run it under ASan).
TEST(SearchBlock, SurvivesAnyBytes) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 2000; ++round) {
    BlockBuilder builder(4);
    for (const TestEntry& entry : RandomEntries(&random, {.count = 30, .most_value_bytes = 20})) {
      builder.Add(entry.key, entry.value);
    }
    std::string contents(builder.Finish());
    for (uint64_t flips = Uniform(&random, 1, 4); flips > 0; --flips) {
      contents[Uniform(&random, 0, contents.size() - 1)] = static_cast<char>(random());
    }
    Block block;
    if (!Block::Parse(contents, &block).ok()) {
      continue;
    }
    BlockMatch match;
    (void)SearchBlock(block, InternalKey("abab", kMaxSequence), &match);
  }
}

}  // namespace
}  // namespace sluice
