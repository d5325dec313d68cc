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
  // The sequence numbers that readers may read at from now on, ascending and distinct: those of
  // held snapshots and, last, the newest visible one. Versions up to the last number can be dropped
  // if they are visible at none of these numbers (sluice/executor.h): a later snapshot has at least
  // the last number, and so has a read without a snapshot, which asks what is visible only after it
  // has pinned the version of the tree that lacks them. It also stays known whether a row was
  // written since a held snapshot: its newest version always stays, even a tombstone if the oldest
  // snapshot is older.
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

// The snapshots that a compaction of `records` records passes to its merges, if units take up to
// `most` and merges with more run on the CPU. The lowest `most` of `all` alone serve every reader
// as well; the superfluous versions that they keep are at most the writes since the last of them
// (MergeTask::snapshots). If these are few compared with the records, units merge: snapshots of
// short transactions leave no unit idle, and one that is held for long keeps only what it sees.
inline std::vector<SequenceNumber> SnapshotsForMerges(std::vector<SequenceNumber> all,
                                                      uint64_t records, size_t most) {
  constexpr uint64_t kFew = 8;  // few: at most one in so many records
  if (all.size() > most && all.back() - all[most - 1] <= records / kFew) {
    all.resize(most);
  }
  return all;
}

}  // namespace sluice
