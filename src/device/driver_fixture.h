// A driver over modelled units, for tests: tasks beside what the CPU makes of them, and what the
// driver tells its listener.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device/device_executor.h"
#include "device/fault_device.h"
#include "device/testing.h"
#include "merge/outputs.h"
#include "offload/driver.h"
#include "util/mutex.h"
#include "util/testing.h"

namespace sluice {

using Units = std::vector<std::shared_ptr<Executor>>;
using Kind = OffloadEvent::Kind;

inline std::unique_ptr<Executor> Unit(const FaultOptions& fault = {}) {
  return std::make_unique<DeviceExecutor>(std::make_unique<FaultDevice>(InstantUnit(), fault));
}

inline Units SomeUnits(size_t count, FaultOptions fault = {}) {
  Units units;
  for (; count > 0; --count, ++fault.seed) {
    units.push_back(Unit(fault));
  }
  return units;
}

// A task, and what must come of it.
struct Case {
  explicit Case(GeneratedTask task) : input(std::move(task)) {
    result = CpuExecutor().Run(input.task, CollectInto(&outputs));
  }

  void Expect(const MergeResult& actual, const std::vector<OwnedOutput>& tables) const {
    ASSERT_EQ(actual.status, result.status) << actual.error.ToString();
    if (actual.ok()) {
      const Status same = CompareOutputs(tables, outputs);
      EXPECT_TRUE(same.ok()) << same.ToString();
      EXPECT_EQ(actual.stats.output_checksum, result.stats.output_checksum);
      EXPECT_EQ(actual.stats.input_records, result.stats.input_records);
    } else {
      EXPECT_EQ(actual.fault, result.fault);
    }
  }

  GeneratedTask input;
  std::vector<OwnedOutput> outputs;
  MergeResult result;
};

// A unit whose tasks wait inside until it is opened.
class Gate : public Executor {
 public:
  std::string_view name() const override { return "gate"; }
  size_t max_runs() const override { return 4; }
  size_t max_snapshots() const override { return 1; }
  size_t max_tasks() const override { return 3; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    bool fails = false;
    {
      MutexLock lock(mutex_);
      most_ = std::max(most_, ++inside_);
      changed_.notify_all();
      while (!open_ && !one_fails_) {
        changed_.wait(lock);
      }
      fails = std::exchange(one_fails_, false);
      --inside_;
    }
    MergeResult result = CpuExecutor().Run(task, sink);
    if (fails) {
      result.status = MergeStatus::kDevice;
      result.error = Status::IoError("as it was told");
    }
    return result;
  }

  void AwaitInside(int tasks) {
    MutexLock lock(mutex_);
    while (inside_ < tasks) {
      changed_.wait(lock);
    }
  }
  void LetOneFail() {
    const MutexLock lock(mutex_);
    one_fails_ = true;
    changed_.notify_all();
  }
  void Open() {
    const MutexLock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  int most() {
    const MutexLock lock(mutex_);
    return most_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ SLUICE_GUARDED_BY(mutex_) = false;
  bool one_fails_ SLUICE_GUARDED_BY(mutex_) = false;
  int inside_ SLUICE_GUARDED_BY(mutex_) = 0;
  int most_ SLUICE_GUARDED_BY(mutex_) = 0;
};

class DriverTest : public testing::Test {
 protected:
  void Open(Units units, OffloadOptions options = {}) {
    options.listener = [this](const OffloadEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
    };
    options.pool.clock = [this] {
      return std::chrono::steady_clock::time_point(std::chrono::milliseconds(now_));
    };
    driver_ = std::make_unique<OffloadDriver>(std::move(units), std::move(options));
  }

  void RunOne(const Case& task) {
    std::vector<OwnedOutput> tables;
    const MergeResult result = driver_->Run(task.input.task, CollectInto(&tables));
    task.Expect(result, tables);
  }
  void RunSome(int tasks) {
    for (int i = 0; i < tasks; ++i) {
      RunOne(Case(RandomTask(rng_)));
    }
  }
  // As many on each of some threads.
  void RunTogether(int threads, int tasks, uint32_t max_runs) {
    std::vector<std::thread> callers;
    callers.reserve(threads);
    for (int t = 0; t < threads; ++t) {
      callers.emplace_back([=, this, seed = rng_()] {
        std::mt19937_64 rng(seed);
        for (int i = 0; i < tasks; ++i) {
          RunOne(Case(RandomTask(rng, max_runs)));
        }
      });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
  }
  std::string Reasons(size_t unit) {
    const std::lock_guard lock(mutex_);
    std::string reasons;
    for (const OffloadEvent& event : events_) {
      if (event.unit == unit) {
        reasons += event.what + "\n";
      }
    }
    return reasons;
  }
  int Events(Kind kind) {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(
        std::count_if(events_.begin(), events_.end(),
                      [&](const OffloadEvent& event) { return event.kind == kind; }));
  }

  const uint64_t seed_ = TestSeed();
  std::mt19937_64 rng_{seed_};
  std::atomic<int64_t> now_ = 0;  // milliseconds
  std::mutex mutex_;
  std::vector<OffloadEvent> events_;
  std::unique_ptr<OffloadDriver> driver_;
};

}  // namespace sluice
