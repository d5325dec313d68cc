#include "scheduler.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

#include "raw_syscall.h"
#include "stack.h"

namespace sluice::sim {

namespace {

// Without anything done: more than the longest that the engine waits, times many.
constexpr Time kMostIdleTime = Time{3600} * 1000 * 1000 * 1000;
constexpr uint64_t kMostIdlePoints = 200'000'000;
// A thread that is not stopped by anything for so many points makes way for others.
constexpr uint64_t kMostGap = 200'000;

void FutexWait(std::atomic<int>* word, int value) {
  RawSyscall(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
}
void FutexWake(std::atomic<int>* word) {
  RawSyscall(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

}  // namespace

Scheduler* Scheduler::scheduler_ = nullptr;
constinit thread_local Thread* Scheduler::self_ = nullptr;

void Scheduler::Start(uint64_t seed, bool trace) {
  scheduler_ = new Scheduler(seed);
  scheduler_->trace_ = trace;
  Thread* const first = scheduler_->AddThread(nullptr, nullptr);
  first->handle = ::pthread_self();
  first->kernel_id = static_cast<int>(RawSyscall(SYS_gettid, 0, 0, 0, 0, 0, 0));
  first->doing = "runs";
  std::strcpy(first->name, "main");
  scheduler_->running_ = first;
  scheduler_->DrawStrategy();
  self_ = first;
}

void Scheduler::DrawStrategy() {
  priorities_ = Draw(0, 1) != 0;
  // Races need few switches at the right places: most schedules have few.
  most_gap_ = priorities_ ? uint64_t{256} << Draw(0, 9) : uint64_t{1} << Draw(0, 14);
  lowest_priority_ = uint64_t{1} << 32;
  for (const auto& thread : threads_) {
    thread->priority = Draw(uint64_t{1} << 33, uint64_t{1} << 34);
  }
  overtaken_ = false;
  DrawGap();
}

void Scheduler::DrawGap() { left_ = Draw(1, std::min(most_gap_, kMostGap)); }

Thread* Scheduler::AddThread(void* (*run)(void*), void* argument) {
  auto thread = std::make_unique<Thread>();
  thread->number = threads_made_++;
  std::snprintf(thread->name, sizeof(thread->name), "%d", thread->number);
  thread->run = run;
  thread->argument = argument;
  thread->priority = Draw(uint64_t{1} << 33, uint64_t{1} << 34);
  threads_.push_back(std::move(thread));
  return threads_.back().get();
}

Thread* Scheduler::FindThread(pthread_t handle) {
  for (const auto& thread : threads_) {
    if (thread->handle == handle) {
      return thread.get();
    }
  }
  return nullptr;
}

void Scheduler::ForgetThread(Thread* thread) {
  std::erase_if(threads_, [&](const auto& other) { return other.get() == thread; });
}

void* Scheduler::Enter(void* thread) {
  auto* const self = static_cast<Thread*>(thread);
  scheduler_->WaitUntilGone(0);
  self_ = self;
  self->kernel_id = static_cast<int>(RawSyscall(SYS_gettid, 0, 0, 0, 0, 0, 0));
  scheduler_->AwaitBaton();
  return self->run(self->argument);
}

void Scheduler::Leave() {
  Thread* const self = self_;
  self->finished = true;
  self->doing = "has left";
  Wake(self, INT_MAX);
  // What the C library does from here on, with the memory of the thread, for one, is done before
  // anybody else runs.
  gone_ = self->kernel_id;
  self_ = nullptr;
  if (self->detached) {
    Thread* const next = Choose();
    ForgetThread(self);
    SwitchTo(next);
    return;
  }
  SwitchTo(Choose());
}

void Scheduler::Yield() {
  ++points_;
  now_ += kPointTime;
  if (priorities_) {
    self_->priority = --lowest_priority_;
  }
  if (undisturbed_ == 0) {
    self_->doing = "yields";
    self_->at = nullptr;
    PassTime();
    Reschedule();
  }
}

void Scheduler::PassTime() {
  // Mostly what code takes, sometimes what a device or another process does.
  now_ += Draw(0, 99) != 0 ? Draw(0, 2000) : Draw(0, 3'000'000);
}

void Scheduler::Preempt(const char* doing, const void* at) {
  if (undisturbed_ > 0) {
    left_ = 1;
    return;
  }
  self_->doing = doing;
  self_->at = at;
  PassTime();
  if (std::exchange(overtaken_, false)) {
    left_ = left_before_;
  } else {
    DrawGap();
    if (priorities_) {
      self_->priority = --lowest_priority_;
    }
  }
  Reschedule();
}

bool Scheduler::Block(const char* doing, const void* at, Time deadline) {
  if (undisturbed_ > 0) {
    Fail("waits where nobody else may run");
  }
  Thread* const self = self_;
  self->doing = doing;
  self->at = at;
  self->deadline = deadline;
  self->woken = false;
  self->blocked = true;
  Reschedule();
  self->deadline = kNever;
  return self->woken;
}

size_t Scheduler::Wake(const void* at, size_t most) {
  std::vector<Thread*> waiting;
  for (const auto& thread : threads_) {
    if (thread->blocked && thread->at == at) {
      waiting.push_back(thread.get());
    }
  }
  size_t woken = 0;
  for (; woken < most && !waiting.empty(); ++woken) {
    const size_t i = waiting.size() > 1 && most < waiting.size() ? Draw(0, waiting.size() - 1) : 0;
    Thread* const thread = waiting[i];
    waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(i));
    thread->blocked = false;
    thread->woken = true;
    if (priorities_ && self_ != nullptr && thread->priority > self_->priority && !overtaken_ &&
        left_ > 1) {
      overtaken_ = true;
      left_before_ = left_ - 1;
      left_ = 1;
    }
  }
  return woken;
}

Thread* Scheduler::Choose() {
  if (points_ - progress_points_ > kMostIdlePoints || now_ - progress_time_ > kMostIdleTime) {
    Progress();
    Fail("nothing gets done any more");
  }
  for (;;) {
    runnable_.clear();
    Time first = kNever;
    for (const auto& thread : threads_) {
      if (thread->blocked && thread->deadline <= now_) {
        thread->blocked = false;
      }
      if (thread->blocked) {
        first = std::min(first, thread->deadline);
      } else if (!thread->finished) {
        runnable_.push_back(thread.get());
      }
    }
    if (!runnable_.empty()) {
      break;
    }
    if (first == kNever) {
      Fail("deadlock: nobody can run, and nobody waits for a time");
    }
    now_ = first;
    if (now_ - progress_time_ > kMostIdleTime) {
      Fail("nothing gets done but by the end of a wait");
    }
  }
  if (priorities_) {
    return *std::max_element(runnable_.begin(), runnable_.end(),
                             [](auto* a, auto* b) { return a->priority < b->priority; });
  }
  return runnable_.size() == 1 ? runnable_.front() : runnable_[Draw(0, runnable_.size() - 1)];
}

void Scheduler::Reschedule() { SwitchTo(Choose()); }

void Scheduler::SwitchTo(Thread* next) {
  if (next == running_) {
    return;
  }
  ++switches_;
  Note(points_);
  Note(next->number);
  if (trace_) {
    std::printf("%12.6f ms %9lu  %-15s %-14s %p  ->  %s\n", static_cast<double>(now_) / 1e6,
                points_, running_->name, running_->doing, running_->at, next->name);
  }
  running_ = next;
  next->baton.store(1, std::memory_order_release);
  FutexWake(&next->baton);
  if (self_ != nullptr) {
    AwaitBaton();
  }
}

void Scheduler::AwaitBaton() {
  for (;;) {
    while (self_->baton.exchange(0, std::memory_order_acquire) == 0) {
      FutexWait(&self_->baton, 0);
    }
    if (failing_ == nullptr) {
      break;
    }
    PrintThread(*self_);
    failing_->baton.store(1);
    FutexWake(&failing_->baton);
  }
  if (gone_ != 0) {
    WaitUntilGone(std::exchange(gone_, 0));
  }
}

void Scheduler::WaitUntilGone(int kernel_id) const {
  const long process = RawSyscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
  while (kernel_id != 0 && RawSyscall(SYS_tgkill, process, kernel_id, 0, 0, 0, 0) == 0) {
    RawSyscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
  }
}

void Scheduler::Progress() {
  progress_points_ = points_;
  progress_time_ = now_;
}

void Scheduler::PrintThread(const Thread& thread) const {
  std::fprintf(stderr, "\nthread %d, %s: %s %s %p\n", thread.number, thread.name,
               thread.blocked ? "blocked:" : "at:", thread.doing, thread.at);
  PrintStack();
}

void Scheduler::Fail(const std::string& why) {
  if (failing_ != nullptr) {
    ::_exit(1);
  }
  std::fflush(stdout);
  std::fprintf(stderr, "%s\nafter %lu points and %.3f ms\n", why.c_str(), points_,
               static_cast<double>(now_) / 1e6);
  Thread* const self = self_ != nullptr ? self_ : running_;
  failing_ = self;
  PrintThread(*self);
  for (const auto& thread : threads_) {
    if (thread.get() == self || thread->finished || thread->kernel_id == 0) {
      continue;
    }
    self->baton.store(0);
    thread->baton.store(1);
    FutexWake(&thread->baton);
    while (self->baton.exchange(0) == 0) {
      FutexWait(&self->baton, 0);
    }
  }
  ::_exit(1);
}

}  // namespace sluice::sim
