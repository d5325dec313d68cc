// What an iterator reads of its run, and when.

#include "tree/run_iterator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tree/testing.h"
#include "tree/version_iterator.h"

namespace sluice {
namespace {

constexpr int kBlocks = 256;
constexpr int kExtents = 3;

// A run of extents with blocks of one record each, of about 4 KiB.
class RunIteratorTest : public testing::Test, protected ExtentFixture<WatchedEnv> {
 protected:
  RunIteratorTest() {
    std::vector<ExtentPtr> extents;
    for (int extent = 0; extent < kExtents; ++extent) {
      TestBlocks blocks;
      for (int block = 0; block < kBlocks; ++block) {
        const std::string key = KeyOf(extent * kBlocks + block);
        blocks.push_back({{InternalKey(key, 1), key + std::string(4000, 'v')}});
      }
      extents.push_back(std::make_shared<const Extent>(
          WriteTestExtent(blocks, space_.get(), &next_, {.extent_bytes = 2 << 20})));
      HeadPart part;  // reads in all of them
      EXPECT_TRUE(reader_.OpenPart(*extents.back(), 0, /*walk=*/true, {}, &part).ok());
      block_bytes_ = part.head->block(0).size + kBlockTrailerBytes;
    }
    EXPECT_TRUE(RunIndex().Edit({}, extents, &run_).ok());
    env_.on_read = [&](uint64_t offset, size_t bytes) {
      ++reads_;
      bytes_ += bytes;
      most_bytes_ = std::max(most_bytes_, bytes);
      return offset <= damaged_ && damaged_ < offset + bytes ? Status::IoError("damaged")
                                                             : Status();
    };
  }

  static std::string KeyOf(int i) { return fmt::format("{:06}", i); }
  std::unique_ptr<RunIterator> Iterate() {
    return std::make_unique<RunIterator>(&reader_, run_, kMaxSequence, /*fill_cache=*/false);
  }

  void Aim(RunIterator* at, std::string_view key) {
    SetSeekTarget(key, kMaxSequence, &target_);
    at->Aim(target_.view(), nullptr);
  }

