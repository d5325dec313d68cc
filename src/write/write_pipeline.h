// The way of a write (X-Engine 3.2.2, 3.2.3): task queues and a pipeline of four stages.
//
//   task queue    writers push their tasks without a lock; one that finds its queue empty leads it,
//                 and takes what else comes in through the stages, in groups.
//   log buffering groups in turn get their sequence numbers and their place in the log.
//   log flush     one thread syncs the log for all groups that wait for it; or the only one who
//                 waits does, if that is quicker (flush_thread.h).
//   memtable      the leaders of all queues at once.
//   commit        groups become visible in the order of their sequence numbers, only over a prefix
//                 without gaps; then the thread that found them ready completes their tasks. Those
//                 that write nothing which could be seen (transactions that are prepared) keep no
//                 others waiting for the log's flush.
//
// Two things differ from the paper. A group goes to the memtable while the log is flushed and not
// after it: no reader sees it there before it is visible, and a crash forgets both. And log
// buffering is not parallel: copying a record and its CRC cost less than handing it on would.
//
// A blocking write waits for the same machinery that an asynchronous one leaves alone.
//
// An empty write only waits for the log's flush: it passes the queues by, where it would part the
// groups of those that write, unless asynchronous writes are under way, which it must not overtake.
//
// Who leads does so for a bounded number of groups, then hands the rest to the first blocking
// writer in line, or to a thread of the pipeline: no caller does others' work for ever.
// Asynchronous writes that wait in the queues are kept few, so that a blocking one after them,
// which may not overtake those of its own thread, soon has its turn. And while a blocking writer
// waits, threads that write asynchronously let others have their CPUs: with more threads than CPUs,
// the one whose group comes before the writer's would else be out for as long as theirs are in.
// Thread-safe.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "log/log_format.h"
#include "sluice/db.h"
#include "table/internal_key.h"
#include "util/mutex.h"
#include "util/status.h"
#include "write/flush_thread.h"

namespace sluice {

struct WriteTask;

// Tasks that share a record of the log. All ask for a sync, or none does: one that does not is not
// made to wait for another's.
struct WriteGroup {
  WriteTask* tasks = nullptr;
  WriteTask* last = nullptr;
  size_t bytes = 0;
  bool sync = false;
  // Set by log buffering.
  LogPosition log_begin = 0;  // its record is not before
  SequenceNumber first_sequence = 0;
  SequenceNumber last_sequence = 0;
  LogPosition log_end = 0;
  bool must_switch = false;  // it is refused, and SwitchFullMemtables is to be called
  bool must_wait = false;    // it is refused, and what is in it is to be admitted again

  // The pipeline's.
  bool inserted = false;
  WriteGroup* next = nullptr;
};

struct WriteTask {
  std::string_view batch;  // batch_format.h
  uint32_t count = 0;      // of its writes
  bool sync = false;
  // If not null, kHeadroom bytes right before the batch, for log buffering to write to.
  static constexpr size_t kHeadroom = 10;
  char* headroom = nullptr;

  // The pipeline's.
  enum State : uint32_t { kWaiting, kAsleep, kLead, kDone };
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
  // Before log buffering, by any number of calls at once. May wait until there is room for the group
  // and for `more` bytes, which were written without.
  virtual void Admit(const WriteGroup& group, size_t more) = 0;
  // Log buffering. One call at a time, and none while an ExclusiveWrites lives.
  // After NoSpace the tasks of the group come again, each in a group of its own.
  virtual Status BufferLog(WriteGroup* group) = 0;
  // Log flush. One call at a time; `*durable`: everything before it is on disk.
  virtual Status FlushLog(LogPosition* durable) = 0;
  // Memtable. Any number of calls at once. Returns whether a memtable is full.
  virtual bool Insert(const WriteGroup& group) = 0;
  // Commit. One call at a time, ascending.
  virtual void Publish(SequenceNumber last) = 0;
  // After an Insert returned true, or log buffering asked for it, with nothing in the pipeline;
  // perhaps another call has done it.
  virtual void SwitchFullMemtables() = 0;
  // The log or its flush failed: no write will be taken any more.
  virtual void Failed(const Status& status) = 0;

 protected:
  ~WriteStages() = default;
};

class WritePipeline : private FlushSteps {
 public:
  // `queues` >= 1.
  WritePipeline(size_t queues, WriteStages* stages);
  WritePipeline(const WritePipeline&) = delete;
  WritePipeline& operator=(const WritePipeline&) = delete;
  // REQUIRES: no call is under way. Completes what is in it.
  ~WritePipeline();

  // Returns when the batch is visible, and durable if `sync`. `headroom`: as in WriteTask.
  Status Write(std::string_view batch, uint32_t count, bool sync, char* headroom = nullptr);
  // Calls `callback` then, from whichever thread; it must neither block nor write. Waits only while
  // the thread's queue has MostQueuedBytes, or the pipeline kMostInFlightBytes.
  void WriteAsync(std::string batch, uint32_t count, bool sync, WriteCallback callback);
  // Returns when what was written before, asynchronously too, is through log buffering.
  void Drain();

 private:
  friend class ExclusiveWrites;

  // Without threads: if one cannot be started, the destructor ends the others.
  explicit WritePipeline(WriteStages* stages);

