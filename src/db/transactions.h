// What the transactions of a database share.

#pragma once

#include <atomic>
#include <cstdint>

#include "sluice/statistics.h"
#include "txn/lock_table.h"

namespace sluice {

// Thread-safe.
struct Transactions {
  TransactionStatistics GetStatistics() const {
    const LockTable::Stats lock_stats = locks.stats();
    return {.active = active.load(std::memory_order_relaxed),
            .locks = lock_stats.held,
            .committed = committed.load(std::memory_order_relaxed),
            .lock_waits = lock_stats.waits,
            .lock_timeouts = lock_stats.timeouts,
            .deadlocks = lock_stats.deadlocks,
            .conflicts = conflicts.load(std::memory_order_relaxed)};
  }

  LockTable locks;
  std::atomic<uint64_t> next_id{1};
  std::atomic<uint64_t> active{0};
  std::atomic<uint64_t> committed{0};
  std::atomic<uint64_t> conflicts{0};
};

}  // namespace sluice
