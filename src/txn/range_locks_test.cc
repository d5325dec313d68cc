#include "txn/range_locks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "txn/lock_table.h"

namespace sluice {
namespace {

constexpr std::chrono::hours kForever{1000};
using Code = Status::Code;

constexpr LockMode kShared = LockMode::kShared;
constexpr LockMode kExclusive = LockMode::kExclusive;

class RangeLocksTest : public testing::Test {
 protected:
  using Owner = LockTable::Owner;

  Status Row(Owner* owner, std::string_view key, LockMode mode = kExclusive,
             std::chrono::milliseconds timeout = {}) {
    bool taken;
    return table_.Acquire(owner, 0, key, mode, timeout, &taken);
  }
  Status Range(Owner* owner, std::string_view begin, std::string_view end,
               LockMode mode = kExclusive, std::chrono::milliseconds timeout = {}) {
    bool taken;
    const Status status = table_.AcquireRange(owner, 0, begin, end, mode, timeout, &taken);
    if (taken) {
      table_.KeepRange(owner, 0);
    }
    return status;
  }
  std::future<Status> RowLater(Owner* owner, const std::string& key, LockMode mode = kExclusive) {
    return std::async(std::launch::async, [=, this] { return Row(owner, key, mode, kForever); });
  }
  std::future<Status> RangeLater(Owner* owner, const std::string& begin, const std::string& end,
                                 LockMode mode = kExclusive) {
    return std::async(std::launch::async,
                      [=, this] { return Range(owner, begin, end, mode, kForever); });
  }
  void AwaitWaits(uint64_t waits) {
    while (table_.stats().waits < waits) {
      std::this_thread::yield();
    }
  }

