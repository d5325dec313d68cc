// The driver, with modelled units and what can go wrong with them: every task's result is the
// CPU's.

#include "offload/driver.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <random>

#include "device/check_executor.h"
#include "device/driver_fixture.h"
#include "merge/task_file.h"
#include "sluice/env.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Keeps outputs as they are handed over, and counts those that come without a hold.
MergeSink Keep(std::vector<OwnedOutput>* outputs, int* copied) {
  return [=](const MergeOutput& output) {
    outputs->emplace_back(output);
    *copied += outputs->back().data().data() != output.data.data();
    return Status();
  };
}

// Tables come from units without a copy, and stay as they are while later tasks use the memory of
// those that were given back.
TEST_F(DriverTest, TablesAreKeptWithoutACopy) {
  Open(SomeUnits(2));
  std::vector<std::unique_ptr<Case>> cases;
  std::vector<std::vector<OwnedOutput>> kept;
  int copied = 0;
  for (int i = 0; i < 40; ++i) {
    cases.push_back(std::make_unique<Case>(RandomTask(rng_)));
    ASSERT_TRUE(driver_->Run(cases[i]->input.task, Keep(&kept.emplace_back(), &copied)).ok());
    if (i % 2 == 0) {
      kept.back().clear();
    }
  }
  EXPECT_EQ(copied, 0);
  EXPECT_EQ(driver_->stats().on_units, 40u);
  for (int i = 1; i < 40; i += 2) {
    EXPECT_TRUE(CompareOutputs(kept[i], cases[i]->outputs).ok());
  }
}

TEST_F(DriverTest, WithoutUnitsTheCpuDoesAll) {
  Open({});
  EXPECT_EQ(driver_->name(), "cpu");
  RunSome(5);
  EXPECT_EQ(driver_->stats().no_unit, 5u);
}

TEST_F(DriverTest, ManyRunsTakeSeveralPasses) {
  Open(SomeUnits(2));
  for (int i = 0; i < 10; ++i) {
    RunOne(Case(RandomTask(rng_, 12)));
  }
  EXPECT_EQ(driver_->stats().on_units, 10u);
}

// A unit that lies about what it reads of another pass is found out, and the CPU does the task.
TEST_F(DriverTest, WhatIsLostBetweenPassesIsAFailure) {
  class LosesARun : public Executor {
   public:
    std::string_view name() const override { return "loses a run"; }
    size_t max_runs() const override { return 2; }
    size_t max_snapshots() const override { return 1; }
    MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
      MergeTask less = task;
      if (tasks++ == 1) {
        less.runs.front().clear();
      }
      MergeResult result = CpuExecutor().Run(less, sink);
      result.stats.input_bytes =
          CpuExecutor().Run(task, [](const MergeOutput&) { return Status(); }).stats.input_bytes;
      return result;
    }
    int tasks = 0;
  };
  Open({std::make_shared<LosesARun>()});
  GeneratorOptions options;
  options.runs = 5;
  RunOne(Case(GenerateTask(options)));
  EXPECT_EQ(driver_->stats().units[0].failures, 1u);
  EXPECT_EQ(driver_->stats().retried, 1u);
  EXPECT_EQ(Events(Kind::kTaskFailed), 1);
}

TEST_F(DriverTest, EveryFaultEndsWell) {
  for (const double rate : {0.0, 0.2, 1.0}) {
    Open(SomeUnits(2, {.rates = AllFaults(rate), .stuck_reset = rate / 4, .seed = seed_}),
         {.pool = {.probe_after = {}, .probe_after_most = {}}});
    for (int i = 0; i < 100; ++i) {
      RunOne(Case(RandomTask(rng_, i % 4 == 0 ? 9 : 4)));
    }
    const OffloadStats stats = driver_->stats();
    EXPECT_EQ(stats.on_units + stats.retried + stats.no_unit, 100u);
    EXPECT_EQ(stats.errors, 0u);
    EXPECT_EQ(stats.retried == 0, rate == 0);
    EXPECT_EQ(Events(Kind::kTaskFailed) == 0, rate == 0);
    events_.clear();
  }
}

