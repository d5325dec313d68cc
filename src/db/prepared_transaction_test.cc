// Two-phase commit: a transaction stays prepared until it is resolved, and no longer.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "util/fault_env.h"

namespace sluice {
namespace {

using Code = Status::Code;
using Names = std::vector<std::string>;

class PreparedTransactionTest : public DbFixture {
 protected:
  PreparedTransactionTest() { Open(); }
  std::unique_ptr<Transaction> Begin() { return db_->BeginTransaction({.lock_timeout = {}}, {}); }
  std::unique_ptr<Transaction> Resume(std::string_view name) {
    std::unique_ptr<Transaction> transaction;
    const Status status = db_->ResumeTransaction(name, {}, &transaction);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return transaction;
  }
  // Prepares a write of the key, and forgets the transaction.
  void Prepare(std::string_view name, std::string_view key, std::string_view value) {
    const auto t = Begin();
    ASSERT_TRUE(t->Put(nullptr, key, value).ok());
    ASSERT_TRUE(t->Prepare(name).ok());
  }
  std::string Get(std::string_view key, Subtable* subtable = nullptr) {
    std::string value;
    const Status status = db_->Get({}, subtable, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : status.ToString();
  }
  Code TryPut(std::string_view key, Subtable* subtable = nullptr) {
    return Begin()->Put(subtable, key, "x").code();
  }
  // Moves the log on by several segments.
  void WriteMuch() {
    const std::string value(1000, 'v');
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(db_->Put({}, fmt::format("much{:04}", i), value).ok());
    }
    ASSERT_TRUE(db_->Flush(nullptr).ok());
  }
};

TEST_F(PreparedTransactionTest, AllowsNothingButItsEnd) {
  auto t = Begin();
  ASSERT_TRUE(t->Put(nullptr, "a", "1").ok());
  EXPECT_EQ(t->Prepare("").code(), Code::kInvalidArgument);
  ASSERT_TRUE(t->Prepare("t").ok());
  std::string value;
  EXPECT_EQ(t->Get({}, nullptr, "a", &value).code(), Code::kInvalidArgument);
  EXPECT_EQ(t->Put(nullptr, "a", "2").code(), Code::kInvalidArgument);
  EXPECT_EQ(t->Prepare("u").code(), Code::kInvalidArgument);
  EXPECT_EQ(db_->ListPrepared(), Names{"t"});
  EXPECT_EQ(db_->GetStatistics().transactions.active, 0u);
  EXPECT_EQ(db_->GetStatistics().transactions.prepared, 1u);
  EXPECT_EQ(Get("a"), "-");
  EXPECT_EQ(TryPut("a"), Code::kTimedOut);
  std::unique_ptr<Transaction> other;
  EXPECT_EQ(db_->ResumeTransaction("t", {}, &other).code(), Code::kBusy);
  EXPECT_EQ(db_->ResumeTransaction("u", {}, &other).code(), Code::kNotFound);
  other = Begin();
  ASSERT_TRUE(other->Put(nullptr, "b", "2").ok());
  EXPECT_EQ(other->Prepare("t").code(), Code::kInvalidArgument);
  EXPECT_TRUE(other->Put(nullptr, "b", "3").ok());
  ASSERT_TRUE(other->Commit().ok());
  ASSERT_TRUE(t->Commit().ok());
  EXPECT_EQ(t->Commit().code(), Code::kInvalidArgument);
  EXPECT_EQ(t->Rollback().code(), Code::kInvalidArgument);
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(db_->ListPrepared(), Names{});
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 0u);
}

TEST_F(PreparedTransactionTest, IsTakenUpAgain) {
  Prepare("commits", "a", "1");
  Prepare("rolls back", "b", "1");
  Prepare("commits later", "c", "1");
  EXPECT_EQ(db_->ListPrepared(), (Names{"commits", "commits later", "rolls back"}));
  ASSERT_TRUE(Resume("commits")->Commit().ok());
  Resume("rolls back");  // and leaves it
  ASSERT_TRUE(Resume("rolls back")->Rollback().ok());
  ASSERT_TRUE(Resume("commits later")->CommitAsync().get().ok());
  EXPECT_EQ(db_->ListPrepared(), Names{});
  EXPECT_EQ(Get("a") + Get("b") + Get("c"), "1-1");
  EXPECT_EQ(TryPut("b"), Code::kOk);
  // Names may be used again.
  Prepare("commits", "a", "2");
  Open();
  EXPECT_EQ(db_->ListPrepared(), Names{"commits"});
  EXPECT_EQ(Get("a") + Get("b") + Get("c"), "1-1");
}

TEST_F(PreparedTransactionTest, IsListedWhereItWrites) {
  Subtable* one = nullptr;
  Subtable* other = nullptr;
  ASSERT_TRUE(db_->CreateSubtable("one", &one).ok());
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  auto t = Begin();
  ASSERT_TRUE(t->Put(one, "a", "1").ok());
  ASSERT_TRUE(t->Delete(nullptr, "a").ok());
  std::string value;
  ASSERT_TRUE(t->GetForUpdate({}, other, "a", &value).IsNotFound());
  ASSERT_TRUE(t->Prepare("t").ok());
  t.reset();
  Prepare("u", "b", "1");
  t = Begin();
  ASSERT_TRUE(t->PutUntracked(other, "b", "1").ok());
  ASSERT_TRUE(t->Prepare("v").ok());  // and stays in use
  EXPECT_EQ(db_->ListPreparedIn(nullptr), (Names{"t", "u"}));
  EXPECT_EQ(db_->ListPreparedIn(one), Names{"t"});
  EXPECT_EQ(db_->ListPreparedIn(other), Names{"v"});
  ASSERT_TRUE(t->Commit().ok());
  t.reset();
  Open();
  EXPECT_EQ(db_->ListPreparedIn(nullptr), (Names{"t", "u"}));
  EXPECT_EQ(db_->ListPreparedIn(db_->FindSubtable("one")), Names{"t"});
  EXPECT_EQ(db_->ListPreparedIn(db_->FindSubtable("other")), Names{});
  ASSERT_TRUE(Resume("t")->Rollback().ok());
  EXPECT_EQ(db_->ListPreparedIn(db_->FindSubtable("one")), Names{});
}

// Locks for share end with the first phase: after it nothing is read, and others may write.
TEST_F(PreparedTransactionTest, SharesNoLocks) {
  auto t = Begin();
  auto other = Begin();
  std::string value;
  ASSERT_TRUE(t->GetForShare({}, nullptr, "shared", &value).IsNotFound());
  ASSERT_TRUE(t->GetForShare({}, nullptr, "written", &value).IsNotFound());
  ASSERT_TRUE(t->GetForUpdate({}, nullptr, "locked", &value).IsNotFound());
  ASSERT_TRUE(t->Put(nullptr, "written", "1").ok());
  ASSERT_TRUE(other->GetForShare({}, nullptr, "shared", &value).IsNotFound());
  ASSERT_TRUE(t->Prepare("t").ok());
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 3u);
  ASSERT_TRUE(other->Prepare("other").ok());
  t.reset();
  other.reset();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(db_->GetStatistics().transactions.locks, 2u);
    EXPECT_EQ(TryPut("shared"), Code::kOk);
    EXPECT_EQ(TryPut("written"), Code::kTimedOut);
    EXPECT_EQ(TryPut("locked"), Code::kTimedOut);
    Open();
  }
  EXPECT_EQ(db_->ListPrepared(), (Names{"other", "t"}));
  ASSERT_TRUE(Resume("t")->Commit().ok());
  ASSERT_TRUE(Resume("other")->Commit().ok());
  EXPECT_EQ(Get("written"), "1");
}

