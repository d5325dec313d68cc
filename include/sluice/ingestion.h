/// @file
/// Ingestions: many records, in the order of their keys, that take effect at one instant and are
/// written once, past the log and the memtables. For loading tables, building indexes and restoring
/// dumps.
///
///     std::unique_ptr<sluice::Ingestion> ingestion;
///     sluice::Status status = db->NewIngestion(&ingestion);
///     for (auto at = sorted.begin(); status.ok() && at != sorted.end(); ++at) {
///       status = ingestion->Add(subtable, at->key, at->value);
///     }
///     if (status.ok()) status = ingestion->Commit();
///     // Not ok: nothing was ingested. The destructor frees the space.

#pragma once

#include <string_view>

#include "sluice/export.h"
#include "sluice/status.h"

namespace sluice {

class Subtable;

/// An ingestion under way (DB::NewIngestion). Used by one thread at a time. Destroy it before its
/// database is closed; unless it is committed, nothing is ingested then, and its space comes free,
/// as it does after a crash.
class SLUICE_EXPORT Ingestion {
 public:
  Ingestion() = default;
  Ingestion(const Ingestion&) = delete;
  Ingestion& operator=(const Ingestion&) = delete;
  virtual ~Ingestion() = default;

  /// Sets the value of a key, as of the commit. `subtable` null: the default one. The keys of each
  /// sub-table must ascend; those of different ones may come as they like. Nothing is to be seen of
  /// it before the commit.
  ///
  /// InvalidArgument if the key is not above the one before, is too long, as is the value, or if the
  /// sub-table is dropped: this record is left out then, and the ingestion goes on as if the call had
  /// not been made. Any other error is the end of the ingestion, which every later call returns;
  /// after NoSpace, destroy it, and begin again when there is space.
  ///
  /// Cost: of each sub-table a few extents in memory, while they are written; of 8 MiB more with
  /// Options::separate_value_bytes. Waits for the device, and for
  /// Options::background_bytes_per_second, as compactions do.
  virtual Status Add(Subtable* subtable, std::string_view key, std::string_view value) = 0;

  /// Makes all of it visible at one instant, and durable, with all that was written before. It is as
  /// if all had been written by one batch: it overwrites what there is of the keys, older snapshots do
  /// not see it, and to a transaction with an older snapshot it is a Conflict. Like all writes beside
  /// transactions it takes and respects no row locks. Without records it does nothing.
  ///
  /// Busy if too much was written meanwhile (DB::NewIngestion), or the database is being closed;
  /// InvalidArgument if one of the sub-tables was dropped: nothing is ingested then. After NoSpace
  /// nothing is ingested as yet, and Commit may be called again. If there was no space for records that
  /// Add had left in memory, that call is InvalidArgument, and the ingestion is to begin again. After
  /// any other error of the file system, nothing is ingested if the database still takes writes;
  /// otherwise it may be there or not when the database is opened again, but not in part.
  ///
  /// Cost: waits while writes are stopped. Flushes the sub-tables' memtables, mostly while writes go
  /// on, and holds up all writes for the rest of that and for one durable change of the metadata.
  virtual Status Commit() = 0;
};

}  // namespace sluice
