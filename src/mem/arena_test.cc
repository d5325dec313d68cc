#include "mem/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace sluice {
namespace {

TEST(Arena, StaysSmallUntilUsed) {
  MemoryAccount account(nullptr);
  Arena arena(&account);
  EXPECT_EQ(account.bytes(), 0u);
  arena.Allocate(1);
  EXPECT_LE(account.bytes(), size_t{1} << 10);
}

TEST(Arena, AddsNoBlockThatIsTooSmall) {
  MemoryAccount account(nullptr);
  Arena arena(&account);
  arena.Allocate(10'000);
  EXPECT_LE(account.bytes(), size_t{16} << 10);
}

// Threads fill what they get with their own number: whatever overlaps is overwritten.
TEST(Arena, NothingOverlaps) {
  MemoryAccount account(nullptr);
  Arena arena(&account);
  struct Piece {
    char* data;
    size_t bytes;
  };
  std::vector<std::vector<Piece>> pieces(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < pieces.size(); ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 20'000; ++i) {
        const size_t bytes = i % 1000 == 999 ? 100'000 : 1 + i * 7 % 300;
        char* const data = arena.Allocate(bytes);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(data) % alignof(void*), 0u);
        std::memset(data, static_cast<int>('a' + t), bytes);
        pieces[t].push_back({data, bytes});
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  size_t total = 0;
  for (size_t t = 0; t < pieces.size(); ++t) {
    for (const Piece& piece : pieces[t]) {
      total += piece.bytes;
      for (size_t i = 0; i < piece.bytes; ++i) {
        ASSERT_EQ(piece.data[i], static_cast<char>('a' + t));
      }
    }
  }
  EXPECT_GE(account.bytes(), total);
  EXPECT_LE(account.bytes(), 2 * total);
}

}  // namespace
}  // namespace sluice
