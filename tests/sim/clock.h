// The scheduler's time as clocks show it.

#pragma once

#include <time.h>

#include "scheduler.h"

namespace sluice::sim {

// When the simulation begins. Some moment in 2025, and some uptime.
inline Time BeginOf(clockid_t clock) {
  constexpr Time kSecond = 1'000'000'000;
  return (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? Time{1'750'000'000} : 1000) *
         kSecond;
}

inline Time NanosecondsOf(const timespec& time) {
  return time.tv_sec < 0 ? 0 : Time(time.tv_sec) * 1'000'000'000 + Time(time.tv_nsec);
}

// 0 for what is before the simulation.
inline Time TimeOf(clockid_t clock, const timespec& time) {
  const Time nanoseconds = NanosecondsOf(time);
  return nanoseconds > BeginOf(clock) ? nanoseconds - BeginOf(clock) : 0;
}

}  // namespace sluice::sim
