// What is read of extents' heads, when, and what stays in memory.

#include "tree/table_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tree/run_iterator.h"
#include "tree/slice.h"
#include "tree/table_scan.h"
#include "tree/testing.h"

namespace sluice {
namespace {

constexpr int kBlocks = 500;

// An extent of blocks of 4 KiB.
class TableCacheTest : public testing::Test, protected ExtentFixture<WatchedEnv> {
 protected:
  TableCacheTest() {
    TestBlocks blocks;
    for (int block = 0; block < kBlocks; ++block) {
      std::vector<TestEntry>& entries = blocks.emplace_back();
      for (int i = 0; i < kRecords; ++i) {
        entries.push_back(
            {InternalKey(KeyOf(block * kRecords + i), 1), ValueOf(block * kRecords + i)});
      }
    }
    extent_ = std::make_shared<const Extent>(
        WriteTestExtent(blocks, space_.get(), &next_, {.extent_bytes = 4 << 20}));
    env_.on_read = [&](uint64_t offset, size_t bytes) {
      const uint64_t begin = offset - extent_->place->offset();
      ++reads_;
      bytes_ += bytes;
      pages_ += (begin + bytes + kPageBytes - 1) / kPageBytes - begin / kPageBytes;
      return Status();
    };
  }

  static constexpr int kRecords = 33;  // of a block
  static std::string KeyOf(int i) { return fmt::format("{:016}", i * 3); }
  static std::string ValueOf(int i) { return std::to_string(i) + std::string(90, 'v'); }

  // The extent as an engine finds it that was just opened.
  struct Cold {
    Cold(ExtentSpace* space, const Extent& same, size_t table_cache_bytes)
        : tables(table_cache_bytes), extent(same) {
      space->Freeze();
      extent.place = space->At(0, same);
    }

    // The value, "" if there is none or it was put off, or the error's text.
    std::string Get(const std::string& key, BlockReads* reads = nullptr) {
      const EpochGuard guard;
      BlockMatch match;
      const Status status = reader.Get({.extent = &extent}, InternalKey(key, kMaxSequence),
                                       BloomHash(key), /*fill_cache=*/false, reads, &match);
      return status.ok() ? std::string(match.value) : status.ToString();
    }

    TableCache tables;
    Cache blocks{0, 4096};
    Extent extent;
    ExtentReader reader{&tables, &blocks};
  };

  void ResetCounts() { reads_ = pages_ = bytes_ = 0; }

