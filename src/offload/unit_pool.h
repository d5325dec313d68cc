// The units of one or several cards: who gets which, which of them are in service, what they did.
//
// Callers are served first come, first served; each gets the unit that has the fewest tasks, in turn
// if several have (FAST'20 3.2.1, dispatcher thread: round robin), and drives it from its own
// thread, from upload to download, beside those who have a task on the same unit.
//
// A unit that fails several times in a row is taken out of service. When its time has come, the
// next caller first gives it a small task whose result is known, once the tasks that it still had
// have ended, and while others go on; if it passes
// it is back in service on probation: its next failure takes it out again, and the time doubles
// until it has done a task.
//
// A unit that refuses one task after the other may be given what is beyond its limits, or be broken.
// After so many it is given the same small task at once, and is taken out of service if it does not
// do that either.
//
// Thread-safe.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "merge/outputs.h"
#include "merge/task_generator.h"
#include "sluice/executor.h"
#include "util/mutex.h"
#include "util/status.h"

namespace sluice {

struct UnitPoolOptions {
  uint32_t failures_in_a_row = 3;   // take a unit out of service
  uint32_t refusals_in_a_row = 16;  // have it probed
  std::chrono::milliseconds probe_after{1000};
  std::chrono::milliseconds probe_after_most{60'000};
  std::function<std::chrono::steady_clock::time_point()> clock = std::chrono::steady_clock::now;
};

struct UnitStats {
  uint64_t tasks = 0;     // done
  uint64_t refused = 0;   // beyond the unit's limits
  uint64_t failures = 0;  // of the unit, failed probes not counted
  uint64_t probes = 0;
  uint64_t input_bytes = 0;   // of tasks done, as MergeStats
  uint64_t output_bytes = 0;  // likewise
  double seconds = 0;       // that it had tasks, upload to download, whatever came of them; probes
  double busy_seconds = 0;  // that jobs took: Executor::unit_busy_seconds
  bool in_service = true;
};

class UnitPool {
 public:
  // What a unit has to say of a task.
  enum class Outcome {
    kDone,
    kNoUnit,   // none is in service
    kRefused,  // beyond the unit's limits
    kCorrupt,  // the unit found a fault in the input; whether it is there the CPU must say
    kFailed,   // the unit's fault: counted
  };
  struct Answer {
    Outcome outcome = Outcome::kNoUnit;
    size_t unit = 0;
    MergeResult result;
    bool taken_out = false;  // this failure took the unit out of service
  };
  // What a task would have to wait for on the unit that can take it up first.
  struct Wait {
    double ahead = 0;             // seconds until it is the task's turn
    double unit = 0;              // and from then until it is done
    uint64_t unpacked_bytes = 0;  // as UnitTime
  };
  // Told of a unit that is back in service; called without any lock.
  using BackListener = std::function<void(size_t unit)>;

  // A unit has as many tasks at once as its executor has use for (Executor::max_tasks).
  UnitPool(std::vector<std::shared_ptr<Executor>> units, UnitPoolOptions options,
           BackListener back);

  size_t size() const { return units_.size(); }
  const Executor& unit(size_t i) const { return *units_[i].executor; }
  // Those of the unit that takes fewest; SIZE_MAX without any.
  size_t max_runs() const;
  size_t max_snapshots() const;
  size_t max_tasks() const;     // of all together
  bool makes_filters() const;   // if there are any, and all do
  bool compresses() const;      // likewise
  bool takes_xxh3() const;      // likewise
  bool checks_outputs() const;  // likewise

  // Runs `task` on a unit. A result that does not balance is a failure. Waits while all units in
  // service are busy. `shape`, if the task's is known, is for those who ask how long they would
  // wait.
  Answer Run(const MergeTask& task, const std::optional<TaskShape>& shape, const MergeSink& sink);
  // Nothing if no unit is in service, or the units cannot tell.
  std::optional<Wait> Expect(const TaskShape& shape) const;
  // Whether units say how long tasks take them (Executor::Estimate).
  bool estimates() const;
  // A kCorrupt of this unit was wrong: counts as a failure. Whether that took it out of service.
  bool Blame(size_t unit);

  std::vector<UnitStats> stats() const;
  // Of all units together.
  double unit_busy_seconds() const;
  double card_cpu_seconds() const;

 private:
  using Time = std::chrono::steady_clock::time_point;

  struct Unit {
    std::shared_ptr<Executor> executor;
    size_t tasks = 0;  // in flight, or a probe
    Time tasks_since;  // if there are any
    double ahead = 0;  // seconds that they take it, all together
    uint32_t failures_in_a_row = 0;
    uint32_t refusals_in_a_row = 0;
    Time probe_at;
    std::chrono::milliseconds probe_after;  // when it goes out of service next
    UnitStats stats;
  };

  // Takes a unit for a task, which adds `paced` seconds to what it has; none if no unit is in
  // service.
  std::optional<size_t> Acquire(double paced);
  std::optional<size_t> Next() SLUICE_REQUIRES(mutex_);
  bool AnyInService() const SLUICE_REQUIRES(mutex_);
  void BeginTask(Unit* unit) SLUICE_REQUIRES(mutex_);
  void EndTask(Unit* unit) SLUICE_REQUIRES(mutex_);
  // Whether that took the unit out of service.
  bool CountFailure(Unit* unit) SLUICE_REQUIRES(mutex_);
  void TakeOut(Unit* unit) SLUICE_REQUIRES(mutex_);
  // Whether a unit that this thread holds does the task whose result is known.
  bool PassesProbe(const Unit& unit) const;
  // Counts one more task that a unit of this thread's has refused. Whether the unit is to blame.
  bool IsBroken(Unit* unit) SLUICE_EXCLUDES(mutex_);
  // Probes a unit that this thread holds and gives it back.
  void Probe(size_t i) SLUICE_REQUIRES(mutex_);

  const UnitPoolOptions options_;
  const BackListener back_;
  GeneratedTask probe_;
  std::vector<OwnedOutput> probe_expected_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Unit> units_;
  double waiting_ SLUICE_GUARDED_BY(mutex_) = 0;  // seconds that tasks without a unit take one
  size_t next_ SLUICE_GUARDED_BY(mutex_) = 0;     // whose turn it is
  uint64_t tickets_ SLUICE_GUARDED_BY(mutex_) = 0;
  uint64_t serving_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
