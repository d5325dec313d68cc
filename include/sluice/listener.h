/// @file
/// Tells the user of a database what it does in the background.
///
/// Calls come from background threads or from writers that are held up, and several may run at
/// once. They must not throw, must not take long, and must not call back into the database, except
/// for GetStatistics.

#pragma once

#include <cstdint>
#include <string>

#include "sluice/export.h"
#include "sluice/options.h"
#include "sluice/status.h"

namespace sluice {

/// A memtable that became a run of level 0.
struct FlushEvent {
  std::string subtable;         ///< its name
  uint64_t input_records = 0;   ///< versions in the memtable
  uint64_t output_records = 0;  ///< versions in the run: those that can still be read
  uint64_t output_bytes = 0;    ///< of extents written
  size_t extents = 0;           ///< how many were written
  double seconds = 0;           ///< from its begin to its end
};

/// A compaction that was carried out.
struct CompactionEvent {
  std::string subtable;                           ///< its name
  CompactionKind kind = CompactionKind::kManual;  ///< why it was done
  int output_level = 0;                           ///< where its outputs are
  size_t input_extents = 0;                       ///< read or moved
  size_t reused_extents = 0;    ///< those among the inputs that moved by metadata alone
  size_t output_extents = 0;    ///< newly written
  uint64_t copied_blocks = 0;   ///< copied as bytes
  uint64_t input_bytes = 0;     ///< read
  uint64_t output_bytes = 0;    ///< written
  uint64_t input_records = 0;   ///< records that were merged
  uint64_t output_records = 0;  ///< those of them that were kept
  double seconds = 0;           ///< from its begin to its end
};

/// An extent that a compaction could not read. Whatever can be read of it is not lost: reads look
/// into it as before, and only reads of the damaged part fail. `sluice db repair` saves what is
/// left of it.
struct SetAsideEvent {
  std::string subtable;  ///< its name
  uint64_t extent = 0;   ///< its number
  int level = 0;         ///< where it was
  uint64_t bytes = 0;    ///< its size
  uint64_t records = 0;  ///< how many it had
  Status reason;         ///< why it could not be read
};

/// Writers are held up, because flushes or compactions lag behind.
struct StallEvent {
  std::string subtable;  ///< the one that lags behind
  std::string reason;    ///< what there is too much of
  bool stopped = false;  ///< writers wait: true so far, as slow-downs are not told of
};

/// A unit that failed a task.
struct OffloadFailureEvent {
  std::string device;  ///< the unit's name
  std::string reason;  ///< what it answered, or what was wrong with its answer
  std::string dump;    ///< the file that keeps the task's inputs; empty if they were not kept
};

/// Derive from it, override what is of interest, and add it to Options::listeners.
class SLUICE_EXPORT EventListener {
 public:
  virtual ~EventListener() = default;

  /// After a flush.
  virtual void OnFlush(const FlushEvent&) {}
  /// After a compaction, or a part of one (Options::compaction_bytes).
  virtual void OnCompaction(const CompactionEvent&) {}
  /// When an extent is set aside.
  virtual void OnSetAside(const SetAsideEvent&) {}
  /// A compaction was abandoned because its plan was unsound or its records did not balance; its
  /// inputs stay. It is tried once more, without reuse and on the CPU; if that fails too,
  /// OnBackgroundError follows.
  virtual void OnCompactionAbandoned(const std::string& subtable, const Status& reason) {
    (void)subtable, (void)reason;
  }
  /// When writers begin to wait. Statistics::stall_microseconds has slow-downs, too.
  virtual void OnStall(const StallEvent&) {}
  /// When a unit failed a task, and the CPU did it instead.
  virtual void OnOffloadFailure(const OffloadFailureEvent&) {}
  /// From now on every write fails with this error: if it is NoSpace, until the device has space
  /// again, otherwise until the database is opened again.
  virtual void OnBackgroundError(const Status&) {}
};

}  // namespace sluice