// Several tasks are on a unit when one of them fails: none is lost, and none is done twice.
TEST_F(DriverTest, EveryFaultEndsWellForTasksInFlight) {
  for (const double rate : {0.0, 0.2, 1.0}) {
    Open(SomeUnits(2, {.rates = AllFaults(rate), .stuck_reset = rate / 4, .seed = seed_}),
         {.pool = {.probe_after = {}, .probe_after_most = {}}});
    RunTogether(8, 20, 9);
    const OffloadStats stats = driver_->stats();
    EXPECT_EQ(stats.on_units + stats.retried + stats.no_unit, 160u);
    EXPECT_EQ(stats.errors, 0u);
    EXPECT_EQ(stats.retried == 0, rate == 0);
    events_.clear();
  }
}

TEST_F(DriverTest, LimitsAreNoFailures) {
  Units units;
  units.push_back(std::make_unique<DeviceExecutor>(InstantUnit(8)));
  Open(std::move(units));
  GeneratorOptions options;
  options.user_key_bytes = {20, 20};
  const Case task(GenerateTask(options));
  for (int i = 0; i < 40; ++i) {
    RunOne(task);
  }
  const OffloadStats stats = driver_->stats();
  EXPECT_EQ(stats.refused, 40u);
  EXPECT_EQ(stats.units[0].refused, 40u);
  EXPECT_EQ(stats.units[0].failures, 0u);
  EXPECT_EQ(stats.units[0].probes, 2u);
  EXPECT_TRUE(stats.units[0].in_service);
  EXPECT_TRUE(events_.empty());
}

// Who refuses whatever it is given, with limits that have room for it, is broken.
TEST_F(DriverTest, AUnitThatRefusesAllIsTakenOut) {
  class Refuses : public Executor {
   public:
    std::string_view name() const override { return "refuses"; }
    size_t max_runs() const override { return 4; }
    size_t max_snapshots() const override { return 1; }
    MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
      if (!broken) {
        return CpuExecutor().Run(task, sink);
      }
      MergeResult result;
      result.status = MergeStatus::kBadDescriptor;
      result.error = Status::NotSupported("no");
      return result;
    }
    bool broken = true;
  };
  auto owned = std::make_shared<Refuses>();
  Refuses& unit = *owned;
  Open({std::move(owned)});
  for (int i = 0; i < 40; ++i) {
    RunOne(Case(RandomTask(rng_)));
  }
  EXPECT_FALSE(driver_->stats().units[0].in_service);
  EXPECT_EQ(driver_->stats().refused, 15u);
  EXPECT_EQ(driver_->stats().retried, 1u);
  EXPECT_EQ(driver_->stats().no_unit, 24u);
  EXPECT_EQ(Events(Kind::kTaskFailed), 1);
  EXPECT_EQ(Events(Kind::kOutOfService), 1);
  now_ += 60'000;
  RunOne(Case(RandomTask(rng_)));
  EXPECT_EQ(driver_->stats().no_unit, 25u);
  unit.broken = false;
  now_ += 120'000;
  RunOne(Case(RandomTask(rng_)));
  EXPECT_EQ(driver_->stats().on_units, 1u);
  EXPECT_EQ(Events(Kind::kBackInService), 1);
}

TEST_F(DriverTest, TasksWithXxh3AreTheCpusWhereUnitsDoNotTakeThem) {
  Units units;
  units.push_back(std::make_unique<DeviceExecutor>(InstantUnit(1024, false, 0, true)));
  Open(std::move(units));
  EXPECT_TRUE(driver_->takes_xxh3());
  GeneratedTask input = RandomTask(rng_);
  input.UseXxh3(rng_);
  const Case task(std::move(input));
  RunOne(task);
  EXPECT_EQ(driver_->stats().on_units, 1u);

  units.clear();
  units.push_back(std::make_unique<DeviceExecutor>(InstantUnit(1024, false, 0, true)));
  units.push_back(std::make_unique<DeviceExecutor>(InstantUnit()));
  Open(std::move(units));
  EXPECT_FALSE(driver_->takes_xxh3());
  for (int i = 0; i < 4; ++i) {
    RunOne(task);
  }
  EXPECT_EQ(driver_->stats().refused, 2u);
  EXPECT_EQ(driver_->stats().on_units, 2u);
  EXPECT_TRUE(events_.empty());
}