  KeyBuffer target_;
  RunIndex run_;
  int reads_ = 0;
  uint64_t bytes_ = 0;
  uint64_t block_bytes_ = 0;  // that each block takes
  size_t most_bytes_ = 0;
  uint64_t damaged_ = ~uint64_t{0};  // the offset of what cannot be read
};

TEST_F(RunIteratorTest, ReadsOneBlockForASeek) {
  const auto at = Iterate();
  for (const int i : {500, 3, 77, 700}) {
    reads_ = 0;
    at->Seek(KeyOf(i));
    ASSERT_TRUE(at->Valid());
    EXPECT_EQ(at->user_key(), KeyOf(i));
    EXPECT_EQ(reads_, 1);
  }
  EXPECT_LT(most_bytes_, 5000u);
}

TEST_F(RunIteratorTest, ReadsAheadGoingForward) {
  const auto at = Iterate();
  int i = 0;
  for (at->SeekToFirst(); at->Valid(); at->Next(), ++i) {
    ASSERT_EQ(at->user_key(), KeyOf(i));
    ASSERT_EQ(at->value(), KeyOf(i) + std::string(4000, 'v'));
  }
  ASSERT_TRUE(at->status().ok());
  EXPECT_EQ(i, kExtents * kBlocks);
  EXPECT_LT(reads_, i / 20);
  EXPECT_LE(most_bytes_, size_t{128} << 10);
}

TEST_F(RunIteratorTest, ReadsWhatItNeedsGoingBackward) {
  const auto at = Iterate();
  int i = kExtents * kBlocks;
  for (at->SeekToLast(); at->Valid(); at->Prev()) {
    ASSERT_EQ(at->user_key(), KeyOf(--i));
  }
  EXPECT_EQ(i, 0);
  EXPECT_LT(most_bytes_, 5000u);
}

// With bounds it reads what lies within, and what it must read to know where they are.
TEST_F(RunIteratorTest, ReadsNothingBeyondItsBounds) {
  TestRandom random(TestSeed());
  constexpr int kAll = kExtents * kBlocks;
  for (int round = 0; round < TestRounds(200); ++round) {
    // Often at borders of extents; and between keys.
    const auto any = [&] {
      return static_cast<int>(Uniform(&random, 0, 2) == 0 ? kBlocks * Uniform(&random, 0, kExtents)
                                                          : Uniform(&random, 0, kAll));
    };
    const int low = any();
    const int high = std::min(kAll, std::max(low, any()));
    const bool between = Uniform(&random, 0, 1) != 0;
    const std::string lower = low == 0 ? "" : KeyOf(low - 1) + (between ? "x" : "zz");
    const std::string upper = between && high > 0 ? KeyOf(high - 1) + "y" : KeyOf(high);
    const KeyBounds bounds = {.lower = &lower, .upper = &upper};
    const auto iterate = [&] {
      bytes_ = 0;
      return std::make_unique<RunIterator>(&reader_, run_, kMaxSequence, /*fill_cache=*/false,
                                           nullptr, bounds);
    };
    // A block more, if it tells where the bound is: at the border of two extents metadata does.
    const uint64_t most_bytes =
        block_bytes_ * static_cast<uint64_t>(high - low + (high % kBlocks != 0 ? 1 : 0));
    int i = low;
    {
      const auto at = iterate();
      for (at->SeekToFirst(); at->Valid() && at->user_key() < upper; at->Next()) {
        ASSERT_EQ(at->user_key(), KeyOf(i++));
      }
      EXPECT_TRUE(at->status().ok());
      EXPECT_EQ(i, high);
      EXPECT_LE(bytes_, most_bytes) << low << " to " << high;
    }
    const auto at = iterate();
    for (at->SeekToLast(); at->Valid() && at->user_key() >= lower; at->Prev()) {
      ASSERT_EQ(at->user_key(), KeyOf(--i));
    }
    EXPECT_TRUE(at->status().ok());
    EXPECT_EQ(i, low);
    EXPECT_LE(bytes_, most_bytes) << high << " back to " << low;
    if (low < high) {
      const int from = static_cast<int>(Uniform(&random, low, high - 1));
      at->Seek(KeyOf(from));
      ASSERT_TRUE(at->Valid());
      EXPECT_EQ(at->user_key(), KeyOf(from));
      at->SeekForPrev(KeyOf(from));
      ASSERT_TRUE(at->Valid());
      EXPECT_EQ(at->user_key(), KeyOf(from));
    }
  }
}

TEST_F(RunIteratorTest, IsMadeForRunsThatMayHaveKeys) {
  const std::shared_ptr<Version> version(new Version, [](Version* held) { held->Unref(); });
  version->levels[1].resize(2);
  version->levels[1][0].index = run_;
  const auto runs = [&](const std::string& lower, const std::string& upper) {
    IteratorParts parts;
    return AddRuns(
        *version, &reader_, nullptr, kMaxSequence, /*fill_cache=*/false, nullptr,
        {.lower = lower.empty() ? nullptr : &lower, .upper = upper.empty() ? nullptr : &upper},
        &parts);
  };
  const std::string last = KeyOf(kExtents * kBlocks - 1);
  EXPECT_EQ(runs("", ""), 1u);
  EXPECT_EQ(runs("", KeyOf(0)), 0u);
  EXPECT_EQ(runs("", KeyOf(0) + "x"), 1u);
  EXPECT_EQ(runs(last, ""), 1u);
  EXPECT_EQ(runs(last + "x", ""), 0u);
  // Between two extents.
  EXPECT_EQ(runs(KeyOf(kBlocks - 1) + "x", KeyOf(kBlocks)), 0u);
  EXPECT_EQ(runs(KeyOf(kBlocks - 1), KeyOf(kBlocks)), 1u);
}

// A seek reads as much as seeks have made use of lately.
TEST_F(RunIteratorTest, ReadsAtASeekWhatSeeksMakeUseOf) {
  SeekReach reach;
  TestRandom random(TestSeed());
  // Reads of each of the last ten of so many scans, at most.
  const auto most_reads = [&](int scans, int records) {
    int most = 0;
    for (int scan = 0; scan < scans; ++scan) {
      RunIterator at(&reader_, run_, kMaxSequence, /*fill_cache=*/false, &reach);
      reads_ = 0;
      most_bytes_ = 0;
      // Within an extent.
      const int first = static_cast<int>(Uniform(&random, 0, kBlocks - 10));
      at.Seek(KeyOf(first));
      for (int i = 0; i < records; ++i) {
        EXPECT_EQ(at.user_key(), KeyOf(first + i));
        at.Next();
      }
      most = scan < scans - 10 ? 0 : std::max(most, reads_);
    }
    return most;
  };
  EXPECT_EQ(most_reads(100, 6), 1);
  EXPECT_LT(most_bytes_, 11u * 4100);
  EXPECT_EQ(most_reads(200, 0), 1);
  EXPECT_LT(most_bytes_, 5000u);
}

TEST_F(RunIteratorTest, PutsASeekOffUntilItsBlockIsThere) {
  const auto at = Iterate();
  BlockReads reads;
  for (const int i : {500, 3, 700}) {
    reads_ = 0;
    Aim(at.get(), KeyOf(i));
    ASSERT_FALSE(at->Land(&reads));
    EXPECT_FALSE(at->Valid());
    EXPECT_TRUE(at->status().ok());
    EXPECT_EQ(reads_, 0);
    reads.Read();
    Aim(at.get(), KeyOf(i));
    ASSERT_TRUE(at->Land(&reads));
    EXPECT_EQ(reads_, 1);
    ASSERT_TRUE(at->Valid());
    EXPECT_EQ(at->user_key(), KeyOf(i));
    EXPECT_EQ(at->value(), KeyOf(i) + std::string(4000, 'v'));
  }
  reads.Clear();
  Aim(at.get(), KeyOf(100));
  ASSERT_FALSE(at->Land(&reads));
  RunIndex::Iterator extent(run_);
  extent.Seek(InternalKey(KeyOf(100), 1));
  TableHeadRef head;
  ASSERT_TRUE(reader_.OpenHead(*extent.extent(), &head).ok());
  damaged_ = extent.extent()->place->offset() + head->block(100).offset + 100;
  reads.Read();
  Aim(at.get(), KeyOf(100));
  ASSERT_TRUE(at->Land(&reads));
  EXPECT_FALSE(at->Valid());
  EXPECT_NE(at->status().message().find("damaged"), std::string::npos);
}

// What cannot be read is an error when the iterator comes to it, not before.
TEST_F(RunIteratorTest, MeetsDamageWhereItIs) {
  constexpr int kDamaged = 400;
  RunIndex::Iterator extent(run_);
  extent.Seek(InternalKey(KeyOf(kDamaged), 1));
  TableHeadRef head;
  ASSERT_TRUE(reader_.OpenHead(*extent.extent(), &head).ok());
  damaged_ = extent.extent()->place->offset() + head->block(kDamaged % kBlocks).offset + 100;
  const auto at = Iterate();
  int i = 0;
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    ASSERT_EQ(at->user_key(), KeyOf(i++));
  }
  EXPECT_EQ(i, kDamaged);
  EXPECT_FALSE(at->status().ok());
}

}  // namespace
}  // namespace sluice
