#include "txn/lock_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr std::chrono::hours kForever{1000};
using Code = Status::Code;

Status Acquire(LockTable* table, LockTable::Owner* owner, std::string_view key,
               std::chrono::milliseconds timeout = kForever) {
  bool taken;
  return table->Acquire(owner, 0, key, timeout, &taken);
}
std::future<Status> AcquireLater(LockTable* table, LockTable::Owner* owner,
                                 const std::string& key) {
  return std::async(std::launch::async, [=] { return Acquire(table, owner, key); });
}
void AwaitWaits(const LockTable& table, uint64_t waits) {
  while (table.stats().waits < waits) {
    std::this_thread::yield();
  }
}

TEST(LockTable, RowsOfAllSubtablesAreApart) {
  MemoryBudget memory;
  LockTable table(&memory);
  LockTable::Owner a(&table, 1);
  LockTable::Owner b(&table, 2);
  bool taken;
  EXPECT_TRUE(table.Acquire(&a, 0, "k", {}, &taken).ok());
  EXPECT_TRUE(taken);
  EXPECT_TRUE(table.Acquire(&a, 0, "k", {}, &taken).ok());
  EXPECT_FALSE(taken);
  EXPECT_TRUE(table.Acquire(&b, 1, "k", {}, &taken).ok());
  EXPECT_TRUE(table.Acquire(&b, 0, "", {}, &taken).ok());
  const Status busy = table.Acquire(&b, 0, "k", {}, &taken);
  EXPECT_EQ(busy.code(), Code::kTimedOut);
  EXPECT_EQ(busy.message(),
            "transaction 2 waited 0 ms for 'k' of sub-table 0, held by transaction 1");
  EXPECT_FALSE(taken);
  EXPECT_EQ(table.stats().held, 3u);
  EXPECT_TRUE(Acquire(&table, &a, "l").ok());
  table.ReleaseLast(&a);
  EXPECT_TRUE(Acquire(&table, &b, "l", {}).ok());
  EXPECT_EQ(Acquire(&table, &b, "k", {}).code(), Code::kTimedOut);
  table.ReleaseAll(&a);
  EXPECT_TRUE(Acquire(&table, &b, "k", {}).ok());
  EXPECT_EQ(b.held(), 4u);
}

TEST(LockTable, CountsTheMemoryOfWhoHasLocksAndWhoWaits) {
  MemoryBudget memory;
  memory.SetLimit(2 * LockTable::kLockBytes + 2);
  LockTable table(&memory);
  LockTable::Owner a(&table, 1);
  LockTable::Owner b(&table, 2);
  ASSERT_TRUE(Acquire(&table, &a, "k").ok());
  ASSERT_TRUE(Acquire(&table, &a, "k").ok());
  EXPECT_EQ(memory.used(), LockTable::kLockBytes + 1);
  EXPECT_EQ(Acquire(&table, &b, "k", {}).code(), Code::kTimedOut);
  EXPECT_EQ(Acquire(&table, &b, "k", std::chrono::milliseconds(1)).code(), Code::kTimedOut);
  EXPECT_EQ(memory.used(), LockTable::kLockBytes + 1);
  ASSERT_TRUE(Acquire(&table, &b, "l").ok());
  EXPECT_EQ(memory.used(), memory.limit());
  // Neither a free row nor a wait, but what it has.
  EXPECT_EQ(Acquire(&table, &a, "m").code(), Code::kTooLarge);
  EXPECT_EQ(Acquire(&table, &a, "l").code(), Code::kTooLarge);
  EXPECT_TRUE(Acquire(&table, &a, "k").ok());
  table.ReleaseLast(&b);
  std::future<Status> waits = AcquireLater(&table, &b, "k");
  AwaitWaits(table, 2);
  EXPECT_EQ(memory.used(), memory.limit());
  table.ReleaseAll(&a);
  EXPECT_TRUE(waits.get().ok());
  EXPECT_EQ(memory.used(), LockTable::kLockBytes + 1);
  table.ReleaseAll(&b);
  EXPECT_EQ(memory.used(), 0u);
}

