// Simulated lives of the whole database: threads, time, faults and operations drawn from a seed.
//
//   sim_test                            some seeds from SLUICE_SEED, or a fresh one, on
//   sim_test --seeds N [--first S]      as many as wanted
//   sim_test --replay S [--trace]       one of them again; with every switch between threads
//
// Each seed has a process of its own, so that nothing of the others' is left in memory, and runs
// twice, with other addresses: what differs between the two is not drawn from the seed, and a
// failure of the test.

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "allocation.h"
#include "life.h"
#include "scheduler.h"
#include "stack.h"
#include "util/testing.h"

namespace sluice::sim {

namespace {

constexpr int kSeeds = 12;  // of the test
constexpr uint64_t kLives = 6;
constexpr unsigned kMostSeconds = 300;  // of a seed: what hangs has failed

void OnSignal(int signal) {
  std::fprintf(stderr, "%s\n", strsignal(signal));
  PrintStack();
  ::_exit(1);
}

// The threads share one processor: they do not run at once, and switch faster so.
void UseOneProcessor(size_t which) {
  cpu_set_t all;
  if (::sched_getaffinity(0, sizeof(all), &all) != 0) {
    return;
  }
  which %= static_cast<size_t>(CPU_COUNT(&all));
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &all) && which-- == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(i, &one);
      (void)::sched_setaffinity(0, sizeof(one), &one);
      return;
    }
  }
}

// What the process of one seed does.
[[noreturn]] void Simulate(uint64_t seed, size_t run, bool trace) {
  static char buffer[1 << 16];
  std::setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
  UseOneProcessor(run);
  if (run != 0) {
    DisturbAddresses();
  }
  PrepareStacks();
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
    ::signal(signal, OnSignal);
  }
  ::alarm(kMostSeconds);
  Scheduler::Start(seed, trace);
  const Totals totals = LiveAndDie(seed, kLives);
  const Scheduler& scheduler = *Scheduler::Get();
  std::printf(
      "digest %016lx: opened %lu times, %lu operations, %lu flushes, %lu compactions, %lu images, "
      "%lu ms stalled; %lu points, %lu switches, %.3f s\n",
      scheduler.digest(), totals.opened, totals.operations, totals.flushes, totals.compactions,
      totals.images, totals.stalled / 1000, scheduler.points(), scheduler.switches(),
      static_cast<double>(scheduler.now()) / 1e9);
  std::fflush(stdout);
  ::_exit(0);
}

struct Child {
  pid_t process = -1;
  int output = -1;
  std::string text;
};

Child Begin(uint64_t seed, size_t run, bool trace) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    std::abort();
  }
  const std::array<std::string, 5> words = {"sim_test", "--child", std::to_string(run),
                                            std::to_string(seed), trace ? "1" : "0"};
  Child child;
  child.output = ends[0];
  child.process = ::fork();
  if (child.process == 0) {
    if (!trace) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
    }
    std::array<char*, 6> arguments{};
    for (size_t i = 0; i < words.size(); ++i) {
      arguments[i] = const_cast<char*>(words[i].c_str());
    }
    char path[] = "PATH=/usr/bin:/bin";
    char* environment[] = {path, nullptr};
    ::execve("/proc/self/exe", arguments.data(), environment);
    std::perror("execve");
    ::_exit(1);
  }
  ::close(ends[1]);
  return child;
}

// True if it ended well.
bool End(Child* child) {
  char buffer[4096];
  for (ssize_t bytes; (bytes = ::read(child->output, buffer, sizeof(buffer))) != 0;) {
    if (bytes > 0) {
      child->text.append(buffer, bytes);
    } else if (errno != EINTR) {
      break;
    }
  }
  ::close(child->output);
  int status = 0;
  ::waitpid(child->process, &status, 0);
  if (WIFSIGNALED(status)) {
    child->text += strsignal(WTERMSIG(status));
    child->text += '\n';
  }
  return status == 0;
}

bool RunTwice(uint64_t seed) {
  std::array<Child, 2> children;
  for (size_t run = 0; run < children.size(); ++run) {
    children[run] = Begin(seed, run, /*trace=*/false);
  }
  std::array<bool, 2> well;
  for (size_t run = 0; run < children.size(); ++run) {
    well[run] = End(&children[run]);
  }
  if (well[0] && well[1] && children[0].text == children[1].text) {
    return true;
  }
  if (well[0] && well[1]) {
    std::printf("seed %lu: two runs differ\n%s%s", seed, children[0].text.c_str(),
                children[1].text.c_str());
  } else {
    std::printf("seed %lu:\n%s", seed, children[well[0] ? 1 : 0].text.c_str());
  }
  std::printf("replay: sim_test --replay %lu --trace\n", seed);
  std::fflush(stdout);
  return false;
}

int Main(int argc, char** argv) {
  CLI::App app("Simulated lives of the database");
  auto seeds = static_cast<uint64_t>(TestRounds(kSeeds));
  uint64_t first = 0;
  uint64_t replay = 0;
  bool trace = false;
  app.add_option("--seeds", seeds, "how many");
  auto* const has_first = app.add_option("--first", first, "the first of them");
  auto* const has_replay = app.add_option("--replay", replay, "this one, once");
  app.add_flag("--trace", trace, "with each switch between threads")->needs(has_replay);
  CLI11_PARSE(app, argc, argv);
  if (has_replay->count() > 0) {
    Child child = Begin(replay, 0, trace);
    const bool well = End(&child);
    std::fputs(child.text.c_str(), stdout);
    return well ? 0 : 1;
  }
  first = has_first->count() > 0 ? first : TestSeed();
  uint64_t failures = 0;
  for (uint64_t i = 0; i < seeds; ++i) {
    failures += RunTwice(first + i) ? 0 : 1;
  }
  std::printf("%lu seeds of %lu lives each, %lu failures\n", seeds, kLives, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace

}  // namespace sluice::sim

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "--child") == 0) {
    sluice::sim::Simulate(std::stoull(argv[3]), std::stoull(argv[2]), argv[4][0] == '1');
  }
  return sluice::sim::Main(argc, argv);
}
