// What the transactions of a database share: memory, row locks, counters, and those that are
// prepared.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "log/log_format.h"
#include "sluice/statistics.h"
#include "sluice/status.h"
#include "txn/lock_table.h"
#include "txn/memory_budget.h"
#include "util/mutex.h"

namespace sluice {

// A transaction in the second phase of two: the log holds all that its commit needs, and it has its
// locks, whether or not a Transaction is held for it.
struct PreparedTransaction {
  explicit PreparedTransaction(MemoryBudget* budget) : memory(budget) {}

  // Once all else is set.
  void CountMemory() { memory.Set(sizeof(*this) + name.size() + writes.size()); }

  std::string name;
  std::string writes;  // batch_format.h
  uint32_t count = 0;  // of them
  std::shared_ptr<LockTable::Owner> locks;
  MemoryShare memory;         // that of the locks is the lock table's
  LogPosition log_begin = 0;  // its record in the log is not before
  bool in_use = false;        // by a Transaction; under the registry's mutex
};
using PreparedPtr = std::shared_ptr<PreparedTransaction>;

// What a replay of the log has found of transactions that are prepared, by name.
struct LoggedTransaction {
  LogPosition begin = 0;  // of its record, or before
  std::string entries;    // batch_format.h
};
using LoggedTransactions = std::map<std::string, LoggedTransaction>;

// The prepared transactions that are not resolved yet. Thread-safe.
class PreparedTransactions {
 public:
  // InvalidArgument if there is one of this name. `log_end()` is called with the registry locked:
  // who asks for OldestInLog later learns of it.
  template <typename F>
  Status Add(const PreparedPtr& transaction, const F& log_end) {
    const MutexLock lock(mutex_);
    if (!by_name_.emplace(transaction->name, transaction).second) {
      return Status::InvalidArgument("a prepared transaction has this name: " + transaction->name);
    }
    transaction->log_begin = log_end();
    return {};
  }
  void Remove(const PreparedTransaction& transaction) {
    const MutexLock lock(mutex_);
    by_name_.erase(transaction.name);
  }
  // NotFound, or Busy if it is in use.
  Status Take(std::string_view name, PreparedPtr* transaction) {
    const MutexLock lock(mutex_);
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      return Status::NotFound("no prepared transaction has this name: " + std::string(name));
    }
    if (std::exchange(found->second->in_use, true)) {
      return Status::Busy("the prepared transaction is in use: " + std::string(name));
    }
    *transaction = found->second;
    return {};
  }
  void GiveBack(PreparedTransaction* transaction) {
    const MutexLock lock(mutex_);
    transaction->in_use = false;
  }
  // Ascending; those for which `wanted(transaction)`, if there is one, which is called unlocked.
  std::vector<std::string> Names(
      const std::function<bool(const PreparedTransaction& transaction)>& wanted = {}) const {
    std::vector<PreparedPtr> all;
    {
      const MutexLock lock(mutex_);
      for (const auto& [name, transaction] : by_name_) {
        all.push_back(transaction);
      }
    }
    std::vector<std::string> names;
    for (const PreparedPtr& transaction : all) {
      if (!wanted || wanted(*transaction)) {
        names.push_back(transaction->name);
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // No record of them in the log is before.
  LogPosition OldestInLog() const {
    const MutexLock lock(mutex_);
    LogPosition oldest = ~LogPosition{0};
    for (const auto& [name, transaction] : by_name_) {
      oldest = std::min(oldest, transaction->log_begin);
    }
    return oldest;
  }
  size_t size() const {
    const MutexLock lock(mutex_);
    return by_name_.size();
  }

 private:
  mutable Mutex mutex_;
  // By the transactions' own names. No tree: each commit in two phases looks here three times, and to
  // find its way among its neighbours, which other threads have just written, would cost most of it.
  std::unordered_map<std::string_view, PreparedPtr> by_name_ SLUICE_GUARDED_BY(mutex_);
};

// Thread-safe.
struct Transactions {
  TransactionStatistics GetStatistics() const {
    const LockTable::Stats lock_stats = locks.stats();
    return {.active = active.load(std::memory_order_relaxed),
            .prepared = prepared.size(),
            .locks = lock_stats.held,
            .committed = committed.load(std::memory_order_relaxed),
            .lock_waits = lock_stats.waits,
            .lock_timeouts = lock_stats.timeouts,
            .deadlocks = lock_stats.deadlocks,
            .conflicts = conflicts.load(std::memory_order_relaxed),
            .memory_bytes = memory.used(),
            .memory_limit_bytes = memory.limit()};
  }

  MemoryBudget memory;
  LockTable locks{&memory};
  PreparedTransactions prepared;
  std::atomic<uint64_t> next_id{1};
  std::atomic<uint64_t> active{0};
  std::atomic<uint64_t> committed{0};
  std::atomic<uint64_t> conflicts{0};
};

}  // namespace sluice