// Unless they are to stay until the second phase has ended; but the log does not have them.
TEST_F(PreparedTransactionTest, KeepsReadLocksIfAsked) {
  const auto prepare = [this](std::string_view name) {
    auto t = Begin();
    std::string value;
    EXPECT_TRUE(t->GetForShare({}, nullptr, "shared", &value).IsNotFound());
    EXPECT_TRUE(t->LockRangeForShare(nullptr, "r", "s").ok());
    EXPECT_TRUE(t->LockRangeForUpdate(nullptr, "u", "v").ok());
    EXPECT_TRUE(t->Put(nullptr, "written", "1").ok());
    EXPECT_TRUE(t->Prepare(name, {.keep_read_locks = true}).ok());
    return t;
  };
  const auto expect_read_locks = [this](Code code) {
    for (const char* const key : {"shared", "r1", "u1"}) {
      EXPECT_EQ(TryPut(key), code) << key;
    }
  };
  for (const bool commit : {true, false}) {
    auto t = prepare("t");
    expect_read_locks(Code::kTimedOut);
    std::string value;
    EXPECT_TRUE(Begin()->GetForShare({}, nullptr, "shared", &value).IsNotFound());
    t.reset();  // nobody has it, and it has its locks
    expect_read_locks(Code::kTimedOut);
    t = Resume("t");
    ASSERT_TRUE((commit ? t->Commit() : t->Rollback()).ok());
    expect_read_locks(Code::kOk);
    EXPECT_EQ(db_->GetStatistics().transactions.locks, 0u);
  }
  prepare("t");
  Open();
  expect_read_locks(Code::kOk);
  EXPECT_EQ(TryPut("written"), Code::kTimedOut);
  ASSERT_TRUE(Resume("t")->Rollback().ok());
  EXPECT_EQ(db_->GetStatistics().transactions.memory_bytes, 0u);
}