TEST(LockTable, HandsOnInOrder) {
  MemoryBudget memory;
  LockTable table(&memory);
  LockTable::Owner first(&table, 0);
  ASSERT_TRUE(Acquire(&table, &first, "k").ok());
  std::vector<std::unique_ptr<LockTable::Owner>> owners;
  std::vector<std::future<Status>> waiting;
  for (uint64_t i = 1; i <= 5; ++i) {
    owners.push_back(std::make_unique<LockTable::Owner>(&table, i));
    waiting.push_back(AcquireLater(&table, owners.back().get(), "k"));
    AwaitWaits(table, i);
  }
  table.ReleaseAll(&first);
  for (size_t i = 0; i < owners.size(); ++i) {
    EXPECT_TRUE(waiting[i].get().ok());
    // It is the one that holds it.
    EXPECT_NE(Acquire(&table, &first, "k", {})
                  .message()
                  .find(fmt::format("held by transaction {}", i + 1)),
              std::string::npos);
    table.ReleaseAll(owners[i].get());
  }
  EXPECT_EQ(table.stats().held, 0u);
}

TEST(LockTable, WhoTimesOutLeavesTheLine) {
  MemoryBudget memory;
  LockTable table(&memory);
  LockTable::Owner a(&table, 1);
  LockTable::Owner b(&table, 2);
  LockTable::Owner c(&table, 3);
  ASSERT_TRUE(Acquire(&table, &a, "k").ok());
  EXPECT_EQ(Acquire(&table, &b, "k", std::chrono::milliseconds(1)).code(), Code::kTimedOut);
  EXPECT_EQ(table.stats().timeouts, 1u);
  auto waiting = AcquireLater(&table, &c, "k");
  AwaitWaits(table, 2);
  // No edge is left behind.
  ASSERT_TRUE(Acquire(&table, &b, "l").ok());
  EXPECT_EQ(Acquire(&table, &a, "l", std::chrono::milliseconds(1)).code(), Code::kTimedOut);
  table.ReleaseAll(&a);
  EXPECT_TRUE(waiting.get().ok());
}

TEST(LockTable, NamesTheCycle) {
  MemoryBudget memory;
  LockTable table(&memory);
  LockTable::Owner a(&table, 11);
  LockTable::Owner b(&table, 12);
  LockTable::Owner c(&table, 13);
  ASSERT_TRUE(Acquire(&table, &a, "x").ok());
  ASSERT_TRUE(Acquire(&table, &b, std::string("y\0", 2)).ok());
  ASSERT_TRUE(Acquire(&table, &c, "z").ok());
  auto a_waits = AcquireLater(&table, &a, std::string("y\0", 2));
  AwaitWaits(table, 1);
  auto b_waits = AcquireLater(&table, &b, "z");
  AwaitWaits(table, 2);
  const Status status = Acquire(&table, &c, "x");
  EXPECT_EQ(status.ToString(),
            "deadlock: transaction 13 wants 'x' of sub-table 0, held by transaction 11, which "
            "waits for 'y\\x00' of sub-table 0, held by transaction 12, which waits for 'z' of "
            "sub-table 0, held by transaction 13; it gives way");
  table.ReleaseAll(&c);
  EXPECT_TRUE(b_waits.get().ok());
  table.ReleaseAll(&b);
  EXPECT_TRUE(a_waits.get().ok());
}

