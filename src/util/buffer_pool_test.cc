#include "util/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <thread>

#include "util/testing.h"

namespace sluice {
namespace {

TEST(BufferPoolTest, GivesWhatCameBack) {
  BufferPool pool(1 << 20);
  const char* const first = pool.Take(100'000).get();
  EXPECT_EQ(pool.Take(90'000).get(), first);
  EXPECT_EQ(pool.Take(100'000).get(), first);
  const std::shared_ptr<char> held = pool.Take(100'000);
  EXPECT_NE(pool.Take(100'000), held);
}

TEST(BufferPoolTest, KeepsNoMoreThanItMay) {
  BufferPool pool(200'000);
  // Only what is kept shows: memory that was given back to the system may come again, too.
  std::vector<std::shared_ptr<char>> buffers;
  for (int i = 0; i < 4; ++i) {
    buffers.push_back(pool.Take(80'000));
  }
  buffers.clear();
  EXPECT_EQ(pool.idle_bytes() / 80'000, 2u);
  // Small ones make way for what is needed.
  for (int i = 0; i < 2; ++i) {
    (void)pool.Take(150'000);
  }
  EXPECT_GE(pool.idle_bytes(), 150'000u);
  EXPECT_LE(pool.idle_bytes(), 200'000u);
  (void)pool.Take(1 << 20);
  EXPECT_LE(pool.idle_bytes(), 200'000u);
}

TEST(BufferPoolTest, MayGoBeforeItsBuffers) {
  std::optional<BufferPool> pool(1 << 20);
  const std::shared_ptr<char> held = pool->Take(5000);
  pool.reset();
  std::memset(held.get(), 1, 5000);
}

TEST(BufferPoolTest, NoTwoHaveTheSame) {
  const uint64_t seed = TestSeed();
  BufferPool pool(1 << 20);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 rng(seed + t);
      std::vector<std::pair<std::shared_ptr<char>, size_t>> mine;
      for (int i = 0; i < 2000; ++i) {
        const size_t bytes = 1 + rng() % 20'000;
        mine.emplace_back(pool.Take(bytes), bytes);
        std::memset(mine.back().first.get(), static_cast<int>(t), bytes);
        if (mine.size() == 8) {
          const auto& [buffer, size] = mine[rng() % 8];
          for (size_t at = 0; at < size; at += 64) {
            ASSERT_EQ(buffer.get()[at], static_cast<char>(t));
          }
          mine.erase(mine.begin() + static_cast<ptrdiff_t>(rng() % 8));
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace sluice
