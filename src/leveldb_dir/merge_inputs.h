// A closed LevelDB database as the input of merges: the records of its logs, and its tables.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leveldb_dir/database.h"
#include "leveldb_dir/log_contents.h"
#include "leveldb_dir/survey.h"
#include "merge/input_map.h"
#include "sluice/env.h"
#include "sluice/executor.h"
#include "util/status.h"

namespace sluice {

// A merge task over a database, and what its inputs are called.
struct DatabaseTask {
  MergeTask task;
  std::vector<std::vector<std::string>> paths;  // by run and table
  std::vector<MappedFile> maps;
};

// Keeps the database locked as long as it lives. Thread-compatible.
class MergeInputs {
 public:
  // Opens the database in `dir`. Costs: opens every table, holds the logs' records in memory, as
  // tables of about `table_bytes`. `task_bytes`: what Split will be asked for.
  //
  // Errors: those of OpenDatabase, ReadLogs and SurveyTables.
  Status Open(Env* env, const std::string& dir, uint64_t table_bytes, uint64_t task_bytes);

  const Database& database() const { return database_; }
  const LogRun& logs() const { return logs_; }
  const Survey& survey() const { return survey_; }
  const InputMap& map() const { return survey_.map; }
  SequenceNumber last_sequence() const;
  bool empty() const { return survey_.runs.empty() && logs_.records == 0; }
  uint64_t runs() const { return survey_.runs.size() + (logs_.records > 0 ? 1 : 0); }

  // What there is in `range`, of each key to keep the newest version and no tombstone. The format
  // of the output is the caller's to set. No runs: there is nothing.
  //
  // Costs: reads the data blocks once. Errors: Corruption (CheckNoReferences), IoError.
  Status MakeTask(const KeyRange& range, DatabaseTask* task) const;

 private:
  Env* env_ = nullptr;
  Database database_;
  LogRun logs_;
  Survey survey_;
};

// The error of a failed task, with the file's name where the executor has run and table numbers.
Status ToError(const MergeResult& result, const DatabaseTask& task);

}  // namespace sluice
