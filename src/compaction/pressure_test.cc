#include "compaction/pressure.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "table/testing.h"
#include "tree/metadata.h"

namespace sluice {
namespace {

constexpr uint32_t kSubtable = 1;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

class PressureTest : public testing::Test {
 protected:
  PressureTest() {
    options_.l0_compaction_runs = 4;
    options_.l0_slowdown_runs = 12;
    options_.l0_stop_runs = 20;
    options_.l1_bytes = 100 * kMiB;
    options_.memtable_bytes = 8 * kMiB;
  }
  // Looks at a version with so many runs in level 0, of so much together.
  void Level0(uint64_t runs, uint64_t bytes) {
    const Version* const version = MakeVersion(runs, bytes);
    need_ = CompactionNeed(*version, left_, memtables_, options_);
    runs_ = PressureOfRuns(*version, options_);
    slowed_ = runs_ > 0 || PressureOfDebt(*version, options_) > 0 ||
              PressureOfSpace(*version, left_, memtables_ + options_.memtable_bytes, options_) > 0;
    version->Unref();
  }
  const Version* MakeVersion(uint64_t runs, uint64_t bytes) {
    MetadataEdit edit;
    edit.created.push_back({kSubtable, "default"});
    for (uint64_t run = 1; run <= runs; ++run) {
      Extent extent;
      extent.number = run;
      extent.bytes = bytes / runs;
      extent.entries = 10;
      extent.smallest = InternalKey("a", run);
      extent.largest = InternalKey("b", run);
      edit.added.push_back({kSubtable, {0, run}, extent});
    }
    Metadata metadata;
    EXPECT_TRUE(metadata.Apply(edit).ok());
    auto* const version = new Version;
    version->SetRuns(metadata.subtables.at(kSubtable),
                     {.used_bytes = 1000 * kMiB + bytes, .live_bytes = 1000 * kMiB});
    return version;
  }

  Options options_;
  double left_ = kUnlimited;
  uint64_t memtables_ = 0;
  double need_ = 0;
  double runs_ = 0;
  bool slowed_ = false;
};

TEST_F(PressureTest, NeedGrowsWithRuns) {
  Level0(4, kMiB);
  EXPECT_EQ(need_, 0);
  Level0(8, kMiB);
  EXPECT_NEAR(need_, 0.5, 0.01);
  EXPECT_FALSE(slowed_);
  Level0(11, kMiB);
  EXPECT_GT(need_, 0.8);
  EXPECT_FALSE(slowed_);
  Level0(12, kMiB);
  EXPECT_EQ(need_, 1);
  EXPECT_TRUE(slowed_);
  Level0(30, kMiB);
  EXPECT_EQ(need_, 1);
}

TEST_F(PressureTest, NumbersOfRunsMayBeAnything) {
  options_.l0_slowdown_runs = 0;
  options_.l0_stop_runs = std::numeric_limits<size_t>::max();
  Level0(8, kMiB);
  EXPECT_LT(runs_, 0.01);
}

TEST_F(PressureTest, NeedGrowsWithDebt) {
  Level0(2, 100 * kMiB);
  EXPECT_NEAR(need_, 0, 0.01);
  Level0(2, 125 * kMiB);
  EXPECT_NEAR(need_, 0.5, 0.01);
  EXPECT_FALSE(slowed_);
  Level0(2, 149 * kMiB);
  EXPECT_GT(need_, 0.95);
  EXPECT_FALSE(slowed_);
  Level0(2, 152 * kMiB);
  EXPECT_EQ(need_, 1);
  EXPECT_TRUE(slowed_);
}

// A major compaction is due while two memtables fit before writers are slowed down.
TEST_F(PressureTest, NeedGrowsAsSpaceRunsOut) {
  memtables_ = 16 * kMiB;
  left_ = 64 * kMiB;
  Level0(1, kMiB);
  EXPECT_EQ(need_, 0);
  left_ = 52 * kMiB;
  Level0(1, kMiB);
  EXPECT_NEAR(need_, 0.5, 0.01);
  EXPECT_FALSE(slowed_);
  left_ = 40 * kMiB;
  Level0(1, kMiB);
  EXPECT_EQ(need_, 1);
  left_ = -1;
  Level0(1, kMiB);
  EXPECT_EQ(need_, 1);
  EXPECT_TRUE(slowed_);
}

// Or writers would stop for the run that a flush adds.
TEST_F(PressureTest, AFlushTakesWhatItsMemtableDid) {
  options_.l1_bytes = kMiB;
  for (uint64_t runs = 20; runs < 40; ++runs) {
    const Version* const before = MakeVersion(runs, runs * options_.memtable_bytes);
    const Version* const after = MakeVersion(runs + 1, (runs + 1) * options_.memtable_bytes);
    const double pressure =
        PressureOfSpace(*before, SpaceLeft(*before, options_), options_.memtable_bytes, options_);
    EXPECT_NEAR(PressureOfSpace(*after, SpaceLeft(*after, options_), 0, options_), pressure, 1e-9)
        << runs;
    EXPECT_EQ(pressure > 0, runs > 21) << runs;
    before->Unref();
    after->Unref();
  }
}

TEST_F(PressureTest, NothingIsNeededThatDoesNotComeByItself) {
  options_.automatic_compactions = false;
  left_ = -1;
  Level0(30, 1000 * kMiB);
  EXPECT_EQ(need_, 0);
  options_.automatic_compactions = true;
  options_.compaction_order = {CompactionKind::kMinor};
  left_ = -1;
  Level0(8, 1000 * kMiB);
  EXPECT_NEAR(need_, 0.5, 0.01);
}

}  // namespace
}  // namespace sluice
