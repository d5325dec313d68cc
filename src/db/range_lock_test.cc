// What sluice/transaction.h promises of locks of ranges.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "sluice/transaction.h"

namespace sluice {
namespace {

using Code = Status::Code;

class RangeLockTest : public DbFixture, public testing::WithParamInterface<Isolation> {
 protected:
  RangeLockTest() { Open(); }
  std::unique_ptr<Transaction> Begin(std::chrono::milliseconds lock_timeout = {}) {
    return db_->BeginTransaction({.isolation = GetParam(), .lock_timeout = lock_timeout}, {});
  }
  static bool Snapshot() { return GetParam() == Isolation::kSnapshot; }
  Code TryPut(std::string_view key) { return Begin()->Put(nullptr, key, "1").code(); }
  static std::string Scan(Transaction* t) {
    std::string keys;
    const auto at = t->NewIterator({}, nullptr);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      keys += fmt::format("{} ", at->key());
    }
    return keys;
  }
};

// Whatever the others do, and whether the row is there or not.
TEST_P(RangeLockTest, NoRowOfARangeComesChangesOrGoes) {
  ASSERT_TRUE(db_->Put({}, "c", "1").ok());
  auto t = Begin();
  ASSERT_TRUE(t->LockRangeForShare(nullptr, "b", "d").ok());
  EXPECT_EQ(Scan(t.get()), "c ");
  std::string value;
  auto other = Begin();
  EXPECT_EQ(other->Put(nullptr, "b", "2").code(), Code::kTimedOut);
  EXPECT_EQ(other->Put(nullptr, "c", "2").code(), Code::kTimedOut);
  EXPECT_EQ(other->Delete(nullptr, "c").code(), Code::kTimedOut);
  EXPECT_EQ(other->GetForUpdate({}, nullptr, "c1", &value).code(), Code::kTimedOut);
  EXPECT_EQ(other->LockRangeForUpdate(nullptr, "", "b1").code(), Code::kTimedOut);
  EXPECT_TRUE(other->GetForShare({}, nullptr, "c", &value).ok());
  EXPECT_TRUE(other->LockRangeForShare(nullptr, "", "").ok());
  EXPECT_TRUE(other->Get({}, nullptr, "c", &value).ok());
  ASSERT_TRUE(other->Rollback().ok());
  EXPECT_EQ(TryPut("a"), Code::kOk);
  EXPECT_EQ(TryPut("d"), Code::kOk);
  // Its own writes go on.
  ASSERT_TRUE(t->Put(nullptr, "bb", "1").ok());
  ASSERT_TRUE(t->Delete(nullptr, "c").ok());
  // What a row's lock is needed for stays, and what it is not, goes; the range stays either way.
  ASSERT_TRUE(t->GetForUpdate({}, nullptr, "c3", &value).IsNotFound());
  ASSERT_TRUE(t->Unlock(nullptr, "c3").ok());
  EXPECT_EQ(t->Unlock(nullptr, "c3").code(), Code::kInvalidArgument);
  EXPECT_EQ(TryPut("c3"), Code::kTimedOut);
  // It is handed on when the commit is visible.
  auto waiting = std::async(std::launch::async, [&] {
    auto w = Begin(std::chrono::hours(1));
    EXPECT_TRUE(w->LockRangeForUpdate(nullptr, "a", "").ok());
    return Scan(w.get());
  });
  while (db_->GetStatistics().transactions.lock_waits < 1) {
    std::this_thread::yield();
  }
  ASSERT_TRUE(t->Commit().ok());
  EXPECT_EQ(waiting.get(), "bb ");
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 0u);
}

