// Tells the user of a database what it does in the background.
//
// Calls come from background threads or from writers that are held up, and several may run at once.
// They must not throw, must not take long, and must not call back into the database, except for
// GetStatistics.

#pragma once

#include <cstdint>
#include <string>

#include "sluice/export.h"
#include "sluice/options.h"
#include "sluice/status.h"

namespace sluice {

struct FlushEvent {
  std::string subtable;
  uint64_t input_records = 0;
  uint64_t output_records = 0;
  uint64_t output_bytes = 0;
  size_t extents = 0;
  double seconds = 0;
};

struct CompactionEvent {
  std::string subtable;
  CompactionKind kind = CompactionKind::kManual;
  int output_level = 0;
  size_t input_extents = 0;
  size_t reused_extents = 0;   // those among the inputs that moved by metadata alone
  size_t output_extents = 0;   // newly written
  uint64_t copied_blocks = 0;  // copied as bytes
  uint64_t input_bytes = 0;
  uint64_t output_bytes = 0;
  uint64_t input_records = 0;  // records that were merged
  uint64_t output_records = 0;
  double seconds = 0;
};

// An extent that a compaction could not read. Whatever can be read of it is not lost: reads look
// into it as before, and only reads of the damaged part fail. `sluice db repair` saves what is left
// of it.
struct SetAsideEvent {
  std::string subtable;
  uint64_t extent = 0;  // its number
  int level = 0;        // where it was
  uint64_t bytes = 0;
  uint64_t records = 0;
  Status reason;
};

struct StallEvent {
  std::string subtable;
  std::string reason;
  bool stopped = false;  // writers wait; otherwise they are slowed down
};

struct OffloadFailureEvent {
  std::string device;
  std::string reason;
  std::string dump;  // the file that keeps the task's inputs; empty if they were not kept
};

class SLUICE_EXPORT EventListener {
 public:
  virtual ~EventListener() = default;

  virtual void OnFlush(const FlushEvent&) {}
  virtual void OnCompaction(const CompactionEvent&) {}
  virtual void OnSetAside(const SetAsideEvent&) {}
  // A compaction was abandoned because its plan was unsound or its records did not balance; its
  // inputs stay. It is tried once more without reuse; if that fails too, OnBackgroundError follows.
  virtual void OnCompactionAbandoned(const std::string& subtable, const Status& reason) {
    (void)subtable, (void)reason;
  }
  virtual void OnStall(const StallEvent&) {}
  // The CPU did the task instead.
  virtual void OnOffloadFailure(const OffloadFailureEvent&) {}
  // From now on every write fails with this error: if it is NoSpace, until the device has space
  // again, otherwise until the database is opened again.
  virtual void OnBackgroundError(const Status&) {}
};

}  // namespace sluice
