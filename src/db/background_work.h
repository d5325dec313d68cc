// The threads that flush and compact, and what is asked of them.

#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "db/compactor.h"
#include "db/db_state.h"

namespace sluice {

// Thread-safe, but for Start and Stop.
class BackgroundWork {
 public:
  // The state outlives it.
  explicit BackgroundWork(DbState* db) : db_(*db), compactor_(db) {}
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
  ~BackgroundWork() { Stop(); }

  void Start();
  // Returns when all threads have ended; what is under way is abandoned.
  void Stop();

  // Flushes the sub-table's waiting memtables on this thread. REQUIRES: no other thread does.
  Status FlushSubtable(SubtableImpl* subtable, RateLimiter* limiter);
  // Returns when `memtable`, which waits for its flush, is flushed.
  Status WaitForFlush(SubtableImpl* subtable, const MemtablePtr& memtable);
  // Compacts on this thread what the range [begin, end) of the sub-table has (DB::CompactRange).
  Status CompactRange(SubtableImpl* subtable, std::string_view begin, std::string_view end);
  // Returns when nothing is due and nothing is under way.
  Status WaitUntilIdle();

 private:
  class Reserve;
  class Turn;

  Status FlushAs(const RunFormat& format, SubtableImpl* subtable, RateLimiter* limiter);
  // Carries out the sub-table's cuts, which were taken from the schedule. After an error they are
  // due again.
  Status CutRanges(SubtableImpl* subtable);
  // The sub-table's version, once no cuts are left to be carried out. REQUIRES: it counts as
  // compacting for this thread.
  Status VersionWithoutCuts(SubtableImpl* subtable, std::shared_ptr<const Version>* version);
  // Threads of CompactionLoop that may take a share.
  size_t IdleThreads(const StateLock& lock) const SLUICE_REQUIRES(db_.mutex) {
    return db_.options.compaction_threads - busy_ - compactor_.helping(lock);
  }
  // Carries out the pick; on a full device, with what is reserved for that. `needed`: the caller waits
  // for it, so that other space may be given up for it, too.
  Status Compact(SubtableImpl* subtable, CompactionPick* pick, size_t threads, Status* set_aside,
                 bool needed);
  // Only its first part, if it takes the reserve; `*more`: there are others.
  Status CompactOrPart(SubtableImpl* subtable, CompactionPick* pick, size_t threads,
                       Status* set_aside, bool needed, bool* more);
  // The device is full, nothing needs space for a flush, and the reserve is to be had again.
  bool MustFill(const StateLock& lock) const SLUICE_REQUIRES(db_.mutex);
  void FlushLoop();
  void CompactionLoop();
  // Gives up the log that neither a memtable nor a prepared transaction needs; `prepared` is where
  // the oldest such transaction began, as of before the last sync of the log.
  Status ReleaseLog(LogPosition prepared);
  // The same beside flushes, for a full device.
  Status ReleaseUnneededLog();
  // To be called after each flush: CoolDown, unless nobody has read for so long that it would change
  // nothing.
  void CoolDownIfWarm(const Version& version);

  DbState& db_;
  Compactor compactor_;
  // Flushes and compactions under way.
  size_t working_ SLUICE_GUARDED_BY(db_.mutex) = 0;
  // Threads of CompactionLoop that compact, but for those that help with a compaction.
  size_t busy_ SLUICE_GUARDED_BY(db_.mutex) = 0;
  // A thread of FlushLoop fills the full device's reserve.
  bool filling_ SLUICE_GUARDED_BY(db_.mutex) = false;
  // When to try again, once a compaction has found no space.
  FullDevice::Clock::time_point next_compaction_ SLUICE_GUARDED_BY(db_.mutex){};
  std::vector<std::thread> threads_;
};

}  // namespace sluice