// Owners that wait do so in threads of their own; everything else happens here, one step after the
// other, and must be what a plain model says.
TEST(LockTable, DoesWhatAModelDoes) {
  constexpr size_t kOwners = 7;
  constexpr size_t kRows = 6;
  TestRandom random(TestSeed());
  for (int round = 0; round < 25; ++round) {
    MemoryBudget memory;
    LockTable table(&memory);
    std::vector<std::unique_ptr<LockTable::Owner>> owners;
    for (size_t i = 0; i < kOwners; ++i) {
      owners.push_back(std::make_unique<LockTable::Owner>(&table, i));
    }
    std::vector<std::future<Status>> waiting(kOwners);
    // The model.
    struct Row {
      int owner = -1;
      std::deque<size_t> line{};
    };
    std::vector<Row> rows(kRows);
    std::vector<int> awaits(kOwners, -1);
    uint64_t waits = 0;
    uint64_t deadlocks = 0;
    const auto release = [&](size_t self) {
      table.ReleaseAll(owners[self].get());
      for (Row& row : rows) {
        if (row.owner != static_cast<int>(self)) {
          continue;
        }
        row.owner = -1;
        if (!row.line.empty()) {
          const size_t next = row.line.front();
          row.line.pop_front();
          row.owner = static_cast<int>(next);
          awaits[next] = -1;
          ASSERT_TRUE(waiting[next].get().ok());
        }
      }
    };
    for (int step = 0; step < 120; ++step) {
      const size_t self = Uniform(&random, 0, kOwners - 1);
      if (awaits[self] >= 0) {
        continue;
      }
      if (Uniform(&random, 0, 9) == 0) {
        release(self);
        continue;
      }
      const size_t wanted = Uniform(&random, 0, kRows - 1);
      Row& row = rows[wanted];
      const std::string key = std::to_string(wanted);
      if (row.owner < 0 || row.owner == static_cast<int>(self)) {
        row.owner = static_cast<int>(self);
        ASSERT_TRUE(Acquire(&table, owners[self].get(), key).ok());
        continue;
      }
      bool cycle = false;
      for (int at = row.owner; !cycle && awaits[at] >= 0;) {
        at = rows[awaits[at]].owner;
        cycle = at == static_cast<int>(self);
      }
      if (cycle) {
        ASSERT_EQ(Acquire(&table, owners[self].get(), key).code(), Code::kDeadlock);
        ++deadlocks;
        release(self);
      } else {
        row.line.push_back(self);
        awaits[self] = static_cast<int>(wanted);
        waiting[self] = AcquireLater(&table, owners[self].get(), key);
        AwaitWaits(table, ++waits);
      }
      ASSERT_EQ(table.stats().deadlocks, deadlocks);
    }
    // Without a cycle somebody does not wait.
    for (;;) {
      size_t left = 0;
      for (size_t i = 0; i < kOwners; ++i) {
        left += owners[i]->held();
        if (awaits[i] < 0) {
          release(i);
        }
      }
      if (left == 0) {
        break;
      }
    }
    ASSERT_EQ(table.stats().held, 0u);
  }
}

// What the locks guard is touched without any other protection: ThreadSanitizer sees when two hold
// one. Nobody has a time-out; it ends because deadlocks are found.
TEST(LockTable, ExcludesAndAlwaysEnds) {
  constexpr int kThreads = 8;
  constexpr int kTransactions = 1500;
  constexpr size_t kRows = 10;
  const uint64_t seed = TestSeed();
  MemoryBudget memory;
  LockTable table(&memory);
  std::vector<uint64_t> guarded(kRows);
  std::atomic<uint64_t> done{0};
  std::atomic<uint64_t> next_id{1};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      TestRandom random(seed + t);
      for (int i = 0; i < kTransactions; ++i) {
        LockTable::Owner owner(&table, next_id++);
        std::vector<size_t> mine;
        bool victim = false;
        for (uint64_t n = Uniform(&random, 1, 4); n > 0 && !victim; --n) {
          const size_t row = Uniform(&random, 0, kRows - 1);
          const bool impatient = Uniform(&random, 0, 20) == 0;
          bool taken;
          const Status status =
              table.Acquire(&owner, 7, std::to_string(row),
                            impatient ? std::chrono::milliseconds(1) : kForever, &taken);
          if (status.code() == Code::kDeadlock) {
            victim = true;
          } else if (taken) {
            mine.push_back(row);
          } else if (!status.ok()) {
            ASSERT_EQ(status.code(), Code::kTimedOut);
            ASSERT_TRUE(impatient);
          }
        }
        for (const size_t row : mine) {
          ++guarded[row];
          ++done;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  uint64_t sum = 0;
  for (const uint64_t n : guarded) {
    sum += n;
  }
  EXPECT_EQ(sum, done.load());
  EXPECT_EQ(table.stats().held, 0u);
  EXPECT_EQ(memory.used(), 0u);
}

}  // namespace
}  // namespace sluice
