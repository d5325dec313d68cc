// Tests that kill a process when it has done so much, however fast the machine is.

#pragma once

#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>

namespace sluice {

// Kills `child` a moment after `counter`, which the two share, has come to `count`. False if it
// ended by itself before.
inline bool KillWhen(pid_t child, const std::atomic<uint64_t>& counter, uint64_t count,
                     std::chrono::microseconds moment) {
  siginfo_t ended = {};
  while (counter < count &&
         ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(moment);
  (void)::kill(child, SIGKILL);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
         WTERMSIG(status) == SIGKILL;
}

}  // namespace sluice
