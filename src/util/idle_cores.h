// How many of the machine's cores have nothing to do.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "util/mutex.h"

namespace sluice {

// Thread-safe. The limits of a container are not known to it, only what others leave of the machine.
class IdleCores {
 public:
  // `stand_in`, if there is one: CPU seconds that this process has spent so far on what stands for
  // other hardware. These count as idle, as with that hardware they would be.
  explicit IdleCores(std::function<double()> stand_in = nullptr) : stand_in_(std::move(stand_in)) {}

  // On average since an earlier call, a tenth of a second ago or more. 0 at first, and where the
  // kernel does not tell. Costs some 50 microseconds ten times a second, else nothing.
  double Now();

 private:
  using Clock = std::chrono::steady_clock;

  const std::function<double()> stand_in_;
  Mutex mutex_;
  Clock::time_point read_at_ SLUICE_GUARDED_BY(mutex_);
  double idle_seconds_ SLUICE_GUARDED_BY(mutex_) = -1;  // of all cores; < 0: not known
  double stand_in_seconds_ SLUICE_GUARDED_BY(mutex_) = 0;
  double cores_ SLUICE_GUARDED_BY(mutex_) = 0;
};

// Seconds of idleness, waits for disks included, in the text of /proc/stat; < 0 if it does not say.
double IdleSeconds(std::string_view stat);

}  // namespace sluice
