// The snapshots that are held. Thread-safe.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "sluice/db.h"
#include "table/internal_key.h"
#include "util/check.h"
#include "util/mutex.h"

namespace sluice {

class SnapshotImpl final : public Snapshot {
 public:
  uint64_t sequence() const override { return sequence_; }

 private:
  friend class Snapshots;

  SequenceNumber sequence_ = 0;
  // In the ring of those that are held; null when it is not.
  SnapshotImpl* before_ = nullptr;
  SnapshotImpl* after_ = nullptr;
};

class Snapshots {
 public:
  // `visible`: the sequence number up to which writes are visible, which never falls; outlives this.
  explicit Snapshots(const std::atomic<SequenceNumber>* visible) : visible_(*visible) {
    ring_.before_ = ring_.after_ = &ring_;
  }
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  const Snapshot* Take() {
    auto snapshot = std::make_unique<SnapshotImpl>();
    const MutexLock lock(mutex_);
    snapshot->sequence_ = visible_.load(std::memory_order_acquire);
    snapshot->before_ = ring_.before_;
    snapshot->after_ = &ring_;
    ring_.before_ = ring_.before_->after_ = snapshot.get();
    return snapshot.release();
  }
  void Release(const Snapshot* snapshot) {
    const std::unique_ptr<const SnapshotImpl> held(static_cast<const SnapshotImpl*>(snapshot));
    const MutexLock lock(mutex_);
    SLUICE_CHECK(held->before_->after_ == held.get() && held->after_->before_ == held.get());
    held->before_->after_ = held->after_;
    held->after_->before_ = held->before_;
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
    for (const SnapshotImpl* held = ring_.after_; held != &ring_; held = held->after_) {
      if (all.empty() || all.back() != held->sequence_) {
        all.push_back(held->sequence_);
      }
    }
    const SequenceNumber visible = visible_.load(std::memory_order_acquire);
    if (all.empty() || all.back() != visible) {
      all.push_back(visible);
    }
    return all;
  }
  // The first of All().
  SequenceNumber Oldest() const {
    const MutexLock lock(mutex_);
    return ring_.after_ == &ring_ ? visible_.load(std::memory_order_acquire)
                                  : ring_.after_->sequence_;
  }

 private:
  const std::atomic<SequenceNumber>& visible_;
  mutable Mutex mutex_;
  // Between the newest one and the oldest. They ascend, as each was taken under the mutex.
  SnapshotImpl ring_ SLUICE_GUARDED_BY(mutex_);
};

// The snapshots that a compaction of `records` records, none newer than `newest`, passes to its
// merges, if units take up to `most` and merges with more run on the CPU. Those from `newest` on see
// the same, so one of them is enough. The lowest `most` of the others alone serve every reader as
// well; the superfluous versions that they keep are at most the writes since the last of them
// (MergeTask::snapshots). If these are few compared with the records, units merge: snapshots of
// short transactions leave no unit idle, and one that is held for long keeps only what it sees.
inline std::vector<SequenceNumber> SnapshotsForMerges(std::vector<SequenceNumber> all,
                                                      SequenceNumber newest, uint64_t records,
                                                      size_t most) {
  constexpr uint64_t kFew = 8;  // few: at most one in so many records
  const auto sees_all = std::lower_bound(all.begin(), all.end(), newest);
  all.erase(sees_all == all.end() ? sees_all : sees_all + 1, all.end());
  if (all.size() > most && std::min(all.back(), newest) - all[most - 1] <= records / kFew) {
    all.resize(most);
  }
  return all;
}

}  // namespace sluice
