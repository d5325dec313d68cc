// The snapshots that are held. Thread-safe.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

#include "sluice/db.h"
#include "table/internal_key.h"
#include "util/check.h"
#include "util/mutex.h"

namespace sluice {

class SnapshotImpl final : public Snapshot {
 public:
  explicit SnapshotImpl(SequenceNumber sequence) : sequence_(sequence) {}
  uint64_t sequence() const override { return sequence_; }

 private:
  const SequenceNumber sequence_;
};

class Snapshots {
 public:
  // `visible`: the sequence number up to which writes are visible; outlives this.
  explicit Snapshots(const std::atomic<SequenceNumber>* visible) : visible_(*visible) {}

  const Snapshot* Take() {
    const MutexLock lock(mutex_);
    const SequenceNumber sequence = visible_.load(std::memory_order_acquire);
    held_.insert(sequence);
    return new SnapshotImpl(sequence);
  }
  void Release(const Snapshot* snapshot) {
    const MutexLock lock(mutex_);
    const auto held = held_.find(snapshot->sequence());
    SLUICE_CHECK(held != held_.end());
    held_.erase(held);
    delete snapshot;
  }
  // What readers may see from now on, ascending and distinct: the sequence numbers of snapshots
  // held and, last, the newest one visible. Of versions at or below that one, those that none of
  // these numbers sees can go (sluice/executor.h): a snapshot taken later has at least the last of them; so
  // has a read without one, which asks what is visible only after it has pinned the version of the
  // tree that lacks them. Whether a row was written since a snapshot that is held stays known, too:
  // the newest version always stays, as a tombstone if it is one and the oldest snapshot is older.
  std::vector<SequenceNumber> All() const {
    const MutexLock lock(mutex_);
    std::vector<SequenceNumber> all;
    std::unique_copy(held_.begin(), held_.end(), std::back_inserter(all));
    const SequenceNumber visible = visible_.load(std::memory_order_acquire);
    if (all.empty() || all.back() != visible) {
      all.push_back(visible);
    }
    return all;
  }
  // The first of All().
  SequenceNumber Oldest() const {
    const MutexLock lock(mutex_);
    return held_.empty() ? visible_.load(std::memory_order_acquire) : *held_.begin();
  }

 private:
  const std::atomic<SequenceNumber>& visible_;
  mutable Mutex mutex_;
  std::multiset<SequenceNumber> held_ SLUICE_GUARDED_BY(mutex_);
};

// What a compaction of `records` records passes to its merges if units take `most` snapshots and
// more are the CPU's. Of `all` the lowest `most` alone are as good for every reader, and keep no
// more versions too many than there were writes since the last of them (MergeTask::snapshots).
// Where those are few against the records, units merge: the snapshots of short transactions leave
// none idle, and one that is held for long keeps no more than it sees.
inline std::vector<SequenceNumber> SnapshotsForMerges(std::vector<SequenceNumber> all,
                                                      uint64_t records, size_t most) {
  constexpr uint64_t kFew = 8;  // of so many one
  if (all.size() > most && all.back() - all[most - 1] <= records / kFew) {
    all.resize(most);
  }
  return all;
}

}  // namespace sluice
