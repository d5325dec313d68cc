#include "bench/run.h"

#include <condition_variable>
#include <latch>
#include <mutex>
#include <thread>

#include "bench/worker.h"
#include "util/seconds_since.h"

namespace sluice::bench {

namespace {

constexpr auto kSample = std::chrono::milliseconds(100);
// A longer run has longer intervals.
constexpr size_t kMostSamples = 1000;

// Turns counts taken every 100 ms into a series of bounded length.
class Sampler {
 public:
  explicit Sampler(Throughput* series) : series_(series) {
    series_->interval_seconds = std::chrono::duration<double>(kSample).count();
  }

  void Add(uint64_t total) {
    if (++ticks_ < ticks_per_interval_) {
      return;
    }
    ticks_ = 0;
    series_->operations.push_back(total - last_);
    last_ = total;
    if (series_->operations.size() == kMostSamples) {
      for (size_t i = 0; i < kMostSamples / 2; ++i) {
        series_->operations[i] = series_->operations[2 * i] + series_->operations[2 * i + 1];
      }
      series_->operations.resize(kMostSamples / 2);
      series_->interval_seconds *= 2;
      ticks_per_interval_ *= 2;
    }
  }

 private:
  Throughput* const series_;
  uint64_t last_ = 0;
  int ticks_ = 0;
  int ticks_per_interval_ = 1;
};

// The threads of a run and their end.
class Crew {
 public:
  explicit Crew(RunState* run) : run_(run), ready_(Size(*run) + 1) {
    const auto threads = static_cast<size_t>(run->settings.threads);
    for (size_t i = 0; i < Size(*run); ++i) {
      workers_.push_back(std::make_unique<Worker>(run, i, /*writer=*/i == threads));
    }
    working_ = threads;
  }

  Status Run(const Progress& progress, RunResult* result) {
    std::vector<std::thread> threads;
    threads.reserve(workers_.size());
    for (const auto& worker : workers_) {
      threads.emplace_back([this, &worker] { RunWorker(worker.get()); });
    }
    ready_.arrive_and_wait();
    Watch(progress, result);
    run_->stop = true;  // the writer
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const auto& worker : workers_) {
      worker->AddTo(result);
    }
    result->by_second.Cut(result->seconds);
    return error_;
  }

 private:
  static size_t Size(const RunState& run) {
    return static_cast<size_t>(run.settings.threads) + (run.workload.writer ? 1 : 0);
  }

  void RunWorker(Worker* worker) {
    worker->Prepare();
    if (worker == workers_.front().get()) {
      run_->begin = Clock::now();
    }
    ready_.arrive_and_wait();
    const Status status = worker->Run();
    const bool is_writer = run_->workload.writer && worker == workers_.back().get();
    {
      const std::lock_guard lock(mutex_);
      if (!status.ok() && error_.ok()) {
        error_ = status;
        run_->stop = true;
      }
      working_ -= is_writer ? 0 : 1;
      ended_.notify_all();
    }
    worker->Finish();
  }

  // Until those who do the workload are done.
  void Watch(const Progress& progress, RunResult* result) {
    Sampler sampler(&result->throughput);
    Clock::time_point tick = run_->begin;
    std::unique_lock lock(mutex_);
    while (!ended_.wait_until(lock, tick += kSample, [this] { return working_ == 0; })) {
      uint64_t total = 0;
      for (int i = 0; i < run_->settings.threads; ++i) {
        total += workers_[static_cast<size_t>(i)]->done();
      }
      sampler.Add(total);
      if (run_->workload.wave) {
        progress(static_cast<uint64_t>(1000 * SecondsSince(run_->begin)),
                 static_cast<uint64_t>(1000 * run_->wave.seconds()));
      } else if (run_->operations != UINT64_MAX) {
        progress(total, run_->operations);
      } else {
        progress(static_cast<uint64_t>(1000 * SecondsSince(run_->begin)),
                 static_cast<uint64_t>(1000 * run_->settings.duration));
      }
    }
    result->seconds = SecondsSince(run_->begin);
  }

