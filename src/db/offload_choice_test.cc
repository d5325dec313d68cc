// Sub-tables choose whether units merge for them, as the database does for all others.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "db/fixture.h"
#include "faulty_unit.h"
#include "sluice/db.h"

namespace sluice {
namespace {

class OffloadChoiceTest : public DbFixture {
 protected:
  struct Tasks {
    uint64_t units = 0;
    uint64_t cpu = 0;
  };

  OffloadChoiceTest() {
    options_.automatic_compactions = false;
    options_.executors = {std::make_shared<FaultyUnit>(0, 1)};
  }
  Tasks Done() {
    const OffloadStatistics done = db_->GetStatistics().offload;
    EXPECT_EQ(done.retries, 0u);
    return {done.device_tasks, done.cpu_tasks};
  }
  // Who did the merges of a compaction of several runs, all of whose records are there afterwards.
  std::string WhoMerges(Subtable* subtable) {
    constexpr int kRecords = 3000;
    for (int run = 0; run < 3; ++run) {
      for (int i = 0; i < kRecords; ++i) {
        EXPECT_TRUE(db_->Put({}, subtable, fmt::format("{:05}", i), std::to_string(run + i)).ok());
      }
      EXPECT_TRUE(db_->Flush(subtable).ok());
    }
    const Tasks before = Done();
    EXPECT_TRUE(db_->CompactRange(subtable, "", "").ok());
    const Tasks after = Done();
    const auto at = db_->NewIterator({}, subtable);
    int records = 0;
    for (at->SeekToFirst(); at->Valid(); at->Next(), ++records) {
      EXPECT_EQ(at->value(), std::to_string(2 + records));
    }
    EXPECT_EQ(records, kRecords);
    const bool units = after.units > before.units;
    const bool cpu = after.cpu > before.cpu;
    return units && cpu ? "both" : units ? "units" : cpu ? "cpu" : "none";
  }
};

TEST_F(OffloadChoiceTest, ASubtableHasItsOwn) {
  Open();
  Subtable* withheld = nullptr;
  Subtable* given = nullptr;
  ASSERT_TRUE(db_->CreateSubtable({.offload = false}, "withheld", &withheld).ok());
  ASSERT_TRUE(db_->CreateSubtable({.offload = true}, "given", &given).ok());
  EXPECT_EQ(WhoMerges(nullptr), "units");
  EXPECT_EQ(WhoMerges(withheld), "cpu");
  EXPECT_EQ(WhoMerges(given), "units");
  EXPECT_EQ(db_->GetSubtableOptions(withheld).ToString(), "offload=false");

  // It is kept, and goes before what the database has.
  options_.offload = false;
  Open();
  EXPECT_EQ(WhoMerges(nullptr), "cpu");
  EXPECT_EQ(WhoMerges(db_->FindSubtable("withheld")), "cpu");
  EXPECT_EQ(WhoMerges(db_->FindSubtable("given")), "units");

  // What is set later holds for the compactions that begin later.
  ASSERT_TRUE(db_->SetSubtableOptions(db_->FindSubtable("given"), {}).ok());
  ASSERT_TRUE(db_->SetSubtableOptions(nullptr, {.offload = true}).ok());
  EXPECT_EQ(WhoMerges(db_->FindSubtable("given")), "cpu");
  EXPECT_EQ(WhoMerges(nullptr), "units");
}

// A unit takes one snapshot here, so for its sake a young one is left out, and all that is newer than the
// first is kept. Where the CPU merges, none is.
TEST_F(OffloadChoiceTest, WithoutUnitsCompactionsHeedAllSnapshots) {
  options_.memtable_bytes = 4 << 20;
  options_.offload = false;
  Open();
  const auto write = [&](int version, int records) {
    for (int i = 0; i < records; ++i) {
      ASSERT_TRUE(db_->Put({}, fmt::format("{:05}", i), std::to_string(version)).ok());
    }
    ASSERT_TRUE(db_->Flush(nullptr).ok());
  };
  write(0, 10000);
  const Snapshot* const first = db_->GetSnapshot();
  write(1, 100);
  write(2, 100);
  const Snapshot* const second = db_->GetSnapshot();
  write(3, 100);
  ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
  uint64_t records = 0;
  const Statistics statistics = db_->GetStatistics();
  for (const LevelStatistics& level : statistics.subtables[0].levels) {
    records += level.records;
  }
  EXPECT_EQ(records, 10200u);  // without version 1
  db_->ReleaseSnapshot(first);
  db_->ReleaseSnapshot(second);
}

TEST_F(OffloadChoiceTest, WithoutUnitsThereIsNothingToChoose) {
  options_.executors.clear();
  Open();
  Subtable* given = nullptr;
  ASSERT_TRUE(db_->CreateSubtable({.offload = true}, "given", &given).ok());
  EXPECT_EQ(WhoMerges(nullptr), "cpu");
  EXPECT_EQ(WhoMerges(given), "cpu");
}

}  // namespace
}  // namespace sluice
