/// @file
/// LevelDB's compactions, done by Sluice, in the programs that are linked with a LevelDB that has
/// sluice_leveldb_hook.h (docs/leveldb.md). They need not call anything: without a call, the
/// environment says what merges.
///
///     sluice::SetLevelDbExecutors({my_card});
///     leveldb::DB::Open(options, "/data/db", &db);
///
/// Whatever Sluice cannot do exactly as LevelDB would is left to LevelDB: docs/leveldb.md lists it,
/// and the statistics count it. So is a compaction that fails for any reason.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/executor.h"
#include "sluice/export.h"

namespace sluice {

/// What has been done so far, for all databases of the process.
struct LevelDbStatistics {
  uint64_t compactions = 0;     ///< that Sluice did
  uint64_t input_records = 0;   ///< of these
  uint64_t output_records = 0;  ///< of these
  uint64_t input_bytes = 0;     ///< of their input files
  uint64_t output_bytes = 0;    ///< of their output files
  uint64_t micros = 0;          ///< that they took, added up
  uint64_t tasks = 0;           ///< merges that they consisted of
  uint64_t unit_tasks = 0;      ///< of these: on units; all others were done on the CPU
  uint64_t unit_failures = 0;   ///< tasks that a unit failed, and the CPU did
  uint64_t left = 0;            ///< compactions that were left to LevelDB
  /// Why, and how many for each reason.
  std::map<std::string, uint64_t> reasons;
};

/// Sets what merges, from the next compaction on: these units, and the CPU for what they cannot do
/// and where they fail. Without any, the CPU does everything.
SLUICE_EXPORT void SetLevelDbExecutors(std::vector<std::shared_ptr<Executor>> units);
/// What has been done so far.
SLUICE_EXPORT LevelDbStatistics GetLevelDbStatistics();

}  // namespace sluice