// Several prepared transactions may have written one row without its lock; the last commit stands.
TEST_F(PreparedTransactionTest, SurvivesWithUntrackedWrites) {
  ASSERT_TRUE(db_->Put({}, "b", "0").ok());
  for (const std::string name : {"x", "y", "z"}) {
    const auto t = Begin();
    std::string value;
    ASSERT_TRUE(t->GetForShare({}, nullptr, "a", &value).IsNotFound());
    ASSERT_TRUE(t->PutUntracked(nullptr, "a", name).ok());
    ASSERT_TRUE(t->DeleteUntracked(nullptr, "b").ok());
    ASSERT_TRUE(t->PutUntracked(nullptr, name, name).ok());
    ASSERT_TRUE(t->Put(nullptr, name + "'", name).ok());
    if (name == "y") {
      ASSERT_TRUE(t->GetForUpdate({}, nullptr, name, &value).ok());
    }
    ASSERT_TRUE(t->Prepare(name).ok());
  }
  for (int i = 0; i < 2; ++i) {
    Open();
    EXPECT_EQ(db_->ListPrepared(), (Names{"x", "y", "z"}));
    EXPECT_EQ(TryPut("a"), Code::kOk);
    EXPECT_EQ(TryPut("b"), Code::kOk);
    EXPECT_EQ(TryPut("x"), Code::kOk);
    EXPECT_EQ(TryPut("x'"), Code::kTimedOut);
    EXPECT_EQ(TryPut("y"), Code::kTimedOut);
    EXPECT_EQ(TryPut("y'"), Code::kTimedOut);
  }
  ASSERT_TRUE(Resume("y")->Commit().ok());
  ASSERT_TRUE(Resume("x")->Commit().ok());
  ASSERT_TRUE(Resume("z")->Rollback().ok());
  EXPECT_EQ(Get("a") + Get("b") + Get("x") + Get("y") + Get("z") + Get("x'"), "x-xy-x");
  Open();
  EXPECT_EQ(Get("a") + Get("b") + Get("x") + Get("y") + Get("z") + Get("x'"), "x-xy-x");
}

