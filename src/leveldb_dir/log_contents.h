// What a database's logs hold, sorted, as one run of tables in memory.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leveldb_dir/database.h"
#include "sluice/env.h"
#include "table/format.h"
#include "table/internal_key.h"
#include "util/status.h"

namespace sluice {

struct LogTable {
  std::string image;  // a whole table file
  BlockHandle index;
  std::string smallest;  // internal keys
  std::string largest;
};

struct LogRun {
  std::vector<LogTable> tables;  // in key order, of about `table_bytes` each
  uint64_t records = 0;
  uint64_t file_bytes = 0;           // of the logs
  SequenceNumber last_sequence = 0;  // 0 if there are no records
};

// Reads the logs of `database`. Corruption names log and offset.
Status ReadLogs(Env* env, const Database& database, uint64_t table_bytes, LogRun* contents);

}  // namespace sluice
