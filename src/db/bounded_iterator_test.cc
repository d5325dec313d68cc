// What iterators with bounds read, which is counted, and what they show.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "db/fixture.h"

namespace sluice {
namespace {

class BoundedIteratorTest : public DbFixture {
 protected:
  BoundedIteratorTest() { options_.automatic_compactions = false; }

  static std::string KeyOf(char prefix, int i) { return fmt::format("{}{:05}", prefix, i); }
  void WriteRun(char prefix, int records) {
    for (int i = 0; i < records; ++i) {
      ASSERT_TRUE(db_->Put({}, KeyOf(prefix, i), "value").ok());
    }
  }
  void Flush() {
    ASSERT_TRUE(db_->Flush(nullptr).ok());
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  }
  uint64_t BlocksLookedUp() const {
    const CacheStatistics blocks = db_->GetStatistics().block_cache;
    return blocks.hits + blocks.misses;
  }
  // Blocks that such an iterator looks up to go through all that it shows, forward or backward.
  uint64_t Cost(const ReadOptions& options, bool forward, int expected) {
    const uint64_t before = BlocksLookedUp();
    const std::unique_ptr<Iterator> it = db_->NewIterator(options);
    int records = 0;
    forward ? it->SeekToFirst() : it->SeekToLast();
    for (; it->Valid(); forward ? it->Next() : it->Prev()) {
      ++records;
    }
    EXPECT_TRUE(it->status().ok());
    EXPECT_EQ(records, expected);
    return BlocksLookedUp() - before;
  }
};

TEST_F(BoundedIteratorTest, PassesOverRunsThatLieOutside) {
  options_.memtable_bytes = 1 << 20;
  Open();
  for (const char prefix : std::string("abcdefgh")) {
    WriteRun(prefix, 1000);
    Flush();
  }
  const std::string lower = "c00500";
  const std::string upper = "c00510";
  const ReadOptions bounded = {.lower_bound = &lower, .upper_bound = &upper};
  for (const bool forward : {true, false}) {
    EXPECT_LE(Cost(bounded, forward, 10), 3u);
  }
  // Without bounds it looks into every run that has later keys.
  const uint64_t before = BlocksLookedUp();
  const std::unique_ptr<Iterator> it = db_->NewIterator({});
  it->Seek(lower);
  EXPECT_GE(BlocksLookedUp() - before, 6u);
}

// Records that the snapshot does not see, around those within the bounds: their end is noticed there.
TEST_F(BoundedIteratorTest, StopsAtItsBoundsAmongRecordsThatItDoesNotSee) {
  options_.memtable_bytes = 4 << 20;
  options_.extent_bytes = 4 << 20;
  Open();
  WriteRun('m', 10);
  Flush();
  const Snapshot* const snapshot = db_->GetSnapshot();
  for (const char prefix : std::string("lmn")) {
    WriteRun(prefix, 5000);
  }
  Flush();
  const std::string lower = "m";
  const std::string upper = "m00001";
  const ReadOptions bounded = {.snapshot = snapshot, .lower_bound = &lower, .upper_bound = &upper};
  for (const bool forward : {true, false}) {
    EXPECT_LE(Cost(bounded, forward, 1), 8u);
  }
  db_->ReleaseSnapshot(snapshot);
}

}  // namespace
}  // namespace sluice
