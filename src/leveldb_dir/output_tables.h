// The tables that a compaction writes.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leveldb_dir/database.h"
#include "sluice/env.h"
#include "sluice/executor.h"
#include "table/recode.h"
#include "util/status.h"

namespace sluice {

struct OutputTableOptions {
  Compression compression = Compression::kNone;
  int bloom_bits_per_key = 0;  // 0: no filter
};

// Writes merge outputs as table files of `database`, in key order, with numbers from
// database.next_file_number on. Unless kept, what it wrote is removed when this is destroyed.
class OutputTables {
 public:
  OutputTables(Env* env, const Database& database, const OutputTableOptions& options)
      : env_(env), database_(database), options_(options), next_(database.next_file_number) {}
  OutputTables(const OutputTables&) = delete;
  OutputTables& operator=(const OutputTables&) = delete;
  ~OutputTables();

  // Writes and syncs one table; its name is durable only after the directory is synced.
  Status Write(const MergeOutput& output);
  // Removes all tables but the first `count`.
  void Truncate(size_t count);
  void Keep() { kept_ = true; }

  const std::vector<TableFile>& tables() const { return tables_; }
  uint64_t file_bytes() const;
  // A number that nothing has.
  uint64_t NewFileNumber() { return next_++; }
  uint64_t next_file_number() const { return next_; }

 private:
  Env* const env_;
  const Database& database_;
  const OutputTableOptions options_;
  uint64_t next_;
  std::vector<TableFile> tables_;
  bool kept_ = false;
};

}  // namespace sluice
