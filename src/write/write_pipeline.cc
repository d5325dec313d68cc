#include "write/write_pipeline.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "util/check.h"

namespace sluice {

namespace {

// A thread's asynchronous writes look only so often whether they should give way: many writes from
// few threads go on beside a thread that never stops to write and wait.
constexpr unsigned kGiveWayEvery = 4;

// std::atomic's wait gives the CPU away several times before it sleeps. Where more threads write
// than there are CPUs, each time costs two switches, and in vain if a disk is waited for.
void SleepWhileWaiting(std::atomic<uint32_t>* state) {
  uint32_t seen = WriteTask::kWaiting;
  if (state->compare_exchange_strong(seen, WriteTask::kAsleep, std::memory_order_acquire)) {
    seen = WriteTask::kAsleep;
  }
  while (seen == WriteTask::kAsleep) {
    (void)::syscall(SYS_futex, state, FUTEX_WAIT_PRIVATE, WriteTask::kAsleep, nullptr, nullptr, 0);
    seen = state->load(std::memory_order_acquire);
  }
}

// With kDone, the task may be gone at once: who is woken is no more than an address.
void SetState(std::atomic<uint32_t>* state, WriteTask::State to) {
  if (state->exchange(to, std::memory_order_acq_rel) == WriteTask::kAsleep) {
    (void)::syscall(SYS_futex, state, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
}

// Whether somebody goes on only when it is done. An empty one is there only to be waited for.
bool IsAwaited(const WriteTask& task) { return !task.asynchronous || task.count == 0; }

}  // namespace

// While it lives, a blocking writer waits.
class WritePipeline::Urgency {
 public:
  explicit Urgency(WritePipeline* pipeline) : urgent_(pipeline->urgent_) {
    urgent_.fetch_add(1, std::memory_order_relaxed);
  }
  Urgency(const Urgency&) = delete;
  Urgency& operator=(const Urgency&) = delete;
  ~Urgency() { urgent_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  std::atomic<size_t>& urgent_;
};

void WritePipeline::Gate::Enter(size_t bytes, size_t most) {
  while (closed_.load() != 0) {
    closed_.wait(1);
  }
  if (bytes_.fetch_add(bytes) + bytes > most) {
    closed_.store(1);
    // Those who leave may not have seen it.
    if (bytes_.load() <= most / 2) {
      Open();
    }
  }
}

void WritePipeline::Gate::Leave(size_t bytes, size_t most) {
  if (bytes_.fetch_sub(bytes) - bytes <= most / 2 && closed_.load() != 0) {
    Open();
  }
}

void WritePipeline::Gate::Open() {
  closed_.store(0);
  closed_.notify_all();
}

struct WritePipeline::AsyncTask : WriteTask {
  std::string owned;
  WriteCallback callback;

  size_t bytes() const { return sizeof(*this) + batch.size(); }
};

// A stack that writers push on, and its leader takes whole.
class alignas(64) WritePipeline::Queue {
 public:
  // Whether the caller is to lead.
  bool Push(WriteTask* task) {
    WriteTask* head = head_.load(std::memory_order_relaxed);
    do {
      task->next = head;
    } while (!head_.compare_exchange_weak(head, task, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return head == nullptr;
  }
  // By the leader: what was pushed, oldest first.
  WriteTask* TakeAll() {
    WriteTask* newest = head_.exchange(&led_, std::memory_order_acq_rel);
    WriteTask* oldest = nullptr;
    while (newest != nullptr && newest != &led_) {
      WriteTask* const next = std::exchange(newest->next, oldest);
      oldest = std::exchange(newest, next);
    }
    return oldest;
  }
  // By the leader, who leads no longer if it is true: nothing was pushed since.
  bool Leave() {
    WriteTask* expected = &led_;
    return head_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel);
  }

  Gate queued;  // asynchronous tasks that no leader has taken yet
  // By the leader: bytes that joined a group after its admission, to be admitted with the next one.
  size_t unadmitted = 0;

 private:
  // Null: empty, and without a leader; &led_: empty, and being led.
  std::atomic<WriteTask*> head_{nullptr};
  WriteTask led_;
};

WritePipeline::WritePipeline(WriteStages* stages) : stages_(*stages) {}

WritePipeline::WritePipeline(size_t queues, WriteStages* stages) : WritePipeline(stages) {
  for (size_t i = 0; i < queues; ++i) {
    queues_.push_back(std::make_unique<Queue>());
  }
  flusher_.emplace(static_cast<FlushSteps*>(this));
  const size_t leaders =
      std::min<size_t>(queues, std::max(1u, std::thread::hardware_concurrency()));
  for (size_t i = 0; i < leaders; ++i) {
    leaders_.emplace_back([this] { LeadLoop(); });
  }
}

WritePipeline::~WritePipeline() {
  {
    const MutexLock lock(left_mutex_);
    no_more_left_ = true;
  }
  left_due_.notify_all();
  for (std::thread& leader : leaders_) {
    leader.join();
  }
  { const ExclusiveWrites drained(this); }
  flusher_.reset();
}

WritePipeline::Queue* WritePipeline::QueueOfThread() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return queues_[number % queues_.size()].get();
}

Status WritePipeline::Write(std::string_view batch, uint32_t count, bool sync, char* headroom) {
  if (groups_without_blocking_.load(std::memory_order_relaxed) != 0) {
    groups_without_blocking_.store(0, std::memory_order_relaxed);
  }
  // What nobody can see need not be durable before it is in its place.
  const bool flush_last = sync && count == 0;
  const bool has_turn = !flush_last || !MayPassBy(batch);
  if (has_turn) {
    WriteTask task;
    task.batch = batch;
    task.count = count;
    task.sync = sync && !flush_last;
    task.headroom = headroom;
    WriteThrough(QueueOfThread(), &task);
    SLUICE_RETURN_IF_ERROR(task.status);
  }
  return flush_last ? AwaitFlush() : Status();
}

void WritePipeline::WriteThrough(Queue* queue, WriteTask* task) {
  if (queue->Push(task)) {
    Lead(queue, queue->TakeAll(), task, kMaxGroupsPerLeader);
  }
  uint32_t state;
  while ((state = task->state.load(std::memory_order_acquire)) != WriteTask::kDone) {
    if (state == WriteTask::kLead) {
      task->state.store(WriteTask::kWaiting, std::memory_order_relaxed);
      Lead(queue, task->to_lead, task, kMaxGroupsPerLeader);
    } else {
      const Urgency urgency(this);
      SleepWhileWaiting(&task->state);
    }
  }
}

// Tasks of a queue keep their order.
void WritePipeline::Drain() {
  for (const std::unique_ptr<Queue>& queue : queues_) {
    WriteTask task;
    WriteThrough(queue.get(), &task);
  }
}

void WritePipeline::WriteAsync(std::string batch, uint32_t count, bool sync,
                               WriteCallback callback) {
  auto* const task = new AsyncTask;
  task->owned = std::move(batch);
  task->callback = std::move(callback);
  task->batch = task->owned;
  task->count = count;
  task->sync = sync;
  task->asynchronous = true;
  GateOf(*task).Enter(task->bytes(), kMostInFlightBytes);
  if (sync && count == 0 && MayPassBy(task->batch)) {
    return AwaitFlushOf(task);
  }
  GiveWay();
  Queue* const queue = QueueOfThread();
  queue->queued.Enter(task->bytes(), MostQueuedBytes());
  if (queue->Push(task)) {
    Lead(queue, queue->TakeAll(), nullptr, 1);  // its own
  }
}

void WritePipeline::GiveWay() {
  thread_local unsigned writes = 0;
  if (urgent_.load(std::memory_order_relaxed) > 0 && ++writes % kGiveWayEvery == 0) {
    ::sched_yield();
  }
}

bool WritePipeline::MayPassBy(std::string_view batch) const {
  // Only the stages know where a log ends that nothing was written to yet.
  return batch.empty() && in_flight_.empty() && appended_.load(std::memory_order_relaxed) != 0;
}

bool WritePipeline::Flushed(LogPosition end, Status* status) {
  const MutexLock lock(commit_mutex_);
  *status = durable_ < end ? failed_ : Status();
  return !status->ok() || durable_ >= end;
}

void WritePipeline::AwaitFlushOf(WriteTask* task) {
  WriteGroup* const group = &task->group;
  group->tasks = group->last = task;
  group->sync = true;
  group->first_sequence = 1;  // and the last one 0: it writes nothing
  group->log_end = appended_.load(std::memory_order_acquire);
  if (Status status; Flushed(group->log_end, &status)) {
    return Complete(task, status);
  }
  {
    const MutexLock lock(commit_mutex_);
    group->next = std::exchange(unseen_, group);
  }
  flusher_->Want(1);
}

Status WritePipeline::AwaitFlush() {
  const LogPosition end = appended_.load(std::memory_order_acquire);
  Status status;
  if (Flushed(end, &status)) {
    return status;
  }
  const Urgency urgency(this);
  flusher_->Await();
  SLUICE_CHECK(Flushed(end, &status));
  return status;
}

void WritePipeline::Lead(Queue* queue, WriteTask* list, const WriteTask* own, int groups) noexcept {
  for (;;) {
    if (list == nullptr) {
      if (queue->Leave()) {
        return;
      }
      list = queue->TakeAll();
    }
    if (own == nullptr && groups-- == 0) {
      HandOver(queue, list);
      return;
    }
    const bool before_own = own != nullptr;
    WriteGroup* group;
    size_t queued_bytes = 0;
    WriteTask* const rest = MakeGroup(list, &group, &queued_bytes);
    for (const WriteTask* task = list; own != nullptr && task != nullptr; task = task->next) {
      own = task == own ? nullptr : own;
    }
    list = rest;
    stages_.Admit(*group, std::exchange(queue->unadmitted, 0));
    LockOrder(*group);
    if (list == nullptr) {
      const size_t admitted = group->bytes;
      list = Extend(group, queue->TakeAll(), &queued_bytes);
      queue->unadmitted = group->bytes - admitted;
    }
    Process(group, before_own && own == nullptr);
    if (queued_bytes > 0) {
      queue->queued.Leave(queued_bytes, MostQueuedBytes());
    }
  }
}

void WritePipeline::LockOrder(const WriteGroup& group) {
  if (!order_mutex_.try_lock()) {
    std::optional<Urgency> urgency;
    if (!group.tasks->asynchronous) {
      urgency.emplace(this);
    }
    order_mutex_.lock();
  }
}

void WritePipeline::HandOver(Queue* queue, WriteTask* list) {
  WriteTask* successor = list;
  while (successor != nullptr && successor->asynchronous) {
    successor = successor->next;
  }
  if (successor != nullptr) {
    successor->to_lead = list;
    SetState(&successor->state, WriteTask::kLead);
    return;
  }
  const MutexLock lock(left_mutex_);
  left_.emplace_back(queue, list);
  left_due_.notify_one();
}

void WritePipeline::LeadLoop() {
  ::pthread_setname_np(::pthread_self(), "slc-write");
  MutexLock lock(left_mutex_);
  for (;;) {
    while (left_.empty() && !no_more_left_) {
      left_due_.wait(lock);
    }
    if (left_.empty()) {
      return;
    }
    const auto [queue, list] = left_.front();
    left_.pop_front();
    lock.unlock();
    Lead(queue, list, nullptr, kMaxGroupsPerLeader);
    lock.lock();
  }
}

WriteTask* WritePipeline::MakeGroup(WriteTask* list, WriteGroup** group, size_t* queued_bytes) {
  *group = &list->group;
  (*group)->tasks = (*group)->last = nullptr;
  (*group)->bytes = 0;
  (*group)->sync = list->sync;
  (*group)->must_switch = (*group)->must_wait = false;
  return Extend(*group, list, queued_bytes);
}

WriteTask* WritePipeline::Extend(WriteGroup* group, WriteTask* list, size_t* queued_bytes) {
  while (list != nullptr &&
         (group->tasks == nullptr ||
          (list->sync == group->sync && group->bytes + list->batch.size() <= kGroupBytes))) {
    WriteTask* const task = std::exchange(list, list->next);
    task->next = nullptr;
    (group->tasks == nullptr ? group->tasks : group->last->next) = task;
    group->last = task;
    group->bytes += task->batch.size();
    *queued_bytes += task->asynchronous ? static_cast<const AsyncTask*>(task)->bytes() : 0;
  }
  return list;
}

void WritePipeline::Process(WriteGroup* group, bool own) {
  // The group is gone after its last stage.
  const bool sync = group->sync;
  size_t blocking = 0;
  size_t awaited = 0;
  for (const WriteTask* task = group->tasks; task != nullptr; task = task->next) {
    blocking += task->asynchronous ? 0 : 1;
    awaited += IsAwaited(*task) ? 1 : 0;
  }
  Status refused;
  {
    const MutexLock order(order_mutex_, std::adopt_lock);
    const uint32_t without = groups_without_blocking_.load(std::memory_order_relaxed);
    if (blocking == 0 && without < kGroupsWithoutBlocking) {
      groups_without_blocking_.store(without + 1, std::memory_order_relaxed);
    }
    refused = stages_.BufferLog(group);
    if (refused.ok()) {
      appended_.store(group->log_end, std::memory_order_release);
      const MutexLock lock(commit_mutex_);
      (last_ != nullptr ? last_->next : first_) = group;
      last_ = group;
    }
  }
  if (!refused.ok()) {
    const bool must_switch = group->must_switch;
    Refuse(group->tasks, refused, group->must_wait);
    if (must_switch) {
      SwitchMemtables();
    }
    return;
  }
  const bool flush_own = sync && own && awaited == 1 && flusher_->BeginOwn();
  if (sync && !flush_own) {
    flusher_->Want(awaited);
  }
  const bool full = stages_.Insert(*group);
  if (flush_own) {
    {
      const MutexLock lock(commit_mutex_);
      group->inserted = true;
    }
    flusher_->RunOwn();
  } else {
    Commit(group);
  }
  if (full) {
    SwitchMemtables();
  }
}

void WritePipeline::SwitchMemtables() {
  const ExclusiveWrites exclusive(this);
  stages_.SwitchFullMemtables();
}

// A full device takes deletions: they are not refused for what shares their group.
void WritePipeline::Refuse(WriteTask* tasks, const Status& status, bool wait) {
  const bool again =
      wait || tasks->next != nullptr;  // what is wrong with one takes no others with it
  while (tasks != nullptr) {
    WriteTask* const task = std::exchange(tasks, tasks->next);
    if (again) {
      WriteGroup* group;
      size_t queued_bytes = 0;
      task->next = nullptr;
      MakeGroup(task, &group, &queued_bytes);
      if (wait) {
        stages_.Admit(*group, 0);
      }
      LockOrder(*group);
      Process(group, /*own=*/false);
    } else {
      Complete(task, status);
    }
  }
}

size_t WritePipeline::Commit(WriteGroup* inserted) {
  WriteGroup* done = nullptr;
  Status status;
  {
    const MutexLock lock(commit_mutex_);
    if (inserted != nullptr) {
      inserted->inserted = true;
    }
    status = failed_;
    const auto durable = [&](const WriteGroup& group) SLUICE_REQUIRES(commit_mutex_) {
      return !status.ok() || !group.sync || durable_ >= group.log_end;
    };
    WriteGroup** done_end = &done;
    const auto finish = [&](WriteGroup* group) {
      group->next = nullptr;
      *done_end = group;
      done_end = &group->next;
    };
    for (WriteGroup** at = &unseen_; *at != nullptr;) {
      WriteGroup* const group = *at;
      if (durable(*group)) {
        *at = group->next;
        finish(group);
      } else {
        at = &group->next;
      }
    }
    std::optional<SequenceNumber> visible;
    while (first_ != nullptr && first_->inserted) {
      WriteGroup* const group = first_;
      const bool writes = group->last_sequence >= group->first_sequence;
      if (writes && !durable(*group)) {
        break;
      }
      first_ = group->next;
      if (writes) {
        visible = group->last_sequence;
      }
      if (durable(*group)) {
        finish(group);
      } else {
        group->next = std::exchange(unseen_, group);
      }
    }
    if (visible && status.ok()) {
      stages_.Publish(*visible);
    }
    if (first_ == nullptr) {
      last_ = nullptr;
      if (unseen_ == nullptr) {
        drained_.notify_all();
      }
    }
  }
  size_t blocked = 0;
  while (done != nullptr) {
    WriteTask* task = done->tasks;
    done = done->next;
    while (task != nullptr) {
      blocked += task->sync && IsAwaited(*task) ? 1 : 0;
      Complete(std::exchange(task, task->next), status);
    }
  }
  return blocked;
}

void WritePipeline::Complete(WriteTask* task, const Status& status) {
  if (task->asynchronous) {
    const std::unique_ptr<AsyncTask> owned(static_cast<AsyncTask*>(task));
    owned->callback(status);
    GateOf(*owned).Leave(owned->bytes(), kMostInFlightBytes);
    return;
  }
  task->status = status;
  SetState(&task->state, WriteTask::kDone);
}

void WritePipeline::Flush() {
  LogPosition durable = 0;
  const Status status = stages_.FlushLog(&durable);
  {
    const MutexLock commit(commit_mutex_);
    durable_ = std::max(durable_, durable);
    if (!status.ok()) {
      failed_ = status;
    }
  }
  if (!status.ok()) {
    stages_.Failed(status);
  }
}

}  // namespace sluice
