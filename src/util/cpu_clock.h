// CPU time that threads have used, in seconds.

#pragma once

#include <pthread.h>

#include <ctime>
#include <thread>

namespace sluice {

inline double ClockSeconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// CPU time of the calling thread. Costs a system call.
inline double ThreadCpuSeconds() { return ClockSeconds(CLOCK_THREAD_CPUTIME_ID); }

// CPU time of another thread, which must not have been joined. 0 if the system does not tell.
inline double CpuSecondsOf(std::thread& thread) {
  clockid_t clock;
  return ::pthread_getcpuclockid(thread.native_handle(), &clock) == 0 ? ClockSeconds(clock) : 0;
}

}  // namespace sluice