TEST_F(DriverTest, TasksOfManySnapshotsThatMatterAreTheCpus) {
  Open(SomeUnits(2));
  for (int i = 0; i < 10; ++i) {
    GeneratorOptions options;
    options.seed = rng_();
    options.runs = 6;
    GeneratedTask input = GenerateTask(options);
    input.task.snapshots = {100, 200, 300, 400, 500};
    RunOne(Case(std::move(input)));
  }
  const OffloadStats stats = driver_->stats();
  EXPECT_EQ(stats.declined, 10u);
  EXPECT_EQ(stats.on_units, 0u);
  for (const UnitStats& unit : stats.units) {
    EXPECT_EQ(unit.tasks + unit.refused + unit.failures, 0u);
  }
  EXPECT_TRUE(events_.empty());
}

// Sequence numbers are 1 to 1000: nothing was written between most of these.
TEST_F(DriverTest, UnitsAreGivenTheSnapshotsThatMatter) {
  Open(SomeUnits(2));
  for (const uint32_t runs : {2u, 6u}) {
    for (const bool bottommost : {false, true}) {
      GeneratorOptions options;
      options.seed = rng_();
      options.runs = runs;
      options.duplicate_percent = 50;
      options.delete_percent = 20;
      options.bottommost = bottommost;
      GeneratedTask input = GenerateTask(options);
      input.task.snapshots = {0, 400, 700, 2000, 2001};
      for (SequenceNumber i = 0; i < 1000; ++i) {
        input.task.snapshots.push_back(3000 + i);
      }
      RunOne(Case(std::move(input)));
    }
  }
  EXPECT_EQ(driver_->stats().on_units, 4u);
  EXPECT_EQ(driver_->stats().on_cpu(), 0u);
}

// What a unit says of a task must balance, whatever its tables are.
TEST_F(DriverTest, CountsThatDoNotBalanceAreAFailure) {
  class Miscounts : public Executor {
   public:
    explicit Miscounts(uint64_t MergeStats::*what) : what_(what) {}
    std::string_view name() const override { return "miscounts"; }
    size_t max_runs() const override { return 4; }
    size_t max_snapshots() const override { return 1; }
    MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
      MergeResult result = CpuExecutor().Run(task, sink);
      result.stats.*what_ += 1;
      return result;
    }

   private:
    uint64_t MergeStats::*const what_;
  };
  for (const auto what :
       {&MergeStats::input_records, &MergeStats::output_records, &MergeStats::dropped_records,
        &MergeStats::input_checksum, &MergeStats::output_checksum, &MergeStats::dropped_checksum,
        &MergeStats::dropped_shadowed, &MergeStats::dropped_tombstones}) {
    Units units;
    units.push_back(std::make_unique<Miscounts>(what));
    Open(std::move(units));
    RunOne(Case(GenerateTask({})));
    EXPECT_EQ(driver_->stats().units[0].failures, 1u);
    EXPECT_EQ(driver_->stats().retried, 1u);
  }
}

