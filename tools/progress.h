// Progress on stderr, for people who wait: a bar where it is known how much there is to do, a
// counter elsewhere. Shows nothing unless stderr is a terminal, and nothing before a second has
// passed (environment variable SLUICE_PROGRESS_DELAY: other seconds). Wiped at the end.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace sluice::tools {

// What is counted: bytes, or things of this name, or only the time.
inline constexpr std::string_view kBytesUnit = "B";
inline constexpr std::string_view kNoUnit;

// How far a piece of work is, in its unit; total 0: unknown.
struct ProgressCount {
  uint64_t done = 0;
  uint64_t total = 0;
};

// One line about work that takes `seconds` so far:
//   verifying [##########....................]  34%, 512.0 MB/s, 4 s left
//   writing: 120000 records, 60000 records/s
//   opening: 3 s
std::string ProgressText(std::string_view label, std::string_view unit, ProgressCount count,
                         double seconds);

// Where a bar shows, and when.
struct ProgressTerminal {
  double delay = 1;  // seconds before it shows at all
  std::function<double()> seconds;
  std::function<void(const std::string&)> print;  // null: nowhere

  static ProgressTerminal Stderr();
};

// Thread-compatible.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label, std::string_view unit = kNoUnit,
                       ProgressTerminal terminal = ProgressTerminal::Stderr());
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  // Wipes the bar.
  ~ProgressBar();

  // Whether it may show.
  bool enabled() const { return terminal_.print != nullptr; }
  // Cheap enough to call often.
  void Update(uint64_t done, uint64_t total);

 private:
  const std::string label_;
  const std::string unit_;
  const ProgressTerminal terminal_;
  double start_ = 0;
  double drawn_ = 0;
  bool visible_ = false;
};

// A bar for work that does not tell how far it is: asks `count`, from a thread of its own, until it
// is destroyed. Without a terminal there is neither thread nor question.
class PolledProgress {
 public:
  using Count = std::function<ProgressCount()>;

  PolledProgress(std::string label, std::string_view unit, Count count,
                 ProgressTerminal terminal = ProgressTerminal::Stderr());
  // Shows the time only.
  explicit PolledProgress(std::string label);
  PolledProgress(const PolledProgress&) = delete;
  PolledProgress& operator=(const PolledProgress&) = delete;
  ~PolledProgress();

 private:
  void Poll();

  const Count count_;
  ProgressBar bar_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace sluice::tools
