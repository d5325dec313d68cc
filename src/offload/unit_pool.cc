#include "offload/unit_pool.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "merge/checked_run.h"
#include "merge/cpu_executor.h"
#include "util/seconds_since.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

// Small, but with all that a merge does: versions and tombstones that go, blocks, tables.
GeneratorOptions ProbeOptions(size_t runs) {
  GeneratorOptions options;
  options.runs = static_cast<uint32_t>(runs);
  options.records = 200;
  options.user_key_bytes = {8, 8};  // which any unit takes
  options.duplicate_percent = 20;
  options.delete_percent = 10;
  options.table_bytes = 4 << 10;
  options.bottommost = true;
  return options;
}

UnitPool::Outcome OutcomeOf(const MergeResult& result) {
  if (result.ok()) {
    return UnitPool::Outcome::kDone;
  }
  const bool refused =
      result.error.IsNotSupported() || result.error.code() == Status::Code::kInvalidArgument;
  if (refused && result.status != MergeStatus::kDevice) {
    return UnitPool::Outcome::kRefused;
  }
  return IsInputFault(result.status) ? UnitPool::Outcome::kCorrupt : UnitPool::Outcome::kFailed;
}

}  // namespace

UnitPool::UnitPool(std::vector<std::shared_ptr<Executor>> units, UnitPoolOptions options,
                   BackListener back)
    : options_(std::move(options)), back_(std::move(back)) {
  for (std::shared_ptr<Executor>& executor : units) {
    Unit& unit = units_.emplace_back();
    unit.executor = std::move(executor);
    unit.probe_after = options_.probe_after;
  }
  if (!units_.empty()) {
    probe_ = GenerateTask(ProbeOptions(std::min<size_t>(max_runs(), 8)));
    (void)CpuExecutor().Run(probe_.task, CollectInto(&probe_expected_));
  }
}

size_t UnitPool::max_runs() const {
  size_t runs = SIZE_MAX;
  for (const Unit& unit : units_) {
    runs = std::min(runs, unit.executor->max_runs());
  }
  return runs;
}

size_t UnitPool::max_snapshots() const {
  size_t snapshots = SIZE_MAX;
  for (const Unit& unit : units_) {
    snapshots = std::min(snapshots, unit.executor->max_snapshots());
  }
  return snapshots;
}

size_t UnitPool::max_tasks() const {
  return std::accumulate(units_.begin(), units_.end(), size_t{0}, [](size_t sum, const Unit& unit) {
    return sum + unit.executor->max_tasks();
  });
}

bool UnitPool::makes_filters() const {
  return !units_.empty() && std::all_of(units_.begin(), units_.end(), [](const Unit& unit) {
    return unit.executor->makes_filters();
  });
}

bool UnitPool::compresses() const {
  return !units_.empty() && std::all_of(units_.begin(), units_.end(), [](const Unit& unit) {
    return unit.executor->compresses();
  });
}

bool UnitPool::checks_outputs() const {
  return !units_.empty() && std::all_of(units_.begin(), units_.end(), [](const Unit& unit) {
    return unit.executor->checks_outputs();
  });
}

bool UnitPool::takes_xxh3() const {
  return !units_.empty() && std::all_of(units_.begin(), units_.end(), [](const Unit& unit) {
    return unit.executor->takes_xxh3();
  });
}

std::optional<size_t> UnitPool::Next() {
  std::optional<size_t> best;
  for (size_t n = 0; n < units_.size(); ++n) {
    const size_t i = (next_ + n) % units_.size();
    const Unit& unit = units_[i];
    if (unit.stats.in_service && unit.tasks < unit.executor->max_tasks() &&
        (!best.has_value() || unit.tasks < units_[*best].tasks)) {
      best = i;
    }
  }
  if (best.has_value()) {
    next_ = (*best + 1) % units_.size();
  }
  return best;
}

void UnitPool::BeginTask(Unit* unit) {
  if (unit->tasks++ == 0) {
    unit->tasks_since = Clock::now();
  }
}

void UnitPool::EndTask(Unit* unit) {
  if (--unit->tasks == 0) {
    unit->stats.seconds += SecondsSince(unit->tasks_since);
  }
  changed_.notify_all();
}

bool UnitPool::AnyInService() const {
  return std::any_of(units_.begin(), units_.end(),
                     [](const Unit& unit) { return unit.stats.in_service; });
}

void UnitPool::TakeOut(Unit* unit) {
  unit->stats.in_service = false;
  unit->probe_at = options_.clock() + unit->probe_after;
  unit->probe_after = std::min(2 * unit->probe_after, options_.probe_after_most);
}

bool UnitPool::CountFailure(Unit* unit) {
  ++unit->stats.failures;
  ++unit->failures_in_a_row;
  if (!unit->stats.in_service || unit->failures_in_a_row < options_.failures_in_a_row) {
    return false;
  }
  TakeOut(unit);
  return true;
}

bool UnitPool::PassesProbe(const Unit& unit) const {
  std::vector<OwnedOutput> outputs;
  return unit.executor->Run(probe_.task, CollectInto(&outputs)).ok() &&
         CompareOutputs(outputs, probe_expected_).ok();
}

bool UnitPool::IsBroken(Unit* unit) {
  MutexLock lock(mutex_);
  if (++unit->refusals_in_a_row % options_.refusals_in_a_row != 0) {
    return false;
  }
  lock.unlock();
  const bool passed = PassesProbe(*unit);
  lock.lock();
  ++unit->stats.probes;
  if (!passed) {
    // The failure that this is takes it out.
    unit->failures_in_a_row = std::max(unit->failures_in_a_row, options_.failures_in_a_row - 1);
  }
  return !passed;
}

