// What the process has one of: what merges, and what has been done.

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "common/environment.h"
#include "job.h"
#include "offload/driver.h"
#include "sluice_leveldb.h"
#include "sluice_leveldb_compaction.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

// How long a full memtable waits at most before it is flushed. LevelDB does not say when one is.
constexpr std::chrono::milliseconds kMeanwhile{1};

class Service {
 public:
  // Lives as long as the process: databases may be open until the end.
  static Service& Get() {
    static Service& service = *new Service;
    return service;
  }

  void SetExecutors(std::vector<std::shared_ptr<Executor>> units) {
    auto driver = std::make_shared<OffloadDriver>(std::move(units),
                                                  OffloadOptions{.always = true, .threads = 1});
    const std::lock_guard lock(mutex_);
    if (driver_ != nullptr) {
      AddTasks(driver_->stats(), &before_);
    }
    driver_ = std::move(driver);
    none_ = false;
  }

  LevelDbStatistics statistics() {
    const std::lock_guard lock(mutex_);
    LevelDbStatistics statistics = before_;
    if (driver_ != nullptr) {
      AddTasks(driver_->stats(), &statistics);
    }
    return statistics;
  }

  LevelDbCompactionResult Compact(const LevelDbCompaction& compaction);

 private:
  Service() {
    if (!plugin::Environment("SLUICE_REPORT", "").empty()) {
      std::atexit([] { Get().Report(); });
    }
  }

  static void AddTasks(const OffloadStats& stats, LevelDbStatistics* sum) {
    sum->tasks += stats.on_units + stats.on_cpu();
    sum->unit_tasks += stats.on_units;
    sum->unit_failures += stats.retried;
  }
  // Null: LevelDB is to do everything.
  std::shared_ptr<OffloadDriver> driver();
  void Count(const ldb::JobReport& report, uint64_t micros);
  void CountLeft(const Status& reason);
  void Report();

  std::mutex mutex_;
  bool none_ = false;
  std::shared_ptr<OffloadDriver> driver_;
  LevelDbStatistics before_;  // without the tasks of driver_
};

std::shared_ptr<OffloadDriver> Service::driver() {
  const std::lock_guard lock(mutex_);
  if (driver_ != nullptr || none_) {
    return driver_;
  }
  const std::string name = plugin::Environment("SLUICE_EXECUTOR", "cpu");
  std::vector<std::shared_ptr<Executor>> units;
  const Status status = name == "none"
                            ? Status::NotSupported("none")
                            : plugin::OpenUnitsOfEnvironment(
                                  reinterpret_cast<const void*>(&CompactForLevelDb), &units);
  if (!status.ok()) {
    none_ = true;
    if (name != "none") {
      plugin::Complain(fmt::format("SLUICE_EXECUTOR={}: {}: LevelDB compacts by itself", name,
                                   status.message()));
    }
    return nullptr;
  }
  driver_ = std::make_shared<OffloadDriver>(std::move(units),
                                            OffloadOptions{.always = true, .threads = 1});
  return driver_;
}

// The job, on a thread of its own while this one does what LevelDB's has to.
Status RunBeside(const LevelDbCompaction& compaction, Executor* executor, ldb::JobReport* report) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::atomic<bool> cancelled = false;
  Status status;
  std::thread worker([&] {
    Status outcome;
    try {
      outcome = ldb::RunJob(compaction, executor, cancelled, report);
    } catch (const std::exception& error) {
      outcome = Status::IoError(error.what());
    }
    const std::lock_guard lock(mutex);
    status = std::move(outcome);
    done = true;
    changed.notify_one();
  });
  std::unique_lock lock(mutex);
  while (!done) {
    lock.unlock();
    if (!compaction.meanwhile()) {
      cancelled = true;
    }
    lock.lock();
    changed.wait_for(lock, kMeanwhile, [&] { return done; });
  }
  lock.unlock();
  worker.join();
  return status;
}

LevelDbCompactionResult Service::Compact(const LevelDbCompaction& compaction) {
  LevelDbCompactionResult result;
  const std::shared_ptr<OffloadDriver> executor = driver();
  if (executor == nullptr) {
    return result;
  }
  const Clock::time_point start = Clock::now();
  ldb::JobReport report;
  Status status;
  try {
    status = RunBeside(compaction, executor.get(), &report);
  } catch (const std::exception& error) {
    status = Status::IoError(error.what());  // no memory, or no thread
  }
  if (!status.ok()) {
    CountLeft(status);
    result.message = "left to LevelDB: " + status.message();
    return result;
  }
  const auto micros = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count());
  Count(report, micros);
  result.message = fmt::format(
      "{}@{} + {}@{} files: {} records became {} in {} files by {}, {} to {} bytes, {} us",
      compaction.inputs[0].size(), compaction.level, compaction.inputs[1].size(),
      compaction.level + 1, report.merge.input_records, report.merge.output_records,
      report.tables.size(), executor->name(), report.bytes_read, report.bytes_written, micros);
  result.tables = std::move(report.tables);
  result.done = true;
  return result;
}

void Service::Count(const ldb::JobReport& report, uint64_t micros) {
  const std::lock_guard lock(mutex_);
  ++before_.compactions;
  before_.unit_failures += report.retries;
  before_.input_records += report.merge.input_records;
  before_.output_records += report.merge.output_records;
  before_.input_bytes += report.bytes_read;
  before_.output_bytes += report.bytes_written;
  before_.micros += micros;
}

void Service::CountLeft(const Status& reason) {
  // Files and offsets, which would make a reason of each compaction, are for the info log.
  const std::string key = reason.IsNotSupported()                ? reason.message()
                          : reason.IsCorruption()                ? "input or output: corrupt"
                          : reason.code() == Status::Code::kBusy ? "closing"
                                                                 : "failed";
  const std::lock_guard lock(mutex_);
  ++before_.left;
  ++before_.reasons[key];
}

void Service::Report() {
  const LevelDbStatistics now = statistics();
  std::string text = fmt::format(
      "sluice: {} compactions, {} records in, {} out, {} bytes in, {} out, {} ms, {} tasks, {} on "
      "units, {} failed there, {} left to LevelDB\n",
      now.compactions, now.input_records, now.output_records, now.input_bytes, now.output_bytes,
      now.micros / 1000, now.tasks, now.unit_tasks, now.unit_failures, now.left);
  for (const auto& [reason, count] : now.reasons) {
    text += fmt::format("sluice: left to LevelDB: {} for: {}\n", count, reason);
  }
  std::fputs(text.c_str(), stderr);
}

}  // namespace

LevelDbCompactionResult CompactForLevelDb(const LevelDbCompaction& compaction) {
  try {
    return Service::Get().Compact(compaction);
  } catch (const std::exception& error) {
    plugin::Complain(fmt::format("{}: LevelDB compacts by itself", error.what()));
    return {};
  }
}

void SetLevelDbExecutors(std::vector<std::shared_ptr<Executor>> units) {
  Service::Get().SetExecutors(std::move(units));
}

LevelDbStatistics GetLevelDbStatistics() { return Service::Get().statistics(); }

}  // namespace sluice
