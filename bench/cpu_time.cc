#include "bench/cpu_time.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "util/cpu_clock.h"

namespace sluice::bench {

namespace {

namespace fs = std::filesystem;

// Null: none of those that are told apart.
double* KindOf(const std::string& thread, CpuSeconds* cpu) {
  return thread.starts_with("slc-flush") || thread.starts_with("rocksdb:high") ? &cpu->flush
         : thread.starts_with("slc-compact") || thread.starts_with("rocksdb:low") ||
                 thread == "leveldb"
             ? &cpu->compaction
         : thread.starts_with("slc-driver") ? &cpu->driver
         : thread.starts_with("slc-card")   ? &cpu->card
         : thread.starts_with("slc-log")    ? &cpu->foreground
                                            : nullptr;
}

}  // namespace

CpuSeconds BackgroundCpu() {
  CpuSeconds cpu;
  std::error_code gone;  // a thread may end while it is looked at
  for (fs::directory_iterator it("/proc/self/task", gone), end; !gone && it != end;
       it.increment(gone)) {
    std::string name;
    uint64_t nanoseconds = 0;
    std::getline(std::ifstream(it->path() / "comm"), name);
    if (double* const kind = KindOf(name, &cpu);
        kind != nullptr && std::ifstream(it->path() / "schedstat") >> nanoseconds) {
      *kind += 1e-9 * static_cast<double>(nanoseconds);
    }
  }
  cpu.other = ClockSeconds(CLOCK_PROCESS_CPUTIME_ID) - cpu.Host() - cpu.card;
  return cpu;
}

}  // namespace sluice::bench