void UnitPool::Probe(size_t i) {
  Unit& unit = units_[i];
  mutex_.unlock();
  const bool passed = PassesProbe(unit);
  if (passed) {
    back_(i);
  }
  mutex_.lock();
  ++unit.stats.probes;
  if (passed) {
    unit.stats.in_service = true;
    unit.failures_in_a_row = options_.failures_in_a_row - 1;
  } else {
    TakeOut(&unit);
  }
  EndTask(&unit);
}

std::optional<size_t> UnitPool::Acquire(double paced) {
  MutexLock lock(mutex_);
  for (size_t i = 0; i < units_.size(); ++i) {
    Unit& due = units_[i];
    if (!due.stats.in_service && due.tasks == 0 && options_.clock() >= due.probe_at) {
      BeginTask(&due);
      Probe(i);
    }
  }
  const uint64_t ticket = tickets_++;
  waiting_ += paced;
  std::optional<size_t> unit;
  while (serving_ != ticket || (!(unit = Next()).has_value() && AnyInService())) {
    changed_.wait(lock);
  }
  ++serving_;
  waiting_ -= paced;
  changed_.notify_all();
  if (unit.has_value()) {
    BeginTask(&units_[*unit]);
    units_[*unit].ahead += paced;
  }
  return unit;
}

bool UnitPool::estimates() const {
  return !units_.empty() && units_.front().executor->Estimate({}).has_value();
}

std::optional<UnitPool::Wait> UnitPool::Expect(const TaskShape& shape) const {
  std::optional<Wait> best;
  const MutexLock lock(mutex_);
  for (const Unit& unit : units_) {
    const std::optional<UnitTime> time = unit.executor->Estimate(shape);
    if (!unit.stats.in_service || !time.has_value()) {
      continue;
    }
    const Wait wait{unit.ahead + waiting_ / static_cast<double>(units_.size()), time->alone,
                    time->unpacked_bytes};
    if (!best.has_value() || wait.ahead + wait.unit < best->ahead + best->unit) {
      best = wait;
    }
  }
  return best;
}

UnitPool::Answer UnitPool::Run(const MergeTask& task, const std::optional<TaskShape>& shape,
                               const MergeSink& sink) {
  double paced = 0;
  if (shape.has_value() && !units_.empty()) {
    paced = units_.front().executor->Estimate(*shape).value_or(UnitTime{}).paced;
  }
  const std::optional<size_t> i = Acquire(paced);
  if (!i.has_value()) {
    Answer none;
    none.result.status = MergeStatus::kDevice;
    none.result.error = Status::IoError("no unit is in service");
    return none;
  }
  Unit& unit = units_[*i];
  Answer answer{.unit = *i, .result = RunChecked(*unit.executor, task, sink)};
  if (Status balance = CheckBalance(answer.result.stats); answer.result.ok() && !balance.ok()) {
    answer.result.status = MergeStatus::kEndToEnd;
    answer.result.error = std::move(balance);
  }
  answer.outcome = OutcomeOf(answer.result);
  if (answer.outcome == Outcome::kRefused && IsBroken(&unit)) {
    answer.outcome = Outcome::kFailed;
    answer.result.status = MergeStatus::kDevice;
    answer.result.error = Status::IoError("the unit refuses even what is within all limits: " +
                                          std::string(answer.result.error.message()));
  }

  const MutexLock lock(mutex_);
  switch (answer.outcome) {
    case Outcome::kDone:
      ++unit.stats.tasks;
      unit.stats.input_bytes += answer.result.stats.input_bytes;
      unit.stats.output_bytes += answer.result.stats.output_bytes;
      unit.failures_in_a_row = 0;
      unit.refusals_in_a_row = 0;
      unit.probe_after = options_.probe_after;
      break;
    case Outcome::kRefused:
      ++unit.stats.refused;
      break;
    case Outcome::kFailed:
      answer.taken_out = CountFailure(&unit);
      break;
    case Outcome::kCorrupt:
    case Outcome::kNoUnit:
      break;
  }
  unit.ahead -= paced;
  EndTask(&unit);
  return answer;
}

bool UnitPool::Blame(size_t unit) {
  const MutexLock lock(mutex_);
  const bool taken_out = CountFailure(&units_[unit]);
  changed_.notify_all();
  return taken_out;
}

double UnitPool::unit_busy_seconds() const {
  return std::accumulate(units_.begin(), units_.end(), 0.0, [](double sum, const Unit& unit) {
    return sum + unit.executor->unit_busy_seconds();
  });
}

double UnitPool::card_cpu_seconds() const {
  return std::accumulate(units_.begin(), units_.end(), 0.0, [](double sum, const Unit& unit) {
    return sum + unit.executor->card_cpu_seconds();
  });
}

std::vector<UnitStats> UnitPool::stats() const {
  const MutexLock lock(mutex_);
  std::vector<UnitStats> stats;
  for (const Unit& unit : units_) {
    stats.push_back(unit.stats);
    if (unit.tasks > 0) {
      stats.back().seconds += SecondsSince(unit.tasks_since);
    }
    stats.back().busy_seconds = unit.executor->unit_busy_seconds();
  }
  return stats;
}

}  // namespace sluice
