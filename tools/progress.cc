#include "progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "colour.h"

namespace sluice::tools {

namespace {

constexpr double kRedraw = 0.1;  // seconds
constexpr size_t kWidth = 30;

double Delay() {
  const char* const text = std::getenv("SLUICE_PROGRESS_DELAY");
  return text == nullptr ? 1 : std::atof(text);
}

// "12.3 MB", "120000 records".
std::string Amount(double amount, std::string_view unit) {
  if (unit != kBytesUnit) {
    return fmt::format("{:.0f} {}", amount, unit);
  }
  return amount < 1e9 ? fmt::format("{:.1f} MB", amount / 1e6)
                      : fmt::format("{:.2f} GB", amount / 1e9);
}

}  // namespace

std::string ProgressText(std::string_view label, std::string_view unit, ProgressCount count,
                         double seconds) {
  const auto done = static_cast<double>(count.done);
  const bool counts = unit != kNoUnit && count.done > 0 && seconds > 0;
  if (count.total == 0) {
    return counts ? fmt::format("{}: {}, {}/s", label, Amount(done, unit),
                                Amount(done / seconds, unit))
                  : fmt::format("{}: {:.0f} s", label, seconds);
  }
  const double part = std::min(1.0, done / static_cast<double>(count.total));
  const auto filled = static_cast<size_t>(part * kWidth);
  return fmt::format(
      "{} [{}{}] {:3.0f}%{}{}", label, std::string(filled, '#'), std::string(kWidth - filled, '.'),
      100 * part, counts ? fmt::format(", {}/s", Amount(done / seconds, unit)) : std::string(),
      part > 0.01 ? fmt::format(", {:.0f} s left", seconds / part - seconds) : std::string());
}

ProgressTerminal ProgressTerminal::Stderr() {
  if (!IsTerminal(stderr)) {
    return {};
  }
  const auto seconds = [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  };
  const auto print = [](const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  return {.delay = Delay(), .seconds = seconds, .print = print};
}

ProgressBar::ProgressBar(std::string label, std::string_view unit, ProgressTerminal terminal)
    : label_(std::move(label)),
      unit_(unit),
      terminal_(std::move(terminal)),
      start_(enabled() ? terminal_.seconds() : 0) {}

ProgressBar::~ProgressBar() {
  if (visible_) {
    terminal_.print("\r\x1b[K");
  }
}

void ProgressBar::Update(uint64_t done, uint64_t total) {
  if (!enabled()) {
    return;
  }
  const double now = terminal_.seconds();
  if (now - start_ < terminal_.delay || (visible_ && now - drawn_ < kRedraw)) {
    return;
  }
  drawn_ = now;
  visible_ = true;
  terminal_.print(
      fmt::format("\r{}\x1b[K", ProgressText(label_, unit_, {done, total}, now - start_)));
}

PolledProgress::PolledProgress(std::string label, std::string_view unit, Count count,
                               ProgressTerminal terminal)
    : count_(std::move(count)), bar_(std::move(label), unit, std::move(terminal)) {
  if (bar_.enabled()) {
    thread_ = std::thread([this] { Poll(); });
  }
}

PolledProgress::PolledProgress(std::string label)
    : PolledProgress(std::move(label), kNoUnit, [] { return ProgressCount(); }) {}

PolledProgress::~PolledProgress() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      end_ = true;
    }
    ended_.notify_one();
    thread_.join();
  }
}

void PolledProgress::Poll() {
  std::unique_lock lock(mutex_);
  do {
    const ProgressCount count = count_();
    bar_.Update(count.done, count.total);
  } while (!ended_.wait_for(lock, std::chrono::duration<double>(kRedraw), [this] { return end_; }));
}

}  // namespace sluice::tools
