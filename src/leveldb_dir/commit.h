// Replacing a database's state, whole: what LevelDB does on opening, done to a closed one.

#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "leveldb_dir/database.h"
#include "sluice/env.h"
#include "util/status.h"

namespace sluice {

enum class CommitOutcome {
  kOldState,   // the database is as it was
  kUncertain,  // CURRENT names one or the other; both are complete, and must stay
  kNewState,
};

// Makes `state` the database's, whose new tables are written and synced: writes and syncs
// MANIFEST-`manifest_number`, makes all names durable, renames CURRENT, makes that durable. Before
// the rename a crash leaves the old state, after it the new one.
Status CommitState(Env* env, const Database& database, const DatabaseState& state,
                   uint64_t manifest_number, CommitOutcome* outcome);

// Removes what the database, now with `state` and MANIFEST-`manifest_number`, does not need: by
// LevelDB's rules, files of other tables, older logs and MANIFESTs, temporary files. Returns how
// many could not be removed; LevelDB tries again when it opens the database.
uint64_t RemoveObsoleteFiles(Env* env, const Database& database, const DatabaseState& state,
                             uint64_t manifest_number);

}  // namespace sluice