  ExtentPtr extent_;
  int reads_ = 0;
  uint64_t pages_ = 0;
  uint64_t bytes_ = 0;
};

// A page with the top, a page with a part, and the block itself, which may begin in one page and end
// in the next.
TEST_F(TableCacheTest, AColdGetReadsTwoPagesAndABlock) {
  TestRandom random(TestSeed());
  for (const size_t capacity : {size_t{0}, size_t{16384}, size_t{1} << 20}) {
    int in_vain = 0;
    for (int round = 0; round < 100; ++round) {
      const int i = static_cast<int>(Uniform(&random, 0, kBlocks * kRecords - 1));
      Cold cold(space_.get(), *extent_, capacity);
      ResetCounts();
      ASSERT_EQ(cold.Get(KeyOf(i)), ValueOf(i));
      EXPECT_EQ(reads_, 3);
      EXPECT_LE(pages_, 2u + 3u);
      EXPECT_LE(bytes_, 2 * kPageBytes + 4500);
      ResetCounts();
      ASSERT_EQ(cold.Get(KeyOf(i)), ValueOf(i));
      EXPECT_EQ(reads_, capacity > 0 ? 1 : 2) << "a top stays at least";
      // What the filter denies needs no block.
      Cold another(space_.get(), *extent_, capacity);
      ResetCounts();
      ASSERT_EQ(another.Get(KeyOf(i) + "0"), "");
      in_vain += reads_ - 2;
      EXPECT_LE(reads_ > 2 ? 2 : pages_, 2u);
    }
    EXPECT_LE(in_vain, 10);
  }
}

TEST_F(TableCacheTest, AGetOfASmallExtentReadsAPage) {
  const Extent small = WriteTestExtent({{{InternalKey("key", 5), "value"}}}, space_.get(), &next_);
  Cold cold(space_.get(), small, 1 << 20);
  ResetCounts();
  EXPECT_EQ(cold.Get("key"), "value");
  EXPECT_EQ(reads_, 2);
  EXPECT_LE(bytes_, kPageBytes);
}

// With direct I/O each read would wait for the device.
TEST_F(TableCacheTest, ASliceIsCountedWithFewReads) {
  Cold cold(space_.get(), *extent_, 1 << 20);
  ResetCounts();
  Extent slice;
  ASSERT_TRUE(MakeSlice(cold.extent, KeyOf(1), {}, &cold.reader, &slice).ok());
  EXPECT_EQ(slice.entries, kBlocks * kRecords - 1);
  EXPECT_LE(reads_, 5);
  EXPECT_LE(bytes_, extent_->bytes);
}

// A walk reads all parts of an extent at once, in each direction all records.
TEST_F(TableCacheTest, AWalkReadsPartsTogether) {
  for (const size_t capacity : {size_t{0}, size_t{1} << 20}) {
    Cold cold(space_.get(), *extent_, capacity);
    RunIndex run;
    ASSERT_TRUE(RunIndex().Edit({}, {std::make_shared<const Extent>(cold.extent)}, &run).ok());
    RunIterator at(&cold.reader, run, kMaxSequence, /*fill_cache=*/false);
    ResetCounts();
    int i = 0;
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      ASSERT_EQ(at.user_key(), KeyOf(i));
      ASSERT_EQ(at.value(), ValueOf(i++));
    }
    ASSERT_TRUE(at.status().ok()) << at.status().ToString();
    EXPECT_EQ(i, kBlocks * kRecords);
    if (capacity > 0) {
      EXPECT_LE(bytes_, extent_->bytes);
      EXPECT_LE(reads_, 45);
    }
    for (at.SeekToLast(); at.Valid(); at.Prev()) {
      ASSERT_EQ(at.user_key(), KeyOf(--i));
    }
    EXPECT_EQ(i, 0);
    for (int key = 0; key < kBlocks * kRecords; key += 97) {
      at.Seek(KeyOf(key) + "0");
      ASSERT_EQ(at.Valid() ? at.user_key() : "",
                key + 1 < kBlocks * kRecords ? KeyOf(key + 1) : "");
      at.SeekForPrev(KeyOf(key) + "0");
      ASSERT_TRUE(at.Valid());
      ASSERT_EQ(at.user_key(), KeyOf(key));
    }
  }
}

// The three things that a Get needs are read with those of others.
TEST_F(TableCacheTest, PutsOffWhatIsNotInMemory) {
  Cold cold(space_.get(), *extent_, 1 << 20);
  BlockReads reads;
  const std::vector<int> keys = {0, 3000, 7000, 12000};
  for (int step = 0; step < 3; ++step) {
    ResetCounts();
    for (const int key : keys) {
      ASSERT_EQ(cold.Get(KeyOf(key), &reads), "");
      ASSERT_TRUE(reads.TakeWanted());
    }
    EXPECT_EQ(reads_, 0);
    reads.Read();
    EXPECT_EQ(reads_, step == 0 ? 1 : static_cast<int>(keys.size()));
  }
  ResetCounts();
  for (const int key : keys) {
    ASSERT_EQ(cold.Get(KeyOf(key), &reads), ValueOf(key));
    ASSERT_FALSE(reads.TakeWanted());
  }
  EXPECT_EQ(reads_, 0);
}

TEST_F(TableCacheTest, StaysWithinItsBudget) {
  TestRandom random(TestSeed());
  for (const size_t capacity : {size_t{0}, size_t{20'000}, size_t{40'000}}) {
    Cold cold(space_.get(), *extent_, capacity);
    for (int i = 0; i < 2000; ++i) {
      const int key = static_cast<int>(Uniform(&random, 0, kBlocks * kRecords - 1));
      ASSERT_EQ(cold.Get(KeyOf(key)), ValueOf(key));
      if (i % 50 == 0) {
        TableHeadRef index;
        ASSERT_TRUE(cold.reader.OpenHead(cold.extent, &index).ok());
        ASSERT_EQ(index->blocks(), static_cast<size_t>(kBlocks));
      }
      const CacheStatistics statistics = cold.tables.statistics();
      // The top alone has some hundred bytes.
      ASSERT_LE(statistics.used_bytes, std::max<size_t>(capacity, 1500));
      ASSERT_GE(statistics.entries, 1u);
    }
    cold.extent.place.reset();
    EXPECT_EQ(cold.tables.statistics().entries, 0u);
    EXPECT_EQ(cold.tables.statistics().used_bytes, 0u);
  }
}

// A damaged part makes only its own keys unreadable, and walks of all blocks still find them.
TEST_F(TableCacheTest, DamageToAPartIsThatOfItsKeys) {
  std::string table(extent_->bytes, '\0');
  DataFile* const file = extent_->place->file();
  ASSERT_TRUE(file->Read(extent_->place->offset(), table.size(), table.data()).ok());
  BlockHandle part;
  {
    Cold cold(space_.get(), *extent_, 1 << 20);
    const EpochGuard guard;
    TableTop* top = nullptr;
    ASSERT_TRUE(cold.tables.FindTop(cold.extent, nullptr, &top).ok());
    ASSERT_GE(top->parts(), 6u);
    part = top->part(2);
  }
  table[part.offset + 100] ^= 1;
  ASSERT_TRUE(file->Write(extent_->place->offset(), table).ok());
  Cold cold(space_.get(), *extent_, 1 << 20);
  int lost = 0;
  for (int i = 0; i < kBlocks * kRecords; i += 10) {
    const std::string value = cold.Get(KeyOf(i));
    if (value != ValueOf(i)) {
      ++lost;
      const std::string place =
          fmt::format("db/000001.data, offset {} (extent {})",
                      extent_->place->offset() + part.offset, extent_->number);
      EXPECT_NE(value.find("corruption"), std::string::npos) << value;
      EXPECT_NE(value.find(place), std::string::npos) << value;
    }
  }
  EXPECT_GT(lost, 100);
  EXPECT_LT(lost, 400);
  RunIndex run;
  ASSERT_TRUE(RunIndex().Edit({}, {std::make_shared<const Extent>(cold.extent)}, &run).ok());
  RunIterator at(&cold.reader, run, kMaxSequence, /*fill_cache=*/false);
  int i = 0;
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    ASSERT_EQ(at.user_key(), KeyOf(i++));
  }
  EXPECT_TRUE(at.status().IsCorruption()) << at.status().ToString();
  EXPECT_GT(i, 1000);
  TableHeadRef index;
  ASSERT_TRUE(cold.reader.OpenHead(cold.extent, &index).ok());
  EXPECT_EQ(index->blocks(), static_cast<size_t>(kBlocks));
}

