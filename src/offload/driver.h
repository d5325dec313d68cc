// Merges on the units of a card, whatever these do: a task that a unit refuses or fails is run
// again on the CPU, and callers get nothing that a unit made before the whole task has succeeded.
// Tasks for which a unit does not pay go to the CPU at once (dispatch.h).
//
//   std::unique_ptr<OffloadDriver> driver;
//   Status status = MakeDriver("rtl", "fast20x4", {}, {}, &driver);   // executors.h
//   MergeResult result = driver->Run(task, sink);
//
// Results are the CPU executor's, byte for byte, errors too. A task of more runs than a unit merges
// takes several passes (multi_pass.h, and its REQUIRES), each on the unit whose turn it is. A task
// of more snapshots than a unit takes is given those that its records tell apart
// (snapshot_classes.h); if these are too many, it is the CPU's.
//
// What makes a unit fail a task: kDevice, bus errors, END_TO_END, counts or checksums that do not
// balance (CheckBalance), with a CheckExecutor a difference to the CPU, a fault in the input that is
// not there, and a refusal if it refuses everything (unit_pool.h). What does not: a task beyond the
// unit's limits (NotSupported), and input that is corrupt indeed, be it outside the task's range.
//
// Thread-safe. Memory: the output tables of each task that has run on a unit and is being handed
// over; with several passes, as MergeAll.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "merge/cpu_executor.h"
#include "offload/dispatch.h"
#include "offload/unit_pool.h"
#include "sluice/executor.h"
#include "util/idle_cores.h"
#include "util/mutex.h"

namespace sluice {

struct OffloadEvent {
  enum class Kind { kTaskFailed, kOutOfService, kBackInService };
  Kind kind = Kind::kTaskFailed;
  size_t unit = 0;
  std::string what{};  // of kTaskFailed: the error
  std::string dump{};  // likewise, if it was kept: a file for `sluice unit replay` (task_file.h)
};

struct OffloadOptions {
  UnitPoolOptions pool{};
  // Units are given every task that they take, whether that pays or not.
  bool always = false;
  std::function<double()> idle_cores = nullptr;  // null: as the system tells
  // For Submit: threads that run tasks (0: as many as the units have use for tasks at once, and
  // one), and tasks that may wait for them.
  size_t threads = 0;
  size_t queued_tasks = 64;
  // Called from any thread, several at once; may be empty. Must not call the driver.
  std::function<void(const OffloadEvent&)> listener = nullptr;
  // Where tasks that a unit failed are kept, as failed-0.task to failed-(max_dumps - 1).task; what
  // is there is never overwritten. Empty: they are not. The directory must exist.
  std::string dump_dir{};
  uint32_t max_dumps = 8;
};

struct OffloadStats {
  uint64_t on_units = 0;        // tasks that units did; the others the CPU did, because:
  uint64_t withheld = 0;        // they came by RunOnCpu
  uint64_t small = 0;           // offloading would not have saved CPU: Place::kSmall,
  uint64_t queue = 0;           // kQueue
  uint64_t slow = 0;            // and kSlow
  uint64_t declined = 0;        // more of their snapshots mattered than a unit takes
  uint64_t refused = 0;         // they were beyond the limits of a unit
  uint64_t retried = 0;         // a unit failed, or said that the input is corrupt
  uint64_t no_unit = 0;         // none was in service, or there is none
  uint64_t errors = 0;          // tasks of any kind that ended as an error
  double host_cpu_seconds = 0;  // of the driver's threads: what was submitted, sinks included
  double card_cpu_seconds = 0;  // of what stands for the units: Executor::card_cpu_seconds
  std::vector<UnitStats> units;

  uint64_t on_cpu() const {
    return withheld + small + queue + slow + declined + refused + retried + no_unit;
  }
};

class OffloadDriver : public Executor {
 public:
  // Units as UnitPool takes them; without any, all is done on the CPU.
  OffloadDriver(std::vector<std::shared_ptr<Executor>> units, OffloadOptions options);
  // Returns when all that was submitted is done. No thread may be in Run or Submit.
  ~OffloadDriver() override;

  std::string_view name() const override { return name_; }
  size_t max_runs() const override { return SIZE_MAX; }
  size_t max_snapshots() const override { return SIZE_MAX; }
  // The most snapshots of a task that a unit may do; SIZE_MAX without units.
  size_t max_unit_snapshots() const { return pool_.max_snapshots(); }

