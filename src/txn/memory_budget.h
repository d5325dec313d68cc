// How much memory all transactions of a database may have together: their buffers and row locks.
//
// Thread-safe. Costs an atomic addition; who takes little at a time takes it by MemoryShare.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "util/status.h"

namespace sluice {

class MemoryBudget {
 public:
  // Without it there is no limit. Called before there are several threads.
  void SetLimit(size_t bytes) { limit_ = bytes; }
  // TooLarge, and nothing is taken, if there would be more than the limit.
  Status Take(size_t bytes);
  // For what must not fail.
  void TakeAnyway(size_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void GiveBack(size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  size_t used() const { return used_.load(std::memory_order_relaxed); }
  size_t limit() const { return limit_; }

 private:
  size_t limit_ = SIZE_MAX;
  std::atomic<size_t> used_{0};
};

// What one has of a budget, rounded up so that it is rarely asked; given back at the end.
// Thread-compatible.
class MemoryShare {
 public:
  explicit MemoryShare(MemoryBudget* budget) : budget_(*budget) {}
  MemoryShare(const MemoryShare&) = delete;
  MemoryShare& operator=(const MemoryShare&) = delete;
  ~MemoryShare() { budget_.GiveBack(bytes_); }

  // At least so many from now on. TooLarge leaves it as it is.
  Status Grow(size_t bytes);
  // So many, whatever the limit.
  void Set(size_t bytes);

 private:
  static constexpr size_t kUnit = 1024;

  static size_t RoundUp(size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

  MemoryBudget& budget_;
  size_t bytes_ = 0;
};

}  // namespace sluice
