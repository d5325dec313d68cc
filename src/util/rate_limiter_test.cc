#include "util/rate_limiter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A limiter of 1000 bytes a second whose time passes only when the test says so.
class RateLimiterTest : public testing::Test {
 protected:
  using Use = RateLimiter::Use;

  // Takes bytes, `piece` by `piece`, until the limiter is stopped.
  void Demand(Use use, uint64_t piece, std::atomic<uint64_t>* taken) {
    threads_.emplace_back([=, this] {
      while (!stopped_) {
        limiter_.Take(use, piece);
        *taken += stopped_ ? 0 : piece;
      }
    });
  }
  void Pass(milliseconds time) {
    now_ = now_.load() + time;
    limiter_.Wake();
  }
  // Waits for it as long as any machine may need.
  static void Until(const std::atomic<uint64_t>& taken, uint64_t least) {
    for (int i = 0; i < 600'000 && taken < least; ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    ASSERT_GE(taken, least);
  }
  void TearDown() override {
    stopped_ = true;
    limiter_.Stop();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  std::atomic<RateLimiter::Clock::time_point> now_{RateLimiter::Clock::time_point(seconds(1000))};
  RateLimiter limiter_{1000, [this] { return now_.load(); }};
  std::atomic<bool> stopped_{false};
  std::deque<std::atomic<uint64_t>> counts_;  // the threads outlive a test's body
  std::vector<std::thread> threads_;
};

TEST_F(RateLimiterTest, LetsThroughWhatTimeAllows) {
  std::atomic<uint64_t>& taken = counts_.emplace_back(0);
  Demand(Use::kCompaction, 10, &taken);
  Demand(Use::kCompaction, 10, &taken);
  // A tenth of a second's bytes were saved, and one piece more begins.
  Until(taken, 110);
  for (int step = 1; step <= 20; ++step) {
    Pass(milliseconds(50));
    Until(taken, 110 + step * 50);
    std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(taken, 110u + step * 50u);
  }
  // Time that nobody used is lost, but for as much as at the beginning.
  Pass(seconds(60));
  Until(taken, 1110 + 110);
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(taken, 1110u + 110u);
}

TEST_F(RateLimiterTest, FlushesGoFirst) {
  std::atomic<uint64_t>& compacted = counts_.emplace_back(0);
  std::atomic<uint64_t>& flushed = counts_.emplace_back(0);
  Demand(Use::kCompaction, 10, &compacted);
  Demand(Use::kCompaction, 10, &compacted);
  Until(compacted, 110);
  Demand(Use::kFlush, 10, &flushed);
  for (uint64_t turn = 1; turn <= 20; ++turn) {
    while (limiter_.waiting(Use::kFlush) < 1 || limiter_.waiting(Use::kCompaction) < 2) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(flushed, 10 * (turn - 1));
    Pass(milliseconds(10));
    Until(flushed, 10 * turn);
    EXPECT_EQ(compacted, 110u);
  }
}

TEST_F(RateLimiterTest, CompactionsTakeWhatTheyNeed) {
  std::atomic<uint64_t>& compacted = counts_.emplace_back(0);
  limiter_.SetNeed(0.25);
  Demand(Use::kCompaction, 10, &compacted);
  // A tenth of a second's share was saved.
  Until(compacted, 30);
  const auto pass = [&](uint64_t pieces, milliseconds time) {
    const uint64_t before = compacted;
    for (uint64_t piece = 1; piece <= pieces; ++piece) {
      std::this_thread::sleep_for(milliseconds(1));
      EXPECT_EQ(compacted, before + 10 * (piece - 1));
      Pass(time);
      Until(compacted, before + 10 * piece);
    }
  };
  pass(20, milliseconds(40));
  // Flushes have all of the rate, whatever compactions need.
  std::atomic<uint64_t>& flushed = counts_.emplace_back(0);
  Demand(Use::kFlush, 10, &flushed);
  Until(flushed, 100);
  for (uint64_t turn = 1; turn <= 20; ++turn) {
    while (limiter_.waiting(Use::kFlush) < 1) {  // or else a compaction may take it first
      std::this_thread::sleep_for(milliseconds(1));
    }
    Pass(milliseconds(10));
    Until(flushed, 100 + 10 * turn);
  }
}

TEST_F(RateLimiterTest, CompactionsAreNeverStarved) {
  std::atomic<uint64_t>& compacted = counts_.emplace_back(0);
  limiter_.SetNeed(0);
  Demand(Use::kCompaction, 10, &compacted);
  Until(compacted, 20);
  for (uint64_t turn = 1; turn <= 20; ++turn) {
    Pass(milliseconds(80));
    Until(compacted, 20 + 10 * turn);
  }
}

TEST_F(RateLimiterTest, HurryTakesAll) {
  std::atomic<uint64_t>& compacted = counts_.emplace_back(0);
  limiter_.SetNeed(0.25);
  {
    const RateLimiter::Hurry hurry(&limiter_);
    Demand(Use::kCompaction, 10, &compacted);
    Until(compacted, 110);
    for (uint64_t turn = 1; turn <= 20; ++turn) {
      std::this_thread::sleep_for(milliseconds(1));
      EXPECT_EQ(compacted, 110 + 10 * (turn - 1));
      Pass(milliseconds(10));
      Until(compacted, 110 + 10 * turn);
    }
  }
}

TEST_F(RateLimiterTest, StopLetsAllGo) {
  std::atomic<uint64_t>& taken = counts_.emplace_back(0);
  Demand(Use::kCompaction, 1'000'000'000, &taken);
  Demand(Use::kFlush, 1'000'000'000, &taken);
  // TearDown joins both.
}

TEST(RateLimiter, NoLimitNoWait) {
  RateLimiter limiter(0);
  for (int i = 0; i < 1000; ++i) {
    limiter.Take(RateLimiter::Use::kCompaction, uint64_t{1} << 40);
  }
}

}  // namespace
}  // namespace sluice
