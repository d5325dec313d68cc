// How long a Compaction Unit takes for a task: the closed forms of cycle_model.h for every record
// and block, composed as the pipeline composes them. A stage takes up a record when it is done with
// the one before, the stage before has handed it on, and the next FIFO has room (docs/model.md).
//
// Reads keys and entry headers, no values: some hundred nanoseconds per record.

#pragma once

#include <cstdint>
#include <vector>

#include "device/model/cycle_model.h"
#include "device/model/table_walk.h"
#include "sluice/executor.h"

namespace sluice::model {

// Cycles that a stage is busy with the whole task: what it would take if no other stage ever made
// it wait.
struct StageCycles {
  double index_read = 0;
  double index_port = 0;
  double data_port = 0;
  double decode = 0;  // of the busiest way
  double merge = 0;
  double transfer = 0;
  double encode = 0;
  double compress = 0;  // of each encoder of Snappy, on average
  double data_write = 0;
  double index_encode = 0;
  double memory = 0;  // all ports' bytes, if its bandwidth is limited

  double Max() const;
};

struct CycleEstimate {
  uint64_t cycles = 0;  // from start to completion
  uint64_t fill = 0;    // of them, before the first record can leave the tree
  uint64_t drain = 0;   // and after the last word is encoded
  StageCycles busy;

  // FAST'20 section 3.4, equation 1: as fast as the slowest stage. Where the load moves from one
  // stage to another within the task, the task takes longer than this.
  double ClosedForm() const { return static_cast<double>(fill + drain) + busy.Max(); }
};

// `task`'s blocks must be such as the unit reads, its index blocks raw; its tables begin at
// multiples of 64 bytes in device memory; `outputs` are the tables that it makes. What is malformed
// ends the walk of its run.
CycleEstimate Estimate(const UnitShape& unit, const MergeTask& task, std::vector<RawTable> outputs);

// As above, with the CPU executor to make the outputs. Fails as it does.
MergeResult EstimateTask(const UnitShape& unit, const MergeTask& task, CycleEstimate* estimate);

}  // namespace sluice::model
