// The bound on what transactions take of memory, sluice/options.h's transaction_memory_bytes.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "db/transaction_fixture.h"
#include "sluice/transaction.h"
#include "util/testing.h"

namespace sluice {
namespace {

using Code = Status::Code;

using TransactionMemoryTest = TransactionTest;

// All transactions together have a bound on buffers and locks; one that is refused more goes on
// with what it has.
TEST_F(TransactionMemoryTest, HaveABoundTogether) {
  options_.transaction_memory_bytes = 100'000;
  Open();
  const auto used = [&] { return db_->GetStatistics().transactions.memory_bytes; };
  const std::string value(1000, 'v');
  for (const bool locks_only : {false, true}) {
    std::vector<std::unique_ptr<Transaction>> open;
    Status status;
    while (status.ok()) {
      ASSERT_LT(open.size(), 100u);
      open.push_back(Begin());
      const std::string key = std::to_string(open.size());
      if (!locks_only) {
        status = open.back()->Put(nullptr, key, value);
        continue;
      }
      std::string found;
      for (int i = 0; i < 10 && status.ok(); ++i) {
        status = open.back()->GetForUpdate({}, nullptr, fmt::format("lock{}.{}", key, i), &found);
        status = status.IsNotFound() ? Status() : status;
      }
    }
    EXPECT_EQ(status.code(), Code::kTooLarge);
    EXPECT_NE(status.message().find("Options::transaction_memory_bytes"), std::string::npos)
        << status.ToString();
    EXPECT_GT(open.size(), 10u);
    EXPECT_GT(used(), 90'000u);
    // The transaction object itself may go beyond the bound, but not what it holds.
    EXPECT_LE(used(), 101'500u);
    std::string text;
    ASSERT_TRUE(db_->GetProperty("sluice.transaction-memory-capacity", &text).ok());
    EXPECT_EQ(text, "100000");
    ASSERT_TRUE(db_->GetProperty("sluice.transaction-memory-usage", &text).ok());
    EXPECT_EQ(text, std::to_string(used()));
    // What was refused was not done, and locks nothing.
    const std::string refused = std::to_string(open.size());
    EXPECT_EQ(Get(*open.back(), refused), "-");
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(open[i]->Commit().ok());
      open[i].reset();
    }
    EXPECT_EQ(Get(*db_, "1"), value);
    auto other = Begin();
    ASSERT_TRUE(other->Put(nullptr, refused, "other").ok());
    ASSERT_TRUE(other->Rollback().ok());
    ASSERT_TRUE(open.back()->Put(nullptr, refused, "later").ok());
    ASSERT_TRUE(open.back()->Commit().ok());
    EXPECT_EQ(Get(*db_, refused), "later");
    open.clear();
    other.reset();
    EXPECT_EQ(used(), 0u);
  }
}

TEST_F(TransactionMemoryTest, GiveMemoryBackAsTheyShrinkAndEnd) {
  options_.transaction_memory_bytes = 100'000;
  Open();
  const auto used = [&] { return db_->GetStatistics().transactions.memory_bytes; };
  auto t = Begin();
  const uint64_t empty = used();
  EXPECT_GT(empty, 0u);
  ASSERT_TRUE(t->Put(nullptr, "k", "v").ok());
  const uint64_t small = used();
  t->SetSavepoint();
  ASSERT_TRUE(t->Put(nullptr, "k", std::string(50'000, 'v')).ok());
  EXPECT_GT(used(), 50'000u);
  EXPECT_EQ(t->Put(nullptr, "l", std::string(50'000, 'v')).code(), Code::kTooLarge);
  ASSERT_TRUE(t->RollbackToSavepoint().ok());
  EXPECT_EQ(used(), small);
  // One row, written over and over, is one row.
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(t->Put(nullptr, "k", std::string(i, 'v')).ok());
  }
  EXPECT_LT(used(), small + 3000);
  // A transaction that waits in vain, or loses, holds nothing more than before.
  auto other = Begin();
  const uint64_t before = used();
  EXPECT_EQ(other->Put(nullptr, "k", std::string(10'000, 'v')).code(), Code::kTimedOut);
  EXPECT_EQ(used(), before);
  ASSERT_TRUE(other->Put(nullptr, "l", "v").ok());
  ASSERT_TRUE(other->CommitAsync().get().ok());
  other.reset();
  ASSERT_TRUE(t->Commit().ok());
  EXPECT_EQ(used(), empty);  // it is still there
  t.reset();
  EXPECT_EQ(used(), 0u);
}

// However many threads take memory at once, it never exceeds the bound, and in the end none is
// taken.
TEST_F(TransactionMemoryTest, KeepTheirBoundAmongThreads) {
  constexpr int kThreads = 6;
  constexpr uint64_t kBound = 200'000;
  const uint64_t seed = TestSeed();
  options_.transaction_memory_bytes = kBound;
  options_.memtable_bytes = 16 << 20;
  options_.log_segment_bytes = 16 << 20;
  Open();
  // At first each thread takes what it can get and keeps it until all have: so the bound is met
  // whatever runs when.
  std::atomic<int> refused{0};
  std::barrier full(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      TestRandom random(seed + i);
      {
        auto t = Begin();
        Status status;
        for (int n = 0; status.ok() && n <= static_cast<int>(kBound / 8000); ++n) {
          status = t->Put(nullptr, fmt::format("{}/{}", i, n), std::string(8000, 'v'));
        }
        refused += status.code() == Code::kTooLarge ? 1 : 0;
        full.arrive_and_wait();
      }
      for (int n = 0; n < 100; ++n) {
        auto t =
            Begin(Isolation::kReadCommitted, std::chrono::milliseconds(Uniform(&random, 0, 1)));
        Status status;
        for (uint64_t steps = Uniform(&random, 1, 30); steps > 0; --steps) {
          const std::string key = std::to_string(Uniform(&random, 0, 200));
          status = t->Put(nullptr, key, std::string(Uniform(&random, 0, 8000), 'v'));
          if (status.code() == Code::kDeadlock) {
            break;
          }
        }
        ASSERT_LE(db_->GetStatistics().transactions.memory_bytes, kBound + kThreads * 1024);
        if (status.code() != Code::kDeadlock && Uniform(&random, 0, 4) == 0) {
          ASSERT_TRUE(Uniform(&random, 0, 1) != 0 ? t->Commit().ok() : t->CommitAsync().get().ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(refused, kThreads);
  EXPECT_EQ(db_->GetStatistics().transactions.memory_bytes, 0u);
}

}  // namespace
}  // namespace sluice
