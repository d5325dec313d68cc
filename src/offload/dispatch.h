// Where a task is merged: on a unit or on the CPU. Policy only, which is told what either costs;
// the driver carries it out.
//
// Offloading is to save the host's CPU. So a task goes to a unit, unless
//  * that saves none (kSmall): the calls around a job, the copies and the checks of each record
//    would take the host as long as merging does. So it is with tasks of a few records, which is
//    what a compaction has left to merge between blocks that it copies or reuses;
//  * the CPU has a core that nobody uses, and would be done so much sooner that this is worth a
//    core's time: because the units have enough to do (kQueue), or because the unit alone takes so
//    long, for a slow clock or link or a task of one long run, which takes one decoder (kSlow).
//
// What tasks cost the host is a linear form of their shape. Its terms are of one machine; their
// scale is that of the tasks that were done so far on this one.

#pragma once

#include <cstdint>

#include "sluice/executor.h"

namespace sluice {

// What `task` is like, from the sizes of its tables and the records of one block of each run. Costs
// the CPU some 200 nanoseconds per run, and some microseconds if it is compressed. Whatever is in
// the tables, nothing outside of them is read.
TaskShape ShapeOf(const MergeTask& task);

// What `part` of `task` is like, a share of its records: all its figures but means, as many times
// smaller.
TaskShape PartOf(const TaskShape& task, double part);

// What the host does with Snappy for a task, in bytes before compression.
struct CodecBytes {
  uint64_t unpacked = 0;
  uint64_t packed = 0;
};

// That of the CPU executor.
inline CodecBytes CodecBytesOfMerge(const TaskShape& task) {
  return {task.unpacked_bytes, task.compress ? task.raw_bytes() : 0};
}

// CPU seconds that tasks of one kind take a thread. Not thread-safe.
class LearnedCost {
 public:
  struct Terms {
    double task = 0;    // seconds for each task,
    double record = 0;  // and each of its records,
    double byte = 0;    // and each of its bytes, before compression
  };

  explicit LearnedCost(const Terms& terms) : terms_(terms) {}

  double Of(const TaskShape& task, const CodecBytes& codec = {}) const {
    return scale_ * Unscaled(task, codec);
  }
  // The scale that tasks so far have had.
  double scale() const { return scale_; }
  // With another scale than that.
  double At(double scale, const TaskShape& task, const CodecBytes& codec) const {
    return scale * Unscaled(task, codec);
  }
  // What was learned no longer counts: `scale` is what it may be, until the next task tells.
  void Forget(double scale) {
    scale_ = scale;
    weight_ = 1;
  }
  // Such a task has taken so many.
  void Learn(const TaskShape& task, const CodecBytes& codec, double seconds);

 private:
  double Unscaled(const TaskShape& task, const CodecBytes& codec) const;

  static constexpr double kWeight = 1.0 / 8;

  Terms terms_;
  double scale_ = 1;
  double weight_ = kWeight;  // of the next task
};

// Seconds per byte before compression, of a core: to decompress what Snappy made of values that half
// compress (0.16e-9 to 0.38e-9, for large values and for small ones), and to compress them as units
// do (3.7e-9 to 5.3e-9).
inline constexpr double kUnpackCost = 0.3e-9;
inline constexpr double kPackCost = 4.5e-9;

// The CPU executor's, and what a unit takes its driver: calls, checks, copies. On an AMD EPYC of
// family 25, model 17, as bench/dispatch_bench measures them.
inline constexpr LearnedCost::Terms kMergeCost{.task = 1.5e-6, .record = 24e-9, .byte = 0.11e-9};
inline constexpr LearnedCost::Terms kDriveCost{.task = 42e-6, .record = 6e-9, .byte = 0.08e-9};

// Only tasks on units tell what driving one costs. Once that seems to be too much, be it for a single
// slow task, none would tell that it no longer is. So after so many tasks that nothing else kept from
// units it is forgotten.
inline constexpr uint32_t kDoubtfulTasks = 32;

// All in seconds.
struct DispatchCosts {
  double merge = 0;  // the CPU executor's, of a core
  double drive = 0;  // the host's CPU for the same task on a unit
  double ahead = 0;  // until a unit has done what it has
  double unit = 0;   // of the task on an idle unit, from upload to download
  double idle_cores = 0;
};

enum class Place { kUnit, kSmall, kQueue, kSlow };

// How much sooner the CPU must be done.
inline constexpr double kMarkedly = 4;

Place Choose(const DispatchCosts& costs);

}  // namespace sluice
