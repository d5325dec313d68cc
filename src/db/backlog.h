// What is due and how far behind: which memtables hold what of memory and of the log, which of them
// are to be flushed for it, and how hard writers are to be slowed down meanwhile.
//
//   memory   When the memtables that are written hold half of write_buffer_bytes, the largest stop
//            being written, until the rest holds three eighths: so the fewest flushes, and the
//            largest extents, free the most. The other half is for those that wait for their flush.
//   log      It is needed from the oldest record on that only a memtable has. When half of
//            max_log_bytes is, the memtables stop being written that hold its oldest part, until
//            the rest holds three eighths: no others would free any of it.
//   writers  From three quarters of either limit on they are slowed down, and held at the limit;
//            so, too, when a sub-table's memtables that wait, or its runs in level 0, become too
//            many, or what its levels 0 and 1 have is more than level 2 can take in soon.
//
// Costs nothing for sub-tables without records, and O(log n) for each change of one that has some.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/state_mutex.h"
#include "db/subtable_impl.h"
#include "log/log_format.h"
#include "mem/memory_account.h"
#include "sluice/options.h"

namespace sluice {

// How far background work is behind: 0 fine, from 1 on writers wait.
struct Pressure {
  double value = 0;
  std::string subtable;  // empty: all of them
  std::string_view reason;
};

// Thread-safe: the database's mutex guards it where a lock is asked for.
class Backlog {
 public:
  explicit Backlog(const Options& options);

  MemtableMemory* memory() { return &memory_; }

  // The active memtable has, or is about to have, a record of the log that is not before `begin`.
  // Takes the mutex only if it has none from there on yet.
  void HoldLog(StateMutex* mutex, SubtableImpl* subtable, MemtableInfo* active, LogPosition begin) {
    if (begin < active->log_begin.load(std::memory_order_relaxed)) {
      const StateLock lock(*mutex);
      HoldLog(lock, subtable, active, begin);
    }
  }
  void HoldLog(const StateLock& lock, SubtableImpl* subtable, MemtableInfo* active,
               LogPosition begin);
  // To be called when the sub-table's version has changed, or it was dropped.
  void Update(const StateLock& lock, SubtableImpl* subtable);
  // To be called after records went to the memtable: it may be full.
  void Look(StateMutex* mutex, SubtableImpl* subtable, MemtableInfo* active);
  // The log ends there.
  void SetLogEnd(LogPosition end) { log_end_.store(end, std::memory_order_relaxed); }

  // Whether ToSwitch has anything.
  bool MustSwitch() const;
  // Sub-tables whose active memtables are to be written no longer. With nothing in the pipeline.
  std::vector<SubtableImpl*> ToSwitch(const StateLock& lock);
  // The one with a memtable to flush whose log goes back furthest; null if there is none.
  SubtableImpl* NextFlush(const StateLock& lock) const;
  // The log is needed from here on by memtables; ~0: not at all.
  LogPosition OldestLog(const StateLock& lock) const;

  // Whether Measure may be above 0. Costs some loads.
  bool MayBeBehind() const;
  Pressure Measure(const StateLock& lock) const;

 private:
  // Sub-tables go by their ids, not by where they happen to lie in memory.
  struct ById {
    bool operator()(const SubtableImpl* a, const SubtableImpl* b) const {
      return a->id() < b->id();
    }
    template <typename T>
    bool operator()(const std::pair<T, SubtableImpl*>& a,
                    const std::pair<T, SubtableImpl*>& b) const {
      return a.first != b.first ? a.first < b.first : a.second->id() < b.second->id();
    }
  };
  using ByLog = std::set<std::pair<LogPosition, SubtableImpl*>, ById>;

  static void Move(ByLog* set, SubtableImpl* subtable, LogPosition* from, LogPosition to);
  size_t FillingBytes() const {
    const size_t unflushed = memory_.unflushed.load(std::memory_order_relaxed);
    const size_t waiting = waiting_bytes_.load(std::memory_order_relaxed);
    return unflushed - std::min(unflushed, waiting);
  }
  // Of the log from `begin`'s segment on.
  uint64_t LogBytesFrom(LogPosition begin) const;
  double PressureOf(const StateLock& lock, const SubtableImpl& subtable) const;

  const Options& options_;
  const uint64_t memory_limit_;
  const uint64_t log_limit_;
  MemtableMemory memory_;
  ByLog filling_;  // active memtables with records
  ByLog waiting_;  // by the oldest memtable that waits for its flush
  std::set<SubtableImpl*, ById> behind_;
  std::vector<SubtableImpl*> full_;
  // What the mutex guards, for those who look without it.
  std::atomic<size_t> waiting_bytes_{0};
  std::atomic<size_t> behind_count_{0};
  std::atomic<size_t> full_count_{0};
  std::atomic<LogPosition> oldest_filling_{kNoLog};
  std::atomic<LogPosition> oldest_{kNoLog};
  std::atomic<LogPosition> log_end_{0};
};

}  // namespace sluice
