// Latencies over time: of the calls that ended in each second of a run.
//
// Thread-compatible.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "bench/histogram.h"

namespace sluice::bench {

class Seconds {
 public:
  // Of a call that ended `at` after the run's begin, and took `ns`.
  void Add(std::chrono::nanoseconds at, uint64_t ns) {
    const auto second = static_cast<size_t>(at / std::chrono::seconds(1));
    while (seconds_.size() <= second) {
      seconds_.emplace_back();
    }
    seconds_[second].Add(ns);
  }
  void Merge(const Seconds& other) {
    while (seconds_.size() < other.seconds_.size()) {
      seconds_.emplace_back();
    }
    for (size_t i = 0; i < other.seconds_.size(); ++i) {
      seconds_[i].Merge(other.seconds_[i]);
    }
  }
  // For a run that took so long: whole seconds alone are left.
  void Cut(double run_seconds) {
    while (!seconds_.empty() && static_cast<double>(seconds_.size()) > run_seconds) {
      seconds_.pop_back();
    }
  }
  const std::deque<CoarseHistogram>& all() const { return seconds_; }

 private:
  std::deque<CoarseHistogram> seconds_;  // which do not move as it grows
};

}  // namespace sluice::bench
