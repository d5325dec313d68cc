// The thread functions of POSIX, as the scheduler does them. A program's own definitions come
// before those of the C library, for the shared libraries, too, that it is linked with.
//
// A lock's state stands in its fields of glibc's, whose zeros mean that it is free.

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "clock.h"
#include "scheduler.h"

namespace sluice::sim {

namespace {

template <typename F>
F* Real(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

// Its destructor is the last that a thread runs: those of thread_local objects come before.
pthread_key_t LeaveKey() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    ::pthread_key_create(&made, [](void*) { Scheduler::Get()->Leave(); });
    return made;
  }();
  return key;
}

void* Run(void* thread) {
  ::pthread_setspecific(LeaveKey(), thread);
  return Scheduler::Enter(thread);
}

// 0: nobody has the lock.
int OwnerNumber(const Scheduler& scheduler) { return scheduler.self()->number + 1; }

bool TryLock(Scheduler* scheduler, pthread_mutex_t* mutex) {
  auto& fields = mutex->__data;
  const int self = OwnerNumber(*scheduler);
  const bool again = fields.__owner == self && (fields.__kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP;
  if (fields.__owner != 0 && !again) {
    return false;
  }
  fields.__owner = self;
  ++fields.__count;
  return true;
}

void Lock(Scheduler* scheduler, pthread_mutex_t* mutex) {
  while (!TryLock(scheduler, mutex)) {
    scheduler->Block("mutex", mutex);
  }
}

void Unlock(Scheduler* scheduler, pthread_mutex_t* mutex) {
  auto& fields = mutex->__data;
  if (fields.__owner != OwnerNumber(*scheduler)) {
    scheduler->Fail("gives back a mutex that it does not hold");
  }
  if (--fields.__count == 0) {
    fields.__owner = 0;
    scheduler->Wake(mutex, SIZE_MAX);
  }
}

// POSIX lets a wait end for no reason; ours do now and then.
constexpr uint64_t kSpurious = 500;

int Wait(pthread_cond_t* condition, pthread_mutex_t* mutex, Time deadline) {
  Scheduler* const scheduler = Scheduler::Get();
  scheduler->Point("wait", condition);
  Unlock(scheduler, mutex);
  bool woken = true;
  if (scheduler->Draw(1, kSpurious) == 1) {
    scheduler->Yield();
  } else {
    woken = scheduler->Block("condition", condition, deadline);
  }
  Lock(scheduler, mutex);
  return woken ? 0 : ETIMEDOUT;
}

int Wake(pthread_cond_t* condition, size_t most) {
  if (Scheduler* const scheduler = Scheduler::Get()) {
    scheduler->Wake(condition, most);
    scheduler->Point("notify", condition);
  }
  return 0;
}

}  // namespace

}  // namespace sluice::sim

using namespace sluice::sim;

extern "C" {

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
  static auto* const real = Real<decltype(pthread_create)>("pthread_create");
  Scheduler* const scheduler = Scheduler::Get();
  if (scheduler == nullptr) {
    return real(handle, attributes, run, argument);
  }
  LeaveKey();
  Thread* const thread = scheduler->AddThread(run, argument);
  const int error = real(&thread->handle, attributes, Run, thread);
  if (error != 0) {
    scheduler->ForgetThread(thread);
    return error;
  }
  *handle = thread->handle;
  scheduler->Point("thread", thread);
  return 0;
}

int pthread_join(pthread_t handle, void** result) {
  static auto* const real = Real<decltype(pthread_join)>("pthread_join");
  if (Scheduler* const scheduler = Scheduler::Get()) {
    Thread* const thread = scheduler->FindThread(handle);
    scheduler->Point("join", thread);
    while (!thread->finished) {
      scheduler->Block("join", thread);
    }
    scheduler->ForgetThread(thread);
  }
  return real(handle, result);
}

int pthread_detach(pthread_t handle) noexcept {
  static auto* const real = Real<decltype(pthread_detach)>("pthread_detach");
  if (Scheduler* const scheduler = Scheduler::Get()) {
    if (Thread* const thread = scheduler->FindThread(handle)) {
      thread->detached = true;
    }
  }
  return real(handle);
}

int pthread_setname_np(pthread_t handle, const char* name) noexcept {
  if (Scheduler* const scheduler = Scheduler::Get()) {
    if (Thread* const thread = scheduler->FindThread(handle)) {
      std::strncpy(thread->name, name, sizeof(thread->name) - 1);
    }
  }
  return 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (Scheduler* const scheduler = Scheduler::Get()) {
    scheduler->Point("lock", mutex);
    Lock(scheduler, mutex);
  }
  return 0;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  Scheduler* const scheduler = Scheduler::Get();
  if (scheduler == nullptr) {
    return 0;
  }
  scheduler->Point("trylock", mutex);
  return TryLock(scheduler, mutex) ? 0 : EBUSY;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (Scheduler* const scheduler = Scheduler::Get()) {
    Unlock(scheduler, mutex);
    scheduler->Point("unlock", mutex);
  }
  return 0;
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  if (Scheduler* const scheduler = Scheduler::Get()) {
    scheduler->Point("read lock", lock);
    while (lock->__data.__cur_writer != 0) {
      scheduler->Block("read lock", lock);
    }
    ++lock->__data.__readers;
  }
  return 0;
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  if (Scheduler* const scheduler = Scheduler::Get()) {
    scheduler->Point("write lock", lock);
    while (lock->__data.__cur_writer != 0 || lock->__data.__readers != 0) {
      scheduler->Block("write lock", lock);
    }
    lock->__data.__cur_writer = OwnerNumber(*scheduler);
  }
  return 0;
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  if (Scheduler* const scheduler = Scheduler::Get()) {
    if (lock->__data.__cur_writer != 0) {
      lock->__data.__cur_writer = 0;
    } else {
      --lock->__data.__readers;
    }
    scheduler->Wake(lock, SIZE_MAX);
    scheduler->Point("rw unlock", lock);
  }
  return 0;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return Wait(condition, mutex, kNever);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  return Wait(condition, mutex, TimeOf(CLOCK_REALTIME, *until));
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  return Wait(condition, mutex, TimeOf(clock, *until));
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept { return Wake(condition, 1); }

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept { return Wake(condition, SIZE_MAX); }

// Theirs would have a thread wait in the kernel for one that does not run.
int pthread_once(pthread_once_t* control, void (*run)()) {
  constexpr int kUnderWay = 1;
  constexpr int kDone = 2;
  Scheduler* const scheduler = Scheduler::Get();
  while (*control == kUnderWay) {
    scheduler->Block("once", control);
  }
  if (*control == kDone) {
    return 0;
  }
  *control = kUnderWay;
  const auto end = [&](int state) {
    *control = state;
    if (scheduler != nullptr) {
      scheduler->Wake(control, SIZE_MAX);
    }
  };
  try {
    run();
  } catch (...) {
    end(0);
    throw;
  }
  end(kDone);
  return 0;
}

}  // extern "C"
