#include "offload/driver.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "merge/multi_pass.h"
#include "merge/outputs.h"
#include "merge/task_file.h"
#include "offload/snapshot_classes.h"
#include "sluice/env.h"
#include "util/cpu_clock.h"

namespace sluice {

namespace {

// What a merge of `task` has had to do, if not all of it was in the range. Records are counted, what
// else there is of them is the task's.
TaskShape MergedOf(const TaskShape& task, const MergeResult& result) {
  const auto records = static_cast<double>(task.records);
  const auto merged = static_cast<double>(result.stats.input_records);
  return PartOf(task, merged < records ? merged / records : 1);
}

}  // namespace

// The units as one executor, for the passes of one task.
class OffloadDriver::Pass : public Executor {
 public:
  Pass(OffloadDriver* driver, const std::optional<TaskShape>& shape)
      : driver_(*driver), shape_(shape) {}

  std::string_view name() const override { return driver_.name(); }
  size_t max_runs() const override { return driver_.pool_.max_runs(); }
  size_t max_snapshots() const override { return driver_.pool_.max_snapshots(); }
  bool makes_filters() const override { return driver_.pool_.makes_filters(); }
  bool compresses() const override { return driver_.pool_.compresses(); }
  bool takes_xxh3() const override { return driver_.pool_.takes_xxh3(); }
  bool checks_outputs() const override { return true; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    last_ = driver_.pool_.Run(task, shape_, sink);
    return last_.result;
  }

  const UnitPool::Answer& last() const { return last_; }