TEST_F(PreparedTransactionTest, SurvivesWithAllItsLocks) {
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  ASSERT_TRUE(db_->Put({}, "gone", "1").ok());
  {
    const auto t = Begin();
    std::string value;
    ASSERT_TRUE(t->GetForUpdate({}, nullptr, "read", &value).IsNotFound());
    ASSERT_TRUE(t->Delete(nullptr, "gone").ok());
    ASSERT_TRUE(t->Put(other, "a", "1").ok());
    ASSERT_TRUE(t->Prepare(std::string("n\0me", 4)).ok());
  }
  for (int i = 0; i < 3; ++i) {
    Open();
    other = db_->FindSubtable("other");
    ASSERT_EQ(db_->ListPrepared(), Names{std::string("n\0me", 4)});
    EXPECT_EQ(TryPut("read"), Code::kTimedOut);
    EXPECT_EQ(TryPut("gone"), Code::kTimedOut);
    EXPECT_EQ(TryPut("a", other), Code::kTimedOut);
    EXPECT_EQ(TryPut("a"), Code::kOk);
    EXPECT_EQ(Get("gone"), "1");
    WriteMuch();
  }
  ASSERT_TRUE(Resume(db_->ListPrepared()[0])->Commit().ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(db_->ListPrepared(), Names{});
    EXPECT_EQ(Get("gone") + Get("a", other), "-1");
    EXPECT_EQ(TryPut("read"), Code::kOk);
    Open();
    other = db_->FindSubtable("other");
  }
}

