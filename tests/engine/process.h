// Work that may end its process, or never end.

#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

namespace sluice {

constexpr std::chrono::minutes kHangs{10};

// Runs `work` in a process of its own, its result the exit status; for a signal the signal's
// number, negative, and for a process that hangs -SIGALRM.
template <typename Work>
int InProcess(const Work& work) {
  std::cout << std::flush;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    // What it throws must not reach the test, which would end twice.
    ::_exit([&]() noexcept { return work(); }());
  }
  int status = 0;
  const auto start = std::chrono::steady_clock::now();
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() - start > kHangs) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return -SIGALRM;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace sluice
