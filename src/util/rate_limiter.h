// So many bytes a second for several threads, of which some go before others.
//
// A writer asks for a piece, and waits until the limiter lets it through, which is as soon as the
// pieces before it have had their time. So time that nobody used is not saved up, but for a tenth
// of a second's bytes. Flushes go before compactions: writers may be waiting for them.
//
// Compactions take as much of the rate as they need to keep up with writers, and no more, so that
// they come as an even load and not in bursts. Only when somebody waits for one do they take all.
//
// Thread-safe.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
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
  // The share of the rate that compactions need. At least kLeastNeed is taken for it.
  void SetNeed(double need) { need_.store(need, std::memory_order_relaxed); }
  // While there is one, compactions may take all of the rate.
  class Hurry {
   public:
    explicit Hurry(RateLimiter* limiter) : limiter_(limiter) { limiter_->hurries_.fetch_add(1); }
    Hurry(const Hurry&) = delete;
    Hurry& operator=(const Hurry&) = delete;
    ~Hurry() { limiter_->hurries_.fetch_sub(1); }

   private:
    RateLimiter* const limiter_;
  };
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
  // What is due at all is to be done some time.
  static constexpr double kLeastNeed = 0.125;

  bool IsNext(Use use) const SLUICE_REQUIRES(mutex_) {
    return use == Use::kFlush || waiting_[static_cast<size_t>(Use::kFlush)] == 0;
  }

  // What so many bytes take at a share of the rate.
  Clock::duration TimeOf(uint64_t bytes, double share) const {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
        static_cast<double>(bytes) / (static_cast<double>(bytes_per_second_) * share)));
  }
  double CompactionShare() const {
    return hurries_.load() > 0 ? 1
                               : std::clamp(need_.load(std::memory_order_relaxed), kLeastNeed, 1.0);
  }

  const uint64_t bytes_per_second_;
  const std::function<Clock::time_point()> now_;
  std::atomic<double> need_{1};
  std::atomic<int> hurries_{0};
  Mutex mutex_;
  CondVar changed_;
  std::array<size_t, 2> waiting_ SLUICE_GUARDED_BY(mutex_){};  // by use
  // When all that was let through is done, and when compactions have had their share of time.
  Clock::time_point free_from_ SLUICE_GUARDED_BY(mutex_){};
  Clock::time_point compactions_from_ SLUICE_GUARDED_BY(mutex_){};
  bool stopped_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice
