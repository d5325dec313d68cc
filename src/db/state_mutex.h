// The mutex over a database's state, and the proof that it is held.
//
// What may only be read or changed with the mutex held takes the lock as a parameter, so that code
// without it does not compile.

#pragma once

#include <cassert>
#include <mutex>

namespace sluice {

class StateMutex {
 public:
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend class StateLock;
  std::mutex mutex_;
};

// Can be waited with at a std::condition_variable.
class StateLock : public std::unique_lock<std::mutex> {
 public:
  explicit StateLock(StateMutex& mutex) : std::unique_lock<std::mutex>(mutex.mutex_) {}
  void AssertHeld() const { assert(owns_lock()); }
};

}  // namespace sluice
