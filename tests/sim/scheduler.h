// A scheduler of threads that draws from a seed who runs: the same seed, the same run.
//
// The threads are real ones, with stacks and thread_local objects of their own, but only the one
// that has the baton runs. It passes the baton on at points: where it takes or gives back a lock,
// waits, notifies, asks for the time, and before each atomic operation. What the program calls at
// those places is defined anew in this executable (threads.cc, kernel.cc, atomics.cc), so the
// engine and the standard library come here without knowing it.
//
// Two ways to choose who runs, drawn anew for each life with all their numbers:
//   uniform     after a number of points, anyone who can
//   priorities  always the one with the highest priority, which it loses after a number of points
//               (Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of
//               Finding Bugs", ASPLOS'10): a thread that is starved, or held up at one place for
//               long
//
// Time is virtual. It passes with each point, at times by more, and when nobody can run it goes on
// to the first moment that somebody waits for. If nobody waits for one, that is a deadlock.
//
// What cannot be found so: what a processor or compiler reorders, and races of plain accesses.
// ThreadSanitizer is for those.

#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "table/testing.h"

namespace sluice::sim {

using Time = uint64_t;  // nanoseconds since the simulation began
inline constexpr Time kNever = ~Time{0};

struct Thread {
  int number;
  char name[16] = "";
  pthread_t handle{};
  int kernel_id = 0;
  void* (*run)(void*) = nullptr;
  void* argument = nullptr;
  void* result = nullptr;
  bool finished = false;
  bool detached = false;

  std::atomic<int> baton{0};
  uint64_t priority = 0;
  // What it does at the point where it is, and whether it waits for that, until when at most.
  const char* doing = "begins";
  const void* at = nullptr;
  bool blocked = false;
  bool woken = false;
  Time deadline = kNever;
};

class Scheduler {
 public:
  // The calling thread becomes the first of the simulation, which ends with the process.
  static void Start(uint64_t seed, bool trace);
  // Null in a thread that is none of the simulation: before Start.
  static Scheduler* Get() { return self_ != nullptr ? scheduler_ : nullptr; }

  // A place where others may run.
  void Point(const char* doing, const void* at) {
    ++points_;
    now_ += kPointTime;
    if (--left_ == 0) {
      Preempt(doing, at);
    }
  }
  // A place where others should run.
  void Yield();
  // Waits until Wake(at), true, or until the deadline, false.
  bool Block(const char* doing, const void* at, Time deadline = kNever);
  // Lets `most` of those run that are blocked at `at`, any; returns how many.
  size_t Wake(const void* at, size_t most);

  Time now() const { return now_; }
  // For all that is to be drawn outside the workload.
  uint64_t Draw(uint64_t low, uint64_t high) { return Uniform(&random_, low, high); }

  Thread* self() const { return self_; }
  Thread* AddThread(void* (*run)(void*), void* argument);
  Thread* FindThread(pthread_t handle);
  void ForgetThread(Thread* thread);
  // The first that a thread does, and the last.
  static void* Enter(void* thread);
  void Leave();

  // Draws how to choose from now on.
  void DrawStrategy();
  // Something is done that was to be done: a long time without is a failure.
  void Progress();
  // What came out of something: replays must agree on it.
  void Note(uint64_t outcome) { digest_ = (digest_ ^ outcome) * 0x9e3779b97f4a7c15; }
  uint64_t digest() const { return digest_; }
  uint64_t points() const { return points_; }
  uint64_t switches() const { return switches_; }
  bool traces() const { return trace_; }

  // Says where all threads are, and ends the process.
  [[noreturn]] void Fail(const std::string& why);

 private:
  friend class Undisturbed;

  static constexpr Time kPointTime = 50;

  explicit Scheduler(uint64_t seed) : random_(seed) {}

  void Preempt(const char* doing, const void* at);
  void PassTime();
  void DrawGap();
  // Passes the baton to whoever is to run; returns when it comes back.
  void Reschedule();
  Thread* Choose();
  void SwitchTo(Thread* next);
  void AwaitBaton();
  void WaitUntilGone(int kernel_id) const;
  void PrintThread(const Thread& thread) const;

  static Scheduler* scheduler_;
  static constinit thread_local Thread* self_;

  TestRandom random_;
  bool trace_ = false;
  std::vector<std::unique_ptr<Thread>> threads_;  // that are not forgotten
  std::vector<Thread*> runnable_;                 // scratch
  int threads_made_ = 0;
  Thread* running_ = nullptr;
  int gone_ = 0;  // the kernel's number of the thread that has just left

  uint64_t points_ = 0;
  uint64_t left_ = 1;  // points, until the next preemption
  Time now_ = 0;
  int undisturbed_ = 0;

  bool priorities_ = false;
  uint64_t most_gap_ = 1;
  uint64_t lowest_priority_ = 0;
  bool overtaken_ = false;    // a thread of a higher priority can run
  uint64_t left_before_ = 0;  // of points, when it was overtaken

  uint64_t digest_ = 0;
  uint64_t switches_ = 0;
  uint64_t progress_points_ = 0;
  Time progress_time_ = 0;
  Thread* failing_ = nullptr;
};

// While it lives, nobody else runs: what is done is one step.
class Undisturbed {
 public:
  Undisturbed() { ++Scheduler::scheduler_->undisturbed_; }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
  ~Undisturbed() { --Scheduler::scheduler_->undisturbed_; }
};

}  // namespace sluice::sim
