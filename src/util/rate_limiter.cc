#include "util/rate_limiter.h"

#include <algorithm>
#include <utility>

namespace sluice {

RateLimiter::RateLimiter(uint64_t bytes_per_second, std::function<Clock::time_point()> now)
    : bytes_per_second_(bytes_per_second), now_(std::move(now)) {}

void RateLimiter::Take(Use use, uint64_t bytes) {
  if (bytes_per_second_ == 0) {
    return;
  }
  MutexLock lock(mutex_);
  size_t& waiting = waiting_[static_cast<size_t>(use)];
  ++waiting;
  Clock::time_point now = now_();
  const auto begin = [&]() SLUICE_REQUIRES(mutex_) {
    return use == Use::kFlush || hurries_.load() > 0 ? free_from_
                                                     : std::max(free_from_, compactions_from_);
  };
  while (!stopped_ && (!IsNext(use) || begin() > now)) {
    if (IsNext(use)) {
      changed_.wait_for(lock, begin() - now);
    } else {
      changed_.wait(lock);
    }
    now = now_();
  }
  --waiting;
  free_from_ = std::max(free_from_, now - kSaved) + TimeOf(bytes, 1);
  if (use == Use::kCompaction) {
    compactions_from_ =
        std::max(compactions_from_, now - kSaved) + TimeOf(bytes, CompactionShare());
  }
  changed_.notify_all();
}

void RateLimiter::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace sluice