// Damage that is there is nobody's failure; damage that only the unit sees is the unit's.
TEST_F(DriverTest, CorruptInput) {
  GeneratedTask damaged = GenerateTask({});
  damaged.images[1][0].file[100] ^= 1;
  damaged.Refer();
  const Case task(std::move(damaged));
  ASSERT_EQ(task.result.status, MergeStatus::kBlockChecksum);
  Open(SomeUnits(1));
  for (int i = 0; i < 10; ++i) {
    RunOne(task);
  }
  EXPECT_EQ(driver_->stats().errors, 10u);
  EXPECT_EQ(driver_->stats().units[0].failures, 0u);
  EXPECT_TRUE(events_.empty());

  // Outside the range, where only units look.
  class ReadsAll : public Executor {
   public:
    std::string_view name() const override { return "reads all"; }
    size_t max_runs() const override { return 4; }
    size_t max_snapshots() const override { return 1; }
    MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
      MergeTask all = task;
      all.has_begin = all.has_end = false;
      MergeResult result = CpuExecutor().Run(all, [](const MergeOutput&) { return Status(); });
      return result.ok() ? CpuExecutor().Run(task, sink) : result;
    }
  };
  const auto damaged_outside = [](Compression compression) {
    GeneratedTask partly = GenerateTask({.table = {.compression = compression}});
    partly.task.has_begin = true;
    partly.task.begin = "~";  // no key is behind it
    partly.images[1][0].file[100] ^= 1;
    partly.Refer();
    return Case(std::move(partly));
  };
  const Case range = damaged_outside(Compression::kNone);
  ASSERT_TRUE(range.result.ok());
  Units reading;
  reading.push_back(std::make_unique<ReadsAll>());
  Open(std::move(reading));
  for (int i = 0; i < 5; ++i) {
    RunOne(range);
  }
  EXPECT_EQ(driver_->stats().retried, 5u);
  EXPECT_EQ(driver_->stats().units[0].failures, 0u);
  EXPECT_TRUE(events_.empty());

  // What cannot be decompressed there is no unit's failure, either.
  const Case compressed = damaged_outside(Compression::kSnappy);
  ASSERT_TRUE(compressed.result.ok());
  Open(SomeUnits(1));
  for (int i = 0; i < 5; ++i) {
    RunOne(compressed);
  }
  EXPECT_EQ(driver_->stats().units[0].failures, 0u) << Reasons(0);

  // Reads of the unit go wrong.
  class BadMemory : public FaultDevice {
   public:
    BadMemory() : FaultDevice(InstantUnit(), {}) {}
    Status Write(uint64_t address, std::string_view bytes) override {
      std::string changed(bytes);
      changed[changed.size() > 5000 ? 100 : 0] ^= changed.size() > 5000 ? 1 : 0;
      return FaultDevice::Write(address, changed);
    }
  };
  Units units;
  units.push_back(std::make_unique<DeviceExecutor>(std::make_unique<BadMemory>()));
  Open(std::move(units));
  const Case good(GenerateTask({}));
  for (int i = 0; i < 3; ++i) {
    RunOne(good);
  }
  EXPECT_EQ(driver_->stats().units[0].failures, 3u);
  EXPECT_EQ(Events(Kind::kTaskFailed), 3);
  EXPECT_EQ(Events(Kind::kOutOfService), 1);
}

// What is no task is no failure of the unit that says so.
TEST_F(DriverTest, NoTask) {
  Units units;
  units.push_back(std::make_unique<CpuExecutor>());
  Open(std::move(units));
  GeneratedTask input = RandomTask(rng_, 2);
  input.task.restart_interval = 0;
  std::vector<OwnedOutput> outputs;
  const MergeResult result = driver_->Run(input.task, CollectInto(&outputs));
  EXPECT_EQ(result.error.code(), Status::Code::kInvalidArgument) << result.error.ToString();
  EXPECT_EQ(driver_->stats().units[0].failures, 0u);
}

// With a CheckExecutor a unit that errs consistently is found out, and the CPU's tables are taken.
TEST_F(DriverTest, BurnIn) {
  class LosesTables : public Executor {
   public:
    std::string_view name() const override { return "loses"; }
    size_t max_runs() const override { return 4; }
    size_t max_snapshots() const override { return 1; }
    MergeResult Run(const MergeTask& task, const MergeSink&) override {
      return CpuExecutor().Run(task, [](const MergeOutput&) { return Status(); });
    }
  };
  Units units;
  units.push_back(std::make_unique<CheckExecutor>(std::make_unique<LosesTables>(),
                                                  std::make_unique<CpuExecutor>()));
  Open(std::move(units));
  RunOne(Case(GenerateTask({})));
  EXPECT_EQ(driver_->stats().units[0].failures, 1u);
}

// What a unit failed is kept, as often as there is room.
TEST_F(DriverTest, KeepsWhatFailed) {
  const TempDir dir;
  OffloadOptions options;
  options.pool.failures_in_a_row = 100;
  options.dump_dir = dir.path();
  options.max_dumps = 3;
  Open(SomeUnits(1, {.rates = {.bus_error = 1}, .seed = seed_}), options);
  const Case task(RandomTask(rng_, 9));
  for (int i = 0; i < 5; ++i) {
    RunOne(task);
  }
  ASSERT_EQ(events_.size(), 5u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(events_[i].dump, i < 3 ? dir.File(fmt::format("failed-{}.task", i)) : "");
  }
  TaskFile kept;
  ASSERT_TRUE(ReadTaskFile(Env::Posix(), events_[2].dump, &kept).ok());
  EXPECT_EQ(kept.note, "unit 0 of instant: " + events_[2].what);
  std::vector<OwnedOutput> tables;
  task.Expect(CpuExecutor().Run(kept.task, CollectInto(&tables)), tables);
}

TEST_F(DriverTest, AnErrorOfTheSinkIsTheCallersOwn) {
  Open(SomeUnits(1));
  const GeneratedTask input = GenerateTask({});
  const MergeResult result =
      driver_->Run(input.task, [](const MergeOutput&) { return Status::IoError("disk full"); });
  EXPECT_EQ(result.status, MergeStatus::kSink);
  EXPECT_EQ(driver_->stats().on_units, 1u);
  EXPECT_EQ(driver_->stats().units[0].failures, 0u);
}

// Everything at once: callers and submitters on many threads, units of every temper, damaged
// inputs, tasks of many snapshots and many runs. Each task ends once, with what the CPU makes of
// it.
TEST_F(DriverTest, ManyCallersAtOnce) {
  Units units = SomeUnits(2, {.rates = AllFaults(0.25), .stuck_reset = 0.3, .seed = seed_});
  units.push_back(Unit());  // one is sound,
  units.push_back(Unit({.rates = {.hang = 1}, .stuck_reset = 0.9, .seed = seed_ + 9}));  // one dead
  Open(std::move(units),
       {.pool = {.probe_after = {}, .probe_after_most = {}}, .threads = 3, .queued_tasks = 4});
  constexpr int kCallers = 8;
  constexpr int kTasks = 30;
  std::latch ended(kCallers * kTasks);
  std::vector<std::thread> callers;
  callers.reserve(kCallers);
  for (int t = 0; t < kCallers; ++t) {
    callers.emplace_back([this, t, &ended, seed = rng_()] {
      std::mt19937_64 rng(seed);
      for (int i = 0; i < kTasks; ++i) {
        GeneratedTask input = RandomTask(rng, 6);
        if (i % 5 == 0) {
          input.task.snapshots = DrawSnapshots(rng, 8, 400);
        }
        if (i % 7 == 0 && !input.images[0].empty()) {
          std::string& file = input.images[0][0].file;
          file[rng() % file.size()] ^= 1;
        }
        input.Refer();
        const auto task = std::make_shared<Case>(std::move(input));
        if (t % 2 == 0) {
          RunOne(*task);
          ended.count_down();
        } else {
          const auto tables = std::make_shared<std::vector<OwnedOutput>>();
          driver_->Submit(task->input.task, CollectInto(tables.get()),
                          [task, tables, &ended](const MergeResult& result) {
                            task->Expect(result, *tables);
                            ended.count_down();
                          });
        }
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  ended.wait();
  const OffloadStats stats = driver_->stats();
  EXPECT_EQ(stats.on_units + stats.declined + stats.refused + stats.retried + stats.no_unit,
            static_cast<uint64_t>(kCallers * kTasks));
  EXPECT_GT(stats.on_units, 0u);
  EXPECT_EQ(stats.units[2].failures, 0u) << Reasons(2);
  EXPECT_EQ(stats.units[3].tasks, 0u);
}

// All that was submitted is done when the driver is gone, each task once.
TEST_F(DriverTest, ShutdownWithTasksInFlight) {
  for (const size_t units : {0u, 2u}) {
    Open(SomeUnits(units, {.rates = {.hang = 0.2, .wrong_result = 0.2}, .seed = seed_}),
         {.threads = units + 1, .queued_tasks = 4});
    std::vector<std::unique_ptr<Case>> cases(40);
    for (std::unique_ptr<Case>& input : cases) {
      input = std::make_unique<Case>(RandomTask(rng_));
    }
    std::vector<std::vector<OwnedOutput>> tables(cases.size());
    std::vector<std::atomic<int>> done(cases.size());
    for (size_t i = 0; i < cases.size(); ++i) {
      driver_->Submit(cases[i]->input.task, CollectInto(&tables[i]),
                      [&, i](const MergeResult& result) {
                        cases[i]->Expect(result, tables[i]);
                        ++done[i];
                      });
    }
    driver_.reset();
    for (const std::atomic<int>& count : done) {
      EXPECT_EQ(count, 1);
    }
  }
}

}  // namespace
}  // namespace sluice
