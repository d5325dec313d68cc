// What becomes of a database whose device is full.
//
// Nothing is lost and nothing is stuck: writes fail with NoSpace, reads go on, and what failed is
// tried again until there is space. To get out of it by its own means, a database keeps a reserve,
// a file of about a MiB that it never writes to. The first flush, merge or deletion that finds the
// device full gives it up; from then on only deletions, and what makes space, are taken, until the
// reserve can be had again. So a full device can always be opened, read and deleted from.
//
// Thread-safe.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "util/env.h"
#include "util/status.h"

namespace sluice {

class FullDevice {
 public:
  using Clock = std::chrono::steady_clock;

  FullDevice(Env* env, std::string reserve, uint64_t reserve_bytes)
      : env_(env), reserve_(std::move(reserve)), reserve_bytes_(reserve_bytes) {}

  // Whether only deletions are taken; cheap.
  bool full() const { return full_.load(std::memory_order_acquire); }
  // NoSpace while it is full, ok else.
  Status status() const;
  // Attempts that failed so far, and how the last one did.
  uint64_t failures() const;
  Status last_failure() const;

  // `status`, NoSpace, was the answer to something that must be done. True if the reserve was given
  // up for it: the same may be tried again at once; else from next_attempt() on, later with each
  // failure. `*news`: it was not full before.
  bool Failed(const Status& status, bool* news);
  // When to try again what failed last, and to Fill the reserve.
  Clock::time_point next_attempt() const;
  // Something may have come free: the next attempt is due.
  void RetryNow();
  // Gives the reserve up; false if it is gone already.
  bool GiveUp() { return env_->RemoveFile(reserve_).ok(); }
  // Sees to it that there is the reserve; the device is not full any more if that is so. Errors
  // other than NoSpace are the result.
  Status Fill();

 private:
  static constexpr std::chrono::milliseconds kFirstDelay{20};
  static constexpr std::chrono::milliseconds kLongestDelay{2000};

  Env* const env_;
  const std::string reserve_;
  const uint64_t reserve_bytes_;

  mutable std::mutex mutex_;
  std::atomic<bool> full_{false};
  Status status_;
  uint64_t failures_ = 0;
  Status last_failure_;
  std::chrono::milliseconds delay_ = kFirstDelay;
  Clock::time_point next_attempt_{};
};

}  // namespace sluice
