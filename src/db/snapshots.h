// The snapshots that are held. Thread-safe.

#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>

#include "sluice/db.h"
#include "table/internal_key.h"

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
    const std::lock_guard lock(mutex_);
    const SequenceNumber sequence = visible_.load(std::memory_order_acquire);
    held_.insert(sequence);
    return new SnapshotImpl(sequence);
  }
  void Release(const Snapshot* snapshot) {
    const std::lock_guard lock(mutex_);
    held_.erase(held_.find(snapshot->sequence()));
    delete snapshot;
  }
  // No snapshot held, nor any taken from now on, is older.
  SequenceNumber Oldest() const {
    const std::lock_guard lock(mutex_);
    const SequenceNumber visible = visible_.load(std::memory_order_acquire);
    return held_.empty() ? visible : *held_.begin();
  }

 private:
  const std::atomic<SequenceNumber>& visible_;
  mutable std::mutex mutex_;
  std::multiset<SequenceNumber> held_;
};

}  // namespace sluice
