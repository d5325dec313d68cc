#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace sluice::tools {

namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr size_t kWidth = 30;

}  // namespace

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), enabled_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (visible_) {
    fmt::print(stderr, "\r\x1b[K");
  }
}

void ProgressBar::Update(uint64_t done, uint64_t total) {
  const auto now = Clock::now();
  if (!enabled_ || total == 0 || (visible_ && now - drawn_ < kRedraw)) {
    return;
  }
  drawn_ = now;
  visible_ = true;
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<size_t>(part * kWidth);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::string left =
      part > 0.01 ? fmt::format(", {:.0f} s left", elapsed / part - elapsed) : std::string();
  fmt::print(stderr, "\r{} [{}{}] {:3.0f}%{}\x1b[K", label_, std::string(filled, '#'),
             std::string(kWidth - filled, '.'), 100 * part, left);
  std::fflush(stderr);
}

}  // namespace sluice::tools
