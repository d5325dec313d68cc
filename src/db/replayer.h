// Replays the log into memtables with several threads.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "db/write_applier.h"
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

// Add and Drain are called by one thread. Each thread of the replayer takes the records of one
// chunk after another, so two writes of one key may reach its memtable in either order: memtables
// order versions by their sequence numbers.
class Replayer {
 public:
  struct Target {
    SequenceNumber flushed;  // the extents have all records up to this
    Memtable* memtable;
  };

  // `targets`, by sub-table, may be changed after a Drain and before the next Add.
  // `most_queued_bytes`: it takes fewer if that is more than is of use.
  Replayer(const std::map<uint32_t, Target>* targets, size_t threads, size_t most_queued_bytes);
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;
  ~Replayer();

  // Queues a payload that CheckRecord found ok. Waits while too much is queued.
  void Add(std::string_view payload);
  // Waits until all is in the memtables. Returns the sequence number of the last write, 0 if none.
  SequenceNumber Drain();

 private:
  // Starts no threads. The public constructor delegates to it, so that the destructor ends those
  // already started if one cannot be.
  Replayer(const std::map<uint32_t, Target>* targets, size_t most_queued_bytes);

  // Records that follow each other: enough of them that threads rarely meet at the mutex.
  struct Chunk {
    std::string bytes;
    std::vector<size_t> ends;  // of each record
  };
  static constexpr size_t kChunkBytes = size_t{64} << 10;
  static constexpr size_t kMostQueuedBytes = size_t{4} << 20;
  static constexpr size_t kLeastChunks = 4;  // that may be queued

  void Enqueue();
  void Work();
  SequenceNumber ReplayChunk(const Chunk& chunk) const;
  SequenceNumber ReplayRecord(std::string_view payload, WriteApplier* applier) const;

  const std::map<uint32_t, Target>& targets_;
  const size_t most_queued_bytes_;
  const size_t chunk_bytes_;
  Chunk filling_;  // of the thread that adds
  Mutex mutex_;
  CondVar changed_;
  std::deque<Chunk> waiting_ SLUICE_GUARDED_BY(mutex_);
  size_t queued_bytes_ SLUICE_GUARDED_BY(mutex_) = 0;  // of chunks waiting or under way
  bool ended_ SLUICE_GUARDED_BY(mutex_) = false;
  SequenceNumber last_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_;
};

}  // namespace sluice