  MemoryBudget memory_;
  LockTable table_{&memory_};
  Owner a_{&table_, 1};
  Owner b_{&table_, 2};
  Owner c_{&table_, 3};
};

TEST(KeySpan, ComparesRowsAndRanges) {
  const std::string b0("b\0", 2);
  const KeySpan b = KeySpan::Row("b");
  EXPECT_TRUE(b.Overlaps(KeySpan::Between("b", b0)));
  EXPECT_TRUE(b.Overlaps(KeySpan::Between("", "")));
  EXPECT_FALSE(b.Overlaps(KeySpan::Between(b0, "")));
  EXPECT_FALSE(b.Overlaps(KeySpan::Between("a", "b")));
  EXPECT_FALSE(b.Overlaps(KeySpan::Row(b0)));
  EXPECT_TRUE(KeySpan::Between("b", b0).EndsBy(b));
  EXPECT_TRUE(b.EndsBy(KeySpan::Between("b", b0)));
  EXPECT_FALSE(KeySpan::Between("b", "b1").EndsBy(b));
  EXPECT_FALSE(KeySpan::Between("a", "").EndsBy(b));
  EXPECT_TRUE(KeySpan::Between("a", "b").EndsBy(b));
  EXPECT_TRUE(b.EndsBy(KeySpan::Between("a", "")));
  EXPECT_TRUE(b.Contains(KeySpan::Between("b", b0)));
  EXPECT_FALSE(b.Contains(KeySpan::Between("b", "c")));
}

TEST_F(RangeLocksTest, KeepsOthersFromEveryKeyInIt) {
  ASSERT_TRUE(Range(&a_, "b", "d").ok());
  for (const std::string key : {"b", "b\1", "c", "cz"}) {
    EXPECT_EQ(Row(&b_, key).code(), Code::kTimedOut) << key;
    EXPECT_EQ(Row(&b_, key, kShared).code(), Code::kTimedOut) << key;
    EXPECT_TRUE(Row(&a_, key).ok()) << key;
  }
  for (const std::string key : {"", "a", "az", "d", "e"}) {
    EXPECT_TRUE(Row(&b_, key).ok()) << key;
  }
  EXPECT_EQ(Row(&b_, "c").message(),
            "transaction 2 waited 0 ms for 'c' of sub-table 0, held by transaction 1");
  EXPECT_EQ(Range(&b_, "a", "c").message(),
            "transaction 2 waited 0 ms for the keys from 'a' to 'c' of sub-table 0, held by "
            "transaction 1");
  EXPECT_EQ(Range(&c_, "", "").message(),
            "transaction 3 waited 0 ms for the keys from '' on of sub-table 0, held by "
            "transaction 2");
  EXPECT_TRUE(Range(&b_, "a", "b").ok());
  EXPECT_TRUE(Range(&b_, "d", "").ok());
  bool taken;
  EXPECT_TRUE(table_.Acquire(&c_, 1, "c", kExclusive, {}, &taken).ok());
  table_.ReleaseAll(&a_);
  EXPECT_TRUE(Range(&b_, "", "").ok());
  EXPECT_EQ(Row(&a_, "zz").code(), Code::kTimedOut);
}

TEST_F(RangeLocksTest, IsSharedAndUpgraded) {
  ASSERT_TRUE(Range(&a_, "b", "d", kShared).ok());
  ASSERT_TRUE(Range(&b_, "c", "", kShared).ok());
  ASSERT_TRUE(Row(&b_, "b", kShared).ok());
  EXPECT_EQ(Row(&b_, "b").code(), Code::kTimedOut);
  EXPECT_EQ(Row(&a_, "c").code(), Code::kTimedOut);
  EXPECT_TRUE(Row(&a_, "bb").ok());
  // The row stays exclusive, with and without the range around it.
  EXPECT_EQ(Row(&b_, "bb", kShared).code(), Code::kTimedOut);
  EXPECT_EQ(Range(&b_, "b", "c", kShared).code(), Code::kTimedOut);
  EXPECT_TRUE(Range(&a_, "ba", "c").ok());
  EXPECT_EQ(Range(&a_, "ba", "c\1").code(), Code::kTimedOut);
  EXPECT_EQ(Row(&b_, "ba", kShared).code(), Code::kTimedOut);
  table_.KeepExclusiveRows(&a_);
  EXPECT_EQ(a_.range_bytes(), 0u);
  EXPECT_TRUE(Row(&b_, "ba").ok());
  EXPECT_EQ(Row(&b_, "bb").code(), Code::kTimedOut);
}

// A scan that locks as it goes has one range, whatever the order.
TEST_F(RangeLocksTest, RangesThatTouchBecomeOne) {
  const auto bytes = [](std::string_view begin, std::string_view end) {
    return LockTable::kLockBytes + begin.size() + end.size();
  };
  for (const bool forward : {true, false}) {
    for (int i = 0; i < 1000; ++i) {
      const int at = forward ? i : 999 - i;
      ASSERT_TRUE(Range(&a_, fmt::format("{:04}", at), fmt::format("{:04}", at + 1), kShared).ok());
    }
    EXPECT_EQ(table_.stats().held, 1u);
    EXPECT_EQ(memory_.used(), bytes("0000", "1000"));
    EXPECT_EQ(a_.range_bytes(), memory_.used());
    // Covered by what it has.
    ASSERT_TRUE(Range(&a_, "0100", "0200", kShared).ok());
    EXPECT_EQ(table_.stats().held, 1u);
    // One that closes a gap, on both sides.
    ASSERT_TRUE(Range(&a_, "2000", "3000", kShared).ok());
    EXPECT_EQ(table_.stats().held, 2u);
    ASSERT_TRUE(Range(&a_, "0999", "2500", kShared).ok());
    EXPECT_EQ(memory_.used(), bytes("0000", "3000"));
    // An exclusive one takes the place of the shared ones that it covers.
    ASSERT_TRUE(Range(&a_, "1", "2", kExclusive).ok());
    EXPECT_EQ(table_.stats().held, 2u);
    ASSERT_TRUE(Range(&a_, "", "", kExclusive).ok());
    EXPECT_EQ(table_.stats().held, 1u);
    EXPECT_EQ(memory_.used(), bytes("", ""));
    table_.ReleaseAll(&a_);
    EXPECT_EQ(a_.range_bytes(), 0u);
    EXPECT_EQ(memory_.used(), 0u);
  }
}

TEST_F(RangeLocksTest, WhatIsGivenUpLeavesWhatWasThere) {
  ASSERT_TRUE(Range(&a_, "c", "e", kShared).ok());
  const size_t before = memory_.used();
  bool taken;
  ASSERT_TRUE(table_.AcquireRange(&a_, 0, "a", "d", kExclusive, {}, &taken).ok());
  ASSERT_TRUE(taken);
  auto waiting = RowLater(&b_, "b");
  AwaitWaits(1);
  table_.GiveUpRange(&a_, 0);
  EXPECT_TRUE(waiting.get().ok());
  EXPECT_EQ(memory_.used(), before + LockTable::kLockBytes + 1);
  EXPECT_TRUE(Row(&b_, "c", kShared).ok());
  EXPECT_EQ(Row(&b_, "d").code(), Code::kTimedOut);
}

TEST_F(RangeLocksTest, CountsMemoryAndRefusesWhatHasNoRoom) {
  memory_.SetLimit(LockTable::kLockBytes + 4);
  EXPECT_EQ(Range(&a_, "abc", "de").code(), Code::kTooLarge);
  ASSERT_TRUE(Range(&a_, "ab", "de").ok());
  EXPECT_EQ(Row(&a_, "ac").code(), Code::kTooLarge);
  // Neither does a wait.
  EXPECT_EQ(Row(&b_, "ac", kExclusive, kForever).code(), Code::kTooLarge);
  EXPECT_EQ(Row(&b_, "ac").code(), Code::kTimedOut);
  EXPECT_EQ(memory_.used(), memory_.limit());
}

// What was locked and waited for before the first range of the sub-table goes on as before.
TEST_F(RangeLocksTest, RowsMoveWithThoseWhoWait) {
  Owner d(&table_, 4);
  ASSERT_TRUE(Row(&a_, "k", kShared).ok());
  ASSERT_TRUE(Row(&a_, "k", kShared).ok());
  ASSERT_TRUE(Row(&a_, "l").ok());
  ASSERT_TRUE(Row(&b_, "k", kShared).ok());
  auto upgrade = RowLater(&b_, "k");
  AwaitWaits(1);
  auto reads = RowLater(&c_, "k", kShared);
  AwaitWaits(2);
  auto cancelled = RowLater(&d, "l");
  AwaitWaits(3);
  ASSERT_TRUE(Range(&a_, "x", "").ok());
  EXPECT_EQ(Range(&a_, "k", "m").message(),
            "transaction 1 waited 0 ms for the keys from 'k' to 'm' of sub-table 0, held by "
            "transaction 2");
  table_.CancelWaits(&d);
  EXPECT_EQ(cancelled.get().code(), Code::kCancelled);
  EXPECT_EQ(Row(&d, "k", kShared).code(), Code::kTimedOut);
  EXPECT_FALSE(table_.Release(&a_, 0, "k"));
  EXPECT_EQ(upgrade.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_TRUE(table_.Release(&a_, 0, "k"));
  EXPECT_TRUE(upgrade.get().ok());
  EXPECT_EQ(reads.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  table_.ReleaseAll(&b_);
  EXPECT_TRUE(reads.get().ok());
  std::string rows;
  a_.ForEachRow([&](uint32_t, std::string_view key, LockMode) { rows += key; });
  EXPECT_EQ(rows, "l");
  table_.ReleaseAll(&a_);
  table_.ReleaseAll(&c_);
  EXPECT_EQ(table_.stats().held, 0u);
  EXPECT_EQ(memory_.used(), 0u);
}

TEST_F(RangeLocksTest, ServesInTheOrderOfAsking) {
  ASSERT_TRUE(Range(&a_, "a", "c", kShared).ok());
  auto writes = RangeLater(&b_, "b", "d");
  AwaitWaits(1);
  // Later requests that overlap it wait behind it; others do not.
  EXPECT_EQ(Row(&c_, "c", kShared).message(),
            "transaction 3 waited 0 ms for 'c' of sub-table 0, awaited by transaction 2");
  EXPECT_TRUE(Row(&c_, "a", kShared).ok());
  EXPECT_TRUE(Row(&c_, "d").ok());
  // Who is waited for goes in front.
  EXPECT_TRUE(Range(&a_, "c", "d").ok());
  auto reads = RowLater(&c_, "b", kShared);
  AwaitWaits(2);
  table_.ReleaseAll(&a_);
  EXPECT_TRUE(writes.get().ok());
  EXPECT_EQ(reads.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  table_.ReleaseAll(&b_);
  EXPECT_TRUE(reads.get().ok());
}

TEST_F(RangeLocksTest, FindsCyclesThroughRangesRowsAndSubtables) {
  bool taken;
  ASSERT_TRUE(Range(&a_, "a", "c").ok());
  ASSERT_TRUE(table_.Acquire(&b_, 5, "row", kExclusive, {}, &taken).ok());
  ASSERT_TRUE(Row(&c_, "x").ok());
  auto b_waits = RangeLater(&b_, "b", "d", kShared);
  AwaitWaits(1);
  auto c_waits = std::async(std::launch::async, [&] {
    bool mine;
    return table_.Acquire(&c_, 5, "row", kShared, kForever, &mine);
  });
  AwaitWaits(2);
  EXPECT_EQ(Range(&a_, "w", "", kShared, kForever).message(),
            "transaction 1 wants the keys from 'w' on of sub-table 0, held by transaction 3, which "
            "waits for 'row' of sub-table 5, held by transaction 2, which waits for the keys from "
            "'b' to 'd' of sub-table 0, held by transaction 1; it gives way");
  table_.ReleaseAll(&a_);
  EXPECT_TRUE(b_waits.get().ok());
  table_.ReleaseAll(&b_);
  EXPECT_TRUE(c_waits.get().ok());
}

TEST_F(RangeLocksTest, FindsCyclesThroughRangesFromARow) {
  bool taken;
  ASSERT_TRUE(Range(&a_, "a", "c").ok());
  ASSERT_TRUE(table_.Acquire(&b_, 5, "row", kExclusive, {}, &taken).ok());
  ASSERT_TRUE(Row(&c_, "x").ok());
  auto c_waits = RangeLater(&c_, "b", "d", kShared);
  AwaitWaits(1);
  auto b_waits = RangeLater(&b_, "w", "", kShared);
  AwaitWaits(2);
  EXPECT_EQ(table_.Acquire(&a_, 5, "row", kShared, std::chrono::seconds(5), &taken).code(),
            Code::kDeadlock);
  table_.ReleaseAll(&a_);
  EXPECT_TRUE(c_waits.get().ok());
  table_.ReleaseAll(&c_);
  EXPECT_TRUE(b_waits.get().ok());
}

// Two that have read the same range, and insert into it.
TEST_F(RangeLocksTest, OneOfTwoThatInsertWhereBothHaveReadGivesWay) {
  ASSERT_TRUE(Range(&a_, "a", "z", kShared).ok());
  ASSERT_TRUE(Range(&b_, "a", "z", kShared).ok());
  auto inserts = RowLater(&a_, "m");
  AwaitWaits(1);
  EXPECT_EQ(Row(&b_, "n", kExclusive, kForever).code(), Code::kDeadlock);
  table_.ReleaseAll(&b_);
  EXPECT_TRUE(inserts.get().ok());
}

// In a moderate time, too.
TEST_F(RangeLocksTest, HoldsManyOfThem) {
  constexpr int kMany = 100'000;
  for (int i = 0; i < kMany; ++i) {
    const std::string key = fmt::format("{:06}", i);
    ASSERT_TRUE(i % 2 == 0 ? Row(&a_, key).ok() : Range(&a_, key, key + "5", kShared).ok());
  }
  EXPECT_EQ(table_.stats().held, uint64_t{kMany});
  EXPECT_TRUE(Row(&b_, "0000006").ok());
  EXPECT_EQ(Row(&b_, "0000014").code(), Code::kTimedOut);
  EXPECT_EQ(Range(&b_, "", "", kShared).code(), Code::kTimedOut);
  ASSERT_TRUE(Range(&a_, "", "0000006").ok());
  ASSERT_TRUE(Range(&a_, "0000007", "").ok());
  EXPECT_EQ(table_.stats().held, uint64_t{kMany / 2 + 3});
  table_.ReleaseAll(&a_);
  table_.ReleaseAll(&b_);
  EXPECT_EQ(memory_.used(), 0u);
}

}  // namespace
}  // namespace sluice
