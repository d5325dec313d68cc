// Tells the user of a database what it does in the background.
//
// Calls come from background threads, or from writers that are held up, several at once; they must
// not throw, take long, or call back into the database but for GetStatistics.

#pragma once

#include <cstdint>
#include <string>

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
  size_t reused_extents = 0;   // of them; they moved by metadata alone
  size_t output_extents = 0;   // new ones
  uint64_t copied_blocks = 0;  // as bytes
  uint64_t input_bytes = 0;
  uint64_t output_bytes = 0;
  uint64_t input_records = 0;  // of what was merged
  uint64_t output_records = 0;
  double seconds = 0;
};

// An extent that a compaction could not read. Nothing of it is lost that can be read: reads look
// into it as before, and those of what is damaged fail. `sluice db repair` saves what is left of
// it.
struct SetAsideEvent {
  std::string subtable;
  uint64_t extent = 0;  // its number
  int level = 0;        // that it was in
  uint64_t bytes = 0;
  uint64_t records = 0;
  Status reason;
};

struct StallEvent {
  std::string subtable;
  std::string reason;
  bool stopped = false;  // writers wait; else they are slowed down
};

struct OffloadFailureEvent {
  std::string device;
  std::string reason;
  std::string dump;  // where the task's inputs are, if they were kept
};

class EventListener {
 public:
  virtual ~EventListener() = default;

  virtual void OnFlush(const FlushEvent&) {}
  virtual void OnCompaction(const CompactionEvent&) {}
  virtual void OnSetAside(const SetAsideEvent&) {}
  // A compaction was given up because its plan or its records were not as they must be; its inputs
  // stay. It is tried once more without reusing anything; if that fails, too, OnBackgroundError
  // follows.
  virtual void OnCompactionAbandoned(const std::string& subtable, const Status& reason) {
    (void)subtable, (void)reason;
  }
  virtual void OnStall(const StallEvent&) {}
  // The task was done by the CPU instead.
  virtual void OnOffloadFailure(const OffloadFailureEvent&) {}
  // From now on every write fails with this error: with NoSpace until the device has space again,
  // else until the database is opened again.
  virtual void OnBackgroundError(const Status&) {}
};

}  // namespace sluice
