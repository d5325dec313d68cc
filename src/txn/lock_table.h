// Locks of transactions, on rows and on ranges of keys: shared or exclusive, held by sub-table and
// key until their owner gives them back, which with two-phase locking is when it ends (X-Engine 3).
//
// An owner that cannot have a lock waits in line: locks are handed on in the order in which they
// were asked for, so that a writer does not wait for readers that came after it. Only an owner that
// shares the lock and wants it for itself goes in front: all who are in line wait for it anyway. A
// wait ends with the lock, when its time is up, or when somebody cancels it. It does not begin if
// the owner would wait for itself.
//
// An owner in line waits for all other holders of the lock: their modes exclude its own, or exclude
// that of an owner before it, which waits for them. These edges of the waits-for graph come only
// from waits that begin: when a lock changes hands it goes to the one in front, for which those
// behind waited before, too. So an edge closes a cycle only when it is drawn. Hence a deadlock is
// found when, and only when, a wait begins, by following the edges from there; the owner that would
// have closed the cycle is the victim. Two owners that share a lock and both want it for themselves
// make such a cycle.
//
// This holds where only rows are locked. When the first range of a sub-table is locked, the
// sub-table's locks and waits move from the shards into an ordered structure of its own
// (range_locks.h), where ranges and rows meet, with edges that have the same property. From then on
// the sub-table's locks are there. Other sub-tables are not affected.
//
// Thread-safe; an owner is used by one thread at a time, except for CancelWaits. A lock that is
// free costs a hash lookup under a mutex of one of many shards; in a sub-table with ranges, searches
// in trees under a mutex of the sub-table. Only waits share a mutex. Memory, which the budget counts
// for each who has a lock or waits for it: kLockBytes and the key, or both bounds.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sluice/transaction.h"
#include "txn/key_span.h"
#include "txn/memory_budget.h"
#include "util/hash.h"
#include "util/mutex.h"
#include "util/status.h"

namespace sluice {

enum class LockMode : uint8_t { kShared, kExclusive };

class LockTable {
 private:
  static constexpr size_t kShards = 64;

  static size_t HashOf(uint32_t subtable, std::string_view key) {
    return Hash64(key) ^ subtable * 0x9e3779b97f4a7c15;
  }
  struct RowView {
    RowView(uint32_t of_subtable, std::string_view of_key)
        : subtable(of_subtable), key(of_key), hash(HashOf(of_subtable, of_key)) {}

    // Not by the bits that choose the bucket.
    uint8_t shard() const { return (hash >> 48) % kShards; }

    uint32_t subtable;
    std::string_view key;
    size_t hash;
  };
  struct Row {
    uint32_t subtable;
    std::string key;
  };
  struct RowHash {
    using is_transparent = void;
    size_t operator()(const RowView& row) const { return row.hash; }
    size_t operator()(const Row& row) const { return HashOf(row.subtable, row.key); }
  };
  struct RowEqual {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return a.subtable == b.subtable && a.key == b.key;
    }
  };

 public:
  class Owner;

 private:
  struct RangeHold;
  class RangeLocks;
  using RangeLocksPtr = std::shared_ptr<RangeLocks>;

  // So often that it is not counted; the lock is kept until the owner gives back all.
  static constexpr uint32_t kCountless = std::numeric_limits<uint32_t>::max();

  struct Hold {
    Owner* owner = nullptr;
    uint32_t position = 0;  // in the owner's list; touched by the owner's thread alone
    uint32_t times = 1;     // acquired and not released; does not wrap
  };
  struct Waiter {
    Owner* owner;
    LockMode mode;
    uint32_t position;  // of the hold that it will have
  };
  // What most locks do not have.
  struct Others {
    std::vector<Hold> sharers{};  // beside `first`
    std::vector<Waiter> line{};
    uint64_t searched = 0;  // by the search for a cycle of this number
  };
  struct Lock {
    Hold first;  // no owner: it is about to be handed on, or to go
    LockMode mode;
    uint8_t shard;  // where it is; never changes
    // Who still points at it since it has moved to a sub-table's RangeLocks; 0: it has not. It only
    // tells them so, and nothing of it changes any more.
    uint32_t left_behind = 0;
    std::unique_ptr<Others> others{};
  };
  using Locks = std::unordered_map<Row, Lock, RowHash, RowEqual>;
  using Entry = Locks::value_type;