// What no CRC tells: nothing is read outside of what there is, and every error names the file.
TEST_F(TableCacheTest, HostileHeadsDoNoHarm) {
  TestRandom random(TestSeed());
  TestBlocks blocks;
  for (int i = 0; i < 200; ++i) {
    blocks.push_back({{InternalKey(KeyOf(i), 1), ValueOf(i)}});
  }
  const Extent small =
      WriteTestExtent(blocks, space_.get(), &next_, {.bloom_bits_per_key = 10, .subtable = 3});
  std::string table(small.bytes, '\0');
  DataFile* const file = small.place->file();
  ASSERT_TRUE(file->Read(small.place->offset(), table.size(), table.data()).ok());
  Footer footer;
  ASSERT_TRUE(Footer::Parse(std::string_view(table).substr(table.size() - kFooterBytes),
                            table.size(), &footer)
                  .ok());
  std::vector<BlockHandle> targets = {footer.index, footer.metaindex};
  {
    Cold cold(space_.get(), small, 1 << 20);
    const EpochGuard guard;
    TableTop* top = nullptr;
    ASSERT_TRUE(cold.tables.FindTop(cold.extent, nullptr, &top).ok());
    ASSERT_GE(top->parts(), 2u);
    for (size_t i = 0; i < top->parts(); ++i) {
      targets.push_back(top->part(i));
    }
    const BlockHandle last = top->part(top->parts() - 1);
    uint64_t begin = last.offset + last.size + kBlockTrailerBytes;
    begin += table[begin] == 0 && table[begin + 1] == 0 ? kPageBytes - begin % kPageBytes : 0;
    targets.push_back({begin, footer.metaindex.offset - begin - kBlockTrailerBytes});
  }
  for (int round = 0; round < TestRounds(2000); ++round) {
    std::string hostile = table;
    for (uint64_t changes = Uniform(&random, 1, 3); changes > 0; --changes) {
      const BlockHandle& target = targets[Uniform(&random, 0, targets.size() - 1)];
      const uint64_t at = target.offset + Uniform(&random, 0, target.size - 1);
      hostile[at] = static_cast<char>(Uniform(&random, 0, 1) != 0 ? random() : hostile[at] ^ 1);
      std::string trailer;
      AppendBlockTrailer(std::string_view(hostile).substr(target.offset, target.size),
                         Compression::kNone, &trailer);
      hostile.replace(target.offset + target.size, trailer.size(), trailer);
    }
    ASSERT_TRUE(file->Write(small.place->offset(), hostile).ok());
    Cold cold(space_.get(), small, Uniform(&random, 0, 1) << 20);
    const auto expect_place = [&](const Status& status) {
      EXPECT_TRUE(status.ok() || status.message().find("db/000001.data") != std::string::npos)
          << status.ToString();
    };
    for (int i = 0; i < 200; i += 7) {
      const std::string value = cold.Get(KeyOf(i));
      EXPECT_TRUE(value.empty() || value == ValueOf(i) ||
                  value.find("db/000001.data") != std::string::npos)
          << value;
    }
    TableHeadRef index;
    expect_place(cold.reader.OpenHead(cold.extent, &index));
    RunIndex run;
    ASSERT_TRUE(RunIndex().Edit({}, {std::make_shared<const Extent>(cold.extent)}, &run).ok());
    RunIterator at(&cold.reader, run, kMaxSequence, /*fill_cache=*/false);
    int steps = 0;
    for (at.SeekToFirst(); at.Valid() && steps < 10'000; at.Next()) {
      ++steps;
    }
    expect_place(at.status());
    for (at.SeekToLast(); at.Valid() && steps < 20'000; at.Prev()) {
      ++steps;
    }
    expect_place(at.status());
  }
}

