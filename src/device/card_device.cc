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
  if (thread_.joinable()) {
    thread_.join();
  }
}

double CardEngine::CpuSeconds() {
  const MutexLock lock(mutex_);
  return thread_.joinable() ? CpuSecondsOf(thread_) : 0;
}

Status CardEngine::Do(const Call& call) {
  MutexLock lock(mutex_);
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { Serve(); });
  }
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