// Prepared transactions count against the bound, but all come back after an Open; others that find
// no room then are refused.
TEST_F(PreparedTransactionTest, CountsInTheMemoryOfAll) {
  const auto used = [&] { return db_->GetStatistics().transactions.memory_bytes; };
  const std::string value(50'000, 'v');
  Prepare("t", "a", value);
  Prepare("u", "b", value);
  const uint64_t prepared = used();
  EXPECT_GT(prepared, 100'000u);
  EXPECT_LT(prepared, 105'000u);
  options_.transaction_memory_bytes = 75'000;
  Open();
  EXPECT_EQ(used(), prepared);
  EXPECT_EQ(TryPut("c"), Code::kTooLarge);
  ASSERT_TRUE(Resume("t")->Rollback().ok());
  EXPECT_EQ(TryPut("c"), Code::kOk);
  ASSERT_TRUE(Resume("u")->Commit().ok());
  EXPECT_EQ(Get("b"), value);
  EXPECT_EQ(used(), 0u);
}

TEST_F(PreparedTransactionTest, KeepsTheLogUntilItIsResolved) {
  Prepare("t", "a", "1");
  const uint64_t before = db_->GetStatistics().log_file_bytes;
  WriteMuch();
  const uint64_t kept = db_->GetStatistics().log_file_bytes;
  EXPECT_GT(kept, before + 500'000);
  std::string bytes;
  ASSERT_TRUE(db_->GetProperty("sluice.prepared-log-bytes", &bytes).ok());
  EXPECT_GT(std::stoull(bytes), 500'000u);
  EXPECT_LE(std::stoull(bytes), kept);
  ASSERT_TRUE(Resume("t")->Rollback().ok());
  WriteMuch();
  EXPECT_LT(db_->GetStatistics().log_file_bytes, kept);
  EXPECT_EQ(db_->GetStatistics().transactions.prepared_log_bytes, 0u);
  Open();
  EXPECT_EQ(db_->ListPrepared(), Names{});
  EXPECT_EQ(Get("a"), "-");
}

TEST_F(PreparedTransactionTest, TheLogItKeepsMayBeInLargerSegments) {
  options_.log_segment_bytes = 1 << 20;
  Open();
  ASSERT_TRUE(db_->Put({}, "b", std::string(500'000, 'v')).ok());
  Prepare("t", "a", "1");
  ASSERT_TRUE(db_->Put({}, "b", std::string(100'000, 'v')).ok());
  options_.log_segment_bytes = 64 << 10;
  for (options_.read_only = true;; options_.read_only = false) {
    Open();
    const Statistics statistics = db_->GetStatistics();
    EXPECT_LE(statistics.transactions.prepared_log_bytes, uint64_t{1} << 20);
    if (!options_.read_only) {
      EXPECT_GE(statistics.transactions.prepared_log_bytes, 100'000u);
      break;
    }
  }
  ASSERT_TRUE(Resume("t")->Commit().ok());
  EXPECT_EQ(Get("a"), "1");
}

// With a flush that is held up when it is about to give up some of the log.
class PreparedTransactionLog : public testing::Test {
 protected:
  PreparedTransactionLog() {
    options_.create_if_missing = true;
    options_.env = &env_;
    options_.listeners.push_back(gate_);
    EXPECT_TRUE(DB::Open(options_, "db", &db_).ok());
  }
  void Prepare() {
    const auto transaction = db_->BeginTransaction({}, {.sync = true});
    ASSERT_TRUE(transaction->Put(nullptr, "a", "1").ok());
    ASSERT_TRUE(transaction->Prepare("t").ok());
  }
  void BeginFlush() {
    ASSERT_TRUE(db_->Put({}, "b", "2").ok());
    flush_ = std::thread([&] { EXPECT_TRUE(db_->Flush(nullptr).ok()); });
    gate_->reached.acquire();
  }
  void EndFlush() {
    gate_->go_on.release();
    flush_.join();
    EXPECT_TRUE(db_->WaitForBackgroundWork().ok());
  }
  // Whatever a loss of power leaves, the transaction is prepared, or committed if it may be.
  void ExpectIsThere(bool may_be_committed) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      FaultEnv after(env_.Survivors(CrashKind::kPower, seed));
      Options options = options_;
      options.env = &after;
      options.listeners.clear();
      std::unique_ptr<DB> found;
      const Status status = DB::Open(options, "db", &found);
      ASSERT_TRUE(status.ok()) << status.ToString();
      std::string value;
      const bool committed = may_be_committed && found->Get({}, "a", &value).ok();
      EXPECT_EQ(found->ListPrepared(), committed ? Names{} : Names{"t"});
      EXPECT_TRUE(found->Get({}, "b", &value).ok());
      found.reset();  // before its file system
    }
  }

  FaultEnv env_;
  Options options_;
  const std::shared_ptr<FlushGate> gate_ = std::make_shared<FlushGate>();
  std::unique_ptr<DB> db_;
  std::thread flush_;
};

// The flush began while it was prepared, and ends when it is committed, but not durably.
TEST_F(PreparedTransactionLog, IsKeptUntilTheEndIsDurable) {
  Prepare();
  BeginFlush();
  std::unique_ptr<Transaction> transaction;
  EXPECT_TRUE(db_->ResumeTransaction("t", {}, &transaction).ok());
  EXPECT_TRUE(transaction->Commit().ok());
  transaction.reset();
  EndFlush();
  ExpectIsThere(/*may_be_committed=*/true);
}

TEST_F(PreparedTransactionLog, IsKeptThoughTheFlushBeganBefore) {
  BeginFlush();
  Prepare();
  SwitchAndDrop(db_.get());
  EndFlush();
  ExpectIsThere(/*may_be_committed=*/false);
}

TEST_F(PreparedTransactionTest, IsPartOfACheckpoint) {
  Prepare("t", "a", "1");
  WriteMuch();
  ASSERT_TRUE(db_->CreateCheckpoint(dir_.File("copy")).ok());
  ASSERT_TRUE(Resume("t")->Rollback().ok());
  Open("copy");
  EXPECT_EQ(db_->ListPrepared(), Names{"t"});
  ASSERT_TRUE(Resume("t")->Commit().ok());
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(PreparedTransactionTest, OutlivesASubtableItWritesTo) {
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  for (const char* const name : {"t", "u"}) {
    const auto t = Begin();
    ASSERT_TRUE(t->Put(other, name, "1").ok());
    ASSERT_TRUE(t->Put(nullptr, name, "1").ok());
    ASSERT_TRUE(t->Prepare(name).ok());
  }
  ASSERT_TRUE(db_->DropSubtable(other).ok());
  ASSERT_TRUE(Resume("t")->Commit().ok());
  EXPECT_EQ(Get("t"), "1");
  for (int i = 0; i < 2; ++i) {
    Open();
    EXPECT_EQ(Get("t"), "1");
  }
  ASSERT_TRUE(Resume("u")->Commit().ok());
  EXPECT_EQ(Get("u"), "1");
}

}  // namespace
}  // namespace sluice