TEST_P(RangeLockTest, OfAnEmptyRangeNothingIsLocked) {
  auto t = Begin();
  ASSERT_TRUE(t->LockRangeForUpdate(nullptr, "b", "b").ok());
  ASSERT_TRUE(t->LockRangeForUpdate(nullptr, "c", "b").ok());
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 0u);
  EXPECT_EQ(t->LockRangeForUpdate(nullptr, "a", std::string(70'000, 'x')).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(t->LockRangeForUpdate(nullptr, std::string(70'000, 'x'), "").code(),
            Code::kInvalidArgument);
  ASSERT_TRUE(t->Rollback().ok());
  EXPECT_FALSE(t->LockRangeForShare(nullptr, "a", "b").ok());
}

// In snapshots, what was read before the lock came may be out of date: wherever the newer version
// is, and whatever it is.
TEST_P(RangeLockTest, RefusesARangeThatWasWrittenSinceTheSnapshot) {
  const auto write = [&](int how) {
    switch (how) {
      case 0:
        return db_->Put({}, "m", "2");
      case 1:
        return db_->Delete({}, "l");
      case 2:
        return db_->DeleteRange({}, "k", "m");
      default:
        return db_->DeleteRange({}, "k", "");
    }
  };
  for (int how = 0; how < 4; ++how) {
    for (int moved = 0; moved < 4; ++moved) {
      ASSERT_TRUE(db_->Put({}, "l", "1").ok());
      ASSERT_TRUE(db_->Put({}, "y", "1").ok());
      if (moved != 3) {
        ASSERT_TRUE(db_->Flush(nullptr).ok());
      }
      auto t = Begin();
      std::string value;
      ASSERT_TRUE(t->Get({}, nullptr, "l", &value).ok());
      ASSERT_TRUE(write(how).ok());
      if (moved > 0 && moved < 3) {
        ASSERT_TRUE(db_->Flush(nullptr).ok());
      }
      if (moved == 2) {
        ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
      }
      const std::string at = fmt::format("write {}, moved {}", how, moved);
      const auto bytes = db_->GetStatistics().transactions.memory_bytes;
      EXPECT_EQ(t->LockRangeForShare(nullptr, "l", "m1").code(),
                Snapshot() ? Code::kConflict : Code::kOk)
          << at;
      if (Snapshot()) {
        EXPECT_EQ(db_->GetStatistics().transactions.memory_bytes, bytes);
        EXPECT_EQ(TryPut("l"), Code::kOk);  // nothing is locked
      }
      EXPECT_TRUE(t->LockRangeForShare(nullptr, "a", "k").ok()) << at;
      EXPECT_EQ(t->LockRangeForShare(nullptr, "x", "").code(),
                Snapshot() && how == 3 ? Code::kConflict : Code::kOk)
          << at;
    }
  }
  // Without an older snapshot there is nothing to refuse.
  auto t = Begin();
  ASSERT_TRUE(t->LockRangeForShare(nullptr, "", "").ok());
  std::string value;
  EXPECT_TRUE(t->Get({}, nullptr, "l", &value).IsNotFound());
}

// A deadlock ends with the victim rolled back, as among rows.
TEST_P(RangeLockTest, OneOfTwoThatInsertWhereBothHaveReadIsRolledBack) {
  auto a = Begin(std::chrono::hours(1));
  auto b = Begin(std::chrono::hours(1));
  ASSERT_TRUE(a->LockRangeForShare(nullptr, "a", "z").ok());
  ASSERT_TRUE(b->LockRangeForShare(nullptr, "a", "z").ok());
  auto waiting = std::async(std::launch::async, [&] { return a->Put(nullptr, "m", "1"); });
  while (db_->GetStatistics().transactions.lock_waits < 1) {
    std::this_thread::yield();
  }
  EXPECT_EQ(b->LockRangeForUpdate(nullptr, "b", "c").code(), Code::kDeadlock);
  EXPECT_TRUE(waiting.get().ok());
  EXPECT_FALSE(b->Commit().ok());
  EXPECT_TRUE(a->Commit().ok());
}

