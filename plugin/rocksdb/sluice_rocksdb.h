/// @file
/// RocksDB's compactions, done by Sluice: a rocksdb::CompactionService. In front of DB::Open:
///
///     auto service = sluice::NewSluiceCompactionService({});
///     service->AddTo(&options);   // rocksdb::Options or DBOptions
///     rocksdb::DB::Open(options, "/data/db", &db);
///
/// Whatever Sluice cannot do exactly as RocksDB would is left to RocksDB: docs/rocksdb.md lists it,
/// and statistics() counts it. A job that fails for any reason is left to RocksDB, too; none stops
/// the database.

#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/executor.h"
#include "sluice/export.h"

namespace sluice {

/// Options of NewSluiceCompactionService.
struct SluiceCompactionOptions {
  /// What merges; null: the CPU executor. What it cannot do, the CPU does.
  std::shared_ptr<Executor> executor{};
  /// Whether each job is told of in the database's info log.
  bool log_jobs = true;
  /// A promise that no database is opened as a TransactionDB with another write policy than
  /// WRITE_COMMITTED. Without it, what a TransactionDB compacts is left to RocksDB, which does not
  /// tell the policies apart.
  bool write_committed_only = false;
};

/// What a service has done so far.
struct SluiceCompactionStatistics {
  uint64_t jobs = 0;            ///< that Sluice did
  uint64_t cpu_retries = 0;     ///< of these: the executor could not, the CPU did
  uint64_t input_records = 0;   ///< of these jobs
  uint64_t output_records = 0;  ///< of these jobs
  uint64_t input_bytes = 0;     ///< of their input files
  uint64_t output_bytes = 0;    ///< of their output files
  uint64_t micros = 0;          ///< that they took, added up
  uint64_t jobs_left = 0;       ///< that were left to RocksDB
  /// Why, and how many for each reason.
  std::map<std::string, uint64_t> reasons;
};

/// The service. Thread-safe. One can serve several databases.
class SluiceCompactionService : public rocksdb::CompactionService {
 public:
  /// Has the database that is opened with these options use this service: sets
  /// `compaction_service`, and adds a listener. Column families need nothing, nor those that are
  /// made later.
  virtual void AddTo(rocksdb::DBOptions* options) = 0;
  /// What was done so far.
  virtual SluiceCompactionStatistics statistics() const = 0;
  /// Leaves all jobs to RocksDB from now on, those at hand too. For a quick shutdown, before Close.
  virtual void Cancel() = 0;
};

/// Makes a service.
SLUICE_EXPORT std::shared_ptr<SluiceCompactionService> NewSluiceCompactionService(
    const SluiceCompactionOptions& options);

}  // namespace sluice
