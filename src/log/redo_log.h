// The redo log: one per database, for all sub-tables (X-Engine 2, "Storage layout").
//
// Appending is a copy into a mapped segment: it survives this process at once, and a loss of power
// after Sync. Segments no longer needed are used again for later ones, so that in the steady state
// no file is created, grown or removed.
//
// Append is called by one thread at a time; the others may be called by any thread meanwhile. After
// an error the log takes no more: open the database again.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "log/log_format.h"
#include "log/log_reader.h"
#include "util/env.h"
#include "util/status.h"

namespace sluice {

struct RedoLogOptions {
  uint64_t segment_bytes = uint64_t{64} << 20;  // < 4 GiB
  size_t spare_segments = 2;                    // kept for use again; more are removed
};

class RedoLog {
 public:
  // Goes on behind what ReadLog found in `dir`, in a new segment; what it found is synced first.
  // Whatever lay behind `found.end` is given up.
  static Status Open(Env* env, const std::string& dir, const RedoLogOptions& options,
                     const LogContents& found, std::unique_ptr<RedoLog>* log);

  // `*end`: the position behind the record. REQUIRES: 1 byte <= payload < 2 GiB.
  Status Append(std::string_view payload, LogPosition* end);
  // Makes durable what was appended before the call.
  Status Sync();
  // Everything before `position`, one that Append or ReadLog returned, is no longer needed.
  Status Release(LogPosition position);

  LogPosition end() const;
  // Everything before it is on disk.
  LogPosition durable() const;
  uint64_t written_bytes() const;  // since Open
  uint64_t file_bytes() const;     // of all segments, spare ones too

 private:
  struct Segment {
    uint64_t number;
    uint64_t bytes;
    std::shared_ptr<FixedFile> file;  // null once closed: synced, and another has followed
  };

  RedoLog(Env* env, std::string dir, const RedoLogOptions& options)
      : env_(env), dir_(std::move(dir)), options_(options) {}

  // All with mutex_ held.
  Status Roll(uint64_t payload_bytes);
  Status OpenSegment(uint64_t number, uint64_t bytes);
  // Nothing once status_ is an error; they set it.
  void WriteRecord(std::string_view payload);
  void WriteMark();
  void WriteBytes(std::string_view head, std::string_view body);

  Env* const env_;
  const std::string dir_;
  const RedoLogOptions options_;

  std::mutex sync_mutex_;  // one Sync at a time; taken before mutex_
  mutable std::mutex mutex_;
  Status status_;                 // the first error
  std::deque<Segment> segments_;  // live ones; the last is written
  std::vector<Segment> spares_;
  LogPosition end_ = 0;
  LogPosition durable_ = 0;
  LogPosition marked_ = 0;  // what the last mark says
  uint64_t written_bytes_ = 0;
  bool names_changed_ = false;  // since the directory was synced
};

}  // namespace sluice
