// The way of a write (X-Engine 3.2.2, 3.2.3): task queues and a pipeline of four stages.
//
//   task queue    writers push their tasks without a lock; whoever finds its queue empty leads it,
//                 and takes what else comes in as groups through the stages.
//   log buffering groups in turn get their sequence numbers and their place in the log.
//   log flush     one thread syncs the log for all groups that wait for it.
//   memtable      the leaders of all queues at once.
//   commit        groups become visible in the order of their sequence numbers, only over a prefix
//                 without gaps; then their tasks are completed, by whoever found them ready.
//
// Two things differ from the paper. A group goes to the memtable while the log is flushed and not
// after it: nobody sees it there before it is visible, and a crash forgets both. And log buffering
// is not parallel: copying a record and its CRC cost less than handing it on would.
//
// A blocking write waits for the same machinery that an asynchronous one leaves alone. Thread-safe.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "log/log_format.h"
#include "sluice/db.h"
#include "table/internal_key.h"
#include "util/status.h"

namespace sluice {

struct WriteTask;

// Tasks that share a record of the log. All ask for a sync, or none does: one that does not is not
// made to wait for another's.
struct WriteGroup {
  WriteTask* tasks = nullptr;
  size_t bytes = 0;
  bool sync = false;
  // Set by log buffering.
  SequenceNumber first_sequence = 0;
  SequenceNumber last_sequence = 0;
  LogPosition log_end = 0;

  // The pipeline's.
  bool inserted = false;
  WriteGroup* next = nullptr;
};

struct WriteTask {
  std::string_view batch;  // batch_format.h
  uint32_t count = 0;      // of its writes
  bool sync = false;

  // The pipeline's.
  enum State : uint32_t { kWaiting, kLead, kDone };
  std::atomic<uint32_t> state{kWaiting};
  WriteTask* next = nullptr;     // in its queue or group
  WriteTask* to_lead = nullptr;  // with kLead: the tasks to begin with
  bool asynchronous = false;     // an AsyncTask
  Status status;
  WriteGroup group;  // that this is the first task of
};

// What the pipeline is for; it decides who calls which of these when.
class WriteStages {
 public:
  // Log buffering. One call at a time, and none while an ExclusiveWrites lives.
  virtual Status BufferLog(WriteGroup* group) = 0;
  // Log flush. One call at a time; `*durable`: everything before it is on disk.
  virtual Status FlushLog(LogPosition* durable) = 0;
  // Memtable. Any number of calls at once. Returns whether a memtable is full.
  virtual bool Insert(const WriteGroup& group) = 0;
  // Commit. One call at a time, ascending.
  virtual void Publish(SequenceNumber last) = 0;
  // After an Insert returned true, with nothing in the pipeline; perhaps another call has done it.
  virtual void SwitchFullMemtables() = 0;
  // The log or its flush failed: no write will be taken any more.
  virtual void Failed(const Status& status) = 0;

 protected:
  ~WriteStages() = default;
};

class WritePipeline {
 public:
  // `queues` >= 1.
  WritePipeline(size_t queues, WriteStages* stages);
  WritePipeline(const WritePipeline&) = delete;
  WritePipeline& operator=(const WritePipeline&) = delete;
  // REQUIRES: no call is under way. Completes what is in it.
  ~WritePipeline();

  // Returns when the batch is visible, and durable if `sync`.
  Status Write(std::string_view batch, uint32_t count, bool sync);
  // Calls `callback` then, from whichever thread; it must neither block nor write. Waits only while
  // more than kMostInFlightBytes are in the pipeline.
  void WriteAsync(WriteBatch batch, bool sync, WriteCallback callback);

 private:
  friend class ExclusiveWrites;

  static constexpr size_t kMostInFlightBytes = size_t{64} << 20;
  static constexpr size_t kGroupBytes = size_t{1} << 20;
  // So many groups a leader takes through the stages for others, once its own task is done.
  static constexpr int kFavours = 8;

  struct AsyncTask;
  class Queue;

  Queue* QueueOfThread();
  // Takes the tasks in `list`, and what comes behind them, through the stages, until there are none
  // or somebody else leads. `own`: the caller's, null if asynchronous.
  void Lead(Queue* queue, WriteTask* list, const WriteTask* own);
  // Makes a group of the first tasks of `list`, and returns the others.
  static WriteTask* MakeGroup(WriteTask* list, WriteGroup** group);
  void Process(WriteGroup* group);
  // Commits what is ready; `inserted` (may be null) has become so. Returns how many blocked writers
  // that waited for a sync it completed.
  size_t Commit(WriteGroup* inserted);
  void Complete(WriteTask* task, const Status& status);
  void FlushLoop();

  WriteStages& stages_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::atomic<size_t> in_flight_bytes_{0};  // of asynchronous tasks and their batches

  std::mutex order_mutex_;  // log buffering

  // Taken after order_mutex_. Groups between log buffering and commit, in order.
  std::mutex commit_mutex_;
  std::condition_variable drained_;
  WriteGroup* first_ = nullptr;
  WriteGroup* last_ = nullptr;
  LogPosition durable_ = 0;
  Status failed_;

  // Taken after both.
  std::mutex flush_mutex_;
  std::condition_variable flush_due_;
  bool flush_wanted_ = false;
  size_t blocked_ = 0;   // writers that wait for the next flush
  size_t expected_ = 0;  // that it should wait a moment for
  bool stopping_ = false;
  std::thread flusher_;
};

// While it lives, nothing is in the pipeline, and nothing enters.
class ExclusiveWrites {
 public:
  explicit ExclusiveWrites(WritePipeline* pipeline) : lock_(pipeline->order_mutex_) {
    std::unique_lock lock(pipeline->commit_mutex_);
    pipeline->drained_.wait(lock, [&] { return pipeline->first_ == nullptr; });
  }

 private:
  const std::lock_guard<std::mutex> lock_;
};

}  // namespace sluice
