// A closed LevelDB database: opened, locked, checked for completeness, not changed.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "leveldb_dir/manifest.h"
#include "sluice/env.h"
#include "util/status.h"

namespace sluice {

struct Database {
  std::string dir;
  uint64_t manifest_number = 0;
  DatabaseState state;
  // File names of the live tables, by number. All exist and have the size the MANIFEST gives.
  std::map<uint64_t, std::string> table_names;
  // Logs with writes that no table holds, oldest first.
  std::vector<uint64_t> logs;
  // Above every number that the MANIFEST or a file in the directory uses.
  uint64_t next_file_number = 0;
  std::unique_ptr<FileLock> lock;  // LevelDB's, held as long as this lives

  std::string Path(std::string_view name) const;
};

// Opens the database in `dir`. Creates nothing but LevelDB's LOCK, if that is missing.
//
// Errors: NotFound (no such directory or not a LevelDB database), Busy (in use), NotSupported
// (a RocksDB directory, another comparator), Corruption (with file and offset), IoError.
Status OpenDatabase(Env* env, const std::string& dir, Database* database);

}  // namespace sluice
