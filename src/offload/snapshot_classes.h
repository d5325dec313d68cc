// Which of a task's snapshots its records tell apart. A unit takes few snapshots, a database may
// hold any number of them; but those between which no record was written see the same, and one of
// them does for all.
//
//   sequence numbers   --- r ----- r r ----------- r ----- r --->
//   snapshots               a  b       c  d  e        f
//   those that matter       a          c              f            or b, or d or e
//
// A snapshot below all records sees none. It matters only if the task is bottommost: a tombstone
// that a higher one sees must stay then, as executors drop only those that the lowest one sees.

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sluice/executor.h"

namespace sluice {

// At most `most` of `task.snapshots`, with which every executor writes the same tables as with all
// of them. Nothing if there are more that matter, if a block is compressed, or if a table is
// malformed. Reads all entries, or as many as show that too many snapshots matter; no CRC is
// checked, as whoever merges the tables does that.
// REQUIRES: CheckTask(task).ok(), most > 0.
std::optional<std::vector<SequenceNumber>> SnapshotsThatMatter(const MergeTask& task, size_t most);

}  // namespace sluice
