// What all open handlers of a table have in common.

#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "engine.h"

namespace sluice::mariadb {

// How a transaction has locked a table's automatic values.
enum class AutoIncrementLock : uint8_t { kNone, kForShare, kForStatement };

class Share : public Handler_share {
 public:
  explicit Share(std::string name);
  ~Share() override;
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  Status Open();
  Status Truncate();

  const std::string& name() const { return name_; }
  // REQUIRES: no Truncate at the same time (the server's metadata locks see to that)
  const TableEntry& entry() const { return entry_; }
  Subtable* subtable(size_t index) const { return entry_.indexes[index].subtable; }

  // The key of a new row without a primary key.
  Status TakeRowId(uint64_t* id);
  // Takes `wanted` automatic values, `increment` apart, of those that are `offset` plus a multiple. For
  // a statement that is logged as such they are in a row: it locks them (AutoIncrementLock) until it
  // ends. Once there was one, so does everybody else, for share, for this call; Busy if it has not.
  Status TakeAutoIncrement(uint64_t offset, uint64_t increment, uint64_t wanted,
                           AutoIncrementLock lock, uint64_t* first);
  // A value that was given, and must not be given again. Busy likewise.
  Status UsedAutoIncrement(uint64_t value, AutoIncrementLock lock);
  uint64_t next_auto_increment();
  // The counter was written, and goes on from there. REQUIRES: nobody else takes values
  void SetAutoIncrement(uint64_t next);

  // An estimate of the number of rows.
  uint64_t rows() const;
  // A row was written or deleted: by the session, or by nobody who could undo it.
  void CountRow(Session* session, int64_t difference) {
    if (session != nullptr) {
      session->CountRow(rows_, difference);
    } else {
      rows_->fetch_add(difference, std::memory_order_relaxed);
    }
    written_.fetch_add(1, std::memory_order_relaxed);
  }

  // Whether so much was written since the statistics were made that new ones are due. Only one
  // caller is told so, who makes them.
  bool TakeStatisticsDue();
  // Keeps statistics, in the dictionary, too.
  Status KeepStatistics(TableStatistics statistics);
  // How often the same values occur in an index (TableStatistics::same). Empty if it is not known.
  std::vector<uint64_t> SameIn(uint64_t index);
  // Changes with what SameIn says.
  uint64_t statistics_version() const {
    return statistics_version_.load(std::memory_order_acquire);
  }

  THR_LOCK lock;

 private:
  // Numbers from `next` on, of which those below `reserved` may be used after a crash, too.
  struct Numbers {
    Counter counter;
    uint64_t step;  // reserved at once
    uint64_t next = 1;
    uint64_t reserved = 1;
  };

  Status Load();
  Status Reserve(Numbers* numbers, uint64_t next);
  void SetDue();

  const std::string name_;
  TableEntry entry_;
  std::mutex mutex_;  // guards these three
  Numbers row_ids_{Counter::kRowId, 1 << 16};
  Numbers auto_increment_{Counter::kAutoIncrement, 1 << 10};
  bool auto_increment_locked_ = false;  // some statement has locked them, or did
  const RowCounter rows_ = std::make_shared<std::atomic<int64_t>>(0);
  std::atomic<uint64_t> written_ = 0;  // rows, since the statistics were made
  std::atomic<uint64_t> due_at_ = 0;   // so many, new statistics are due
  std::atomic<uint64_t> statistics_version_ = 0;
  TableStatistics statistics_;  // guarded by mutex_
};

}  // namespace sluice::mariadb
