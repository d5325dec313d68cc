// Data that is hard on compactions, with default options or these scaled down: what may be copied,
// what must be merged, and when there is nothing left to do.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

using Records = std::map<std::string, std::string>;

class HardData : public testing::Test {
 protected:
  HardData() { options_.create_if_missing = true; }
  void Open() {
    const Status status = DB::Open(options_, dir_.File("db"), &db_);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(db_->Put({}, key, value).ok());
    model_[key] = value;
  }
  void Delete(const std::string& key) {
    ASSERT_TRUE(db_->Delete({}, key).ok());
    model_.erase(key);
  }
  void Check() {
    size_t lost = 0;
    for (const auto& [key, value] : model_) {
      std::string found;
      const Status status = db_->Get({}, key, &found);
      lost += status.ok() && found == value ? 0 : 1;
    }
    EXPECT_EQ(lost, 0u) << "of " << model_.size() << " records";
    const auto at = db_->NewIterator({});
    size_t read = 0;
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      ++read;
    }
    ASSERT_TRUE(at->status().ok()) << at->status().ToString();
    EXPECT_EQ(read, model_.size());
    const Status verified = db_->Verify({});
    EXPECT_TRUE(verified.ok()) << verified.ToString();
  }
  uint64_t Compactions() {
    uint64_t count = 0;
    for (const uint64_t n : db_->GetStatistics().compactions) {
      count += n;
    }
    return count;
  }

  TempDir dir_;
  Options options_;
  std::unique_ptr<DB> db_;
  Records model_;
};

// With values as large as blocks, every gap between two keys is one between two blocks; runs of
// level 0 that all lie in one of them, automatic compactions.
TEST_F(HardData, RunsInOneGapBetweenBlocks) {
  Open();
  const std::string value(16 << 10, 'v');
  for (int i = 0; i < 100; ++i) {
    Put(fmt::format("k{:02}", i), value);
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  for (int i = 0; i < 77; ++i) {
    Put(fmt::format("k50x{:02}", i), value);
    Delete(fmt::format("k50z{:02}", i));
    ASSERT_TRUE(db_->Flush(nullptr).ok());
  }
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_GT(Compactions(), 1u);
  Check();
}

// Series that grow at their ends, a burst of one after a burst of another, and lose a few records.
TEST_F(HardData, SeriesThatGrowInBursts) {
  TestRandom random(TestSeed());
  options_.memtable_bytes = 32 << 10;
  options_.block_bytes = 512;
  options_.extent_bytes = 32 << 10;
  options_.l1_bytes = 64 << 20;
  options_.log_segment_bytes = 1 << 20;
  Open();
  std::vector<int> ends(50);
  const auto key = [](size_t series, int at) { return fmt::format("s{:02}/{:08}", series, at); };
  for (int burst = 0; burst < 600; ++burst) {
    const size_t series = Uniform(&random, 0, ends.size() - 1);
    for (uint64_t n = Uniform(&random, 1, 200); n > 0; --n) {
      Put(key(series, ends[series]++), std::string(600, static_cast<char>('a' + burst % 26)));
      if (Uniform(&random, 0, 49) == 0) {
        Delete(key(series, ends[series] - 1));
      }
    }
  }
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_GT(Compactions(), 0u);
  Check();
}

// Extents are cut by what their records take in the merge; compressed, all of these are small.
// Compactions of small extents must come to an end nevertheless.
TEST_F(HardData, WhatCompressesWellComesToRest) {
  options_.compression = Compression::kSnappy;
  Open();
  for (int i = 0; i < 95; ++i) {
    Put(fmt::format("k{:02}", i), std::string(2 << 20, static_cast<char>('a' + i % 26)));
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  const uint64_t compactions = Compactions();
  EXPECT_LT(compactions, 50u);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_LT(Compactions(), compactions + 10);
  Check();
}

// A new sub-table is nothing to wait for.
TEST_F(HardData, WaitingEndsAfterASubtableIsMade) {
  Open();
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  Subtable* made;
  ASSERT_TRUE(db_->CreateSubtable("other", &made).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
}

}  // namespace
}  // namespace sluice
