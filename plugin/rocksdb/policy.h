// Which databases and column families Sluice can compact exactly as RocksDB would, and how their
// tables look.

#pragma once

#include <rocksdb/db.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <cstdint>
#include <memory>
#include <string>

#include "rocksdb_table/table_writer.h"
#include "sluice/executor.h"

namespace sluice::rocks {

// What is known of a database only before it is opened.
struct Opening {
  std::string declined;               // why nothing of it can be offloaded; empty: it may
  bool write_committed_only = false;  // SluiceCompactionOptions has it
};

Opening MakeOpening(const rocksdb::DBOptions& options, bool write_committed_only);

// How a compaction's jobs are done.
struct Policy {
  std::string declined;  // why RocksDB must do them; empty: Sluice can
  uint32_t block_bytes = 4096;
  uint32_t restart_interval = 16;
  uint64_t file_bytes = 64 << 20;  // of an output, about
  RocksTableOptions format;        // less properties
  std::shared_ptr<rocksdb::RateLimiter> rate_limiter;
};

// For a compaction that begins, from the options as they are now, whatever has changed them since
// the database was opened.
Policy MakePolicy(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info, const Opening& opening);

}  // namespace sluice::rocks