 public:
  // A transaction, as far as its locks go. Gives back what it holds when it is destroyed.
  class Owner {
   public:
    // `id`, for people, names it in messages. `listener` may be null.
    Owner(LockTable* table, uint64_t id, LockWaitListener* listener = nullptr)
        : table_(*table), id_(id), listener_(listener) {}
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    ~Owner() { table_.ReleaseAll(this); }

    uint64_t id() const { return id_; }
    // Calls `call(subtable, key, mode)` for each row whose lock it holds.
    void ForEachRow(
        const std::function<void(uint32_t subtable, std::string_view key, LockMode mode)>& call) {
      table_.ForEachRow(this, call);
    }
    // Memory taken by the ranges that it holds.
    size_t range_bytes() const { return range_bytes_; }

   private:
    friend class LockTable;
    bool Waits() const { return awaited_ != nullptr || awaited_range_ != nullptr; }

    LockTable& table_;
    const uint64_t id_;
    LockWaitListener* listener_;  // under waits_mutex_
    std::vector<Entry*> held_;    // null where it was released alone
    size_t holes_ = 0;
    std::vector<RangeLocksPtr> ranged_;  // where it may hold something
    size_t range_bytes_ = 0;
    // Under waits_mutex_:
    Entry* awaited_ = nullptr;  // this, or the next two, or none
    const RangeHold* awaited_range_ = nullptr;
    RangeLocks* awaited_in_ = nullptr;
    size_t place_ = 0;  // among those that wait
    bool cancelled_ = false;
    uint64_t searched_ = 0;                // by the search for a cycle of this number
    const Owner* reached_from_ = nullptr;  // in that
    CondVar turn_;
  };

  struct Stats {
    uint64_t held = 0;  // now; by each who shares one
    uint64_t waits = 0;
    uint64_t deadlocks = 0;
    uint64_t timeouts = 0;
  };

  // A node, a bucket, and where it stands in its owner's list.
  static constexpr size_t kLockBytes = 160;

  explicit LockTable(MemoryBudget* budget);
  ~LockTable();

  // Takes the row's lock for `owner`; ok at once if it holds it in this mode, or exclusively.
  // `*taken`: it did not hold it before, in any mode. `timeout`: 0 does not wait. Deadlock, whose
  // message names the cycle; TimedOut, whose message names the holder; Cancelled; TooLarge, if the
  // budget has no room. After an error the owner holds what it held. One whose wait would have
  // closed a cycle should give back all of it: others of the cycle wait for it.
  Status Acquire(Owner* owner, uint32_t subtable, std::string_view key, LockMode mode,
                 std::chrono::milliseconds timeout, bool* taken);
  // The same for the keys from `begin` to before `end` (empty: no bound), which must be some.
  // `*taken`: it was not covered by a range that it held. Then KeepRange or GiveUpRange must come
  // next.
  Status AcquireRange(Owner* owner, uint32_t subtable, std::string_view begin, std::string_view end,
                      LockMode mode, std::chrono::milliseconds timeout, bool* taken);
  // The range becomes one with those that overlap or touch it.
  void KeepRange(Owner* owner, uint32_t subtable);
  // The owner has what it had before.
  void GiveUpRange(Owner* owner, uint32_t subtable);
  // In this mode, or exclusively, and by itself: not only because it lies in a range.
  bool Holds(const Owner& owner, uint32_t subtable, std::string_view key, LockMode mode);
  // Takes back one Acquire of the row. True if that was the last, and the lock is given back.
  // False, too, if it does not hold it by itself.
  bool Release(Owner* owner, uint32_t subtable, std::string_view key);
  // Gives back all but the exclusive locks of rows.
  void KeepExclusiveRows(Owner* owner);
  void ReleaseAll(Owner* owner);

