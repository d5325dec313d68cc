// Row locks of transactions: exclusive, held by (sub-table, key) until their owner gives them back,
// which with two-phase locking is when it ends (X-Engine 3).
//
// An owner that finds a row locked waits in line: locks are handed on in the order in which they
// were asked for. It waits until it is its turn, until its time is up, or not at all when it would
// wait for itself: locks are exclusive and an owner waits for one at a time, so the waits-for graph
// has at most one edge out of each owner, and an edge closes a cycle only when it is drawn, never
// when a lock changes hands. Hence a deadlock is found when, and only when, a wait begins, by
// following the edges from there; who would have closed the cycle is the victim.
//
// Thread-safe; an owner is used by one thread at a time. A lock that is free costs a hash lookup
// under a mutex of one of many shards; only waits share a mutex. Memory, which the budget counts
// for each who has a lock or waits for it: kLockBytes and the key.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "txn/memory_budget.h"
#include "util/hash.h"
#include "util/mutex.h"
#include "util/status.h"

namespace sluice {

class LockTable {
 private:
  struct RowView {
    uint32_t subtable;
    std::string_view key;
  };
  struct Row {
    uint32_t subtable;
    std::string key;
  };
  struct RowHash {
    using is_transparent = void;
    static size_t Of(uint32_t subtable, std::string_view key) {
      return Hash64(key) ^ subtable * 0x9e3779b97f4a7c15;
    }
    size_t operator()(const RowView& row) const { return Of(row.subtable, row.key); }
    size_t operator()(const Row& row) const { return Of(row.subtable, row.key); }
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
  struct Lock {
    Owner* owner = nullptr;
    std::vector<Owner*> waiters{};  // in the order in which they came
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
    size_t held() const { return held_.size(); }
    // Calls `call(subtable, key)` for each lock held, in the order in which they were taken.
    template <typename F>
    void ForEachHeld(const F& call) const {
      for (const Entry* const entry : held_) {
        call(entry->first.subtable, std::string_view(entry->first.key));
      }
    }

   private:
    friend class LockTable;
    LockTable& table_;
    const uint64_t id_;
    std::vector<Entry*> held_;
    Entry* awaited_ = nullptr;  // under waits_mutex_
    CondVar turn_;
  };

  struct Stats {
    uint64_t held = 0;  // now
    uint64_t waits = 0;
    uint64_t deadlocks = 0;
    uint64_t timeouts = 0;
  };

  // A node, a bucket, and where it stands in its owner's list.
  static constexpr size_t kLockBytes = 160;

  explicit LockTable(MemoryBudget* budget) : budget_(*budget) {}

  // Takes the row's lock for `owner`; ok at once if it holds it. `*taken`: it did not hold it
  // before. `timeout`: 0 does not wait. Deadlock, whose message names the cycle; TimedOut, whose
  // message names the holder; TooLarge, if the budget has no room. An owner whose wait would have
  // closed a cycle should give back what it holds: others of the cycle wait for it.
  Status Acquire(Owner* owner, uint32_t subtable, std::string_view key,
                 std::chrono::milliseconds timeout, bool* taken);
  // Gives the lock back that was taken last. REQUIRES: it holds one.
  void ReleaseLast(Owner* owner);
  void ReleaseAll(Owner* owner);

  Stats stats() const;

 private:
  static constexpr size_t kShards = 64;

  struct alignas(64) Shard {
    Mutex mutex;
    Locks locks SLUICE_GUARDED_BY(mutex);
  };

  Shard& ShardOf(uint32_t subtable, std::string_view key) {
    // Not by the bits that choose the bucket.
    return shards_[(RowHash::Of(subtable, key) >> 48) % kShards];
  }
  static size_t BytesOf(std::string_view key) { return kLockBytes + key.size(); }
  // Returns the bytes to give back.
  size_t Release(Entry* entry);
  // Draws the edge from `owner` to who holds `entry`, unless that closes a cycle.
  Status BeginWait(Owner* owner, Entry* entry);
  static std::string DescribeCycle(const Owner& victim, const Entry& wanted);

  std::array<Shard, kShards> shards_;
  MemoryBudget& budget_;
  // Guards the waits-for graph: who waits, and the owners of locks that are waited for. Taken after
  // a shard's.
  Mutex waits_mutex_;
  std::atomic<uint64_t> held_{0};
  std::atomic<uint64_t> waits_{0};
  std::atomic<uint64_t> deadlocks_{0};
  std::atomic<uint64_t> timeouts_{0};
};

}  // namespace sluice
