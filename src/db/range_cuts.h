// Cuts (Version::cuts) carried out: the range deletions that a flush left to be done leave the runs
// that are older than they are.
//
// Extents that lie within a cut leave their runs, and with them their pages become free, without
// being read. Those that a cut enters are replaced by slices, for which they are read: two of each
// run and cut at most. All of it is one edit of the metadata.
//
// A compaction must not begin while cuts wait, as it might merge what is older than a cut with what
// is newer; one that began before has only what is older, and so has what it makes. An extent that
// was set aside, or is now because it cannot be read, cannot be made a slice: the cut stays for it,
// and no compaction waits for that.

#pragma once

#include "db/db_state.h"
#include "db/subtable_impl.h"
#include "util/status.h"

namespace sluice {

// Carries out all cuts that the sub-table has now. REQUIRES: this is its compaction under way.
Status CarryOutCuts(DbState* db, SubtableImpl* subtable);

}  // namespace sluice
