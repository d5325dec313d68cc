#include "write/flush_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <utility>

namespace sluice {

namespace {

constexpr std::chrono::nanoseconds kMostGathering = std::chrono::milliseconds(2);
constexpr int kGatheringShare = 4;  // of the time that the last flush took
// Less than it takes to wake a thread, and to be woken by it.
constexpr std::chrono::microseconds kQuick{20};

// Lets a thread that computes little at a time, and that others wait for, run soon after it is
// woken: a hint to Linux, from 6.12 on.
void AskForShortSlices() {
  // As Linux has it; its header and glibc's exclude each other.
  struct {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;  // nanoseconds
    uint64_t deadline;
    uint64_t period;
  } attributes = {};
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) == 0) {
    attributes.runtime = 100'000;  // the least
    (void)::syscall(SYS_sched_setattr, 0, &attributes, 0);
  }
}

}  // namespace

FlushThread::FlushThread(FlushSteps* steps) : steps_(*steps) {
  thread_ = std::thread([this] { Loop(); });
}

FlushThread::~FlushThread() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  due_.notify_one();
  thread_.join();
}

bool FlushThread::BeginOwn() {
  if (took_.load(std::memory_order_relaxed) > kQuick) {
    return false;
  }
  const MutexLock lock(mutex_);
  if (wanted_ || flushing_ || expected_ > 1) {
    return false;
  }
  flushing_ = true;
  return true;
}

void FlushThread::RunOwn() {
  const size_t told = Run();
  const MutexLock lock(mutex_);
  flushing_ = false;
  expected_ = blocked_ + told;
  if (wanted_) {
    due_.notify_one();
  }
}

size_t FlushThread::Run() {
  const Clock::time_point begin = Clock::now();
  steps_.Flush();
  took_.store(Clock::now() - begin, std::memory_order_relaxed);
  return steps_.CompleteFlushed();
}

void FlushThread::Want(size_t awaited) {
  const MutexLock lock(mutex_);
  WantLocked(awaited);
}

void FlushThread::WantLocked(size_t awaited) {
  wanted_ = true;
  blocked_ += awaited;
  if (!gathering_ || blocked_ >= expected_) {
    due_.notify_one();
  }
}

void FlushThread::Await() {
  uint32_t flush;
  {
    const MutexLock lock(mutex_);
    WantLocked(1);
    ++sleepers_;
    flush = begun_ + 1;
  }
  std::atomic<uint32_t>& ended = Ended(flush);
  uint32_t seen;
  while (static_cast<int32_t>((seen = ended.load(std::memory_order_acquire)) - flush) < 0) {
    (void)::syscall(SYS_futex, &ended, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  }
}

void FlushThread::Loop() {
  ::pthread_setname_np(::pthread_self(), "slc-log");
  AskForShortSlices();
  MutexLock lock(mutex_);
  for (;;) {
    while (flushing_ || (!wanted_ && !stopping_)) {
      due_.wait(lock);
    }
    if (!wanted_) {
      return;
    }
    const Clock::time_point latest =
        Clock::now() + std::min<Clock::duration>(kMostGathering, took_.load() / kGatheringShare);
    gathering_ = true;
    while (blocked_ < expected_ && due_.wait_until(lock, latest) != std::cv_status::timeout) {
    }
    gathering_ = false;
    wanted_ = false;
    flushing_ = true;
    blocked_ = 0;
    const uint32_t flush = ++begun_;
    const size_t sleepers = std::exchange(sleepers_, 0);
    lock.unlock();
    const size_t told = sleepers + Run();
    if (sleepers > 0) {
      // All at once: to wake one after the other is a call for each, and each may take the CPU.
      Ended(flush).store(flush, std::memory_order_release);
      (void)::syscall(SYS_futex, &Ended(flush), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }
    lock.lock();
    flushing_ = false;
    expected_ = blocked_ + told;
  }
}

}  // namespace sluice
