#include "txn/lock_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sluice {
namespace {

constexpr std::chrono::hours kForever{1000};
using Code = Status::Code;

constexpr LockMode kShared = LockMode::kShared;
constexpr LockMode kExclusive = LockMode::kExclusive;

Status Acquire(LockTable* table, LockTable::Owner* owner, std::string_view key,
               std::chrono::milliseconds timeout = kForever, LockMode mode = kExclusive) {
  bool taken;
  return table->Acquire(owner, 0, key, mode, timeout, &taken);
}
Status Share(LockTable* table, LockTable::Owner* owner, std::string_view key,
             std::chrono::milliseconds timeout = {}) {
  return Acquire(table, owner, key, timeout, kShared);
}
std::future<Status> AcquireLater(LockTable* table, LockTable::Owner* owner, const std::string& key,
                                 LockMode mode = kExclusive) {
  return std::async(std::launch::async, [=] { return Acquire(table, owner, key, kForever, mode); });
}
size_t Rows(LockTable::Owner* owner) {
  size_t rows = 0;
  owner->ForEachRow([&](uint32_t, std::string_view, LockMode) { ++rows; });
  return rows;
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
  EXPECT_TRUE(table.Acquire(&a, 0, "k", kExclusive, {}, &taken).ok());
  EXPECT_TRUE(taken);
  EXPECT_TRUE(table.Acquire(&a, 0, "k", kExclusive, {}, &taken).ok());
  EXPECT_FALSE(taken);
  EXPECT_TRUE(table.Acquire(&b, 1, "k", kExclusive, {}, &taken).ok());
  EXPECT_TRUE(table.Acquire(&b, 0, "", kExclusive, {}, &taken).ok());
  const Status busy = table.Acquire(&b, 0, "k", kExclusive, {}, &taken);
  EXPECT_EQ(busy.code(), Code::kTimedOut);
  EXPECT_EQ(busy.message(),
            "transaction 2 waited 0 ms for 'k' of sub-table 0, held by transaction 1");
  EXPECT_FALSE(taken);
  EXPECT_EQ(table.stats().held, 3u);
  EXPECT_TRUE(Acquire(&table, &a, "l").ok());
  EXPECT_TRUE(table.Release(&a, 0, "l"));
  EXPECT_TRUE(Acquire(&table, &b, "l", {}).ok());
  EXPECT_EQ(Acquire(&table, &b, "k", {}).code(), Code::kTimedOut);
  table.ReleaseAll(&a);
  EXPECT_TRUE(Acquire(&table, &b, "k", {}).ok());
  EXPECT_EQ(Rows(&b), 4u);
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
  EXPECT_TRUE(table.Release(&b, 0, "l"));
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

TEST(LockTable, IsSharedByReadersInTheOrderOfAsking) {
  MemoryBudget memory;
  LockTable table(&memory);
  LockTable::Owner a(&table, 1);
  LockTable::Owner b(&table, 2);
  LockTable::Owner c(&table, 3);
  LockTable::Owner d(&table, 4);
  ASSERT_TRUE(Share(&table, &a, "k").ok());
  ASSERT_TRUE(Share(&table, &b, "k").ok());
  ASSERT_TRUE(Share(&table, &b, "k").ok());
  EXPECT_EQ(table.stats().held, 2u);
  EXPECT_EQ(Acquire(&table, &c, "k", {}).message(),
            "transaction 3 waited 0 ms for 'k' of sub-table 0, held by transaction 1 and 1 more");
  // A reader that comes after a writer waits for it; one that has the lock has it.
  auto writes = AcquireLater(&table, &c, "k");
  AwaitWaits(table, 1);
  EXPECT_EQ(Share(&table, &d, "k").message(),
            "transaction 4 waited 0 ms for 'k' of sub-table 0, held by transaction 1 and 1 more "
            "and awaited by transaction 3");
  auto reads = AcquireLater(&table, &d, "k", kShared);
  AwaitWaits(table, 2);
  EXPECT_TRUE(Share(&table, &a, "k").ok());
  table.ReleaseAll(&a);
  table.ReleaseAll(&b);
  EXPECT_TRUE(writes.get().ok());
  EXPECT_EQ(Share(&table, &a, "k").code(), Code::kTimedOut);
  EXPECT_TRUE(Share(&table, &c, "k").ok());  // it has more than that
  table.ReleaseAll(&c);
  EXPECT_TRUE(reads.get().ok());
  EXPECT_TRUE(Share(&table, &a, "k").ok());
  EXPECT_EQ(Acquire(&table, &d, "k", {}).code(), Code::kTimedOut);
}

// When a writer gives up, the readers behind it need not wait any longer.
TEST(LockTable, WhoLeavesTheLineLetsReadersPass) {
  for (const bool cancelled : {false, true}) {
    MemoryBudget memory;
    LockTable table(&memory);
    LockTable::Owner a(&table, 1);
    LockTable::Owner b(&table, 2);
    LockTable::Owner c(&table, 3);
    ASSERT_TRUE(Share(&table, &a, "k").ok());
    auto writes = std::async(std::launch::async, [&] {
      return Acquire(&table, &b, "k", cancelled ? kForever : std::chrono::milliseconds(100));
    });
    AwaitWaits(table, 1);
    auto reads = AcquireLater(&table, &c, "k", kShared);
    AwaitWaits(table, 2);
    if (cancelled) {
      table.CancelWaits(&b);
    }
    EXPECT_EQ(writes.get().code(), cancelled ? Code::kCancelled : Code::kTimedOut);
    EXPECT_TRUE(reads.get().ok());
  }
}

TEST(LockTable, ASharerMayTakeTheLockForItself) {
  MemoryBudget memory;
  LockTable table(&memory);
  LockTable::Owner a(&table, 1);
  LockTable::Owner b(&table, 2);
  LockTable::Owner c(&table, 3);
  ASSERT_TRUE(Share(&table, &a, "k").ok());
  bool taken;
  EXPECT_TRUE(table.Acquire(&a, 0, "k", kExclusive, {}, &taken).ok());
  EXPECT_FALSE(taken);
  EXPECT_EQ(table.stats().held, 1u);
  EXPECT_EQ(Share(&table, &b, "k").code(), Code::kTimedOut);
  table.ReleaseAll(&a);
  // In front of who came before: they wait for it anyway.
  ASSERT_TRUE(Share(&table, &a, "k").ok());
  ASSERT_TRUE(Share(&table, &b, "k").ok());
  auto writes = AcquireLater(&table, &c, "k");
  AwaitWaits(table, 1);
  EXPECT_EQ(Acquire(&table, &b, "k", {}).message(),
            "transaction 2 waited 0 ms for 'k' of sub-table 0, held by transaction 1");
  auto upgrades = AcquireLater(&table, &b, "k");
  AwaitWaits(table, 2);
  table.ReleaseAll(&a);
  EXPECT_TRUE(upgrades.get().ok());
  EXPECT_EQ(Share(&table, &a, "k").code(), Code::kTimedOut);
  table.ReleaseAll(&b);
  EXPECT_TRUE(writes.get().ok());
  table.ReleaseAll(&c);
  // At once, where nobody else shares it, even if others wait.
  ASSERT_TRUE(Share(&table, &a, "k").ok());
  writes = AcquireLater(&table, &c, "k");
  AwaitWaits(table, 3);
  EXPECT_TRUE(Acquire(&table, &a, "k", {}).ok());
  EXPECT_EQ(Rows(&b), 0u);
  EXPECT_EQ(Rows(&a), 1u);
  table.ReleaseAll(&a);
  EXPECT_TRUE(writes.get().ok());
}

TEST(LockTable, FindsDeadlocksAmongReaders) {
  MemoryBudget memory;
  LockTable table(&memory);
  LockTable::Owner a(&table, 1);
  LockTable::Owner b(&table, 2);
  LockTable::Owner c(&table, 3);
  LockTable::Owner d(&table, 4);
  ASSERT_TRUE(Share(&table, &a, "k").ok());
  ASSERT_TRUE(Share(&table, &b, "k").ok());
  auto upgrades = AcquireLater(&table, &a, "k");
  AwaitWaits(table, 1);
  EXPECT_EQ(Acquire(&table, &b, "k").ToString(),
            "deadlock: transaction 2 wants 'k' of sub-table 0, held by transaction 1, which waits "
            "for 'k' of sub-table 0, held by transaction 2; it gives way");
  table.ReleaseAll(&b);
  EXPECT_TRUE(upgrades.get().ok());
  table.ReleaseAll(&a);
  // Through a reader that waits for a writer in line, not for who holds the lock in its way.
  ASSERT_TRUE(Share(&table, &a, "k").ok());
  ASSERT_TRUE(Acquire(&table, &c, "l").ok());
  ASSERT_TRUE(Share(&table, &d, "k").ok());
  auto writes = AcquireLater(&table, &b, "k");
  AwaitWaits(table, 2);
  auto reads = AcquireLater(&table, &c, "k", kShared);
  AwaitWaits(table, 3);
  EXPECT_EQ(Share(&table, &d, "l", kForever).ToString(),
            "deadlock: transaction 4 wants 'l' of sub-table 0, held by transaction 3, which waits "
            "for 'k' of sub-table 0, held by transaction 4; it gives way");
  table.ReleaseAll(&d);
  table.ReleaseAll(&a);
  EXPECT_TRUE(writes.get().ok());
  table.ReleaseAll(&b);
  EXPECT_TRUE(reads.get().ok());
}

TEST(LockTable, WaitsAreCancelledUntilTheyAreAllowed) {
  MemoryBudget memory;
  LockTable table(&memory);
  LockTable::Owner a(&table, 1);
  LockTable::Owner b(&table, 2);
  ASSERT_TRUE(Acquire(&table, &a, "k").ok());
  auto waiting = AcquireLater(&table, &b, "k");
  AwaitWaits(table, 1);
  table.CancelWaits(&b);
  EXPECT_EQ(waiting.get().ToString(),
            "cancelled: transaction 2 does not wait for 'k' of sub-table 0 any more");
  // Be it that it had not begun to wait.
  EXPECT_EQ(Acquire(&table, &b, "k").code(), Code::kCancelled);
  EXPECT_EQ(memory.used(), LockTable::kLockBytes + 1);
  EXPECT_EQ(Acquire(&table, &b, "k", {}).code(), Code::kTimedOut);
  EXPECT_TRUE(Acquire(&table, &b, "l").ok());
  table.AllowWaits(&b);
  waiting = AcquireLater(&table, &b, "k");
  AwaitWaits(table, 2);
  table.ReleaseAll(&a);
  EXPECT_TRUE(waiting.get().ok());
  EXPECT_EQ(Rows(&b), 2u);
}

TEST(LockTable, ReleasesWhatWasAcquiredAsOftenAsItWas) {
  MemoryBudget memory;
  LockTable table(&memory);
  LockTable::Owner a(&table, 1);
  LockTable::Owner b(&table, 2);
  ASSERT_TRUE(Share(&table, &a, "k").ok());
  ASSERT_TRUE(Acquire(&table, &a, "k").ok());
  ASSERT_TRUE(Share(&table, &a, "k").ok());
  EXPECT_FALSE(table.Release(&a, 0, "k"));
  EXPECT_FALSE(table.Release(&a, 0, "k"));
  EXPECT_EQ(Share(&table, &b, "k").code(), Code::kTimedOut);  // it is as strong as it was
  EXPECT_FALSE(table.Release(&b, 0, "k"));
  EXPECT_TRUE(table.Release(&a, 0, "k"));
  EXPECT_FALSE(table.Release(&a, 0, "k"));
  EXPECT_FALSE(table.Holds(a, 0, "k", kShared));
  EXPECT_EQ(Rows(&a), 0u);
  // The next in line gets it.
  ASSERT_TRUE(Acquire(&table, &a, "k").ok());
  auto waiting = AcquireLater(&table, &b, "k");
  AwaitWaits(table, 1);
  EXPECT_TRUE(table.Release(&a, 0, "k"));
  EXPECT_TRUE(waiting.get().ok());
  EXPECT_TRUE(table.Holds(b, 0, "k", kShared));
  EXPECT_FALSE(table.Holds(b, 1, "k", kShared));
}

// In whatever order, those that are left are known.
TEST(LockTable, ReleasesAnyOfMany) {
  constexpr int kLocks = 20'000;
  for (const bool forward : {false, true}) {
    MemoryBudget memory;
    LockTable table(&memory);
    LockTable::Owner a(&table, 1);
    for (int i = 0; i < kLocks; ++i) {
      ASSERT_TRUE(Share(&table, &a, std::to_string(i)).ok());
    }
    for (int i = 0; i < kLocks - 10; ++i) {
      ASSERT_TRUE(table.Release(&a, 0, std::to_string(forward ? i : kLocks - 1 - i)));
    }
    EXPECT_EQ(Rows(&a), 10u);
    std::string left;
    a.ForEachRow([&](uint32_t, std::string_view key, LockMode) { left += key.substr(0, 1); });
    EXPECT_EQ(left, forward ? "1111111111" : "0123456789");
    table.ReleaseAll(&a);
    EXPECT_EQ(table.stats().held, 0u);
    EXPECT_EQ(memory.used(), 0u);
  }
}

TEST(LockTable, ReleasesTheSharedOnesAlone) {
  MemoryBudget memory;
  LockTable table(&memory);
  LockTable::Owner a(&table, 1);
  LockTable::Owner b(&table, 2);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(
        Acquire(&table, &a, fmt::format("{:02}", i), {}, i % 10 == 3 ? kExclusive : kShared).ok());
  }
  table.KeepExclusiveRows(&a);
  EXPECT_EQ(Rows(&a), 10u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Acquire(&table, &b, fmt::format("{:02}", i), {}).ok(), i % 10 != 3);
  }
  for (int i = 3; i < 100; i += 10) {
    EXPECT_TRUE(table.Release(&a, 0, fmt::format("{:02}", i)));
  }
  EXPECT_EQ(memory.used(), 90 * (LockTable::kLockBytes + 2));
}

}  // namespace
}  // namespace sluice
