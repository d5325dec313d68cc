#include "table/key_scan.h"

#include <gtest/gtest.h>

#include <vector>

#include "table/block_builder.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

struct Seen {
  std::string key;
  bool same;

  bool operator==(const Seen&) const = default;
};

// What the scanner ought to visit, by BlockIterator. `*last_key`: of the block before.
Status Expected(const Block& block, std::string* last_key, std::vector<Seen>* seen) {
  BlockIterator at(block);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    const bool same = !last_key->empty() && UserKey(*last_key) == UserKey(at.key());
    seen->push_back({std::string(at.key()), same});
    last_key->assign(at.key());
  }
  return at.status();
}

Status Scan(KeyScanner* scanner, const Block& block, std::vector<Seen>* seen) {
  return scanner->Scan(block, [&](std::string_view key, bool same) {
    EXPECT_EQ(key, scanner->last_key());
    seen->push_back({std::string(key), same});
  });
}

// A few blocks, one behind the other.
std::vector<std::string> RandomBlocks(TestRandom* random) {
  const auto entries = RandomEntries(
      random, {.count = 300,
               .most_key_bytes = Uniform(random, 0, 3) == 0 ? size_t{2000} : size_t{40},
               .most_value_bytes = 100,
               .alphabet = Uniform(random, 0, 1) == 0 ? 2u : 256u});
  std::vector<std::string> blocks;
  BlockBuilder builder(static_cast<uint32_t>(Uniform(random, 1, 20)));
  for (const TestEntry& entry : entries) {
    builder.Add(entry.key, entry.value);
    if (Uniform(random, 0, 60) == 0) {
      blocks.emplace_back(builder.Finish());
      builder.Reset();
    }
  }
  if (!builder.empty()) {
    blocks.emplace_back(builder.Finish());
  }
  return blocks;
}

TEST(KeyScanner, VisitsWhatBlockIteratorDoes) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 300; ++round) {
    KeyScanner scanner;
    std::string last_key;
    for (const std::string& contents : RandomBlocks(&random)) {
      Block block;
      ASSERT_TRUE(Block::Parse(contents, &block).ok());
      std::vector<Seen> expected;
      std::vector<Seen> seen;
      ASSERT_TRUE(Expected(block, &last_key, &expected).ok());
      std::string_view first;
      ASSERT_TRUE(KeyScanner::FirstKey(block, &first).ok());
      EXPECT_EQ(first, expected.front().key);
      ASSERT_TRUE(Scan(&scanner, block, &seen).ok());
      ASSERT_EQ(seen, expected);
      EXPECT_EQ(scanner.last_key(), last_key);
    }
  }
}

// The contents stand at the end of their memory: a read past them is one that sanitizers find.
TEST(KeyScanner, NamesDamageAsBlockIteratorDoes) {
  TestRandom random(TestSeed());
  int damaged = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::vector<std::string> blocks = RandomBlocks(&random);
    std::vector<char> contents(blocks.front().begin(), blocks.front().end());
    contents[Uniform(&random, 0, contents.size() - 5)] = static_cast<char>(random());
    Block block;
    if (!Block::Parse({contents.data(), contents.size()}, &block).ok()) {
      continue;
    }
    std::string last_key;
    std::vector<Seen> expected;
    std::vector<Seen> seen;
    const Status status = Expected(block, &last_key, &expected);
    KeyScanner scanner;
    ASSERT_EQ(Scan(&scanner, block, &seen).ToString(), status.ToString());
    ASSERT_EQ(seen, expected);
    std::string_view first;
    ASSERT_EQ(KeyScanner::FirstKey(block, &first).ok(), !expected.empty());
    damaged += !status.ok();
  }
  EXPECT_GT(damaged, 100);
}

TEST(KeyScanner, AnEmptyBlockHasNoFirstKey) {
  BlockBuilder builder(16);
  Block block;
  ASSERT_TRUE(Block::Parse(builder.Finish(), &block).ok());
  std::string_view first;
  EXPECT_TRUE(KeyScanner::FirstKey(block, &first).IsCorruption());
  KeyScanner scanner;
  std::vector<Seen> seen;
  EXPECT_TRUE(Scan(&scanner, block, &seen).ok());
  EXPECT_TRUE(seen.empty());
}

}  // namespace
}  // namespace sluice
