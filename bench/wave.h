// A load that comes as a wave (X-Engine 1, the "tsunami problem", and its Figure 1): a calm, then a
// hundred times as much from one moment to the next, then calm again; a third of the time each.
//
// Operations are due at set times whether or not the engine keeps up, and their response time
// counts from then: what waits during a stall counts as waiting, too.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::bench {

inline constexpr double kWaveHeight = 100;

class Wave {
 public:
  // `calm`: operations per second before and after it.
  Wave(double calm, double seconds) : calm_(calm), third_(seconds / 3) {}

  // Seconds from the begin on; of the last one and those after it, at least `seconds`.
  double DueAt(uint64_t operation) const {
    const auto n = static_cast<double>(operation);
    const double before = calm_ * third_;
    const double high = before * kWaveHeight;
    if (n < before) {
      return n / calm_;
    }
    if (n < before + high) {
      return third_ + (n - before) / (calm_ * kWaveHeight);
    }
    return 2 * third_ + (n - before - high) / calm_;
  }
  double seconds() const { return 3 * third_; }

 private:
  const double calm_;
  const double third_;
};

// Response times over time, by when operations were due.
class Responses {
 public:
  static constexpr double kIntervalSeconds = 0.1;
  struct Interval {
    uint64_t count = 0;
    double sum_us = 0;
    double max_us = 0;
  };

  void Add(double due_seconds, double us) {
    Interval& interval = At(static_cast<size_t>(due_seconds / kIntervalSeconds));
    ++interval.count;
    interval.sum_us += us;
    interval.max_us = std::max(interval.max_us, us);
  }
  void Merge(const Responses& other) {
    for (size_t i = 0; i < other.intervals_.size(); ++i) {
      Interval& interval = At(i);
      interval.count += other.intervals_[i].count;
      interval.sum_us += other.intervals_[i].sum_us;
      interval.max_us = std::max(interval.max_us, other.intervals_[i].max_us);
    }
  }
  const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  Interval& At(size_t i) {
    if (intervals_.size() <= i) {
      intervals_.resize(i + 1);
    }
    return intervals_[i];
  }

  std::vector<Interval> intervals_;
};

}  // namespace sluice::bench
