// Which tasks the driver keeps from units: results are the CPU's either way.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "device/card_device.h"
#include "device/driver_fixture.h"

namespace sluice {
namespace {

using DriverDispatchTest = DriverTest;

// As InstantUnit, on a link. What stands for the card has threads of its own, so that the driver does
// not learn from it what a unit costs the host.
Units LinkedUnits(double clock_mhz = 200) {
  Units units;
  units.push_back(std::make_unique<DeviceExecutor>(std::make_unique<CardDevice>(
      MakeModelDevice(InstantUnit()->info(), {.clock_mhz = clock_mhz, .link = {}}))));
  return units;
}

Case Task(uint64_t records, uint64_t seed) {
  GeneratorOptions options;
  options.seed = seed;
  options.records = records;
  return Case(GenerateTask(options));
}

TEST_F(DriverDispatchTest, SmallTasksAreTheCpus) {
  for (const bool always : {false, true}) {
    Open(LinkedUnits(), {.always = always});
    RunOne(Task(30'000, rng_()));
    for (int i = 0; i < 5; ++i) {
      RunOne(Task(20, rng_()));
    }
    const OffloadStats stats = driver_->stats();
    EXPECT_EQ(stats.small, always ? 0u : 5u);
    EXPECT_EQ(stats.on_units, always ? 6u : 1u);
    EXPECT_EQ(stats.on_cpu(), stats.small);
  }
}

TEST_F(DriverDispatchTest, WhoCannotTellWhatATaskTakesGetsAll) {
  Open(SomeUnits(1));
  for (int i = 0; i < 5; ++i) {
    RunOne(Task(20, rng_()));
  }
  EXPECT_EQ(driver_->stats().on_units, 5u);
}

TEST_F(DriverDispatchTest, IdleCoresTakeWhatASlowUnitWould) {
  for (const int idle_cores : {0, 1}) {
    Open(LinkedUnits(4), {.idle_cores = [=] { return idle_cores; }});
    RunOne(Task(30'000, rng_()));
    EXPECT_EQ(driver_->stats().on_units, idle_cores == 0 ? 1u : 0u);
    EXPECT_EQ(driver_->stats().slow, idle_cores == 0 ? 0u : 1u);
  }
}

// A unit on the merging thread, which a slow job costs many times the CPU.
class LaboriousUnit : public Executor {
 public:
  std::string_view name() const override { return "laborious"; }
  size_t max_runs() const override { return 4; }
  size_t max_snapshots() const override { return 1; }
  std::optional<UnitTime> Estimate(const TaskShape&) const override { return UnitTime{}; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    MergeResult result;
    for (int times = slow ? 30 : 1; times > 0; --times) {
      result = CpuExecutor().Run(
          task, times > 1 ? MergeSink([](const MergeOutput&) { return Status(); }) : sink);
    }
    return result;
  }

  bool slow = true;
};

// A unit that was slow, so that nothing is given to it any more, is tried again.
TEST_F(DriverDispatchTest, WhatAUnitCostsIsForgotten) {
  auto owned = std::make_shared<LaboriousUnit>();
  LaboriousUnit& unit = *owned;
  Open({std::move(owned)}, {.idle_cores = [] { return 0; }});
  const Case task = Task(30'000, rng_());
  for (int i = 0; i < 30 && driver_->stats().small < 3; ++i) {
    RunOne(task);
  }
  ASSERT_EQ(driver_->stats().small, 3u);
  unit.slow = false;
  const uint64_t before = driver_->stats().on_units;
  for (uint32_t i = 0; i < kDoubtfulTasks; ++i) {
    RunOne(task);
  }
  EXPECT_GT(driver_->stats().on_units, before);
}

// A gate that says it is as fast as a core.
class PatientUnit : public Gate {
 public:
  std::optional<UnitTime> Estimate(const TaskShape& task) const override {
    const double seconds = LearnedCost(kMergeCost).Of(task);
    return UnitTime{.alone = seconds, .paced = 2 * seconds};
  }
};

// Two tasks of twice a merge's time are before the third one.
TEST_F(DriverDispatchTest, IdleCoresTakeWhatWouldWait) {
  auto owned = std::make_shared<PatientUnit>();
  PatientUnit& unit = *owned;
  std::atomic<int> idle_cores = 1;
  Open({std::move(owned)}, {.idle_cores = [&] { return idle_cores.load(); }});
  const Case task = Task(30'000, rng_());
  std::vector<std::thread> callers;
  for (int i = 1; i <= 2; ++i) {
    callers.emplace_back([&] { RunOne(task); });
    unit.AwaitInside(i);
  }
  RunOne(task);
  EXPECT_EQ(driver_->stats().queue, 1u);
  idle_cores = 0;
  callers.emplace_back([&] { RunOne(task); });
  unit.AwaitInside(3);
  unit.Open();
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(driver_->stats().on_units, 3u);
  EXPECT_EQ(driver_->stats().on_cpu(), 1u);
}

TEST_F(DriverDispatchTest, WhatIsAheadIsWhatUnitsHave) {
  auto owned = std::make_shared<PatientUnit>();
  PatientUnit& unit = *owned;
  UnitPool pool({std::move(owned)}, {}, [](size_t) {});
  const Case task = Task(1000, rng_());
  const TaskShape shape = ShapeOf(task.input.task);
  const double paced = unit.Estimate(shape)->paced;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(pool.Expect(shape)->ahead, i * paced, 1e-3 * paced);
    callers.emplace_back(
        [&] { pool.Run(task.input.task, shape, [](const MergeOutput&) { return Status(); }); });
    if (i < 3) {
      unit.AwaitInside(i + 1);
    }
  }
  while (pool.Expect(shape)->ahead < 3.5 * paced) {  // the fourth waits outside
    std::this_thread::yield();
  }
  unit.Open();
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_NEAR(pool.Expect(shape)->ahead, 0, 1e-3 * paced);
}

}  // namespace
}  // namespace sluice
