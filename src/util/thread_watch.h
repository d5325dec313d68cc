// What other threads of this process do, for tests in which something must wait: how long it has
// been looked at says nothing, but that a thread sleeps, and goes on sleeping, does. Of Linux: it
// reads /proc.

#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace sluice {

// How the threads of one name (pthread_setname_np) sleep.
struct ThreadSleep {
  size_t asleep = 0;
  size_t awake = 0;
  uint64_t switches = 0;  // of all of them, since they began

  friend bool operator==(const ThreadSleep&, const ThreadSleep&) = default;
};

inline ThreadSleep SleepOf(std::string_view name) {
  ThreadSleep sleep;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream file(task.path() / "status");
    std::string label;
    std::string value;
    bool meant = false;
    while (file >> label && std::getline(file >> std::ws, value)) {
      if (label == "Name:" && !(meant = value == name)) {
        break;
      }
      if (label == "State:") {
        ++(value.front() == 'S' ? sleep.asleep : sleep.awake);
      } else if (label.ends_with("voluntary_ctxt_switches:")) {
        sleep.switches += std::stoull(value);
      }
    }
  }
  return sleep;
}

// Waits until `count` threads of this name have slept for a while, and no other of this name is
// awake, or until over(). Whether they sleep. A thread that was woken is not asleep, even if it has
// no CPU yet; the while is for what sleeps for a moment, at a lock or for the device.
template <typename F>
bool AwaitSleep(std::string_view name, size_t count, const F& over) {
  constexpr std::chrono::milliseconds kPoll{5};
  constexpr int kPolls = 40;
  ThreadSleep before;
  for (int same = 0; same < kPolls;) {
    if (over()) {
      return false;
    }
    std::this_thread::sleep_for(kPoll);
    const ThreadSleep now = SleepOf(name);
    same = now == before && now.awake == 0 && now.asleep == count ? same + 1 : 0;
    before = now;
  }
  return true;
}

}  // namespace sluice
