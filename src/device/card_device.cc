#include "device/card_device.h"

#include <pthread.h>

#include <utility>

#include "util/cpu_clock.h"

namespace sluice {

CardEngine::~CardEngine() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

double CardEngine::CpuSeconds() { return CpuSecondsOf(thread_); }

Status CardEngine::Do(const Call& call) {
  MutexLock lock(mutex_);
  call_ = &call;
  changed_.notify_all();
  while (call_ != nullptr) {
    changed_.wait(lock);
  }
  return std::move(result_);
}

void CardEngine::Serve() {
  ::pthread_setname_np(::pthread_self(), "slc-card");
  MutexLock lock(mutex_);
  for (;;) {
    while (call_ == nullptr && !stopping_) {
      changed_.wait(lock);
    }
    if (call_ == nullptr) {
      return;
    }
    const Call& call = *call_;
    lock.unlock();
    Status result = call();
    lock.lock();
    result_ = std::move(result);
    call_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace sluice