  RunState* const run_;
  std::latch ready_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::mutex mutex_;
  std::condition_variable ended_;
  size_t working_ = 0;  // guarded by mutex_, as is error_
  Status error_;
};

Status DoUpkeep(Workload::Upkeep upkeep, Engine* engine, RunResult* result) {
  const Clock::time_point begin = Clock::now();
  SLUICE_RETURN_IF_ERROR(upkeep == Workload::Upkeep::kFlush ? engine->Flush() : engine->Compact());
  result->seconds = SecondsSince(begin);
  return {};
}

std::optional<double> Ratio(std::optional<uint64_t> bytes, uint64_t user_bytes) {
  if (!bytes || user_bytes == 0) {
    return {};
  }
  return static_cast<double>(*bytes) / static_cast<double>(user_bytes);
}

}  // namespace

std::optional<double> RunResult::WriteAmplification() const {
  return Ratio(engine.log_bytes_written + engine.table_bytes_written, user_bytes_written);
}

std::optional<double> RunResult::ReadAmplification() const {
  return Ratio(foreground_bytes_read, user_bytes_read);
}

std::optional<double> RunResult::UnitsBusy() const {
  if (engine.unit_microseconds == 0) {
    return {};
  }
  return static_cast<double>(engine.unit_busy_microseconds) /
         static_cast<double>(engine.unit_microseconds);
}

std::optional<double> RunResult::HostCpuPerMegabyte() const {
  if (engine.background_bytes_read == 0) {
    return {};
  }
  return 1e9 * cpu.HostCompaction() / static_cast<double>(engine.background_bytes_read);
}

std::optional<double> RunResult::SpaceAmplification() const {
  return Ratio(disk_bytes, record_bytes);
}

Status RunWorkload(const BenchSettings& settings, const Workload& workload, uint64_t stream,
                   Engine* engine, std::atomic<uint64_t>* inserted, const Progress& progress,
                   RunResult* result) {
  uint64_t records = 1;  // of an upkeep: it is one operation
  if (workload.two_runs) {
    SLUICE_RETURN_IF_ERROR(BuildTwoRuns(settings, *workload.two_runs, Mix(settings.seed + stream),
                                        engine, progress, &records));
  }
  const EngineCounts counts = engine->Counts();
  const CpuSeconds cpu = BackgroundCpu();
  if (workload.upkeep != Workload::Upkeep::kNone) {
    SLUICE_RETURN_IF_ERROR(DoUpkeep(workload.upkeep, engine, result));
    result->operations = records;
  } else {
    RunState run(settings, workload, engine, stream, inserted);
    SLUICE_RETURN_IF_ERROR(Crew(&run).Run(progress, result));
  }
  progress(0, 0);
  // After reads too: LevelDB's set off compactions.
  const Clock::time_point begin = Clock::now();
  SLUICE_RETURN_IF_ERROR(engine->WaitForBackgroundWork());
  result->settle_seconds = SecondsSince(begin);
  const CpuSeconds cpu_then = BackgroundCpu();
  const double log = cpu_then.foreground - cpu.foreground;
  result->cpu.flush = cpu_then.flush - cpu.flush;
  result->cpu.compaction = cpu_then.compaction - cpu.compaction;
  result->cpu.driver = cpu_then.driver - cpu.driver;
  result->cpu.card = cpu_then.card - cpu.card;
  result->cpu.other = cpu_then.other - cpu.other - result->cpu.foreground;
  result->cpu.foreground += log;
  const EngineCounts counts_then = engine->Counts();
  result->engine = {
      .log_bytes_written = counts_then.log_bytes_written - counts.log_bytes_written,
      .table_bytes_written = counts_then.table_bytes_written - counts.table_bytes_written,
      .background_bytes_read = counts_then.background_bytes_read - counts.background_bytes_read,
      .unit_microseconds = counts_then.unit_microseconds - counts.unit_microseconds,
      .unit_busy_microseconds = counts_then.unit_busy_microseconds - counts.unit_busy_microseconds,
      .unit_tasks = counts_then.unit_tasks - counts.unit_tasks,
      .cpu_tasks = counts_then.cpu_tasks - counts.cpu_tasks,
      .cpu_tasks_small = counts_then.cpu_tasks_small - counts.cpu_tasks_small,
      .cpu_tasks_queue = counts_then.cpu_tasks_queue - counts.cpu_tasks_queue,
      .cpu_tasks_slow = counts_then.cpu_tasks_slow - counts.cpu_tasks_slow,
      .merges_left = counts_then.merges_left - counts.merges_left};
  if (counts.stall_microseconds) {
    result->engine.stall_microseconds =
        *counts_then.stall_microseconds - *counts.stall_microseconds;
  }
  return {};
}

}  // namespace sluice::bench
