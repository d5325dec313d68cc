// What a major compaction takes out of level 1: what is cold now (X-Engine, appendix C).

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sluice/db.h"
#include "util/testing.h"

namespace sluice {
namespace {

class TemperatureTest : public testing::Test {
 protected:
  TemperatureTest() {
    Options options;
    options.create_if_missing = true;
    options.row_cache_bytes = 0;
    options.l0_compaction_runs = 2;
    options.l1_bytes = 100 << 10;
    options.compaction_order = {CompactionKind::kMinor, CompactionKind::kMajor};
    const Status status = DB::Open(options, dir_.File("db"), &db_);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  // An extent of `records` KiB of its own: no other has keys between its own.
  void Flush(const std::string& prefix, int records) {
    for (int i = 0; i < records; ++i) {
      ASSERT_TRUE(db_->Put({}, fmt::format("{}{:02}", prefix, i), std::string(1024, 'v')).ok());
    }
    ASSERT_TRUE(db_->Flush(nullptr).ok());
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  }
  void Read(const std::string& prefix, int times) {
    for (int i = 0; i < times; ++i) {
      std::string value;
      ASSERT_TRUE(db_->Get({}, prefix + "00", &value).ok());
    }
  }
  LevelStatistics Level(int level) { return db_->GetStatistics().subtables[0].levels[level]; }

  TempDir dir_;
  std::unique_ptr<DB> db_;
};

TEST_F(TemperatureTest, WhatWasHotLongAgoIsColderThanWhatIsWarmNow) {
  constexpr int kHot = 30;
  constexpr int kWarm = 31;
  Flush("hot", kHot);
  Flush("warm", kWarm);
  Read("hot", 1000);
  for (int i = 0; i < 16; ++i) {
    Flush(fmt::format("small{:02}-", i), 1);
    Read("warm", 10);
  }
  ASSERT_EQ(Level(0).runs, 0u);
  ASSERT_EQ(Level(2).records, 0u) << "a major compaction came too early";
  // Level 1 is over its size: the small ones go, and these, which nobody ever read, and one more.
  Flush("unread", 50);
  Flush("last", 1);
  ASSERT_EQ(db_->GetStatistics().compactions[static_cast<size_t>(CompactionKind::kMajor)], 1u);
  EXPECT_EQ(Level(1).records, kWarm);
}

}  // namespace
}  // namespace sluice
