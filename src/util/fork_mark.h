// Tells what this process has made from what it has a copy of, because a fork made it: of the
// latter the threads are missing, mutexes may stay locked for ever, and locks, files and shared
// maps are the parent's.
//
//   const ForkMark made_;
//   if (made_.IsCopy()) return Status::Busy(...);
//
// A test costs a load. Children of vfork, posix_spawn and a bare clone are not noticed.

#pragma once

#include <pthread.h>

#include <cstdint>

namespace sluice {

class ForkMark {
 public:
  ForkMark() : forks_(Forks()) {}

  // Whether the process was forked since.
  bool IsCopy() const { return forks_ != forks; }

 private:
  // From now on `forks` is counted.
  static uint64_t Forks();

  // Of this process and those it descends from. Changes while it has one thread, so it is no atomic.
  static uint64_t forks;

  uint64_t forks_;
};

// The process's own T, never destroyed. The child of a fork has a new one, whatever threads of its
// parent did with theirs.
template <typename T>
class PerProcess {
 public:
  static T& Get() {
    static const bool made = [] {
      Make();
      return ::pthread_atfork(nullptr, nullptr, Make) == 0;
    }();
    (void)made;
    return own_->object;
  }

 private:
  struct Own {
    T object{};
    Own* parents;  // so that no leak checker takes it for lost
  };
  static void Make() { own_ = new Own{.parents = own_}; }

  static inline Own* own_ = nullptr;
};

}  // namespace sluice
