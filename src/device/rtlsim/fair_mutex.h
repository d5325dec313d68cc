// A mutex that serves first come, first served: for a holder that lets go only to give others a
// chance, which a std::mutex would not.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sluice::rtlsim {

class FairMutex {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    const uint64_t ticket = tickets_++;
    turn_.wait(lock, [&] { return serving_ == ticket; });
  }
  void unlock() {
    {
      const std::lock_guard lock(mutex_);
      ++serving_;
    }
    turn_.notify_all();
  }
  // For the holder: whether anyone waits.
  bool wanted() {
    const std::lock_guard lock(mutex_);
    return tickets_ - serving_ > 1;
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  uint64_t tickets_ = 0;
  uint64_t serving_ = 0;
};

}  // namespace sluice::rtlsim
