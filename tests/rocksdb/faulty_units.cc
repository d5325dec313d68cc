// A library of executors for SLUICE_EXECUTOR_LIBRARY: "faulty:N" is four units that fail N tasks of
// 100, in every way that can be noticed. With it also go the units of the card that this build has, as
// FaultDevice has them fail: "faulty_model:N".

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <mutex>

#include "merge/cpu_executor.h"
#include "sluice/device.h"
#include "util/testing.h"
#ifdef SLUICE_WITH_DEVICE
#include "device/executors.h"
#endif

namespace sluice {

namespace {

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

}  // namespace

Status OpenUnits(std::string_view name, std::vector<std::shared_ptr<Executor>>* units) {
  const size_t colon = name.find(':');
  uint64_t percent = 0;
  if (colon == std::string_view::npos ||
      std::from_chars(name.data() + colon + 1, name.data() + name.size(), percent).ec !=
          std::errc()) {
    return Status::InvalidArgument(fmt::format("{}: no such executor", name));
  }
  const char* const given = std::getenv("SLUICE_SEED");
  const uint64_t seed = given != nullptr ? std::stoull(given) : 1;
  const std::string_view kind = name.substr(0, colon);
  if (kind == "faulty") {
    for (uint64_t i = 0; i < 4; ++i) {
      units->push_back(std::make_shared<FaultyUnit>(percent, seed + i));
    }
    return {};
  }
#ifdef SLUICE_WITH_DEVICE
  if (kind == "faulty_model") {
    const double rate = static_cast<double>(percent) / 500;
    ExecutorOptions options;
    options.model.units = 4;
    options.fault = {.rates = {.hang = rate,
                               .lost_interrupt = rate,
                               .late = rate,
                               .bus_error = rate,
                               .wrong_result = rate},
                     .stuck_reset = 0.1,
                     .seed = seed};
    return MakeUnits("model", kDefaultConfiguration, options, units);
  }
#endif
  return Status::InvalidArgument(fmt::format("{}: no such executor", name));
}

}  // namespace sluice
