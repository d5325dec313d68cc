// The threads that flush and compact, and what is asked of them.

#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "compaction/compaction_job.h"
#include "compaction/compaction_picker.h"
#include "db/db_state.h"

namespace sluice {

// Thread-safe, but for Start and Stop.
class BackgroundWork {
 public:
  // The state outlives it.
  explicit BackgroundWork(DbState* db) : db_(*db) {}
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
  ~BackgroundWork() { Stop(); }

  void Start();
  // Returns when no thread is left; what is under way is abandoned.
  void Stop();

  // Flushes the sub-table's waiting memtables on this thread. No thread may be at that.
  Status FlushSubtable(SubtableImpl* subtable);
  // Returns when `memtable`, which waits for its flush, is flushed.
  Status WaitForFlush(SubtableImpl* subtable, const MemtablePtr& memtable);
  // Compacts on this thread what the range [begin, end) of the sub-table has (DB::CompactRange).
  Status CompactRange(SubtableImpl* subtable, std::string_view begin, std::string_view end);
  // Returns when nothing is due and nothing is under way.
  Status WaitUntilIdle();

 private:
  void FlushLoop();
  void CompactionLoop();
  // The size that a part of a compaction has.
  uint64_t PartBytes() const;
  // Gives up the log that neither a memtable nor a prepared transaction needs; `prepared` is where
  // the oldest of these began before the log was last synced.
  Status ReleaseLog(LogPosition prepared);
  // A compaction that is carried out in shares, each a range of keys and part by part, by the thread
  // that began it and by those that have nothing else to do. The mutex guards what changes, but for
  // a share that a thread has taken.
  struct SharedCompaction {
    SubtableImpl* subtable;
    std::vector<CompactionPick> shares;
    std::deque<CompactionPick*> waiting{};  // shares that are not done, nor taken
    size_t taken = 0;
    Status status{};     // the first error
    Status set_aside{};  // as Compact's
  };

  // Takes out of the pick what it has dealt with. Ok, too, when an input could not be read: it is
  // set aside, `*set_aside` says why, and what is left is to be picked again.
  Status Compact(SubtableImpl* subtable, CompactionPick* pick, Status* set_aside);
  // Cuts the inputs at these user keys, by an edit of its own; what is beyond the ends of the pick's
  // range stays, and takes no part.
  Status Cut(SubtableImpl* subtable, const std::vector<std::string>& keys, CompactionPick* pick,
             Status* set_aside);
  // Null if none waits.
  static CompactionPick* TakeShare(const StateLock& lock, SharedCompaction* compaction);
  // The first part of what is left of the share, which waits again then or is done.
  void CompactShare(SharedCompaction* compaction, CompactionPick* share);
  // The first part of what is left of the pick.
  Status CompactPart(SubtableImpl* subtable, CompactionPick* pick, Status* set_aside);
  Status RunPick(SubtableImpl* subtable, const CompactionPick& pick, bool reuse,
                 CompactionResult* result);
  Status InstallOutput(SubtableImpl* subtable, const CompactionPick& pick,
                       const CompactionResult& result);
  // Takes the extent, an input of `pick`, out of its level: reads still look into it, compactions
  // go on without it.
  Status SetAside(SubtableImpl* subtable, const CompactionPick& pick, const ExtentPtr& extent,
                  const Status& why);

  DbState& db_;
  // Flushes and compactions under way.
  size_t working_ SLUICE_GUARDED_BY(db_.mutex) = 0;
  size_t idle_ SLUICE_GUARDED_BY(db_.mutex) = 0;  // threads of CompactionLoop
  std::vector<SharedCompaction*> shared_ SLUICE_GUARDED_BY(db_.mutex);
  // When to try again, once a compaction has found no space.
  FullDevice::Clock::time_point next_compaction_ SLUICE_GUARDED_BY(db_.mutex){};
  std::vector<std::thread> threads_;
};

}  // namespace sluice
