// How far background work is behind: how much memory and log the memtables hold, which of them are
// to be flushed to free some, and how much writers are slowed down meanwhile.
//
//   memory   When the active memtables hold half of write_buffer_bytes, the largest are switched
//            until the rest hold three eighths: few flushes, of large extents, then free the most
//            memory. The other half is for memtables that wait for their flush.
//   log      The log is needed from the oldest record that only a memtable has. When that is half
//            of max_log_bytes, the memtables with the oldest records are switched until three
//            eighths are needed: flushing any others would free none of the log.
//   space    While writes find no space, the memtables with the older half of the log are switched.
//   writers  Writers are slowed down from three quarters of either limit on, and stopped at the
//            limit; likewise when a sub-table has too many waiting memtables or level-0 runs, more
//            in levels 0 and 1 than level 2 can take in soon, or nearly all the space that it may
//            take (compaction/space_limit.h).
//   rate     Compactions need none of the rate that Options::background_bytes_per_second gives when
//            they become due, and all of it where writers would be slowed down for them.
//
// Costs nothing for sub-tables without records, and O(log n) for each change of one that has some.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/state_mutex.h"
#include "db/subtable_impl.h"
#include "log/log_format.h"
#include "mem/memory_account.h"
#include "sluice/options.h"
#include "util/mutex.h"

namespace sluice {

// How far background work is behind: 0 fine, from 1 on writers wait.
struct Pressure {
  double value = 0;
  std::string subtable;  // empty: all of them
  std::string_view reason;
};

// Thread-safe; functions that take a lock require the database's mutex.
class Backlog {
 public:
  explicit Backlog(const Options& options);

  MemtableMemory* memory() { return &memory_; }

  // The active memtable has, or is about to have, a record that the log has at or after `begin`.
  // Takes the mutex only if the memtable does not hold the log from there on yet.
  void HoldLog(StateMutex* mutex, SubtableImpl* subtable, MemtableInfo* active, LogPosition begin) {
    if (begin < active->log_begin.load(std::memory_order_relaxed)) {
      const StateLock lock(*mutex);
      HoldLog(lock, subtable, active, begin);
    }
  }
  void HoldLog(const StateLock& lock, SubtableImpl* subtable, MemtableInfo* active,
               LogPosition begin);
  // To be called when the sub-table's version has changed, or the sub-table was dropped.
  void Update(const StateLock& lock, SubtableImpl* subtable);
  // To be called after records went to the memtable: it may be full.
  void Look(StateMutex* mutex, SubtableImpl* subtable, MemtableInfo* active);
  // To be called as the log grows, by one thread at a time.
  void SetLogEnd(LogPosition end) {
    if (LogOffset(end) > options_.log_segment_bytes) [[unlikely]] {
      NoteLargeSegment(end);
    }
    log_end_.store(end, std::memory_order_relaxed);
  }

  // A write found no space, which flushes may make: ToSwitch now returns the sub-tables whose memtables
  // hold the older half of the log, unless some wait for their flush.
  void SwitchForSpace() {
    for_space_.store(waiting_bytes_.load(std::memory_order_relaxed) == 0,
                     std::memory_order_relaxed);
  }
  // Whether ToSwitch may return any sub-tables.
  bool MustSwitch() const;
  // Sub-tables whose active memtables are to be switched. REQUIRES: no write is in the pipeline.
  std::vector<SubtableImpl*> ToSwitch(const StateLock& lock);
  // The sub-table whose memtable to flush holds the oldest part of the log, of those that nobody
  // flushes; null if there is none.
  SubtableImpl* NextFlush(const StateLock& lock) const;
  // The first log position that a memtable needs; ~0 if none needs any.
  LogPosition OldestLog(const StateLock& lock) const;

  // What a flush writes beside the records: pages that are not full, and metadata.
  static constexpr uint64_t kPerMemtable = uint64_t{8} << 10;
  // What flushes of all memtables will write at most, nearly.
  uint64_t UnflushedBytes() const;
  // Active memtables with records.
  std::vector<SubtableImpl*> Filling(const StateLock& lock) const;

  // The share of their rate that compactions need, 0 to 1.
  double compaction_need(const StateLock&) const {
    return needs_.empty() ? 0 : needs_.rbegin()->first;
  }
  // Live data of all sub-tables (tree/space_use.h).
  uint64_t live_bytes(const StateLock&) const { return live_bytes_; }

  // Whether Measure may return more than 0. Costs a few loads.
  bool MayBeBehind() const;
  Pressure Measure(const StateLock& lock) const;

 private:
  // Orders sub-tables by id, not by address.
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
  template <typename T>
  using By = std::set<std::pair<T, SubtableImpl*>, ById>;
  using ByLog = By<LogPosition>;

  // `none`: of what is not in the set.
  template <typename T>
  static void Move(By<T>* set, SubtableImpl* subtable, T none, T* from, T to);
  size_t FillingBytes() const {
    const size_t unflushed = memory_.unflushed.load(std::memory_order_relaxed);
    const size_t waiting = waiting_bytes_.load(std::memory_order_relaxed);
    return unflushed - std::min(unflushed, waiting);
  }
  // The log's last segment, which ends here so far, is larger than segments are to be: it has a record
  // that is.
  void NoteLargeSegment(LogPosition end);
  // No memtable needs what is before `oldest`.
  void ForgetLargeSegments(LogPosition oldest);
  // The size of the log from `begin`'s segment on.
  uint64_t LogBytesFrom(LogPosition begin) const;
  double PressureOf(const StateLock& lock, const SubtableImpl& subtable) const;

  const Options& options_;
  const uint64_t memory_limit_;
  const uint64_t log_limit_;
  MemtableMemory memory_;
  ByLog filling_;     // active memtables with records
  ByLog waiting_;     // by the oldest memtable that waits for its flush
  By<double> needs_;  // sub-tables whose compactions need some of the rate
  std::set<SubtableImpl*, ById> behind_;
  std::vector<SubtableImpl*> full_;
  uint64_t live_bytes_ = 0;
  // Copies of what the mutex guards, for readers without it.
  std::atomic<size_t> waiting_bytes_{0};
  std::atomic<size_t> behind_count_{0};
  std::atomic<size_t> with_records_{
      0};  // memtables that are filling, and sub-tables with some that wait
  std::atomic<size_t> full_count_{0};
  std::atomic<bool> for_space_{false};
  std::atomic<LogPosition> oldest_filling_{kNoLog};
  std::atomic<LogPosition> oldest_{kNoLog};
  std::atomic<LogPosition> log_end_{0};
  mutable Mutex large_mutex_;
  // By how much such segments exceed the size, by number.
  std::map<uint64_t, uint64_t> large_segments_ SLUICE_GUARDED_BY(large_mutex_);
  std::atomic<bool> has_large_segments_{false};
};

}  // namespace sluice
