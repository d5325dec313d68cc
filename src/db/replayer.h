// Replays the log into memtables with several threads, each for some of the sub-tables.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "log/log_format.h"
#include "mem/memtable.h"
#include "table/internal_key.h"
#include "txn/transactions.h"
#include "util/mutex.h"
#include "util/status.h"

namespace sluice {

// Ok if `payload`, of the log record that begins at `begin`, is well-formed. Applies what it says
// of prepared transactions to `*prepared`.
Status CheckRecord(std::string_view payload, LogPosition begin, LoggedTransactions* prepared);

// Add and Drain are called by one thread.
class Replayer {
 public:
  struct Target {
    SequenceNumber flushed;  // the extents have all records up to this
    Memtable* memtable;
  };

  // `targets`, by sub-table, may be changed after a Drain and before the next Add.
  Replayer(const std::map<uint32_t, Target>* targets, size_t threads);
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;
  ~Replayer();

  // Queues a payload that CheckRecord found ok. Waits while kMostQueuedBytes are queued.
  void Add(std::string_view payload);
  // Waits until all is in the memtables. Returns the sequence number of the last write, 0 if none.
  SequenceNumber Drain();

 private:
  // Starts no threads. The public constructor delegates to it, so that the destructor ends those
  // already started if one cannot be.
  explicit Replayer(const std::map<uint32_t, Target>* targets);

  static constexpr size_t kMostQueuedBytes = size_t{4} << 20;

  void Work(size_t self, size_t threads);
  void Replay(std::string_view payload, size_t self, size_t threads, SequenceNumber* last) const;

  const std::map<uint32_t, Target>& targets_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::shared_ptr<const std::string>> records_ SLUICE_GUARDED_BY(mutex_);
  size_t queued_bytes_ SLUICE_GUARDED_BY(mutex_) = 0;
  uint64_t first_ SLUICE_GUARDED_BY(mutex_) = 0;          // number of the first of records_
  std::vector<uint64_t> done_ SLUICE_GUARDED_BY(mutex_);  // by each thread: records before this one
  bool ended_ SLUICE_GUARDED_BY(mutex_) = false;
  SequenceNumber last_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_;
};

}  // namespace sluice
