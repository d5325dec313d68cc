/// @file
/// What a database consists of, and what it has done since it was opened.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/export.h"
#include "sluice/options.h"

namespace sluice {

/// What a cache holds and did.
struct CacheStatistics {
  uint64_t hits = 0;            ///< look-ups that it could answer
  uint64_t misses = 0;          ///< look-ups that it could not
  uint64_t evictions = 0;       ///< entries that made way for others
  uint64_t entries = 0;         ///< held now
  uint64_t used_bytes = 0;      ///< taken now
  uint64_t capacity_bytes = 0;  ///< limit on used_bytes
};

/// The shape of one level.
struct LevelStatistics {
  size_t runs = 0;          ///< sorted runs; level 2 has one at most
  size_t extents = 0;       ///< in all runs
  uint64_t bytes = 0;       ///< of all extents
  uint64_t records = 0;     ///< versions of records, tombstones too
  uint64_t tombstones = 0;  ///< deletions among them
};

/// The shape of a sub-table.
struct SubtableStatistics {
  std::string name;                         ///< as given to CreateSubtable
  SubtableOptions options;                  ///< its own, where they are not the database's
  uint64_t memtable_bytes = 0;              ///< of active and waiting memtables
  size_t waiting_memtables = 0;             ///< full, and not flushed yet
  std::array<LevelStatistics, 3> levels{};  ///< levels 0, 1 and 2
  size_t value_extents = 0;       ///< that hold large values (Options::separate_value_bytes)
  uint64_t value_bytes = 0;       ///< of all value extents
  uint64_t value_live_bytes = 0;  ///< of these, what records in the levels refer to
  /// Extents that compactions could not read; each counts as a run, and belongs to no level.
  LevelStatistics set_aside{};
};

/// Who did the merges of compactions.
struct OffloadStatistics {
  std::string executor;       ///< name of who merges
  uint64_t device_tasks = 0;  ///< done by a unit
  uint64_t cpu_tasks = 0;     ///< done by the CPU, including retries
  uint64_t retries = 0;       ///< failed on a unit
  /// Of cpu_tasks, those for which a unit would not have paid (Options::always_offload): it would
  /// have cost the host no less than merging did,
  uint64_t cpu_tasks_small = 0;
  /// units had enough to do, and cores nothing,
  uint64_t cpu_tasks_queue = 0;
  /// or a unit alone would have taken much longer than such a core.
  uint64_t cpu_tasks_slow = 0;
  size_t units = 0;             ///< as many as Options::executors has
  size_t units_in_service = 0;  ///< those that have not failed too often lately
  /// CPU time of what stands for the units, if they are simulated or modelled, since they were made:
  /// a card's own work, and no part of Statistics::compaction_cpu_microseconds.
  uint64_t card_cpu_microseconds = 0;
  uint64_t unit_microseconds = 0;       ///< that units had tasks, of all units together
  uint64_t unit_busy_microseconds = 0;  ///< that jobs took them: cycles, at the unit's clock

  /// Share of the time that units had tasks in which they merged: the rest they waited for the host
  /// and the link. 0 before the first task.
  double UnitsBusy() const {
    return unit_microseconds == 0 ? 0
                                  : static_cast<double>(unit_busy_microseconds) /
                                        static_cast<double>(unit_microseconds);
  }
};

/// What transactions do and did.
struct TransactionStatistics {
  uint64_t active = 0;              ///< begun, and neither ended nor prepared
  uint64_t prepared = 0;            ///< prepared, and not resolved
  uint64_t locks = 0;               ///< rows locked
  uint64_t committed = 0;           ///< so far
  uint64_t lock_waits = 0;          ///< calls that had to wait for a row
  uint64_t lock_timeouts = 0;       ///< calls that ended with TimedOut
  uint64_t deadlocks = 0;           ///< calls that ended with Deadlock
  uint64_t conflicts = 0;           ///< calls that ended with Conflict
  uint64_t memory_bytes = 0;        ///< of writes and locks
  uint64_t memory_limit_bytes = 0;  ///< Options::transaction_memory_bytes
  uint64_t prepared_log_bytes = 0;  ///< log kept from the oldest prepared transaction on
};

/// What DB::GetStatistics returns.
struct SLUICE_EXPORT Statistics {
  std::vector<SubtableStatistics> subtables;  ///< in order of their creation
  CacheStatistics row_cache;                  ///< newest versions of records
  CacheStatistics block_cache;                ///< uncompressed blocks
  CacheStatistics table_cache;                ///< indexes and filters of extents
  OffloadStatistics offload;                  ///< merges of compactions
  TransactionStatistics transactions;         ///< all of the database