  // `sink` is called on this thread, which also does the CPU's part. No table comes twice: those of
  // a unit are handed over once the whole task has succeeded on it.
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override;

  // As Run, but no unit is asked.
  MergeResult RunOnCpu(const MergeTask& task, const MergeSink& sink);

  // As Run, on one of the driver's threads, which calls `sink` and then `done`, once and in any
  // case. Blocks while the queue is full: not to be called from `sink` or `done`. What `task`
  // refers to must stay until `done` is called.
  using Done = std::function<void(const MergeResult&)>;
  void Submit(MergeTask task, MergeSink sink, Done done);

  // If there are units, and all do. The CPU makes filters, too, if it is asked for them; but without
  // units that is no use, and whoever packs extents counts versions of a key once.
  bool makes_filters() const override { return pool_.makes_filters(); }
  // Likewise: the library compresses faster than the CPU does as units do.
  bool compresses() const override { return pool_.compresses(); }
  // Likewise: who has other tables need not make ones with XXH3 for the CPU's sake.
  bool takes_xxh3() const override { return pool_.takes_xxh3(); }
  bool checks_outputs() const override { return true; }
  // Those of all units.
  size_t max_tasks() const override { return pool_.max_tasks(); }
  double unit_busy_seconds() const override { return pool_.unit_busy_seconds(); }
  double card_cpu_seconds() const override { return pool_.card_cpu_seconds(); }
  OffloadStats stats() const;

 private:
  struct Submitted {
    MergeTask task;
    MergeSink sink;
    Done done;
  };
  class Pass;
  struct NoThreads {};
  using Counter = uint64_t OffloadStats::*;

  // If a thread cannot be started, the destructor ends the others.
  OffloadDriver(NoThreads, std::vector<std::shared_ptr<Executor>> units, OffloadOptions options);

  // Why the CPU is to have `task`, whose shape is `shape` if that matters; on_units if a unit is.
  Counter Decide(const MergeTask& task, const std::optional<TaskShape>& shape);
  // Makes `*fewer` of `task`, with no more snapshots than units take. False: more of them matter.
  bool FitSnapshots(const MergeTask& task, MergeTask* fewer) const;
  // These learn from what they do if the task's shape is known. The first returns what it did.
  Counter OnUnits(Pass* pass, const MergeTask& task, const std::optional<TaskShape>& shape,
                  const MergeSink& sink, MergeResult* result);
  MergeResult OnCpu(const MergeTask& task, const std::optional<TaskShape>& shape,
                    const MergeSink& sink);
  // A task is small, as driving a unit costs so much; `if_as_merging` would be its cost if that had
  // the scale of merging.
  void CountSmall(const DispatchCosts& costs, double if_as_merging) SLUICE_REQUIRES(mutex_);
  void Learn(LearnedCost* cost, const TaskShape& shape, const CodecBytes& codec, double seconds);
  void Count(Counter counter, const MergeResult& result);

  void Tell(const OffloadEvent& event);
  void TellFailure(const MergeTask& task, const UnitPool::Answer& answer, bool taken_out);
  // Whether all of the input is sound, given a task whose range the CPU has found to be so.
  bool IsSound(const MergeTask& task);
  // Where `task` was kept; empty if it was not.
  std::string Dump(const MergeTask& task, std::string_view note);
  void Work();

  const OffloadOptions options_;
  Mutex dump_mutex_;  // one at a time
  UnitPool pool_;
  CpuExecutor cpu_;
  std::string name_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Submitted> queue_ SLUICE_GUARDED_BY(mutex_);
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  OffloadStats stats_ SLUICE_GUARDED_BY(mutex_);  // but for units
  LearnedCost merge_cost_ SLUICE_GUARDED_BY(mutex_){kMergeCost};
  LearnedCost drive_cost_ SLUICE_GUARDED_BY(mutex_){kDriveCost};
  // Since drive_cost_ was learned or forgotten.
  uint32_t doubtful_tasks_ SLUICE_GUARDED_BY(mutex_) = 0;
  // What stands for the card keeps cores busy that it would leave alone.
  IdleCores idle_cores_{[this] { return pool_.card_cpu_seconds(); }};
  mutable std::vector<std::thread> threads_;  // that begin and end with the driver
};

}  // namespace sluice
