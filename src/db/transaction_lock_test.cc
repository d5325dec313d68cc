// What sluice/transaction.h promises of locks: how long they are waited for, who shares them, and
// when they are given back.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "sluice/transaction.h"

namespace sluice {
namespace {

using Code = Status::Code;

class TransactionLockTest : public DbFixture {
 protected:
  TransactionLockTest() { Open(); }
  std::unique_ptr<Transaction> Begin(Isolation isolation = Isolation::kSnapshot,
                                     std::chrono::milliseconds lock_timeout = {}) {
    return db_->BeginTransaction({.isolation = isolation, .lock_timeout = lock_timeout}, {});
  }
  // What a transaction or database reads: the value, "-" or the error.
  template <typename From>
  static std::string Get(From& from, std::string_view key) {
    std::string value;
    const Status status = from.Get({}, nullptr, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : status.ToString();
  }
  template <typename From>
  static std::string Scan(From& from) {
    std::string all;
    const auto at = from.NewIterator({}, nullptr);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      all += fmt::format("{}={} ", at->key(), at->value());
    }
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    return all;
  }
  void Put(std::string_view key, std::string_view value) {
    ASSERT_TRUE(db_->Put({}, key, value).ok());
  }
  void AwaitWaits(uint64_t waits) {
    while (db_->GetStatistics().transactions.lock_waits < waits) {
      std::this_thread::yield();
    }
  }
};

// SQL's SKIP LOCKED, NOWAIT and WAIT n, by statements of one transaction.
TEST_F(TransactionLockTest, WaitsAsLongAsItsLastLimitSays) {
  for (const std::string key : {"a", "b", "c"}) {
    Put(key, "free");
  }
  auto holder = Begin();
  ASSERT_TRUE(holder->Put(nullptr, "b", "held").ok());
  auto t = Begin(Isolation::kSnapshot, std::chrono::hours(1));
  t->SetLockTimeout({});
  std::string found;
  for (const std::string key : {"a", "b", "c"}) {
    std::string value;
    const Status status = t->GetForUpdate({}, nullptr, key, &value);
    found += status.ok() ? key : status.message();
  }
  EXPECT_EQ(found, fmt::format("atransaction {} waited 0 ms for 'b' of sub-table 0, held by "
                               "transaction {}c",
                               t->id(), holder->id()));
  EXPECT_EQ(db_->GetStatistics().transactions.lock_waits, 0u);
  t->SetLockTimeout(std::chrono::milliseconds(1));
  EXPECT_EQ(t->Delete(nullptr, "b").code(), Code::kTimedOut);
  EXPECT_EQ(db_->GetStatistics().transactions.lock_waits, 1u);
  t->SetLockTimeout(std::chrono::hours(1));
  auto waiting = std::async(std::launch::async, [&] { return t->Delete(nullptr, "b"); });
  AwaitWaits(2);
  ASSERT_TRUE(holder->Rollback().ok());
  EXPECT_TRUE(waiting.get().ok());
  ASSERT_TRUE(t->Commit().ok());
  EXPECT_EQ(Scan(*db_), "a=free c=free ");
}

// SQL's KILL QUERY: the statement ends, its transaction goes on.
TEST_F(TransactionLockTest, AWaitIsCancelledFromOutside) {
  Put("a", "1");
  auto holder = Begin();
  ASSERT_TRUE(holder->Put(nullptr, "a", "2").ok());
  auto t = Begin(Isolation::kSnapshot, std::chrono::hours(1));
  ASSERT_TRUE(t->Put(nullptr, "b", "mine").ok());
  const uint64_t memory = db_->GetStatistics().transactions.memory_bytes;
  auto waiting = std::async(std::launch::async, [&] { return t->Put(nullptr, "a", "mine"); });
  AwaitWaits(1);
  t->CancelWaits();
  const Status status = waiting.get();
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_FALSE(status.IsRetryable());
  EXPECT_EQ(db_->GetStatistics().transactions.memory_bytes, memory);
  std::string value;
  EXPECT_EQ(t->GetForShare({}, nullptr, "a", &value).code(), Code::kCancelled);
  EXPECT_EQ(Get(*t, "a"), "1");
  ASSERT_TRUE(t->Put(nullptr, "c", "mine").ok());
  t->AllowWaits();
  waiting = std::async(std::launch::async, [&] { return t->Put(nullptr, "a", "mine"); });
  AwaitWaits(2);
  ASSERT_TRUE(holder->Rollback().ok());
  EXPECT_TRUE(waiting.get().ok());
  ASSERT_TRUE(t->Commit().ok());
  t->CancelWaits();
  EXPECT_EQ(Scan(*db_), "a=mine b=mine c=mine ");
}

TEST_F(TransactionLockTest, ReadersShareALockThatKeepsWritersOut) {
  Put("a", "1");
  for (const Isolation isolation : {Isolation::kSnapshot, Isolation::kReadCommitted}) {
    auto first = Begin(isolation);
    auto second = Begin(isolation);
    auto third = Begin(isolation);
    std::string value;
    EXPECT_EQ(Get(*third, "a"), "1");
    ASSERT_TRUE(first->GetForShare({}, nullptr, "a", &value).ok());
    EXPECT_EQ(value, "1");
    ASSERT_TRUE(second->GetForShare({}, nullptr, "a", &value).ok());
    EXPECT_TRUE(second->GetForShare({}, nullptr, "nothing", &value).IsNotFound());
    EXPECT_EQ(first->Put(nullptr, "nothing", "1").code(), Code::kTimedOut);
    EXPECT_EQ(first->Put(nullptr, "a", "2").code(), Code::kTimedOut);
    EXPECT_EQ(third->GetForUpdate({}, nullptr, "a", &value).code(), Code::kTimedOut);
    ASSERT_TRUE(second->Rollback().ok());
    ASSERT_TRUE(first->Put(nullptr, "a", "2").ok());
    EXPECT_EQ(third->GetForShare({}, nullptr, "a", &value).code(), Code::kTimedOut);
    ASSERT_TRUE(first->GetForShare({}, nullptr, "a", &value).ok());
    EXPECT_EQ(value, "2");
    ASSERT_TRUE(first->Commit().ok());
    // What a snapshot does not show cannot be locked for it.
    EXPECT_EQ(third->GetForShare({}, nullptr, "a", &value).code(),
              isolation == Isolation::kSnapshot ? Code::kConflict : Code::kOk);
    ASSERT_TRUE(third->Rollback().ok());
    EXPECT_EQ(db_->GetStatistics().transactions.locks, 0u);
    Put("a", "1");
  }
}

TEST_F(TransactionLockTest, TwoReadersThatBothWriteAreADeadlockAtOnce) {
  Put("a", "1");
  auto first = Begin(Isolation::kSnapshot, std::chrono::hours(1));
  auto second = Begin(Isolation::kSnapshot, std::chrono::hours(1));
  std::string value;
  ASSERT_TRUE(first->GetForShare({}, nullptr, "a", &value).ok());
  ASSERT_TRUE(second->GetForShare({}, nullptr, "a", &value).ok());
  auto waiting = std::async(std::launch::async, [&] { return first->Put(nullptr, "a", "first"); });
  AwaitWaits(1);
  EXPECT_EQ(second->Put(nullptr, "a", "second").code(), Code::kDeadlock);
  EXPECT_TRUE(waiting.get().ok());
  ASSERT_TRUE(first->Commit().ok());
  EXPECT_EQ(Get(*db_, "a"), "first");
}

TEST_F(TransactionLockTest, RowsThatWereOnlyReadAreUnlocked) {
  Put("a", "1");
  Put("b", "1");
  auto t = Begin();
  const auto locked = [&](std::string_view key) {
    return Begin()->Delete(nullptr, key).code() == Code::kTimedOut;
  };
  std::string value;
  EXPECT_EQ(t->Unlock(nullptr, "a").code(), Code::kInvalidArgument);
  ASSERT_TRUE(t->GetForUpdate({}, nullptr, "a", &value).ok());
  ASSERT_TRUE(t->Unlock(nullptr, "a").ok());
  EXPECT_FALSE(locked("a"));
  EXPECT_EQ(t->Unlock(nullptr, "a").code(), Code::kInvalidArgument);
  // One that an earlier statement wanted stays locked when a later one rejects it.
  ASSERT_TRUE(t->GetForShare({}, nullptr, "a", &value).ok());
  ASSERT_TRUE(t->GetForUpdate({}, nullptr, "a", &value).ok());
  ASSERT_TRUE(t->Unlock(nullptr, "a").ok());
  EXPECT_TRUE(locked("a"));
  ASSERT_TRUE(t->Unlock(nullptr, "a").ok());
  EXPECT_FALSE(locked("a"));
  // And so does one that is written, even when that is undone.
  ASSERT_TRUE(t->GetForUpdate({}, nullptr, "b", &value).ok());
  t->SetSavepoint();
  ASSERT_TRUE(t->Put(nullptr, "b", "2").ok());
  ASSERT_TRUE(t->Unlock(nullptr, "b").ok());
  ASSERT_TRUE(t->Unlock(nullptr, "b").ok());
  EXPECT_TRUE(locked("b"));
  ASSERT_TRUE(t->RollbackToSavepoint().ok());
  EXPECT_TRUE(locked("b"));
  ASSERT_TRUE(t->Unlock(nullptr, "b").ok());
  EXPECT_TRUE(locked("b"));
  ASSERT_TRUE(t->Commit().ok());
  EXPECT_EQ(t->Unlock(nullptr, "b").code(), Code::kInvalidArgument);
  EXPECT_FALSE(locked("b"));
}

// A scan of many rows whose locks are given back takes no more memory than one row's.
TEST_F(TransactionLockTest, UnlockedRowsTakeNoMemory) {
  auto t = db_->BeginTransaction({.max_bytes = 10'000}, {});
  std::string value;
  for (int i = 0; i < 10'000; ++i) {
    const std::string key = std::to_string(i);
    ASSERT_TRUE(t->GetForUpdate({}, nullptr, key, &value).IsNotFound());
    ASSERT_TRUE(t->Unlock(nullptr, key).ok());
  }
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 0u);
}

TEST_F(TransactionLockTest, UntrackedWritesAskNobody) {
  Put("a", "1");
  auto t = Begin();
  EXPECT_EQ(Get(*t, "a"), "1");
  Put("a", "2");
  Put("b", "2");
  auto holder = Begin();
  ASSERT_TRUE(holder->Put(nullptr, "b", "holder").ok());
  ASSERT_TRUE(t->PutUntracked(nullptr, "a", "mine").ok());
  ASSERT_TRUE(t->DeleteUntracked(nullptr, "b").ok());
  ASSERT_TRUE(t->PutUntracked(nullptr, "c", "mine").ok());
  EXPECT_EQ(Scan(*t), "a=mine c=mine ");
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 1u);
  t->SetSavepoint();
  ASSERT_TRUE(t->PutUntracked(nullptr, "d", "mine").ok());
  ASSERT_TRUE(t->RollbackToSavepoint().ok());
  EXPECT_EQ(t->PutUntracked(nullptr, std::string(70'000, 'k'), "").code(), Code::kInvalidArgument);
  // A row may be locked, too.
  ASSERT_TRUE(t->Put(nullptr, "c", "again").ok());
  EXPECT_EQ(holder->Put(nullptr, "c", "holder").code(), Code::kTimedOut);
  EXPECT_EQ(t->Put(nullptr, "a", "again").code(), Code::kConflict);
  ASSERT_TRUE(t->Commit().ok());
  EXPECT_EQ(Scan(*db_), "a=mine c=again ");
  ASSERT_TRUE(holder->Commit().ok());
  EXPECT_EQ(Scan(*db_), "a=mine b=holder c=again ");
}

TEST_F(TransactionLockTest, ADeadlockRollsItsVictimBack) {
  auto first = Begin(Isolation::kSnapshot, std::chrono::hours(1));
  auto second = Begin(Isolation::kSnapshot, std::chrono::hours(1));
  ASSERT_TRUE(first->Put(nullptr, "a", "1").ok());
  ASSERT_TRUE(second->Put(nullptr, "b", "2").ok());
  auto waiting = std::async(std::launch::async, [&] { return first->Put(nullptr, "b", "1"); });
  AwaitWaits(1);
  const Status status = second->Put(nullptr, "a", "2");
  EXPECT_EQ(status.ToString(),
            fmt::format("deadlock: transaction {1} wants 'a' of sub-table 0, held by transaction "
                        "{0}, which waits for 'b' of sub-table 0, held by transaction {1}; it "
                        "gives way",
                        first->id(), second->id()));
  // Its locks are gone already.
  EXPECT_TRUE(waiting.get().ok());
  EXPECT_EQ(second->Put(nullptr, "c", "2").code(), Code::kDeadlock);
  EXPECT_EQ(second->Commit().code(), Code::kDeadlock);
  EXPECT_TRUE(second->Rollback().ok());
  ASSERT_TRUE(first->Commit().ok());
  EXPECT_EQ(Scan(*db_), "a=1 b=1 ");
}

// Notes whom it is told of.
class Notes : public LockWaitListener {
 public:
  void OnWait(LockWaitListener* holder) override {
    const std::lock_guard lock(mutex_);
    seen_.push_back(holder);
  }
  // Whether it was of these, in any order.
  bool Are(std::vector<LockWaitListener*> expected) {
    const std::lock_guard lock(mutex_);
    std::ranges::sort(expected);
    std::ranges::sort(seen_);
    return std::exchange(seen_, {}) == expected;
  }

 private:
  std::mutex mutex_;
  std::vector<LockWaitListener*> seen_;
};

class LockWaitListenerTest : public TransactionLockTest {
 protected:
  std::unique_ptr<Transaction> Begin(LockWaitListener* listener) {
    return db_->BeginTransaction({.isolation = Isolation::kReadCommitted,
                                  .lock_timeout = std::chrono::hours(1),
                                  .wait_listener = listener},
                                 {});
  }
  // What `call` returns, once it waits: the statistics say when.
  template <typename F>
  std::future<Status> Waits(const F& call) {
    std::future<Status> status = std::async(std::launch::async, call);
    AwaitWaits(++waits_);
    return status;
  }

  uint64_t waits_ = 0;
};

TEST_F(LockWaitListenerTest, IsToldOfHoldersAndOfWhoIsBefore) {
  Notes a_notes, b_notes, c_notes, d_notes;
  auto a = Begin(&a_notes);
  auto b = Begin(&b_notes);
  auto c = Begin(&c_notes);
  auto d = Begin(&d_notes);
  std::string value;
  ASSERT_TRUE(a->GetForShare({}, nullptr, "x", &value).IsNotFound());
  ASSERT_TRUE(b->GetForShare({}, nullptr, "x", &value).IsNotFound());
  std::future<Status> writes = Waits([&] { return c->Put(nullptr, "x", "c"); });
  std::future<Status> shares = Waits([&] {
    std::string ignored;
    return d->GetForShare({}, nullptr, "x", &ignored);
  });
  ASSERT_TRUE(a->Commit().ok());
  ASSERT_TRUE(b->Commit().ok());
  ASSERT_TRUE(writes.get().ok());
  ASSERT_TRUE(c->Commit().ok());
  ASSERT_TRUE(shares.get().ok());
  EXPECT_TRUE(a_notes.Are({}));
  EXPECT_TRUE(b_notes.Are({}));
  EXPECT_TRUE(c_notes.Are({&a_notes, &b_notes}));
  EXPECT_TRUE(d_notes.Are({&a_notes, &b_notes, &c_notes}));
}

TEST_F(LockWaitListenerTest, IsToldInRangesToo) {
  Notes a_notes, b_notes, c_notes;
  auto a = Begin(&a_notes);
  auto b = Begin(&b_notes);
  auto c = Begin(&c_notes);
  auto other = Begin(nullptr);
  ASSERT_TRUE(a->LockRangeForShare(nullptr, "b", "d").ok());
  ASSERT_TRUE(other->LockRangeForShare(nullptr, "a", "z").ok());
  ASSERT_TRUE(b->LockRangeForShare(nullptr, "x", "y").ok());
  std::future<Status> writes = Waits([&] { return b->Put(nullptr, "c", "b"); });
  std::future<Status> ranges = Waits([&] { return c->LockRangeForUpdate(nullptr, "c", "y"); });
  ASSERT_TRUE(a->Commit().ok());
  ASSERT_TRUE(other->Commit().ok());
  ASSERT_TRUE(writes.get().ok());
  ASSERT_TRUE(b->Commit().ok());
  ASSERT_TRUE(ranges.get().ok());
  EXPECT_TRUE(a_notes.Are({}));
  EXPECT_TRUE(b_notes.Are({&a_notes}));
  // It waits for what b has, and for what it has asked for before.
  EXPECT_TRUE(c_notes.Are({&a_notes, &b_notes, &b_notes}));
}

// Who waits for a lock's owner only through others may be passed by, and then waits for it itself:
// because it gets a lock at once, or because it comes to one first.
TEST_F(LockWaitListenerTest, IsToldOfWhoPassesByInRanges) {
  Notes a_notes, m_notes, l_notes;
  auto a = Begin(&a_notes);
  auto m = Begin(&m_notes);
  auto l = Begin(&l_notes);
  auto other = Begin(nullptr);
  ASSERT_TRUE(a->Put(nullptr, "m", "a").ok());
  ASSERT_TRUE(other->Put(nullptr, "j", "other").ok());
  std::future<Status> middle = Waits([&] { return m->LockRangeForUpdate(nullptr, "k", "n"); });
  std::future<Status> last = Waits([&] { return l->LockRangeForUpdate(nullptr, "ka", "l"); });
  EXPECT_TRUE(m_notes.Are({&a_notes}));
  EXPECT_TRUE(l_notes.Are({&m_notes}));
  ASSERT_TRUE(a->Put(nullptr, "kb", "a").ok());
  EXPECT_TRUE(m_notes.Are({&a_notes}));
  EXPECT_TRUE(l_notes.Are({&a_notes}));
  std::future<Status> first = Waits([&] { return a->LockRangeForUpdate(nullptr, "i", "kb"); });
  EXPECT_TRUE(m_notes.Are({&a_notes}));
  EXPECT_TRUE(l_notes.Are({&a_notes}));
  ASSERT_TRUE(other->Commit().ok());
  ASSERT_TRUE(first.get().ok());
  ASSERT_TRUE(a->Commit().ok());
  ASSERT_TRUE(middle.get().ok());
  ASSERT_TRUE(m->Commit().ok());
  ASSERT_TRUE(last.get().ok());
  EXPECT_TRUE(a_notes.Are({}));
}

// Nobody is told of a listener that is gone, though its transaction goes on without it.
TEST_F(LockWaitListenerTest, OfAPreparedTransactionGoesBefore) {
  Notes b_notes;
  {
    auto a_notes = std::make_unique<Notes>();
    auto a = Begin(a_notes.get());
    ASSERT_TRUE(a->Put(nullptr, "x", "a").ok());
    ASSERT_TRUE(a->Prepare("a").ok());
    a.reset();
  }
  auto b = Begin(&b_notes);
  std::future<Status> writes = Waits([&] { return b->Put(nullptr, "x", "b"); });
  std::unique_ptr<Transaction> resumed;
  ASSERT_TRUE(db_->ResumeTransaction("a", {}, &resumed).ok());
  ASSERT_TRUE(resumed->Commit().ok());
  EXPECT_TRUE(writes.get().ok());
  EXPECT_TRUE(b_notes.Are({}));
}

// The same while its commit, which holds its locks, is on its way to the disk.
TEST_F(LockWaitListenerTest, OfACommitUnderWayGoesWithTheTransaction) {
  for (int i = 0; i < 50; ++i) {
    Notes a_notes, b_notes;
    auto a = db_->BeginTransaction({.wait_listener = &a_notes}, {.sync = true});
    ASSERT_TRUE(a->Put(nullptr, "x", "a").ok());
    std::promise<Status> committed;
    a->CommitAsync([&](const Status& status) { committed.set_value(status); });
    a.reset();
    auto b = Begin(&b_notes);
    EXPECT_TRUE(b->Put(nullptr, "x", "b").ok());
    EXPECT_TRUE(b->Commit().ok());
    EXPECT_TRUE(committed.get_future().get().ok());
    EXPECT_TRUE(b_notes.Are({}));
  }
}

}  // namespace
}  // namespace sluice