  uint64_t last_sequence = 0;    ///< of the newest write
  uint64_t data_file_bytes = 0;  ///< of the device, taken by all data files, with their free space
  uint64_t log_file_bytes = 0;   ///< of the device, taken by the log
  /// Bytes of the data files that extents and values apart have, with what compactions under way
  /// have written so far, and what only iterators and checkpoints still hold.
  uint64_t extent_bytes = 0;
  /// What would be left of that by a full compaction, as far as metadata tells
  /// (Options::max_space_amplification).
  uint64_t live_bytes = 0;
  /// The most that SpaceAmplification has been since the database was opened, at moments when a
  /// flush or compaction had just ended and twenty memtables of live data were there; 0: none were.
  double most_space_amplification = 0;

  uint64_t user_bytes_written = 0;        ///< keys and values
  uint64_t log_bytes_written = 0;         ///< to the redo log
  uint64_t flush_bytes_written = 0;       ///< of extents
  uint64_t ingestion_bytes_written = 0;   ///< of extents; those that were committed
  uint64_t compaction_bytes_read = 0;     ///< of extents
  uint64_t compaction_bytes_written = 0;  ///< of extents
  /// CPU time that compactions took of the host, whoever merges: reading, merging or driving units
  /// and checking what they hand back, writing. Without what the kernel does in threads of its own.
  uint64_t compaction_cpu_microseconds = 0;
  uint64_t extents_reused = 0;         ///< moved by compactions as they were
  uint64_t blocks_copied = 0;          ///< by compactions, as bytes
  uint64_t flushes = 0;                ///< carried out
  uint64_t range_cuts = 0;             ///< changes of the tree for range deletions
  uint64_t cut_extents = 0;            ///< that these left out as a whole
  uint64_t cut_records = 0;            ///< that these left out
  uint64_t compactions_abandoned = 0;  ///< for an unsound plan, or records that did not balance
  std::array<uint64_t, kCompactionKinds> compactions{};  ///< by CompactionKind
  uint64_t stall_microseconds = 0;  ///< time that writers lost, summed over all writers

  /// Bytes written by flushes, ingestions and compactions per byte of the user's; 0 before the first.
  double WriteAmplification() const {
    return user_bytes_written == 0
               ? 0
               : static_cast<double>(flush_bytes_written + ingestion_bytes_written +
                                     compaction_bytes_written) /
                     static_cast<double>(user_bytes_written);
  }
  /// CPU milliseconds of the host per 10^6 bytes that compactions read; 0 before the first.
  double HostCpuPerMegabyte() const {
    return compaction_bytes_read == 0 ? 0
                                      : 1e3 * static_cast<double>(compaction_cpu_microseconds) /
                                            static_cast<double>(compaction_bytes_read);
  }
  /// Bytes that extents take of the device per byte of live data; 0 if there is none in level 2.
  double SpaceAmplification() const {
    return live_bytes == 0 ? 0
                           : static_cast<double>(extent_bytes) / static_cast<double>(live_bytes);
  }
  /// Several lines for human readers.
  std::string ToString() const;
};

}  // namespace sluice
