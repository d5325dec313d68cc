// A unit that fails some of its tasks, in every way that can be noticed.

#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "merge/cpu_executor.h"
#include "util/testing.h"

namespace sluice {

// Merges as the CPU does, unless it fails.
class FaultyUnit : public Executor {
 public:
  FaultyUnit(uint64_t percent, uint64_t seed) : percent_(percent), random_(seed) {}

  std::string_view name() const override { return "faulty"; }
  size_t max_runs() const override { return 4; }
  size_t max_snapshots() const override { return 1; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    const uint64_t fault = Draw();
    uint64_t tables = 0;
    MergeResult result = cpu_.Run(task, [&](const MergeOutput& output) {
      ++tables;
      if (fault != kFlipsBit) {
        return sink(output);
      }
      std::string data(output.data);
      data[data.size() / 2] = static_cast<char>(data[data.size() / 2] ^ 4);
      MergeOutput damaged = output;
      damaged.data = data;
      return sink(damaged);
    });
    switch (fault) {
      case kGivesUp:
        result.status = MergeStatus::kDevice;
        result.error = Status::IoError("the device is gone");
        break;
      case kBlamesInput:
        result.status = MergeStatus::kBlockChecksum;
        result.error = Status::Corruption("block checksum mismatch");
        result.fault = {};
        break;
      case kLosesRecords:
        ++result.stats.dropped_records;
        break;
      default:
        break;
    }
    return result;
  }

 private:
  enum Fault : uint64_t { kGivesUp, kBlamesInput, kLosesRecords, kFlipsBit, kNone };

  uint64_t Draw() {
    const std::lock_guard lock(mutex_);
    return Uniform(&random_, 0, 99) < percent_ ? Uniform(&random_, 0, kNone - 1) : kNone;
  }

  const uint64_t percent_;
  CpuExecutor cpu_;
  std::mutex mutex_;
  TestRandom random_;
};

}  // namespace sluice
