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
  asked_.notify_all();
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
  Request request{.call = call};
  requests_.push_back(&request);
  asked_.notify_all();
  while (!request.done) {
    request.changed.wait(lock);
  }
  return std::move(request.result);
}

void CardEngine::Serve() {
  ::pthread_setname_np(::pthread_self(), "slc-card");
  MutexLock lock(mutex_);
  for (;;) {
    while (requests_.empty() && !stopping_) {
      asked_.wait(lock);
    }
    if (requests_.empty()) {
      return;
    }
    Request& request = *requests_.front();
    lock.unlock();
    Status result = request.call();
    lock.lock();
    requests_.pop_front();
    request.result = std::move(result);
    request.done = true;
    request.changed.notify_all();
  }
}

}  // namespace sluice