  static constexpr size_t kMostInFlightBytes = size_t{64} << 20;
  // Of each queue. A blocking writer waits for what is in its queue, so that is little while there
  // are any; otherwise as much as keeps a thread that leads and has lost its CPU from stopping others.
  static constexpr size_t kMostQueuedBytes = size_t{1} << 20;
  static constexpr size_t kMostQueuedBesideBlocking = size_t{32} << 10;
  // There are none after so many groups without one: a fraction of a second of asynchronous writes.
  static constexpr uint32_t kGroupsWithoutBlocking = 1 << 16;
  static constexpr size_t kGroupBytes = size_t{1} << 20;
  // The most groups that a leader processes for others once its own write is complete.
  static constexpr int kMaxGroupsPerLeader = 8;

  struct AsyncTask;
  class Queue;
  class Urgency;

  // Bytes of which there may be `most`; a thread that finds it full waits until half of them are
  // gone.
  class Gate {
   public:
    void Enter(size_t bytes, size_t most);
    void Leave(size_t bytes, size_t most);
    bool empty() const { return bytes_.load() == 0; }

   private:
    void Open();

    std::atomic<size_t> bytes_{0};
    std::atomic<uint32_t> closed_{0};
  };

  Queue* QueueOfThread();
  // Returns once the task is done.
  void WriteThrough(Queue* queue, WriteTask* task);
  size_t MostQueuedBytes() const {
    return groups_without_blocking_.load(std::memory_order_relaxed) < kGroupsWithoutBlocking
               ? kMostQueuedBesideBlocking
               : kMostQueuedBytes;
  }
  void GiveWay();
  Gate& GateOf(const WriteTask& task) { return task.batch.empty() ? empty_in_flight_ : in_flight_; }
  // Whether a synced write of this batch need only wait for the log's flush.
  bool MayPassBy(std::string_view batch) const;
  // Whether the log is durable up to `end`, or cannot become so, which *status says then.
  bool Flushed(LogPosition end, Status* status);
  // Until what log buffering has done is durable.
  Status AwaitFlush();
  // Completes the task, which is empty, then.
  void AwaitFlushOf(WriteTask* task);
  // Takes the tasks in `list`, and those that follow, through the stages, until there are none, or
  // until `groups` groups are through after the one that has `own` (null: from the start on); then
  // another thread leads. Without the memory for that the process ends: other writers' tasks would
  // neither be done nor fail.
  void Lead(Queue* queue, WriteTask* list, const WriteTask* own, int groups) noexcept;
  // Another one is to lead, from `list` on.
  void HandOver(Queue* queue, WriteTask* list);
  void LeadLoop();
  // Makes a group of the first tasks of `list`, and returns the others. Adds the size of its
  // asynchronous ones to `*queued_bytes`.
  static WriteTask* MakeGroup(WriteTask* list, WriteGroup** group, size_t* queued_bytes);
  // The same for a group that has tasks already, with as many of `list` as may join it.
  static WriteTask* Extend(WriteGroup* group, WriteTask* list, size_t* queued_bytes);
  void LockOrder(const WriteGroup& group) SLUICE_ACQUIRE(order_mutex_);
  // Takes the group through the stages, and unlocks order_mutex_ after the first. `own`: the caller
  // waits for one of its tasks.
  void Process(WriteGroup* group, bool own) SLUICE_RELEASE(order_mutex_);
  void Refuse(WriteTask* tasks, const Status& status, bool wait);
  void SwitchMemtables();
  // Commits what is ready; `inserted` (may be null) has become so. Returns how many blocked writers
  // that waited for a sync it completed.
  size_t Commit(WriteGroup* inserted);
  void Complete(WriteTask* task, const Status& status);
  void Flush() override;
  size_t CompleteFlushed() override { return Commit(nullptr); }

  WriteStages& stages_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::atomic<size_t> urgent_{0};  // blocking writers that wait
  Gate in_flight_;                 // asynchronous tasks and their batches
  Gate empty_in_flight_;           // those without a batch
  // Groups since the last blocking write, up to kGroupsWithoutBlocking.
  std::atomic<uint32_t> groups_without_blocking_{kGroupsWithoutBlocking};

  // Queues whose leader has left, with the tasks to begin with.
  Mutex left_mutex_;
  CondVar left_due_;
  std::deque<std::pair<Queue*, WriteTask*>> left_ SLUICE_GUARDED_BY(left_mutex_);
  bool no_more_left_ SLUICE_GUARDED_BY(left_mutex_) = false;
  std::vector<std::thread> leaders_;

  Mutex order_mutex_;                     // log buffering
  std::atomic<LogPosition> appended_{0};  // the end of what it has done; 0: of nothing yet

  // Taken after order_mutex_. Groups between log buffering and commit, in order.
  Mutex commit_mutex_;
  CondVar drained_;
  WriteGroup* first_ SLUICE_GUARDED_BY(commit_mutex_) = nullptr;
  WriteGroup* last_ SLUICE_GUARDED_BY(commit_mutex_) = nullptr;
  // Without writes, and not durable yet: they have left the order.
  WriteGroup* unseen_ SLUICE_GUARDED_BY(commit_mutex_) = nullptr;
  LogPosition durable_ SLUICE_GUARDED_BY(commit_mutex_) = 0;
  Status failed_ SLUICE_GUARDED_BY(commit_mutex_);

  std::optional<FlushThread> flusher_;
};

// While it lives, nothing is in the pipeline, and nothing enters.
class ExclusiveWrites {
 public:
  explicit ExclusiveWrites(WritePipeline* pipeline) : lock_(pipeline->order_mutex_) {
    MutexLock lock(pipeline->commit_mutex_);
    while (pipeline->first_ != nullptr || pipeline->unseen_ != nullptr) {
      pipeline->drained_.wait(lock);
    }
  }

 private:
  const MutexLock lock_;
};

}  // namespace sluice
