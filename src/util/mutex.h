// Mutexes whose use clang checks (`make lint`): what a mutex guards says so, and code that touches
// it without the mutex does not pass.
//
//   Mutex mutex_;
//   size_t bytes_ SLUICE_GUARDED_BY(mutex_) = 0;
//   void Evict() SLUICE_REQUIRES(mutex_);
//   ...
//   const MutexLock lock(mutex_);
//
// Conditions are waited for in a loop, which clang can follow, unlike a predicate:
//
//   while (queue_.empty()) {
//     changed_.wait(lock);
//   }
//
// Costs what the standard library's cost.

#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "util/check.h"

#if defined(__clang__)
#define SLUICE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define SLUICE_THREAD_ANNOTATION(x)
#endif

#define SLUICE_CAPABILITY(name) SLUICE_THREAD_ANNOTATION(capability(name))
#define SLUICE_SCOPED_CAPABILITY SLUICE_THREAD_ANNOTATION(scoped_lockable)
#define SLUICE_GUARDED_BY(...) SLUICE_THREAD_ANNOTATION(guarded_by(__VA_ARGS__))
#define SLUICE_PT_GUARDED_BY(...) SLUICE_THREAD_ANNOTATION(pt_guarded_by(__VA_ARGS__))
#define SLUICE_REQUIRES(...) SLUICE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define SLUICE_EXCLUDES(...) SLUICE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define SLUICE_ACQUIRE(...) SLUICE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define SLUICE_TRY_ACQUIRE(...) SLUICE_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define SLUICE_RELEASE(...) SLUICE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define SLUICE_ASSERT_CAPABILITY(...) SLUICE_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
// For what follows a discipline that annotations cannot say; the comment beside it says which.
#define SLUICE_NO_THREAD_SAFETY_ANALYSIS SLUICE_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace sluice {

class SLUICE_CAPABILITY("mutex") Mutex {
 public:
  void lock() SLUICE_ACQUIRE() { mutex_.lock(); }
  bool try_lock() SLUICE_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() SLUICE_RELEASE() { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds a mutex as long as it lives, but for what lies between unlock() and lock().
class SLUICE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SLUICE_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  // Takes over a mutex that this thread has locked.
  MutexLock(Mutex& mutex, std::adopt_lock_t adopt) SLUICE_REQUIRES(mutex)
      : lock_(mutex.mutex_, adopt) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() SLUICE_RELEASE() = default;

  void lock() SLUICE_ACQUIRE() { lock_.lock(); }
  void unlock() SLUICE_RELEASE() { lock_.unlock(); }
  void AssertHeld() const { SLUICE_CHECK(lock_.owns_lock()); }

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

class CondVar {
 public:
  // The lock is held again when these return; they may return for no reason.
  void wait(MutexLock& lock) { condition_.wait(lock.lock_); }
  template <typename Duration>
  std::cv_status wait_for(MutexLock& lock, const Duration& duration) {
    return condition_.wait_for(lock.lock_, duration);
  }
  template <typename Time>
  std::cv_status wait_until(MutexLock& lock, const Time& time) {
    return condition_.wait_until(lock.lock_, time);
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace sluice
