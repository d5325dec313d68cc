// Row locks of transactions: shared or exclusive, held by (sub-table, key) until their owner gives
// them back, which with two-phase locking is when it ends (X-Engine 3).
//
// An owner that cannot have a lock waits in line: locks are handed on in the order in which they
// were asked for, so that a writer does not wait for readers that came after it. Only an owner that
// shares the lock and wants it for itself goes in front: all who are in line wait for it anyway. A
// wait ends with the lock, when its time is up, or when somebody cancels it. It does not begin if
// the owner would wait for itself.
//
// Whoever is in line waits for all holders of the lock but itself, be it because their mode
// excludes its own, or because that of somebody before it does, who waits for them. These edges of
// the waits-for graph come only from waits that begin: when a lock changes hands it goes to the one
// in front, for which those behind waited before, too. So an edge closes a cycle only when it is
// drawn. Hence a deadlock is found when, and only when, a wait begins, by following the edges from
// there; who would have closed the cycle is the victim. Two owners that share a lock and both want
// it for themselves are one.
//
// Thread-safe; an owner is used by one thread at a time, except for CancelWaits. A lock that is
// free costs a hash lookup under a mutex of one of many shards; only waits share a mutex. Memory,
// which the budget counts for each who has a lock or waits for it: kLockBytes and the key.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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
    std::unique_ptr<Others> others{};
  };
  using Locks = std::unordered_map<Row, Lock, RowHash, RowEqual>;
  using Entry = Locks::value_type;

 public:
  // A transaction, as far as its locks go. Gives back what it holds when it is destroyed.
  class Owner {
   public:
    // `id`, for people, names it in messages.
    Owner(LockTable* table, uint64_t id) : table_(*table), id_(id) {}
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    ~Owner() { table_.ReleaseAll(this); }

    uint64_t id() const { return id_; }
    size_t held() const { return held_.size() - holes_; }
    // Calls `call(subtable, key, mode)` for each lock held.
    template <typename F>
    void ForEachHeld(const F& call) const {
      for (const Entry* const entry : held_) {
        if (entry != nullptr) {
          // Nobody else changes the mode of what this owner holds.
          call(entry->first.subtable, std::string_view(entry->first.key), entry->second.mode);
        }
      }
    }

   private:
    friend class LockTable;
    LockTable& table_;
    const uint64_t id_;
    std::vector<Entry*> held_;  // null where it was released alone
    size_t holes_ = 0;
    // Under waits_mutex_:
    Entry* awaited_ = nullptr;
    bool cancelled_ = false;
    const Owner* reached_from_ = nullptr;  // in a search for a cycle
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

  explicit LockTable(MemoryBudget* budget) : budget_(*budget) {}

  // Takes the row's lock for `owner`; ok at once if it holds it in this mode, or exclusively.
  // `*taken`: it did not hold it before, in any mode. `timeout`: 0 does not wait. Deadlock, whose
  // message names the cycle; TimedOut, whose message names the holder; Cancelled; TooLarge, if the
  // budget has no room. After an error the owner holds what it held. One whose wait would have
  // closed a cycle should give back all of it: others of the cycle wait for it.
  Status Acquire(Owner* owner, uint32_t subtable, std::string_view key, LockMode mode,
                 std::chrono::milliseconds timeout, bool* taken);
  // In this mode, or exclusively.
  bool Holds(const Owner& owner, uint32_t subtable, std::string_view key, LockMode mode);
  // Takes back one Acquire of the row. True if that was the last, and the lock is given back.
  // False, too, if it does not hold it.
  bool Release(Owner* owner, uint32_t subtable, std::string_view key);
  void ReleaseShared(Owner* owner);
  void ReleaseAll(Owner* owner);

  // Ends the owner's wait, if it waits, and every later one at once, until AllowWaits. From any
  // thread.
  void CancelWaits(Owner* owner);
  void AllowWaits(Owner* owner);

  Stats stats() const;

 private:
  struct alignas(64) Shard {
    Mutex mutex;
    Locks locks SLUICE_GUARDED_BY(mutex);
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
  void GiveNow(Lock* lock, Owner* owner, LockMode mode, uint32_t position);
  static void Drop(Lock* lock, const Owner* owner);
  Status BeginWait(Owner* owner, Entry* entry, LockMode mode);
  // True if it has the lock. Otherwise it has left the line.
  bool EndWait(Owner* owner, Entry* entry, bool* cancelled);
  Status TimedOut(const Owner& owner, const Entry& entry, LockMode mode,
                  std::chrono::milliseconds timeout);
  static Status Cancelled(const Owner& owner, const Entry& entry);
  // Gives the lock back, and on to whoever waits.
  void HandOn(Shard* shard, Owner* owner, Entry* entry) SLUICE_REQUIRES(shard->mutex);

  // With waits_mutex_, too.
  void GiveToLine(Lock* lock) SLUICE_REQUIRES(waits_mutex_);
  static void LeaveLine(Lock* lock, const Owner* owner);

  // Returns when the owner has what it waits for, it is cancelled, or it is too late.
  void AwaitTurn(Owner* owner, std::chrono::steady_clock::time_point until);
  // Whom a cycle through `victim`, which waits, comes back from; null if there is none.
  const Owner* FindCycle(const Owner* victim) SLUICE_REQUIRES(waits_mutex_);
  static std::string DescribeCycle(const Owner& victim, const Owner& last);

  // Returns the bytes that it took.
  size_t GiveBack(Owner* owner, Entry* entry);
  // Makes room in the list of the locks that it holds.
  void FillHoles(Owner* owner);

  std::array<Shard, kShards> shards_;
  MemoryBudget& budget_;
  // Guards the waits-for graph: who waits, and the holders and lines of locks that are waited for.
  // Taken after a shard's.
  Mutex waits_mutex_;
  uint64_t searches_ SLUICE_GUARDED_BY(waits_mutex_) = 0;
  std::atomic<uint64_t> held_{0};
  std::atomic<uint64_t> waits_{0};
  std::atomic<uint64_t> deadlocks_{0};
  std::atomic<uint64_t> timeouts_{0};
};

}  // namespace sluice
