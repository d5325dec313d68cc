// Databases that Sluice and LevelDB compact side by side, on the CPU and on units that may fail.

#include "twins.h"

#include <gtest/gtest.h>

#include "faulty_unit.h"

namespace sluice {

namespace {

TEST(TwinsTest, OnTheCpu) {
  SetLevelDbExecutors({});
  RunRounds(6, 3000);
}

TEST(TwinsTest, OnUnitsOfFourWays) {
  SetLevelDbExecutors({std::make_shared<FaultyUnit>(0, 1)});
  const LevelDbStatistics before = GetLevelDbStatistics();
  RunRounds(2, 3000);
  const LevelDbStatistics after = GetLevelDbStatistics();
  EXPECT_GT(after.unit_tasks, before.unit_tasks);
  EXPECT_EQ(after.unit_failures, before.unit_failures);
}

TEST(TwinsTest, OnUnitsThatFail) {
  for (const uint64_t percent : {10, 100}) {
    SetLevelDbExecutors(
        {std::make_shared<FaultyUnit>(percent, 1), std::make_shared<FaultyUnit>(percent, 2)});
    const LevelDbStatistics before = GetLevelDbStatistics();
    RunRounds(2, 2000);
    EXPECT_GT(GetLevelDbStatistics().unit_failures, before.unit_failures);
  }
  SetLevelDbExecutors({});
}

}  // namespace

}  // namespace sluice
