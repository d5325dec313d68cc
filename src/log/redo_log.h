// The redo log: one per database, for all sub-tables (X-Engine 2, "Storage layout").
//
// Appending copies into a segment: that survives this process at once, and a loss of power after
// Sync. Segments take space in steps, as they are filled, and are removed once they are not needed.
// A file system may take long to give a step, while it writes back what came before, so that a log
// which much is appended to has a thread that takes steps ahead, and makes the next segment's file.
// Each file is written once, from its start: using old ones again would save a fresh page's cost,
// under a tenth of a microsecond for a small record, and would have to read back from disk under
// the log's lock what the page cache gave up, and keep space that others need.
//
// A sync that failed leaves pages that are clean, can be read, and are not on disk (Rebello et al.,
// ATC'20), in this process or one before. So after a failed one the log takes no more, and Open
// believes nothing that it read but is not known to be on disk: it writes that anew, in another
// place, or, on a full device, where it stands.
//
// Append is called by one thread at a time; the others may be called by any thread meanwhile. After
// an error the log takes no more: open the database again. The exception is space that cannot be
// had: that Append alone fails, and nothing of it stands in the log.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "log/durable_mark.h"
#include "log/log_format.h"
#include "log/log_reader.h"
#include "sluice/env.h"
#include "util/mutex.h"
#include "util/status.h"

namespace sluice {

struct RedoLogOptions {
  uint64_t segment_bytes = uint64_t{64} << 20;  // < 4 GiB
  uint64_t step_bytes = uint64_t{64} << 10;     // that a segment takes of the disk at once
  // That a thread takes ahead, at most, once 16 times as much has been appended; 0: no thread.
  uint64_t most_ahead_bytes = 0;
};

class RedoLog {
 public:
  // Continues after what ReadLog found in `dir`, in a new segment. That begins with a copy of what
  // is not known to be on disk, synced when this returns: the cost is that of the tail since the
  // last sync. If there is no space for it, the tail is overwritten with itself instead. Only then
  // are files removed that nothing needs. An error leaves in `dir` what ReadLog found.
  static Status Open(Env* env, const std::string& dir, const RedoLogOptions& options,
                     const LogContents& found, std::unique_ptr<RedoLog>* log);
  ~RedoLog();

  // Makes sure that an Append of so many bytes finds its space; NoSpace if there is none. Called by
  // the thread that calls Append.
  Status ReserveFor(uint64_t payload_bytes);
  // `*end`: the position after the record. REQUIRES: 1 byte <= payload < 2 GiB.
  Status Append(std::string_view payload, LogPosition* end);
  // Makes durable what was appended before the call. No error of it is NoSpace.
  Status Sync();
  // Everything before `position`, one that Append, ReadLog, end or durable returned, is no longer
  // needed. REQUIRES: it is not above durable().
  Status Release(LogPosition position);
  // The device is full. The next Append begins a segment, if the last one has `much`, so that Release
  // may remove that; and for what was written until now nothing is taken ahead.
  void EndSegment(uint64_t much = uint64_t{1} << 20);
  // Begins the next segment now if the last one was ended and there is space for it: whether it has,
  // `*end` then being where the log ends. As Append, called by one thread at a time.
  bool BeginIfEnded(LogPosition* end);
  // Syncs, and makes durable that it did: damage to any of the log so far shows from now on.
  Status Seal();

  LogPosition end() const;
  // Everything before it is on disk.
  LogPosition durable() const;
  // From there to the end, as far as it is kept.
  uint64_t BytesFrom(LogPosition position) const;
  uint64_t written_bytes() const;  // since Open
  uint64_t file_bytes() const;     // that all segments take of the disk

 private:
  struct Segment {
    uint64_t number = 0;
    uint64_t bytes = 0;                  // used; of the last one, end_ says
    uint64_t reserved = 0;               // of the disk
    uint64_t limit = 0;                  // that it may ever have
    std::shared_ptr<ReservedFile> file;  // null once synced, if another has followed
  };

  RedoLog(Env* env, std::string dir, const RedoLogOptions& options)
      : env_(env), dir_(std::move(dir)), options_(options) {}

  // `*published`: whether what it made has names by which a reader finds it.
  static Status OpenBehind(Env* env, const std::string& dir, const RedoLogOptions& options,
                           const LogContents& found, std::unique_ptr<RedoLog>* log,
                           bool* published) SLUICE_NO_THREAD_SAFETY_ANALYSIS;
  // While nobody else has it.
  Status GoOn(const LogContents& found) SLUICE_NO_THREAD_SAFETY_ANALYSIS;
  // Gives the drafts their names, synced.
  Status Publish() SLUICE_NO_THREAD_SAFETY_ANALYSIS;
  // Files that are neither segments of this log nor its mark.
  Status RemoveOthers() SLUICE_NO_THREAD_SAFETY_ANALYSIS;

  std::string PathOf(uint64_t number) const SLUICE_REQUIRES(mutex_);
  // The lock is mutex_'s.
  Status MakeRoom(MutexLock& lock, uint64_t payload_bytes) SLUICE_REQUIRES(mutex_);
  Status Roll(uint64_t payload_bytes) SLUICE_REQUIRES(mutex_);
  Status Reserve(Segment* segment, uint64_t bytes) SLUICE_REQUIRES(mutex_);
  // What is to be reserved ahead next: the last segment, or next_, and how much it shall have then.
  // No segment: nothing.
  std::pair<Segment*, uint64_t> NextAhead() SLUICE_REQUIRES(mutex_);
  void ReserveAheadLoop();
  // Append to buffer_ what is to stand at `position`.
  void BufferHeader(LogPosition position, std::string_view payload) SLUICE_REQUIRES(mutex_);
  void BufferMark(LogPosition position) SLUICE_REQUIRES(mutex_);

  Env* const env_;
  const std::string dir_;
  const RedoLogOptions options_;
  std::unique_ptr<DurableMark> mark_;

  Mutex sync_mutex_;  // one Sync at a time; taken before mutex_
  mutable Mutex mutex_;
  Status status_ SLUICE_GUARDED_BY(mutex_);                 // the first error
  std::deque<Segment> segments_ SLUICE_GUARDED_BY(mutex_);  // live ones; the last is written
  uint64_t next_number_ SLUICE_GUARDED_BY(mutex_) = 1;
  LogPosition end_ SLUICE_GUARDED_BY(mutex_) = 0;
  LogPosition durable_ SLUICE_GUARDED_BY(mutex_) = 0;
  LogPosition marked_ SLUICE_GUARDED_BY(mutex_) = 0;  // what the last mark in the log says
  uint64_t written_bytes_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::string buffer_ SLUICE_GUARDED_BY(mutex_);
  bool drafts_ SLUICE_GUARDED_BY(mutex_) = false;  // segments are made under other names
  bool rolling_ SLUICE_GUARDED_BY(mutex_) =
      false;  // a segment that follows end_ may be there, without its record
  bool names_changed_ SLUICE_GUARDED_BY(mutex_) = false;  // since the directory was synced

  std::thread ahead_thread_;
  CondVar ahead_due_, ahead_done_;
  Segment next_ SLUICE_GUARDED_BY(mutex_);  // what was made ahead of the one after the last
  // The thread reserves, and nobody else does meanwhile, in any segment.
  bool reserving_ahead_ SLUICE_GUARDED_BY(mutex_) = false;
  bool ahead_failed_ SLUICE_GUARDED_BY(mutex_) = false;  // since Append last got a step
  bool closing_ SLUICE_GUARDED_BY(mutex_) = false;
  uint64_t written_before_full_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
