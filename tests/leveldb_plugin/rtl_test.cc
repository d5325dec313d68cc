// A real LevelDB, compacted by the simulated Compaction Unit.

#include <gtest/gtest.h>

#include "device/executors.h"
#include "twins.h"

namespace sluice {

namespace {

void RunOn(std::string_view kind, const ExecutorOptions& options, int rounds, int steps) {
  std::vector<std::shared_ptr<Executor>> units;
  const Status status = MakeUnits(kind, "tiny", options, &units);
  ASSERT_TRUE(status.ok()) << status.ToString();
  SetLevelDbExecutors(std::move(units));
  RunRounds(rounds, steps);
  SetLevelDbExecutors({});
}

// Each table that the unit makes is the CPU executor's. It has two ways: level 0 takes passes.
TEST(TwinsTest, OnTheSimulatedUnitComparedWithTheCpu) {
  const LevelDbStatistics before = GetLevelDbStatistics();
  ASSERT_NO_FATAL_FAILURE(RunOn("check", {}, 1, 800));
  const LevelDbStatistics after = GetLevelDbStatistics();
  EXPECT_GT(after.unit_tasks, before.unit_tasks);
  EXPECT_EQ(after.unit_failures, before.unit_failures);
}

TEST(TwinsTest, OnModelsOfUnitsThatFail) {
  ExecutorOptions options;
  options.model.units = 2;
  options.fault = {.rates = {.hang = 0.02,
                             .lost_interrupt = 0.02,
                             .late = 0.02,
                             .bus_error = 0.1,
                             .wrong_result = 0.1},
                   .stuck_reset = 0.1,
                   .seed = TestSeed()};
  const LevelDbStatistics before = GetLevelDbStatistics();
  ASSERT_NO_FATAL_FAILURE(RunOn("model", options, 4, 1500));
  const LevelDbStatistics after = GetLevelDbStatistics();
  EXPECT_GT(after.unit_tasks, before.unit_tasks);
  EXPECT_GT(after.unit_failures, before.unit_failures);
}

}  // namespace

}  // namespace sluice