 private:
  OffloadDriver& driver_;
  const std::optional<TaskShape>& shape_;
  UnitPool::Answer last_;
};

OffloadDriver::OffloadDriver(NoThreads, std::vector<std::shared_ptr<Executor>> units,
                             OffloadOptions options)
    : options_(std::move(options)),
      pool_(std::move(units), options_.pool,
            [this](size_t unit) {
              Tell({.kind = OffloadEvent::Kind::kBackInService, .unit = unit});
            }),
      name_(pool_.size() == 0 ? cpu_.name() : pool_.unit(0).name()) {}

OffloadDriver::OffloadDriver(std::vector<std::shared_ptr<Executor>> units, OffloadOptions options)
    : OffloadDriver(NoThreads{}, std::move(units), std::move(options)) {
  const size_t threads = options_.threads != 0 ? options_.threads : pool_.max_tasks() + 1;
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

OffloadDriver::~OffloadDriver() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void OffloadDriver::Tell(const OffloadEvent& event) {
  if (options_.listener) {
    options_.listener(event);
  }
}

std::string OffloadDriver::Dump(const MergeTask& task, std::string_view note) {
  if (options_.dump_dir.empty()) {
    return {};
  }
  Env* const env = Env::Posix();
  const MutexLock lock(dump_mutex_);
  for (uint32_t i = 0; i < options_.max_dumps; ++i) {
    std::string path = fmt::format("{}/failed-{}.task", options_.dump_dir, i);
    if (env->FileExists(path).IsNotFound()) {
      // Not to be had is not to be had: the task itself goes on.
      const bool kept =
          WriteTaskFile(env, path, task, note).ok() && env->SyncDir(options_.dump_dir).ok();
      return kept ? path : std::string();
    }
  }
  return {};
}

void OffloadDriver::TellFailure(const MergeTask& task, const UnitPool::Answer& answer,
                                bool taken_out) {
  const std::string what = answer.result.error.ToString();
  const std::string note = fmt::format("unit {} of {}: {}", answer.unit, name_, what);
  Tell({.kind = OffloadEvent::Kind::kTaskFailed,
        .unit = answer.unit,
        .what = what,
        .dump = Dump(task, note)});
  if (taken_out) {
    Tell({.kind = OffloadEvent::Kind::kOutOfService, .unit = answer.unit});
  }
}

// A unit reads blocks outside the task's range, too, where the CPU does not.
bool OffloadDriver::IsSound(const MergeTask& task) {
  if (!task.has_begin && !task.has_end) {
    return true;
  }
  MergeTask all = task;
  all.has_begin = all.has_end = false;
  return cpu_.Run(all, [](const MergeOutput&) { return Status(); }).ok();
}

OffloadDriver::Counter OffloadDriver::Decide(const MergeTask& task,
                                             const std::optional<TaskShape>& shape) {
  if (pool_.size() == 0) {
    return &OffloadStats::no_unit;
  }
  // What several passes take nobody estimates.
  if (!shape.has_value() || options_.always || task.runs.size() > pool_.max_runs()) {
    return &OffloadStats::on_units;
  }
  const std::optional<UnitPool::Wait> wait = pool_.Expect(*shape);
  if (!wait.has_value()) {
    return &OffloadStats::on_units;
  }
  DispatchCosts costs{.ahead = wait->ahead, .unit = wait->unit};
  costs.idle_cores = options_.idle_cores ? options_.idle_cores() : idle_cores_.Now();
  const CodecBytes on_unit{.unpacked = wait->unpacked_bytes};
  MutexLock lock(mutex_);
  costs.merge = merge_cost_.Of(*shape, CodecBytesOfMerge(*shape));
  costs.drive = drive_cost_.Of(*shape, on_unit);
  const Place place = Choose(costs);
  if (place == Place::kSmall) {
    CountSmall(costs, drive_cost_.At(merge_cost_.scale(), *shape, on_unit));
  }
  lock.unlock();
  switch (place) {
    case Place::kSmall:
      return &OffloadStats::small;
    case Place::kQueue:
      return &OffloadStats::queue;
    case Place::kSlow:
      return &OffloadStats::slow;
    case Place::kUnit:
      break;
  }
  return &OffloadStats::on_units;
}

void OffloadDriver::CountSmall(const DispatchCosts& costs, double if_as_merging) {
  if (if_as_merging < costs.merge && ++doubtful_tasks_ == kDoubtfulTasks) {
    doubtful_tasks_ = 0;
    drive_cost_.Forget(merge_cost_.scale());
  }
}

void OffloadDriver::Learn(LearnedCost* cost, const TaskShape& shape, const CodecBytes& codec,
                          double seconds) {
  const MutexLock lock(mutex_);
  cost->Learn(shape, codec, seconds);
}

void OffloadDriver::Count(Counter counter, const MergeResult& result) {
  const MutexLock lock(mutex_);
  ++(stats_.*counter);
  stats_.errors += !result.ok();
}

OffloadDriver::Counter OffloadDriver::OnUnits(Pass* pass, const MergeTask& task,
                                              const std::optional<TaskShape>& shape,
                                              const MergeSink& sink, MergeResult* result) {
  std::vector<OwnedOutput> outputs;
  const double begin = shape.has_value() ? ThreadCpuSeconds() : 0;
  *result = MergeAll(*pass, task, CollectInto(&outputs), pool_.checks_outputs()).merge;
  if (pass->last().outcome == UnitPool::Outcome::kDone && !result->ok()) {
    // A pass did not read what those before it wrote.
    UnitPool::Answer wrong = pass->last();
    wrong.result = *result;
    TellFailure(task, wrong, pool_.Blame(wrong.unit));
    return &OffloadStats::retried;
  }
  switch (pass->last().outcome) {
    case UnitPool::Outcome::kDone:
      if (shape.has_value() && task.runs.size() <= pool_.max_runs()) {
        const double seconds = ThreadCpuSeconds() - begin;
        const TaskShape done = MergedOf(*shape, *result);
        const UnitTime time = pool_.unit(pass->last().unit).Estimate(done).value_or(UnitTime{});
        Learn(&drive_cost_, done, {.unpacked = time.unpacked_bytes}, seconds);
      }
      HandOver(std::move(outputs), sink, result);
      return &OffloadStats::on_units;
    case UnitPool::Outcome::kNoUnit:
      break;
    case UnitPool::Outcome::kRefused:
      return &OffloadStats::refused;
    case UnitPool::Outcome::kFailed:
      TellFailure(task, pass->last(), pass->last().taken_out);
      [[fallthrough]];
    case UnitPool::Outcome::kCorrupt:
      return &OffloadStats::retried;
  }
  return &OffloadStats::no_unit;
}

MergeResult OffloadDriver::OnCpu(const MergeTask& task, const std::optional<TaskShape>& shape,
                                 const MergeSink& sink) {
  if (!shape.has_value()) {
    return cpu_.Run(task, sink);
  }
  double in_sink = 0;
  const double begin = ThreadCpuSeconds();
  MergeResult result = cpu_.Run(task, [&](const MergeOutput& output) {
    const double handed_over = ThreadCpuSeconds();
    Status status = sink(output);
    in_sink += ThreadCpuSeconds() - handed_over;
    return status;
  });
  if (result.ok()) {
    const TaskShape done = MergedOf(*shape, result);
    Learn(&merge_cost_, done, CodecBytesOfMerge(done), ThreadCpuSeconds() - begin - in_sink);
  }
  return result;
}

bool OffloadDriver::FitSnapshots(const MergeTask& task, MergeTask* fewer) const {
  std::optional<std::vector<SequenceNumber>> snapshots;
  if (CheckTask(task).ok()) {
    snapshots = SnapshotsThatMatter(task, pool_.max_snapshots());
  }
  if (snapshots.has_value()) {
    *fewer = task;
    fewer->snapshots = std::move(*snapshots);
  }
  return snapshots.has_value();
}

MergeResult OffloadDriver::Run(const MergeTask& task, const MergeSink& sink) {
  std::optional<TaskShape> shape;
  if (pool_.estimates()) {
    shape = ShapeOf(task);
  }
  Pass pass(this, shape);
  MergeResult result;
  MergeTask fewer_snapshots;
  const MergeTask* for_units = &task;
  Counter counter = Decide(task, shape);
  if (counter == &OffloadStats::on_units && task.snapshots.size() > pool_.max_snapshots()) {
    for_units = &fewer_snapshots;
    if (!FitSnapshots(task, &fewer_snapshots)) {
      counter = &OffloadStats::declined;
    }
  }
  if (counter == &OffloadStats::on_units) {
    counter = OnUnits(&pass, *for_units, shape, sink, &result);
  }
  if (counter != &OffloadStats::on_units) {
    result = OnCpu(task, shape, sink);
    if (pass.last().outcome == UnitPool::Outcome::kCorrupt && result.ok() && IsSound(task)) {
      TellFailure(*for_units, pass.last(), pool_.Blame(pass.last().unit));
    }
  }
  Count(counter, result);
  return result;
}

MergeResult OffloadDriver::RunOnCpu(const MergeTask& task, const MergeSink& sink) {
  MergeResult result = cpu_.Run(task, sink);
  Count(&OffloadStats::withheld, result);
  return result;
}

void OffloadDriver::Submit(MergeTask task, MergeSink sink, Done done) {
  {
    MutexLock lock(mutex_);
    while (queue_.size() >= std::max<size_t>(1, options_.queued_tasks)) {
      changed_.wait(lock);
    }
    queue_.push_back({std::move(task), std::move(sink), std::move(done)});
  }
  changed_.notify_all();
}

void OffloadDriver::Work() {
  ::pthread_setname_np(::pthread_self(), "slc-driver");
  MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && queue_.empty()) {
      changed_.wait(lock);
    }
    if (queue_.empty()) {
      return;
    }
    const Submitted next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    changed_.notify_all();
    next.done(Run(next.task, next.sink));
    lock.lock();
  }
}

OffloadStats OffloadDriver::stats() const {
  OffloadStats stats;
  {
    const MutexLock lock(mutex_);
    stats = stats_;
  }
  stats.units = pool_.stats();
  for (std::thread& thread : threads_) {
    stats.host_cpu_seconds += CpuSecondsOf(thread);
  }
  stats.card_cpu_seconds = pool_.card_cpu_seconds();
  return stats;
}

}  // namespace sluice
