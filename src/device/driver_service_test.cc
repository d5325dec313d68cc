// Which unit the driver gives a task, how many at once, and when units go out of service and come
// back.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "device/driver_fixture.h"
#include "util/mutex.h"

namespace sluice {
namespace {

using DriverServiceTest = DriverTest;

TEST_F(DriverServiceTest, RoundRobin) {
  Open(SomeUnits(3));
  RunSome(9);
  const OffloadStats stats = driver_->stats();
  EXPECT_EQ(stats.on_units, 9u);
  for (const UnitStats& unit : stats.units) {
    EXPECT_EQ(unit.tasks, 3u);
    EXPECT_EQ(unit.failures, 0u);
  }
}

// As many as it has use for, and no unit has two while another has none.
TEST_F(DriverServiceTest, AUnitHasSeveralTasksAtOnce) {
  const auto one = std::make_shared<Gate>();
  const auto two = std::make_shared<Gate>();
  Open({one, two});
  EXPECT_EQ(driver_->max_tasks(), 6u);
  std::vector<std::thread> callers;
  const auto call = [&] {
    callers.emplace_back([this, seed = rng_()] {
      std::mt19937_64 rng(seed);
      RunOne(Case(RandomTask(rng)));
    });
  };
  call();
  call();
  one->AwaitInside(1);
  two->AwaitInside(1);
  for (int i = 0; i < 10; ++i) {
    call();
  }
  one->AwaitInside(3);
  two->AwaitInside(3);
  one->Open();
  two->Open();
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(one->most(), 3);
  EXPECT_EQ(two->most(), 3);
  EXPECT_EQ(driver_->stats().on_units, 12u);
}

// A unit out of service is probed once the tasks that it had are over.
TEST_F(DriverServiceTest, NoProbeBesideATask) {
  const auto unit = std::make_shared<Gate>();
  Open({unit}, {.pool = {.failures_in_a_row = 1, .probe_after = std::chrono::seconds(1)}});
  std::vector<std::thread> callers;
  for (int inside = 1; inside <= 2; ++inside) {
    callers.emplace_back([this, seed = rng_()] {
      std::mt19937_64 rng(seed);
      RunOne(Case(RandomTask(rng)));
    });
    unit->AwaitInside(inside);
  }
  unit->LetOneFail();
  while (driver_->stats().units[0].in_service) {
    std::this_thread::yield();
  }
  now_ += 1000;
  RunSome(1);
  EXPECT_EQ(driver_->stats().no_unit, 1u);
  EXPECT_EQ(driver_->stats().units[0].probes, 0u);
  unit->Open();
  for (std::thread& caller : callers) {
    caller.join();
  }
  RunSome(1);
  EXPECT_EQ(driver_->stats().units[0].probes, 1u);
  EXPECT_TRUE(driver_->stats().units[0].in_service);
  EXPECT_EQ(driver_->stats().on_units, 2u);
}

// What jobs took at the unit's clock is part of the time that it had tasks.
TEST_F(DriverServiceTest, TimesOfUnits) {
  ModelDeviceOptions paced = Instant();
  paced.clock_mhz = 5;
  const DeviceInfo info = InstantUnit()->info();
  Open({std::make_shared<DeviceExecutor>(MakeModelDevice(info, paced))});
  const UnitStats before = driver_->stats().units[0];
  EXPECT_EQ(before.seconds, 0);
  EXPECT_EQ(before.busy_seconds, 0);
  uint64_t cycles = 0;
  for (uint64_t i = 0; i < 5; ++i) {
    GeneratorOptions options;  // of which each is one job
    options.seed = seed_ + i;
    const MergeResult result =
        driver_->Run(GenerateTask(options).task, [](const MergeOutput&) { return Status(); });
    ASSERT_TRUE(result.ok());
    cycles += result.stats.cycles;
  }
  const UnitStats stats = driver_->stats().units[0];
  EXPECT_DOUBLE_EQ(stats.busy_seconds, 1e-6 * static_cast<double>(cycles) / 5);
  EXPECT_GE(stats.seconds, stats.busy_seconds);
}

TEST_F(DriverServiceTest, OutOfServiceAndBack) {
  const std::chrono::milliseconds second(1000);
  Units units = SomeUnits(1, {.rates = {.hang = 1}, .jobs = 5, .seed = seed_});
  Open(std::move(units), {.pool = {.failures_in_a_row = 3, .probe_after = second}});
  const auto in_service = [&] { return driver_->stats().units[0].in_service; };
  RunSome(2);
  EXPECT_TRUE(in_service());
  RunSome(1);
  EXPECT_FALSE(in_service());
  now_ += 999;
  RunSome(5);
  EXPECT_EQ(driver_->stats().no_unit, 5u);
  EXPECT_EQ(driver_->stats().units[0].probes, 0u);
  now_ += 1;
  RunSome(5);  // the fourth job, a probe, fails
  EXPECT_EQ(driver_->stats().units[0].probes, 1u);
  EXPECT_FALSE(in_service());
  now_ += 1999;
  RunSome(1);
  EXPECT_EQ(driver_->stats().units[0].probes, 1u);
  now_ += 1;
  RunSome(1);  // the fifth
  EXPECT_EQ(driver_->stats().units[0].probes, 2u);
  now_ += 4000;
  RunSome(1);
  EXPECT_TRUE(in_service());
  EXPECT_EQ(driver_->stats().on_units, 1u);
  EXPECT_EQ(Events(Kind::kTaskFailed), 3);
  EXPECT_EQ(Events(Kind::kOutOfService), 1);
  EXPECT_EQ(Events(Kind::kBackInService), 1);
}

// A unit that passes a probe and fails at once is out again.
TEST_F(DriverServiceTest, OnProbation) {
  class FailsTasks : public Executor {
   public:
    std::string_view name() const override { return "fails"; }
    size_t max_runs() const override { return 4; }
    size_t max_snapshots() const override { return 1; }
    MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
      const bool probe = ++runs_ == 4;
      MergeResult result = cpu_.Run(task, sink);
      if (!probe) {
        result.status = MergeStatus::kDevice;
        result.error = Status::NotSupported("a block that it wrote");  // but not the task
      }
      return result;
    }

   private:
    CpuExecutor cpu_;
    int runs_ = 0;
  };
  Units units;
  units.push_back(std::make_unique<FailsTasks>());
  Open(std::move(units));
  RunSome(3);
  EXPECT_FALSE(driver_->stats().units[0].in_service);
  now_ += 10000;
  RunSome(1);
  EXPECT_EQ(Events(Kind::kBackInService), 1);
  EXPECT_EQ(Events(Kind::kOutOfService), 2);
  EXPECT_FALSE(driver_->stats().units[0].in_service);
}

}  // namespace
}  // namespace sluice
