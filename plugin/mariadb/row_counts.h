// The rows that a transaction has added to tables, less those that it has removed. Tables count them at
// once, for the optimizer; here is what must be taken back with the writes that are undone.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace sluice::mariadb {

// A table's, which may be closed before the transaction ends.
using RowCounter = std::shared_ptr<std::atomic<int64_t>>;

class RowCounts {
 public:
  // A row was written while so many savepoints were set.
  void Add(const RowCounter& rows, int64_t difference, size_t savepoints) {
    rows->fetch_add(difference, std::memory_order_relaxed);
    Keep(rows, difference, savepoints);
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
    std::vector<Count> released;
    while (!counts_.empty() && counts_.back().savepoints > savepoints) {
      released.push_back(std::move(counts_.back()));
      counts_.pop_back();
    }
    for (const Count& count : released) {
      Keep(count.rows, count.difference, savepoints);
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

  // Adds to what there is of the same table and as many savepoints, as a rule among the last.
  void Keep(const RowCounter& rows, int64_t difference, size_t savepoints) {
    constexpr size_t kLast = 16;
    for (size_t i = counts_.size(); i > 0 && counts_.size() - i < kLast; --i) {
      Count& kept = counts_[i - 1];
      if (kept.savepoints != savepoints) {
        break;
      }
      if (kept.rows == rows) {
        kept.difference += difference;
        return;
      }
    }
    counts_.push_back({rows, difference, savepoints});
  }

  std::vector<Count> counts_;
};

}  // namespace sluice::mariadb