  // Ends the owner's wait, if it waits, and every later one at once, until AllowWaits. From any
  // thread.
  void CancelWaits(Owner* owner);
  void AllowWaits(Owner* owner);
  // The owner's listener goes before the owner does.
  void ForgetListener(Owner* owner);
  // For a sub-table that was dropped, so that nobody wants a lock of it any more: what is kept for it
  // goes, at once or with the last lock.
  void ForgetSubtable(uint32_t subtable);

  Stats stats() const;

 private:
  using RangesById = std::unordered_map<uint32_t, RangeLocksPtr>;
  struct alignas(64) Shard {
    Mutex mutex;
    Locks locks SLUICE_GUARDED_BY(mutex);
    // The sub-tables whose locks are not here, but there; null: there are none.
    std::unique_ptr<RangesById> ranges SLUICE_GUARDED_BY(mutex);
  };

  static size_t BytesOf(std::string_view key) { return kLockBytes + key.size(); }

  // All of these with the shard locked.
  static void CountOnce(Hold* hold);
  static Hold* Find(Lock* lock, const Owner* owner);
  static bool InLine(const Lock& lock) {
    return lock.others != nullptr && !lock.others->line.empty();
  }
  // Whether the holders let it be given; who is in line does not matter.
  static bool MayHave(const Lock& lock, const Owner* owner, LockMode mode);
  static void Give(Lock* lock, Owner* owner, LockMode mode, uint32_t position);
  Status AcquireFound(Shard* shard, Owner* owner, Entry* entry, const RowView& row, LockMode mode,
                      std::chrono::milliseconds timeout, bool* taken) SLUICE_REQUIRES(shard->mutex);
  void Took(Owner* owner, Entry* entry, bool* taken);
  void GiveNow(Lock* lock, Owner* owner, LockMode mode, uint32_t position);
  static void Drop(Lock* lock, const Owner* owner);
  Status BeginWait(Owner* owner, Entry* entry, LockMode mode);
  // True if it has the lock. Otherwise it has left the line.
  bool EndWait(Owner* owner, Entry* entry, bool* cancelled);
  Status TimedOut(const Owner& owner, const Entry& entry, LockMode mode,
                  std::chrono::milliseconds timeout);
  // Gives the lock back, and on to whoever waits.
  void HandOn(Shard* shard, Owner* owner, Entry* entry) SLUICE_REQUIRES(shard->mutex);

  // With waits_mutex_, too.
  void GiveToLine(Lock* lock) SLUICE_REQUIRES(waits_mutex_);
  static void LeaveLine(Lock* lock, const Owner* owner);

  void BeginsToWait(Owner* owner) SLUICE_REQUIRES(waits_mutex_);
  void EndsToWait(Owner* owner) SLUICE_REQUIRES(waits_mutex_);
  // Tells the owner's listener that it waits for `other`.
  static void TellOfWait(const Owner& owner, const Owner& other);
  // Returns when the owner has what it waits for, it is cancelled, or it is too late.
  void AwaitTurn(Owner* owner, std::chrono::milliseconds timeout);
  // Whom a cycle through `victim`, which waits, comes back from; null if there is none.
  const Owner* FindCycle(const Owner* victim) SLUICE_REQUIRES(waits_mutex_);
  static std::string DescribeCycle(const Owner& victim, const Owner& last);
  static Status Cancelled(const Owner& owner, const std::string& wanted);

  // Returns the bytes that it took.
  size_t GiveBack(Owner* owner, Entry* entry);
  // Makes room in the list of the locks that it holds.
  void FillHoles(Owner* owner);
  void ForEachRow(Owner* owner,
                  const std::function<void(uint32_t, std::string_view, LockMode)>& call);

