// Merges of more runs than an executor takes at once.
//
// Runs are merged in groups of neighbours, the group with the fewest bytes first, until the
// executor takes all that is left: the last pass. Passes before it hold their outputs in memory and
// keep every tombstone; they drop what is shadowed. What the last pass writes is byte for byte what
// one pass would have written. Only neighbours form a group, so that ties still go to the lower
// run.

#pragma once

#include "sluice/executor.h"

namespace sluice {

// Each pass must have read what the passes before it wrote: as many records, with the same sum of
// checksums. Runs of the task's own are counted for that before their first pass, which costs 10 to 15
// ns for a record of 150 bytes, unless the executor checks by itself what it reads.

struct MultiPassResult {
  // All passes together: input is what was read of the task's own runs, output what the last
  // pass wrote; dropped records, cycles and stalls are sums over the passes. The run of a fault is
  // one of the task's: if the output of an earlier pass was at fault, the lowest that went into it.
  MergeResult merge;
  uint32_t passes = 0;
  // Bytes read in all passes; what exceeds merge.stats.input_bytes is the cost of the passes before
  // the last.
  uint64_t bytes_read = 0;
};

// Merges `task` whatever its number of runs. REQUIRES: no internal key occurs twice in it above the
// last snapshot (the rules keep both, and no run may hold both).
// `checks_itself`: as checks_outputs() of who does the passes.
MultiPassResult MergeAll(Executor& executor, const MergeTask& task, const MergeSink& sink,
                         bool checks_itself);
inline MultiPassResult MergeAll(Executor& executor, const MergeTask& task, const MergeSink& sink) {
  return MergeAll(executor, task, sink, executor.checks_outputs());
}

}  // namespace sluice
