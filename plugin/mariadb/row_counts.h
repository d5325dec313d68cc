// The rows that a transaction has added to tables, less those that it has removed. Tables count them at
// once, for the optimizer; here is what must be taken back with the writes that are undone.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::mariadb {

// A table's, which may be closed before the transaction ends.
using RowCounter = std::shared_ptr<std::atomic<int64_t>>;

class RowCounts {
 public:
  // A row was written while so many savepoints were set.
  void Add(const RowCounter& rows, int64_t difference, size_t savepoints) {
    rows->fetch_add(difference, std::memory_order_relaxed);
    if (counts_.empty() || counts_.back().rows != rows || counts_.back().savepoints != savepoints) {
      counts_.push_back({rows, 0, savepoints});
    }
    counts_.back().difference += difference;
  }
  // All that was written while more savepoints were set is undone.
  void TakeBack(size_t savepoints) {
    while (!counts_.empty() && counts_.back().savepoints > savepoints) {
      counts_.back().rows->fetch_sub(counts_.back().difference, std::memory_order_relaxed);
      counts_.pop_back();
    }
  }
  // Savepoints were released: no more than so many are set.
  void Release(size_t savepoints) {
    for (size_t i = counts_.size(); i > 0 && counts_[i - 1].savepoints > savepoints; --i) {
      counts_[i - 1].savepoints = savepoints;
    }
  }
  void TakeBackAll() {
    for (const Count& count : counts_) {
      count.rows->fetch_sub(count.difference, std::memory_order_relaxed);
    }
    counts_.clear();
  }
  // The transaction has ended, and what it wrote stays.
  void Clear() { counts_.clear(); }

 private:
  struct Count {
    RowCounter rows;
    int64_t difference;
    size_t savepoints;  // rises from the first to the last
  };

  std::vector<Count> counts_;
};

}  // namespace sluice::mariadb