// Every byte of an extent is found damaged by a Get, but for the properties and the index, which
// only repairs and compactions read, and padding.
TEST_F(TableCacheTest, NamesWhatIsDamaged) {
  const Extent small = WriteTestExtent({{{InternalKey("key", 5), "value"}}}, space_.get(), &next_);
  std::string table(small.bytes, '\0');
  DataFile* const file = small.place->file();
  ASSERT_TRUE(file->Read(small.place->offset(), table.size(), table.data()).ok());
  Footer footer;
  ASSERT_TRUE(Footer::Parse(std::string_view(table).substr(table.size() - kFooterBytes),
                            table.size(), &footer)
                  .ok());
  size_t unnoticed = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    std::string damaged = table;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    ASSERT_TRUE(file->Write(small.place->offset(), damaged).ok());
    Cold cold(space_.get(), small, 1 << 20);
    const std::string found = cold.Get("key");
    TableHeadRef index;
    const Status status = cold.reader.OpenHead(cold.extent, &index);
    if (found == "value" && status.ok()) {
      ++unnoticed;
      continue;
    }
    const std::string text = found == "value" ? status.ToString() : found;
    EXPECT_NE(text.find("db/000001.data, offset "), std::string::npos) << i << ": " << text;
  }
  EXPECT_LE(unnoticed, ExtentProperties(0).size() + kBlockTrailerBytes + 40);
}

// Readers with a small table cache, which gives heads up all the time, while extents come and go.
TEST(TableCache, HeadsStayWhileTheyAreRead) {
  FaultEnv env(FileImage{{"a/x", ""}});
  std::unique_ptr<ExtentSpace> space;
  ASSERT_TRUE(ExtentSpace::Open(&env, {{"a", 1}}, &space).ok());
  TableCache tables(6000);
  Cache blocks(1 << 16, 1000);
  ExtentReader reader(&tables, &blocks);
  std::atomic<uint64_t> next{1};
  constexpr int kExtents = 8;
  constexpr int kKeys = 100;  // of three parts
  const auto make = [&](int number) {
    TestBlocks blocks;
    for (int i = 0; i < kKeys; ++i) {
      blocks.push_back(
          {{InternalKey("key" + std::to_string(kKeys + i), 5), std::to_string(number)}});
    }
    return std::make_shared<const Extent>(WriteTestExtent(blocks, space.get(), &next));
  };
  std::mutex mutex;
  std::vector<std::pair<int, ExtentPtr>> live;
  live.reserve(kExtents);
  for (int i = 0; i < kExtents; ++i) {
    live.emplace_back(i, make(i));
  }
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      TestRandom random(t);
      for (int i = 0; i < 3000; ++i) {
        std::pair<int, ExtentPtr> chosen;
        {
          const std::lock_guard lock(mutex);
          chosen = live[Uniform(&random, 0, kExtents - 1)];
        }
        const std::string key = "key" + std::to_string(kKeys + Uniform(&random, 0, kKeys - 1));
        if (i % 64 == 0) {
          TableHeadRef index;
          ASSERT_TRUE(reader.OpenHead(*chosen.second, &index).ok());
          ASSERT_EQ(index->blocks(), static_cast<size_t>(kKeys));
        }
        const EpochGuard guard;
        BlockMatch match;
        ASSERT_TRUE(reader
                        .Get(*chosen.second, InternalKey(key, kMaxSequence), BloomHash(key),
                             i % 2 == 0, &match)
                        .ok());
        ASSERT_TRUE(match.found);
        ASSERT_EQ(match.value, std::to_string(chosen.first));
      }
    });
  }
  for (int i = kExtents; i < 200; ++i) {
    ExtentPtr made = make(i);
    const std::lock_guard lock(mutex);
    live[i % kExtents] = {i, std::move(made)};
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_LE(tables.statistics().used_bytes, 6000u);
  live.clear();
  EXPECT_EQ(tables.statistics().entries, 0u);
  EpochDrain();
}

}  // namespace
}  // namespace sluice
