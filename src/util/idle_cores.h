// How many of the machine's cores have nothing to do.

#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "util/mutex.h"

namespace sluice {

// Thread-safe. The limits of a container are not known to it, only what others leave of the machine.
class IdleCores {
 public:
  // On average since an earlier call, a tenth of a second ago or more. 0 at first, and where the
  // kernel does not tell. Costs some 50 microseconds ten times a second, else nothing.
  double Now();

 private:
  using Clock = std::chrono::steady_clock;

  Mutex mutex_;
  Clock::time_point read_at_ SLUICE_GUARDED_BY(mutex_);
  double idle_seconds_ SLUICE_GUARDED_BY(mutex_) = -1;  // of all cores; < 0: not known
  double cores_ SLUICE_GUARDED_BY(mutex_) = 0;
};

// Seconds of idleness, waits for disks included, in the text of /proc/stat; < 0 if it does not say.
double IdleSeconds(std::string_view stat);

}  // namespace sluice
