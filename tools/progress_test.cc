#include "progress.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace sluice::tools {

namespace {

struct Screen {
  double now = 100;
  std::vector<std::string> printed;

  ProgressTerminal Terminal(double delay) {
    return {.delay = delay,
            .seconds = [this] { return now; },
            .print = [this](const std::string& text) { printed.push_back(text); }};
  }
};

TEST(ProgressTextTest, BarWhereTheTotalIsKnown) {
  EXPECT_EQ(ProgressText("verifying", kBytesUnit, {500'000'000, 1'000'000'000}, 2),
            "verifying [###############...............]  50%, 250.0 MB/s, 2 s left");
  EXPECT_EQ(ProgressText("working", "operations", {30, 120}, 10),
            "working [#######.......................]  25%, 3 operations/s, 30 s left");
  EXPECT_EQ(ProgressText("merging", kNoUnit, {1, 1}, 1),
            "merging [##############################] 100%, 0 s left");
  // So early nobody can tell.
  EXPECT_EQ(ProgressText("merging", kNoUnit, {0, 7}, 1),
            "merging [..............................]   0%");
}

TEST(ProgressTextTest, MoreThanTheTotalIsAll) {
  EXPECT_EQ(ProgressText("merging", kNoUnit, {9, 3}, 5),
            "merging [##############################] 100%, 0 s left");
}

TEST(ProgressTextTest, CounterWhereItIsNot) {
  EXPECT_EQ(ProgressText("writing", "records", {120'000, 0}, 2),
            "writing: 120000 records, 60000 records/s");
  EXPECT_EQ(ProgressText("copying", kBytesUnit, {3'500'000'000, 0}, 10),
            "copying: 3.50 GB, 350.0 MB/s");
  EXPECT_EQ(ProgressText("opening", kNoUnit, {0, 0}, 3.2), "opening: 3 s");
}

TEST(ProgressBarTest, ShowsAfterTheDelayAndIsWiped) {
  Screen screen;
  {
    ProgressBar bar("x", kNoUnit, screen.Terminal(1));
    bar.Update(1, 4);
    screen.now += 0.99;
    bar.Update(2, 4);
    EXPECT_TRUE(screen.printed.empty());
    screen.now += 0.02;
    bar.Update(2, 4);
    ASSERT_EQ(screen.printed.size(), 1u);
    EXPECT_EQ(screen.printed[0], "\rx [###############...............]  50%, 1 s left\x1b[K");
    screen.now += 0.05;  // drawn a moment ago
    bar.Update(3, 4);
    EXPECT_EQ(screen.printed.size(), 1u);
    screen.now += 0.06;
    bar.Update(3, 4);
    EXPECT_EQ(screen.printed.size(), 2u);
  }
  ASSERT_EQ(screen.printed.size(), 3u);
  EXPECT_EQ(screen.printed.back(), "\r\x1b[K");
}

TEST(ProgressBarTest, WhatEndsBeforeTheDelayPrintsNothing) {
  Screen screen;
  {
    ProgressBar bar("x", kNoUnit, screen.Terminal(1));
    screen.now += 0.5;
    bar.Update(1, 1);
  }
  EXPECT_TRUE(screen.printed.empty());
}

TEST(PolledProgressTest, AsksUntilItIsDestroyed) {
  Screen screen;
  std::promise<void> asked;
  std::atomic<int> questions = 0;
  {
    const PolledProgress progress(
        "x", "records",
        [&] {
          if (++questions == 1) {
            asked.set_value();
          }
          return ProgressCount{7, 0};
        },
        screen.Terminal(0));
    asked.get_future().wait();
  }
  EXPECT_EQ(screen.printed.front(), "\rx: 0 s\x1b[K");  // the clock stands still
  EXPECT_EQ(screen.printed.back(), "\r\x1b[K");
}

TEST(PolledProgressTest, AsksNobodyWithoutATerminal) {
  const PolledProgress progress(
      "x", kNoUnit,
      []() -> ProgressCount {
        ADD_FAILURE();
        return {};
      },
      ProgressTerminal());
}

}  // namespace

}  // namespace sluice::tools
