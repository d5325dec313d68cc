// What else the program learns from outside: time, the kernel's waiting by address (which
// std::atomic::wait and std::future use), the number of processors, random numbers. As threads.cc.

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <cerrno>
#include <cstdarg>
#include <random>

#include "clock.h"
#include "raw_syscall.h"
#include "scheduler.h"

struct io_uring;

namespace sluice::sim {

namespace {

long Futex(Scheduler* scheduler, int* word, int operation, int value, const timespec* timeout) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      scheduler->Point("futex wait", word);
      if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
        return -EAGAIN;
      }
      Time deadline = kNever;
      if (timeout != nullptr) {
        deadline =
            (operation & FUTEX_CMD_MASK) == FUTEX_WAIT
                ? scheduler->now() + NanosecondsOf(*timeout)
                : TimeOf((operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC,
                         *timeout);
      }
      return scheduler->Block("futex", word, deadline) ? 0 : -ETIMEDOUT;
    }
    case FUTEX_WAKE: {
      const auto woken = static_cast<long>(scheduler->Wake(word, static_cast<size_t>(value)));
      // Whether nobody is woken in vain hangs on addresses: std::atomic counts who waits for
      // several of them together.
      if (woken > 0) {
        scheduler->Point("futex wake", word);
      }
      return woken;
    }
    default:
      scheduler->Fail("a futex operation that the simulation does not know");
  }
}

// Only one thread runs at a time, so there is no need for one.
long Membarrier(Scheduler* scheduler) {
  scheduler->Point("membarrier", nullptr);
  return 0;
}

void SleepUntil(Scheduler* scheduler, Time deadline) {
  char place;
  while (scheduler->now() < deadline) {
    scheduler->Block("sleep", &place, deadline);
  }
}

}  // namespace

}  // namespace sluice::sim

using namespace sluice::sim;

extern "C" {

long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& argument : a) {
    argument = va_arg(list, long);
  }
  va_end(list);
  Scheduler* const scheduler = Scheduler::Get();
  long result;
  if (scheduler != nullptr && number == SYS_futex) {
    result = Futex(scheduler, reinterpret_cast<int*>(a[0]), static_cast<int>(a[1]),
                   static_cast<int>(a[2]), reinterpret_cast<const timespec*>(a[3]));
  } else if (scheduler != nullptr && number == SYS_membarrier) {
    result = Membarrier(scheduler);
  } else {
    result = RawSyscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
  if (result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

int sched_yield() noexcept {
  if (Scheduler* const scheduler = Scheduler::Get()) {
    scheduler->Yield();
  }
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  Scheduler* const scheduler = Scheduler::Get();
  if (scheduler == nullptr) {
    return static_cast<int>(
        RawSyscall(SYS_clock_gettime, clock, reinterpret_cast<long>(time), 0, 0, 0, 0));
  }
  scheduler->Point("clock", nullptr);
  const Time now = BeginOf(clock) + scheduler->now();
  time->tv_sec = static_cast<time_t>(now / 1'000'000'000);
  time->tv_nsec = static_cast<long>(now % 1'000'000'000);
  return 0;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* result) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) {
    *result = now.tv_sec;
  }
  return now.tv_sec;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec*) {
  Scheduler* const scheduler = Scheduler::Get();
  SleepUntil(scheduler, (flags & TIMER_ABSTIME) != 0 ? TimeOf(clock, *time)
                                                     : scheduler->now() + NanosecondsOf(*time));
  return 0;
}

int nanosleep(const timespec* time, timespec* left) {
  return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
}

int get_nprocs() noexcept {
  Scheduler* const scheduler = Scheduler::Get();
  return scheduler != nullptr ? static_cast<int>(scheduler->Draw(1, 4)) : 1;
}

ssize_t getrandom(void* bytes, size_t size, unsigned) {
  Scheduler* const scheduler = Scheduler::Get();
  for (size_t i = 0; i < size; ++i) {
    static_cast<char*>(bytes)[i] =
        static_cast<char>(scheduler != nullptr ? scheduler->Draw(0, 255) : i);
  }
  return static_cast<ssize_t>(size);
}

// What the file system of the simulation cannot do, and what the kernel does beside the threads.
int io_uring_queue_init(unsigned, io_uring*, unsigned) { return -ENOSYS; }

}  // extern "C"

unsigned int std::random_device::_M_getval() {
  Scheduler* const scheduler = Scheduler::Get();
  return scheduler != nullptr ? static_cast<unsigned>(scheduler->Draw(0, ~0U)) : 1;
}
