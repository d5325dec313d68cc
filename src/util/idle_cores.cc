#include "util/idle_cores.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>

namespace sluice {

double IdleSeconds(std::string_view stat) {
  uint64_t idle = 0;
  uint64_t disk = 0;
  const std::string line(stat.substr(0, stat.find('\n')));
  if (std::sscanf(line.c_str(), "cpu %*u %*u %*u %" SCNu64 " %" SCNu64, &idle, &disk) != 2) {
    return -1;
  }
  return static_cast<double>(idle + disk) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double IdleCores::Now() {
  constexpr std::chrono::milliseconds kInterval{100};
  const MutexLock lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (idle_seconds_ >= 0 && now - read_at_ < kInterval) {
    return cores_;
  }
  std::array<char, 256> text{};
  if (std::FILE* const file = std::fopen("/proc/stat", "r")) {
    (void)std::fread(text.data(), 1, text.size() - 1, file);
    std::fclose(file);
  }
  const double idle_seconds = IdleSeconds(text.data());
  const double stand_in_seconds = stand_in_ ? stand_in_() : 0;
  const double seconds = std::chrono::duration<double>(now - read_at_).count();
  const double idle = idle_seconds - idle_seconds_ + stand_in_seconds - stand_in_seconds_;
  cores_ = idle_seconds_ < 0 || idle_seconds < 0 ? 0 : std::max(0.0, idle / seconds);
  idle_seconds_ = idle_seconds;
  stand_in_seconds_ = stand_in_seconds;
  read_at_ = now;
  return cores_;
}

}  // namespace sluice
