// Adopting a LevelDB database: what its tables and logs hold becomes level 2 of a sub-table.
//
// 1. LevelDB's LOCK is taken; MANIFEST, logs and every table's index are read. Nothing in the
//    source changes.
// 2. Key ranges of its tables are merged through the database's executor, several at once: of each
//    key the newest version, no tombstones. The outputs are packed into extents.
// 3. One edit of the metadata makes all of them part of the sub-table. Until then they are free
//    space to everybody, whenever the process dies.
//
// Records keep LevelDB's sequence numbers; those of later writes go on above. A snapshot taken
// before may therefore read what was imported.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sluice/db.h"

namespace sluice {

struct ImportReport {
  uint64_t input_tables = 0;
  uint64_t log_files = 0;
  uint64_t log_records = 0;
  uint64_t input_file_bytes = 0;
  uint64_t runs = 0;  // sorted runs that the source consisted of
  uint64_t tasks = 0;
  uint64_t input_records = 0;
  uint64_t output_records = 0;
  uint64_t extents = 0;
  uint64_t output_bytes = 0;
  uint64_t last_sequence = 0;  // LevelDB's
  double seconds = 0;
};

// Told how many bytes of the input are done.
using ImportCallback = std::function<void(uint64_t done, uint64_t total)>;

// Imports the closed LevelDB database in `source` into `subtable` (null: the default one), which
// must never have been written to. `callback` may be empty; it is called from this thread. All
// reads and writes may go on; `*report` is complete if the result is ok.
//
// Costs: reads every table once; holds the logs' records, and inputs and outputs of one merge task
// (Options::task_bytes) per unit and one more, in memory.
//
// Errors: InvalidArgument (the sub-table has been written to), those of OpenDatabase
// (leveldb/database.h), NotSupported (a key longer than kMaxKeyBytes or a value longer than
// kMaxValueBytes, another filter policy), Corruption with file and offset, IoError. After any the
// sub-table is what it was.
Status ImportLevelDb(DB* db, Subtable* subtable, const std::string& source,
                     const ImportCallback& callback, ImportReport* report);

// Refuses a data block with records that the engine does not take, as ImportLevelDb does.
Status CheckImportedBlock(std::string_view contents);

}  // namespace sluice
