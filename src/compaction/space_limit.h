// How much of the device a sub-table may take (Options::max_space_amplification), and what follows for
// compactions.
//
//   most       MostSpace: what its extents, live or not, may take together with the outputs of
//              compactions under way and with the memtables, which will be flushed
//   transient  TransientBytes: what compactions under way have of that, at most
//
// The picker sees to it that what is flushed and compacted leaves room for the transient, for a
// memtable that is flushed before a compaction begins, and for what is written while it goes on
// (UpperBytes). If compactions lag behind all the same, writers are slowed down while they take the
// latter (SlowBytes), and stop at most - transient (db/backlog.h). A memtable is counted with what
// the run that it becomes adds to the transient, lest writers stop at its flush.
//
// Without a limit, MostSpace is ~0 and parts have compaction_bytes.

#pragma once

#include <cstdint>

#include "sluice/options.h"
#include "tree/version.h"

namespace sluice {

inline bool LimitsSpace(const Options& options) { return options.max_space_amplification > 0; }

uint64_t MostSpace(const Version& version, const Options& options);
uint64_t TransientBytes(const Version& version, const Options& options);
// What a full memtable takes of that once it is flushed.
uint64_t FlushedBytes(const Options& options);
// Writers are slowed down, the more the less is left, from here on.
uint64_t SlowBytes(const Version& version, const Options& options);

// The input of one part of a compaction.
uint64_t PartBytes(const Version& version, const Options& options);
// On a full device it is the least.
uint64_t LeastPartBytes(const Options& options);

// What levels 0 and 1 may have together before a major compaction is due.
uint64_t UpperBytes(const Version& version, const Options& options);
// The same without the limit: what they may have for the sake of write amplification.
uint64_t UnlimitedUpperBytes(const Version& version, const Options& options);

// Whether slices in the last level keep so much more than their own bytes that they are to be
// rewritten.
bool SlicesWasteSpace(const Version& version, const Options& options);

// How much of so many bytes of value extents may be garbage. It comes on top of what the limit
// leaves for the rest.
uint64_t MostGarbage(const Options& options, uint64_t value_bytes);
// What one round of moving values may copy before it frees anything.
uint64_t MostValuesMoved(const Version& version, const Options& options);

}  // namespace sluice
