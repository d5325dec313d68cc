// So many bytes a second for several threads, of which some go before others.
//
// Whoever wants to write asks for a piece, and waits until it may. A piece is let through as soon as
// what went before has had its time, so time that nobody used is not saved up, but for a tenth of a
// second's bytes. Of those who wait, flushes go first: writers may be waiting for them.
//
// Thread-safe.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "util/mutex.h"

namespace sluice {

class RateLimiter {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Use { kFlush, kCompaction };  // the first go first

  // `bytes_per_second`: 0: no limit. `now`: what tells the time.
  explicit RateLimiter(
      uint64_t bytes_per_second,
      std::function<Clock::time_point()> now = [] { return Clock::now(); });

  // Returns when these bytes may be written. Nobody waits for one piece of another longer than that
  // takes at the rate, so pieces should be small.
  void Take(Use use, uint64_t bytes);
  // From now on nobody waits.
  void Stop();
  // For tests: how many wait, and to be called when their clock has been set.
  size_t waiting(Use use) {
    const MutexLock lock(mutex_);
    return waiting_[static_cast<size_t>(use)];
  }
  void Wake() { changed_.notify_all(); }

 private:
  static constexpr std::chrono::milliseconds kSaved{100};

  bool IsNext(Use use) const SLUICE_REQUIRES(mutex_) {
    return use == Use::kFlush || waiting_[static_cast<size_t>(Use::kFlush)] == 0;
  }

  const uint64_t bytes_per_second_;
  const std::function<Clock::time_point()> now_;
  Mutex mutex_;
  CondVar changed_;
  std::array<size_t, 2> waiting_ SLUICE_GUARDED_BY(mutex_){};  // by use
  Clock::time_point free_from_
      SLUICE_GUARDED_BY(mutex_){};  // when all that was let through is done
  bool stopped_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice
