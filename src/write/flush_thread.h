// The thread that flushes the log for all who wait for it: one flush after the other, each for what
// was wanted before it began.
//
// A flush waits a moment for those whom the last one woke, and who are about to want another: they
// come one after the other, and who misses a flush waits for a whole one.
//
// Where a flush takes less time than it takes to wake a thread, because the log is in memory, who
// is alone to want one does it on its own thread.
//
// Thread-safe.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "util/mutex.h"

namespace sluice {

// What a flush does. Both are called by the thread, in turn.
class FlushSteps {
 public:
  virtual void Flush() = 0;
  // Tells those who wait for the flush, but for those in Await. Returns how many it told.
  virtual size_t CompleteFlushed() = 0;

 protected:
  ~FlushSteps() = default;
};

class FlushThread {
 public:
  explicit FlushThread(FlushSteps* steps);
  FlushThread(const FlushThread&) = delete;
  FlushThread& operator=(const FlushThread&) = delete;
  // After the flushes that are wanted.
  ~FlushThread();

  // Whether the caller, who alone waits for it, is to do the next flush, by RunOwn. Then none
  // begins before that.
  bool BeginOwn();
  void RunOwn();
  // There is to be one more flush, of which `awaited` are told.
  void Want(size_t awaited);
  // Returns when a flush has ended, and has told others, that began after the call.
  void Await();

 private:
  using Clock = std::chrono::steady_clock;

  void WantLocked(size_t awaited) SLUICE_REQUIRES(mutex_);
  // Flushes, and returns how many CompleteFlushed has told.
  size_t Run();
  std::atomic<uint32_t>& Ended(uint32_t flush) { return ended_[flush % 2]; }
  void Loop();

  FlushSteps& steps_;
  Mutex mutex_;
  CondVar due_;
  bool wanted_ SLUICE_GUARDED_BY(mutex_) = false;
  bool flushing_ SLUICE_GUARDED_BY(mutex_) = false;
  size_t blocked_ SLUICE_GUARDED_BY(mutex_) = 0;      // who wait for the next flush
  size_t expected_ SLUICE_GUARDED_BY(mutex_) = 0;     // that it should wait a moment for
  bool gathering_ SLUICE_GUARDED_BY(mutex_) = false;  // only the last of these need wake it
  uint32_t begun_ SLUICE_GUARDED_BY(mutex_) = 0;   // flushes of the thread; wraps, as what follows
  size_t sleepers_ SLUICE_GUARDED_BY(mutex_) = 0;  // in Await, of `blocked_`
  // The last flush with an even number, and the last with an odd one: who waits for the next flush is
  // not woken by the one under way.
  std::array<std::atomic<uint32_t>, 2> ended_{};
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::atomic<Clock::duration> took_{Clock::duration::max()};  // the last flush
  std::thread thread_;
};

}  // namespace sluice
