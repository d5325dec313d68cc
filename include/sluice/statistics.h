// What a database consists of, and what it has done since it was opened.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/export.h"

namespace sluice {

struct CacheStatistics {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t evictions = 0;
  uint64_t entries = 0;
  uint64_t used_bytes = 0;
  uint64_t capacity_bytes = 0;
};

struct LevelStatistics {
  size_t runs = 0;
  size_t extents = 0;
  uint64_t bytes = 0;
  uint64_t records = 0;
  uint64_t tombstones = 0;
};

struct SubtableStatistics {
  std::string name;
  uint64_t memtable_bytes = 0;  // of active and waiting memtables
  size_t waiting_memtables = 0;
  std::array<LevelStatistics, 3> levels{};
  // Extents that compactions could not read; each counts as a run, and belongs to no level.
  LevelStatistics set_aside{};
};

struct OffloadStatistics {
  std::string executor;
  uint64_t device_tasks = 0;  // done by a unit
  uint64_t cpu_tasks = 0;     // done by the CPU, including retries
  uint64_t retries = 0;       // failed on a unit
  size_t units = 0;
  size_t units_in_service = 0;
};

struct TransactionStatistics {
  uint64_t active = 0;    // begun, and neither ended nor prepared
  uint64_t prepared = 0;  // prepared, and not resolved
  uint64_t locks = 0;     // rows locked
  uint64_t committed = 0;
  uint64_t lock_waits = 0;
  uint64_t lock_timeouts = 0;
  uint64_t deadlocks = 0;
  uint64_t conflicts = 0;
  uint64_t memory_bytes = 0;  // of writes and locks
  uint64_t memory_limit_bytes = 0;
  uint64_t prepared_log_bytes = 0;  // log kept from the oldest prepared transaction on
};

struct SLUICE_EXPORT Statistics {
  std::vector<SubtableStatistics> subtables;
  CacheStatistics row_cache;
  CacheStatistics block_cache;
  CacheStatistics table_cache;
  OffloadStatistics offload;
  TransactionStatistics transactions;

  uint64_t last_sequence = 0;
  uint64_t data_file_bytes = 0;  // of the device, taken by all data files, with their free space
  uint64_t log_file_bytes = 0;   // of the device, taken by the log

  uint64_t user_bytes_written = 0;  // keys and values
  uint64_t log_bytes_written = 0;
  uint64_t flush_bytes_written = 0;
  uint64_t compaction_bytes_read = 0;
  uint64_t compaction_bytes_written = 0;
  uint64_t extents_reused = 0;
  uint64_t blocks_copied = 0;
  uint64_t flushes = 0;
  uint64_t compactions_abandoned = 0;     // for an unsound plan, or records that did not balance
  std::array<uint64_t, 6> compactions{};  // by CompactionKind
  uint64_t stall_microseconds = 0;        // time that writers lost, summed over all writers

  double WriteAmplification() const {
    return user_bytes_written == 0
               ? 0
               : static_cast<double>(flush_bytes_written + compaction_bytes_written) /
                     static_cast<double>(user_bytes_written);
  }
  // Several lines for human readers.
  std::string ToString() const;
};

}  // namespace sluice
