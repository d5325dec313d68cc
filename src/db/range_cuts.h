// Cuts (Version::cuts) carried out: the range deletions that a flush left to be done leave the runs
// that are older than they are.
//
// Extents that lie within a cut leave their runs, and with them their pages become free, without
// being read. Those that a cut enters are replaced by slices, for which what stays of them is read:
// two of each run and cut at most. All of it is one edit of the metadata.
//
// A compaction must not begin while cuts wait, as it might merge what is older than a cut with what
// is newer; one that began before has only what is older, and so has what it makes. Of an extent of
// which that cannot be read no slices can be made. It is set aside, if it is not yet, and the cut
// stays for it; no compaction waits for that.

#pragma once

#include "db/db_state.h"
#include "db/subtable_impl.h"
#include "util/status.h"

namespace sluice {

// Carries out all cuts that the sub-table has now. REQUIRES: this is its compaction under way.
Status CarryOutCuts(DbState* db, SubtableImpl* subtable);

}  // namespace sluice
