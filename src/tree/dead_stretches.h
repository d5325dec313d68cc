// Stretches of user keys without a live record, as iterators found out: those that come later pass
// over them at once, however many tombstones lie there, in memtables and runs. So what pops the head
// of a queue, or seeks into what was deleted, does not pay for all that was deleted before.
//
// A stretch is dead as of a sequence number: who sees the state of that, or of a later one, finds
// nothing in it, because a put cuts the stretches that its key lies in before it becomes visible.
// What flushes and compactions do to tombstones makes no difference.
//
// A put that was on its way while an iterator walked may have missed what the iterator noted then.
// Hence, in the order of the steps of both:
//
//   put:      gets its sequence number (`given` says so)  |  looks for stretches to cut
//   iterator: the stretch is there, watched               |  looks what has been given
//
// A put that missed the stretch has no higher number than the iterator saw given. If the iterator's
// snapshot is not older than that, the put was there when the iterator walked, and the stretch is
// dead. Otherwise it stays watched, until another iterator with a younger snapshot has walked
// through it.
//
// Thread-safe. Puts and seeks pay one load as long as there is no stretch, and a search over
// kMostStretches otherwise.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table/internal_key.h"
#include "util/epoch.h"
#include "util/mutex.h"

namespace sluice {

class DeadStretches {
 public:
  // With fewer dead keys a stretch is not worth noting.
  static constexpr size_t kLeastKeys = 16;
  static constexpr size_t kMostStretches = 64;
  static constexpr size_t kMostWatched = 8;
  // Longer keys bound no stretch.
  static constexpr size_t kMostKeyBytes = 1024;

  // The user keys from `begin` to before `end`.
  struct Stretch {
    std::string begin;
    std::string end;    // empty: no bound
    uint64_t keys = 0;  // that were found dead, roughly
    // As of which it is dead; of one that is watched, what had been given when it came to be so.
    SequenceNumber sequence = 0;

    bool Contains(std::string_view key) const { return key >= begin && (end.empty() || key < end); }
  };

  DeadStretches() = default;
  DeadStretches(const DeadStretches&) = delete;
  DeadStretches& operator=(const DeadStretches&) = delete;
  ~DeadStretches() { delete all_.load(std::memory_order_relaxed); }

  // What a reader at `snapshot` who comes to `key` may pass over; null if that is nothing. Valid
  // while the caller's EpochGuard is held.
  const Stretch* Find(std::string_view key, SequenceNumber snapshot) const {
    const All* const all = all_.load(std::memory_order_acquire);
    return all == nullptr ? nullptr : FindIn(*all, key, snapshot);
  }

  // A reader at `snapshot` found no record from `begin` to before `end` (empty: no bound), but `keys`
  // that are dead. `given`: the last sequence number that a write has got.
  void Note(std::string_view begin, std::string_view end, uint64_t keys, SequenceNumber snapshot,
            const std::atomic<SequenceNumber>& given);

  // A put of the key is under way: it has its sequence number, and is not visible. REQUIRES: the
  // caller holds an EpochGuard.
  void Cut(std::string_view key) {
    if (const All* const all = all_.load(std::memory_order_seq_cst); all != nullptr) [[unlikely]] {
      CutIn(*all, key);
    }
  }

  // As Cut, for any number of keys: forgets all stretches.
  void Clear();
  // Forgets them, and notes none any more.
  void Close();

  // For tests.
  std::vector<Stretch> stretches() const;

 private:
  using StretchPtr = std::shared_ptr<const Stretch>;
  // Immutable.
  struct All {
    std::vector<StretchPtr> dead;     // in order; they neither overlap nor touch
    std::vector<StretchPtr> watched;  // oldest first
  };

  static const Stretch* FindIn(const All& all, std::string_view key, SequenceNumber snapshot);
  void CutIn(const All& all, std::string_view key);
  static void AddDead(Stretch stretch, std::vector<StretchPtr>* dead);
  // The caller retires what it returns, without the mutex.
  const All* Publish(All all) SLUICE_REQUIRES(mutex_);
  static void Retire(const All* all);  // may be null

  Mutex mutex_;  // of those who change them
  bool closed_ SLUICE_GUARDED_BY(mutex_) = false;
  std::atomic<const All*> all_{nullptr};
};

}  // namespace sluice