  // The rest is in lock_table_ranges.cc. Null if no range of the sub-table was ever locked.
  static RangeLocksPtr FindRanges(const Shard& shard, uint32_t subtable)
      SLUICE_REQUIRES(shard.mutex) {
    return shard.ranges == nullptr ? nullptr : FindAmong(*shard.ranges, subtable);
  }
  static RangeLocksPtr FindAmong(const RangesById& all, uint32_t subtable);
  // Makes them, if there are none.
  RangeLocksPtr RangesOf(uint32_t subtable);
  // Where the owner has locked a range.
  static RangeLocks* RangedBy(const Owner& owner, uint32_t subtable);
  // With the entry's shard and `ranges` locked.
  void MoveToRanges(Entry* entry, RangeLocks* ranges) SLUICE_REQUIRES(waits_mutex_);
  // False if the owner had them.
  static bool AddRanges(Owner* owner, const RangeLocksPtr& ranges);
  // The owner's entry, which has moved, does not matter to it any more.
  void LeaveBehind(Shard* shard, Entry* entry) SLUICE_REQUIRES(shard->mutex);
  // The same, and it is to be given back there.
  void GiveBackMoved(Shard* shard, Owner* owner, Entry* entry) SLUICE_REQUIRES(shard->mutex);
  void LeaveMovedBehind(Owner* owner);

  Status AcquireIn(const RangeLocksPtr& ranges, Owner* owner, const KeySpan& range, LockMode mode,
                   std::chrono::milliseconds timeout, bool* taken);
  // For who began to wait in the shards.
  Status EndMovedWait(Owner* owner, const RowView& row, std::chrono::milliseconds timeout,
                      size_t bytes, bool* taken);
  bool HoldsIn(RangeLocks* ranges, const Owner& owner, std::string_view key, LockMode mode);
  bool ReleaseIn(RangeLocks* ranges, Owner* owner, std::string_view key);
  void Freed(Owner* owner, size_t ranges, size_t bytes);
  // Returns the bytes that they took.
  size_t GiveBackRanges(Owner* owner, bool keep_exclusive_rows);
  // These and what follows with `ranges` locked.
  Status BeginWaitIn(RangeLocks* ranges, std::unique_ptr<RangeHold> wanted);
  // Ok if it has the lock. Otherwise it has left the line.
  Status EndWaitIn(RangeLocks* ranges, Owner* owner, std::chrono::milliseconds timeout);
  void Took(const RangeLocksPtr& ranges, Owner* owner, const KeySpan& range, size_t bytes);
  Status TimedOutIn(const RangeLocks& ranges, const RangeHold& wanted,
                    std::chrono::milliseconds timeout);
  // Calls change(), which takes locks.
  template <typename F>
  void Change(RangeLocks* ranges, const F& change);
  // Calls release(), which returns what it gave back, and gives that on to whoever waits.
  template <typename F>
  void HandOnIn(RangeLocks* ranges, const F& release);
  void GiveToLine(RangeLocks* ranges) SLUICE_REQUIRES(waits_mutex_);

  std::array<Shard, kShards> shards_;
  // Taken before those of ranges, and these before a shard's.
  Mutex ranges_mutex_;
  // One for each sub-table in which a range was ever locked, until it is dropped.
  RangesById ranges_ SLUICE_GUARDED_BY(ranges_mutex_);
  MemoryBudget& budget_;
  // Guards the waits-for graph: who waits, and the holders and lines of locks that are waited for.
  // Taken after a shard's, or that of a RangeLocks.
  Mutex waits_mutex_;
  std::vector<Owner*> waiting_ SLUICE_GUARDED_BY(waits_mutex_);  // in no order
  uint64_t searches_ SLUICE_GUARDED_BY(waits_mutex_) = 0;
  std::atomic<uint64_t> held_{0};
  std::atomic<uint64_t> waits_{0};
  std::atomic<uint64_t> deadlocks_{0};
  std::atomic<uint64_t> timeouts_{0};
};

}  // namespace sluice
