// Objects of the engine that one thread may use at a time, used by any number of Python's.

#pragma once

#include <nanobind/nanobind.h>

#include <mutex>

namespace sluice::python {

// Recursive, because whoever has a turn may make an exception, which may run the garbage collector,
// which may destroy another object of the same transaction. The engine is not in a call then.
using TurnMutex = std::recursive_mutex;

// A thread's turn. Made and destroyed with the GIL, which may be released in between. Nobody waits
// for a turn with the GIL, so who has a turn can wait for the GIL.
class Turn {
 public:
  explicit Turn(TurnMutex* mutex) : lock_(*mutex, std::try_to_lock) {
    if (!lock_.owns_lock()) {
      const nanobind::gil_scoped_release release;
      lock_.lock();
    }
  }

 private:
  std::unique_lock<TurnMutex> lock_;
};

}  // namespace sluice::python