TEST_P(RangeLockTest, CountsInTheMemoryOfTheTransaction) {
  auto t = db_->BeginTransaction({.isolation = GetParam(), .max_bytes = 10'000}, {});
  // A scan that locks as it goes has one range.
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(
        t->LockRangeForShare(nullptr, fmt::format("{:04}", i), fmt::format("{:04}", i + 1)).ok());
  }
  Status status;
  int apart = 0;
  for (; status.ok(); ++apart) {
    status = t->LockRangeForShare(nullptr, fmt::format("a{:04}", 2 * apart),
                                  fmt::format("a{:04}", 2 * apart + 1));
  }
  EXPECT_EQ(status.code(), Code::kTooLarge);
  EXPECT_GT(apart, 50);
  EXPECT_LT(apart, 70);
  EXPECT_EQ(t->Put(nullptr, "x", std::string(200, 'x')).code(), Code::kTooLarge);
}

// After the first phase nothing is read any more. What was written stays locked, and comes back so.
TEST_P(RangeLockTest, PrepareKeepsTheRowsAndNotTheRanges) {
  for (const std::string name : {"x", "y"}) {
    auto t = Begin();
    std::string value;
    ASSERT_TRUE(t->LockRangeForUpdate(nullptr, "e", "f").ok());
    ASSERT_TRUE(t->LockRangeForUpdate(nullptr, "m" + name, "m" + name + "~").ok());
    ASSERT_TRUE(t->LockRangeForShare(nullptr, "n", "").ok());
    ASSERT_TRUE(t->Put(nullptr, "m" + name + "1", "1").ok());
    ASSERT_TRUE(t->Put(nullptr, "b" + name, "1").ok());
    ASSERT_TRUE(t->GetForUpdate({}, nullptr, "c" + name, &value).IsNotFound());
    ASSERT_TRUE(t->GetForShare({}, nullptr, "d" + name, &value).IsNotFound());
    // Not locked by itself, and so not at all from now on, or both could not come back.
    ASSERT_TRUE(t->PutUntracked(nullptr, "e", name).ok());
    ASSERT_TRUE(t->Prepare(name).ok());
    EXPECT_FALSE(t->LockRangeForUpdate(nullptr, "a", "k").ok());
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(db_->GetStatistics().transactions.locks, 6u);
    for (const std::string name : {"x", "y"}) {
      EXPECT_EQ(TryPut("b" + name), Code::kTimedOut);
      EXPECT_EQ(TryPut("c" + name), Code::kTimedOut);
      EXPECT_EQ(TryPut("d" + name), Code::kOk);
      EXPECT_EQ(TryPut("m" + name + "1"), Code::kTimedOut);
      EXPECT_EQ(TryPut("m" + name + "2"), Code::kOk);
    }
    EXPECT_EQ(TryPut("e"), Code::kOk);
    EXPECT_EQ(TryPut("a"), Code::kOk);
    EXPECT_EQ(Begin()->LockRangeForShare(nullptr, "", "c").code(), Code::kTimedOut);
    EXPECT_TRUE(Begin()->LockRangeForUpdate(nullptr, "d", "m").ok());
    EXPECT_TRUE(Begin()->LockRangeForUpdate(nullptr, "n", "").ok());
    Open();
    EXPECT_EQ(db_->ListPrepared(), (std::vector<std::string>{"x", "y"}));
  }
  for (const std::string name : {"y", "x"}) {
    std::unique_ptr<Transaction> t;
    ASSERT_TRUE(db_->ResumeTransaction(name, {}, &t).ok());
    ASSERT_TRUE(t->Commit().ok());
  }
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 0u);
  std::string value;
  ASSERT_TRUE(db_->Get({}, "e", &value).ok());
  EXPECT_EQ(value, "x");
}

INSTANTIATE_TEST_SUITE_P(Levels, RangeLockTest,
                         testing::Values(Isolation::kSnapshot, Isolation::kReadCommitted),
                         [](const auto& info) {
                           return info.param == Isolation::kSnapshot ? "Snapshot" : "ReadCommitted";
                         });

}  // namespace
}  // namespace sluice
