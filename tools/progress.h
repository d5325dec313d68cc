// A progress bar on stderr. Shows nothing unless stderr is a terminal.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sluice::tools {

class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  // Wipes the bar.
  ~ProgressBar();

  // `done` of `total` in any unit; cheap enough to call often.
  void Update(uint64_t done, uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;

  const std::string label_;
  const bool enabled_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_;
  bool visible_ = false;
};

}  // namespace sluice::tools
