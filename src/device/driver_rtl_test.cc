// The driver over the unit's RTL, by the names that commands and options use.

#include <gtest/gtest.h>

#include <random>

#include "device/executors.h"
#include "device/testing.h"
#include "merge/outputs.h"
#include "util/testing.h"

namespace sluice {
namespace {

class DriverRtlTest : public testing::Test {
 protected:
  // Runs tasks of up to `max_runs` runs; results are the CPU's.
  OffloadStats RunSome(std::string_view kind, std::string_view config, int tasks,
                       uint32_t max_runs) {
    std::unique_ptr<OffloadDriver> driver;
    EXPECT_TRUE(MakeDriver(kind, config, {}, {}, &driver).ok());
    for (int i = 0; i < tasks; ++i) {
      const GeneratedTask input = RandomTask(rng_, max_runs);
      std::vector<OwnedOutput> expected;
      std::vector<OwnedOutput> actual;
      EXPECT_TRUE(CpuExecutor().Run(input.task, CollectInto(&expected)).ok());
      const MergeResult result = driver->Run(input.task, CollectInto(&actual));
      EXPECT_TRUE(result.ok()) << result.error.ToString();
      const Status same = CompareOutputs(actual, expected);
      EXPECT_TRUE(same.ok()) << same.ToString();
    }
    return driver->stats();
  }

  std::mt19937_64 rng_{TestSeed()};
};

TEST_F(DriverRtlTest, ComparedWithTheCpu) {
  const OffloadStats stats = RunSome("check", "tiny", 10, 2);
  EXPECT_EQ(stats.on_units, 10u);
  EXPECT_EQ(stats.units[0].failures, 0u);
}

TEST_F(DriverRtlTest, UnitsOfACard) {
  const OffloadStats stats = RunSome("rtl", "fast20x4", 8, 4);
  ASSERT_EQ(stats.units.size(), 4u);
  for (const UnitStats& unit : stats.units) {
    EXPECT_EQ(unit.tasks, 2u);
  }
}

TEST_F(DriverRtlTest, Names) {
  std::unique_ptr<OffloadDriver> driver;
  EXPECT_TRUE(MakeDriver("cpu", "tiny", {}, {}, &driver).ok());
  EXPECT_EQ(driver->stats().units.size(), 0u);
  ExecutorOptions three;
  three.model.units = 3;
  EXPECT_TRUE(MakeDriver("model", "tiny", three, {}, &driver).ok());
  EXPECT_EQ(driver->stats().units.size(), 3u);
  EXPECT_EQ(MakeDriver("gpu", "tiny", {}, {}, &driver).code(), Status::Code::kInvalidArgument);
  EXPECT_TRUE(MakeDriver("model", "fast20x4", {}, {}, &driver).ok());
  EXPECT_EQ(driver->stats().units.size(), 4u);
  EXPECT_TRUE(MakeDriver("rtl", "none", {}, {}, &driver).IsNotFound());
}

}  // namespace
}  // namespace sluice
