#include "util/idle_cores.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace sluice {
namespace {

TEST(IdleCoresTest, ReadsTheFirstLine) {
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(IdleSeconds("cpu  1 2 3 400 50 6 7 8 9 10\ncpu0 1 2 3 7 8 9\n"), 450 * tick);
  EXPECT_LT(IdleSeconds(""), 0);
  EXPECT_LT(IdleSeconds("cpu  1 2 3\n"), 0);
}

TEST(IdleCoresTest, NoMoreThanThereAre) {
  IdleCores cores;
  EXPECT_EQ(cores.Now(), 0);
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    const double idle = cores.Now();
    EXPECT_GE(idle, 0);
    // Ticks are counted late by one for each core.
    EXPECT_LE(idle, 1.2 * static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN)));
  }
}

// Three cores are kept busy by what would not be there.
TEST(IdleCoresTest, WhatStandsForOthersLeavesCoresIdle) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  IdleCores cores([&] { return 100 + 3 * seconds(); });
  EXPECT_EQ(cores.Now(), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  EXPECT_GT(cores.Now(), 2.9);
}

}  // namespace
}  // namespace sluice
