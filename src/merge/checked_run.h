// A merge by an executor that is not believed: what it hands back is held against what it says.

#pragma once

#include "sluice/executor.h"

namespace sluice {

// As executor.Run(task, sink). If the executor does not check what it makes (checks_outputs), each
// table is checked before `sink` sees it (output_checker.h): against its own bounds and counts, the
// task's range, and its filters as far as a look tells. Records, checksum and number of tables must
// be those of the result, these must balance, and of inputs that are read as they are, all blocks
// must have been. What is wrong is a failure of the executor: kDevice, with an error that says what.
//
// What stays unseen: a record that was dropped, and counted so, though it had to be kept, and one
// that was changed before the executor summed it up. Only another merge would show these
// (CheckExecutor in sluice/conformance.h, for its author).
MergeResult RunChecked(Executor& executor, const MergeTask& task, const MergeSink& sink);

}  // namespace sluice
