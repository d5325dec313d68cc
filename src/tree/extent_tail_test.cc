// What extents look like: their heads in parts, and where these lie.

#include "tree/extent_tail.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "table/dump.h"
#include "table/verify.h"
#include "tree/table_top.h"
#include "tree/testing.h"

namespace sluice {
namespace {

// The tables of these blocks.
std::vector<BuiltExtent> Build(const TestBlocks& blocks, const ExtentFormat& format) {
  std::vector<BuiltExtent> built;
  ExtentBuilder builder(format, [&](BuiltExtent* one) {
    built.push_back({one->table, one->extent, one->dictionary});
    return Status();
  });
  for (const std::vector<TestEntry>& entries : blocks) {
    BlockBuilder block(4);
    for (const TestEntry& entry : entries) {
      block.Add(entry.key, entry.value);
    }
    EXPECT_TRUE(builder.AddBlock(block.Finish()).ok());
  }
  EXPECT_TRUE(builder.EndExtent().ok());
  return built;
}

std::unique_ptr<TableTop> TopOf(const BuiltExtent& built) {
  const TablePiece whole{.begin = 0, .bytes = built.table};
  TableTop* top = nullptr;
  uint64_t from = 0;
  const Status status = TableTop::Make(built.extent, whole, &top, &from);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return std::unique_ptr<TableTop>(top);
}

bool InOnePage(uint64_t begin, uint64_t end) {
  return begin / kPageBytes == (end - 1) / kPageBytes;
}

void CheckLayout(const BuiltExtent& built, bool short_keys) {
  const Status status = VerifyTableImage(built.table, "table", nullptr);
  EXPECT_TRUE(status.ok()) << status.ToString();
  const std::unique_ptr<TableTop> top = TopOf(built);
  ASSERT_NE(top, nullptr);
  for (size_t i = 0; short_keys && i < top->parts(); ++i) {
    const BlockHandle part = top->part(i);
    EXPECT_TRUE(InOnePage(part.offset, part.offset + part.size + kBlockTrailerBytes)) << i;
    // And they are full.
    EXPECT_TRUE(i + 1 >= top->parts() || part.size > kPageBytes - 250) << part.size;
  }
  // One page has all that it takes to make a top.
  const uint64_t begin = TablePiece::BeginOf(built.extent);
  const TablePiece end{.begin = begin, .bytes = std::string_view(built.table).substr(begin)};
  TableTop* again = nullptr;
  uint64_t from = 0;
  ASSERT_TRUE(TableTop::Make(built.extent, end, &again, &from).ok());
  EXPECT_EQ(again != nullptr || !short_keys, true);
  delete again;
}

TEST(ExtentTail, PutsPartsIntoPages) {
  TestRandom random(TestSeed());
  for (int round = 0; round < TestRounds(40); ++round) {
    const auto most_key = Uniform(&random, 4, 24);
    const auto entries = RandomEntries(&random, {.count = Uniform(&random, 1, 20000),
                                                 .most_key_bytes = most_key,
                                                 .most_value_bytes = Uniform(&random, 0, 100),
                                                 .alphabet = 26});
    TestBlocks blocks;
    for (size_t i = 0; i < entries.size();) {
      const size_t n = std::min<size_t>(entries.size() - i, Uniform(&random, 1, 40));
      blocks.emplace_back(entries.begin() + i, entries.begin() + i + n);
      i += n;
    }
    const ExtentFormat format{.extent_bytes = static_cast<uint32_t>(1 << Uniform(&random, 12, 21)),
                              .codec = {RandomCompression(&random)},
                              .bloom_bits_per_key = static_cast<int>(Uniform(&random, 0, 1) * 10),
                              .prefix_bytes = static_cast<uint32_t>(Uniform(&random, 0, 5))};
    const std::vector<BuiltExtent> built = Build(blocks, format);
    size_t found = 0;
    for (const BuiltExtent& one : built) {
      CheckLayout(one, /*short_keys=*/true);
      found += one.extent.entries;
      // An entry of the index, one of a part, and a page more, at most.
      EXPECT_LE(one.extent.bytes,
                std::max<uint32_t>(format.extent_bytes, 16384) + kPageBytes + 400);
    }
    EXPECT_EQ(found, entries.size());
  }
}

TEST(ExtentTail, TakesAPageWhereThatIsEnough) {
  const std::vector<BuiltExtent> built =
      Build({{{InternalKey("key", 1), std::string(3500, 'v')}}}, {});
  ASSERT_EQ(built.size(), 1u);
  EXPECT_LT(built[0].extent.bytes, kPageBytes);
  CheckLayout(built[0], true);
}

TEST(ExtentTail, HasPartsOfTenThousandTinyBlocks) {
  TestBlocks blocks;
  for (int i = 0; i < 10'000; ++i) {
    blocks.push_back({{InternalKey(std::to_string(100'000 + i), 1), ""}});
  }
  const std::vector<BuiltExtent> built = Build(blocks, {});
  ASSERT_EQ(built.size(), 1u);
  CheckLayout(built[0], true);
  EXPECT_GT(TopOf(built[0])->parts(), 50u);
}

// Parts and tops that no page holds.
TEST(ExtentTail, TakesLongKeysAndValues) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 5; ++round) {
    TestBlocks blocks;
    for (int i = 0; i < 60; ++i) {
      std::string key = std::to_string(100 + i);
      key.resize(Uniform(&random, 0, 1) != 0 ? Uniform(&random, 3, 65535) : 65535, 'k');
      blocks.push_back({{InternalKey(key, 1), std::string(SkewedSize(&random, 3 << 20), 'v')}});
    }
    for (const BuiltExtent& built : Build(blocks, {})) {
      CheckLayout(built, /*short_keys=*/false);
    }
  }
}

// Whether a lookup finds each key's block, and an iterator its prefix.
bool FindsAll(const BuiltExtent& built, const TestBlocks& blocks) {
  const TablePiece whole{.begin = 0, .bytes = built.table};
  TableTop* made = nullptr;
  uint64_t from = 0;
  if (!TableTop::Make(built.extent, whole, &made, &from).ok()) {
    return false;
  }
  const std::unique_ptr<TableTop> top(made);
  for (const std::vector<TestEntry>& entries : blocks) {
    for (const TestEntry& entry : entries) {
      const size_t part = top->Find(entry.key);
      std::string buffer;
      std::string_view contents;
      TableHead* head = nullptr;
      if (part == top->parts() || !whole.ReadBlock(top->part(part), &buffer, &contents).ok() ||
          !TableHead::Make(contents, top->last_key(part), &head).ok()) {
        return false;
      }
      const size_t block = head->Find(entry.key);
      const std::string_view user_key = UserKey(entry.key);
      const bool found = block < head->blocks() && head->last_key(block) == entries.back().key &&
                         head->MayHold(block, BloomHash(user_key)) &&
                         head->MayHold(block, BloomHash(user_key.substr(0, top->prefix_bytes())));
      head->Unref();
      if (!found) {
        return false;
      }
    }
  }
  return true;
}

// What it passes does not hide a key, whatever else is wrong with parts.
TEST(ExtentTail, IsVerified) {
  TestRandom random(TestSeed());
  TestBlocks blocks;
  for (int i = 0; i < 240; ++i) {
    blocks.emplace_back();
    for (int record = 0; record < 3; ++record) {
      blocks.back().push_back({InternalKey(std::to_string(10'000 + 3 * i + record), 1), "value"});
    }
  }
  const BuiltExtent built = std::move(Build(blocks, {.prefix_bytes = 3}).at(0));
  ASSERT_TRUE(FindsAll(built, blocks));
  ASSERT_EQ(TopOf(built)->prefix_bytes(), 3u);
  std::string dump;
  ASSERT_TRUE(DumpTableImage(built.table, "table", [&](std::string_view line) {
                dump.append(line).append("\n");
              }).ok());
  const std::unique_ptr<TableTop> top = TopOf(built);
  std::vector<BlockHandle> targets;
  for (size_t i = 0; i < top->parts(); ++i) {
    targets.push_back(top->part(i));
    EXPECT_NE(dump.find(fmt::format("part of the head at {} ({} bytes): ", top->part(i).offset,
                                    top->part(i).size)),
              std::string::npos)
        << dump;
  }
  ASSERT_GE(targets.size(), 2u);
  int noticed = 0;
  for (int round = 0; round < TestRounds(500); ++round) {
    BuiltExtent hostile{built.table, built.extent};
    const BlockHandle& target = targets[Uniform(&random, 0, targets.size() - 1)];
    const uint64_t at = target.offset + Uniform(&random, 0, target.size - 1);
    hostile.table[at] = static_cast<char>(hostile.table[at] ^ 1 << Uniform(&random, 0, 7));
    std::string trailer;
    AppendBlockTrailer(std::string_view(hostile.table).substr(target.offset, target.size),
                       Compression::kNone, &trailer);
    hostile.table.replace(target.offset + target.size, trailer.size(), trailer);
    if (VerifyTableImage(hostile.table, "table", nullptr).ok()) {
      EXPECT_TRUE(FindsAll(hostile, blocks)) << "byte " << at;
    } else {
      ++noticed;
    }
  }
  EXPECT_GT(noticed, TestRounds(500) / 4);
}

}  // namespace
}  // namespace sluice
