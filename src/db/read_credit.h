// What reads pay for having to look into several runs, in bytes of compaction.
//
// Once reads have paid as much as a compaction costs that makes the runs fewer, that compaction is
// due. As far as the prices below are right, reads and compactions then cost no more than twice
// what they would have cost had the reads to come been known (ski rental). LevelDB's compactions by
// seeks follow the same rule.
//
// Thread-safe.

#pragma once

#include <atomic>
#include <cstdint>

#include "compaction/compaction_picker.h"

namespace sluice {

class ReadCredit {
 public:
  // What it costs to look into one more run: a Get reads a filter, an iterator usually reads a
  // block. A byte of compaction takes less time than these suggest, but wears the device out.
  static constexpr uint64_t kGet = 32;
  static constexpr uint64_t kIterator = 1024;

  // Counts what a read pays; true once when the awaited compaction is paid for. Costs next to
  // nothing while none is awaited.
  bool Earn(uint64_t bytes) {
    const uint64_t awaited = awaited_.load(std::memory_order_relaxed);
    if (awaited == kNoCredit) {
      return false;
    }
    // Counts one read for many, so that threads seldom meet here.
    thread_local uint32_t reads = 0;
    if (++reads % kSample != 0) {
      return false;
    }
    return credit_.fetch_add(kSample * bytes, std::memory_order_relaxed) + kSample * bytes >=
               awaited &&
           awaited_.exchange(kNoCredit, std::memory_order_relaxed) != kNoCredit;
  }
  uint64_t value() const { return credit_.load(std::memory_order_relaxed); }
  // REQUIRES: not more than value().
  void Spend(uint64_t bytes) { credit_.fetch_sub(bytes, std::memory_order_relaxed); }
  // What the next compaction for reads costs; kNoCredit: there is none.
  void Await(uint64_t bytes) { awaited_.store(bytes, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kSample = 32;

  std::atomic<uint64_t> credit_{0};
  std::atomic<uint64_t> awaited_{kNoCredit};
};

}  // namespace sluice
