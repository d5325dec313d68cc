// The mutex over a database's state, and the proof that it is held.
//
// What may only be read or changed with the mutex held takes the lock as a parameter, so that code
// without it does not compile; members beside the mutex are annotated besides (util/mutex.h).

#pragma once

#include "util/mutex.h"

namespace sluice {

using StateMutex = Mutex;

class SLUICE_SCOPED_CAPABILITY StateLock : public MutexLock {
 public:
  explicit StateLock(StateMutex& mutex) SLUICE_ACQUIRE(mutex) : MutexLock(mutex) {}
  ~StateLock() SLUICE_RELEASE() = default;
};

}  // namespace sluice
