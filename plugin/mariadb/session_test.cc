#include "session.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "cursor.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice::mariadb {
namespace {

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    Options options;
    options.create_if_missing = true;
    EXPECT_TRUE(DB::Open(options, directory_.File("db"), &db_).ok());
  }

  std::unique_ptr<Session> Begun(Isolation isolation) {
    auto session = std::make_unique<Session>(db_.get(), &entry_locks_);
    Begin(session.get(), isolation);
    return session;
  }
  static void Begin(Session* session, Isolation isolation) {
    TransactionOptions options;
    options.isolation = isolation;
    options.lock_timeout = std::chrono::milliseconds(0);
    session->Begin(options, {});
    session->BeginStatement(true, {});
  }
  std::unique_ptr<Session> Serializable() {
    auto session = std::make_unique<Session>(db_.get(), &entry_locks_);
    TransactionOptions options;
    options.isolation = Isolation::kReadCommitted;
    options.lock_timeout = std::chrono::milliseconds(0);
    session->Begin(options, {}, true);
    session->BeginStatement(true, {});
    return session;
  }
  // Whether a transaction of its own may write the row now.
  bool Free(std::string_view key) {
    auto session = Begun(Isolation::kReadCommitted);
    const Status status = session->Put(nullptr, key, "x");
    EXPECT_TRUE(status.ok() || status.code() == Status::Code::kTimedOut) << status.ToString();
    return status.ok();
  }
  static std::string Read(Session* session, std::string_view key) {
    std::string value;
    const Status status = session->Get(nullptr, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : status.ToString();
  }
  // All keys, forwards and backwards.
  std::string Keys(Session* session) {
    std::string keys;
    Cursor cursor;
    cursor.Open(session, nullptr, Sight::kStatement);
    Status status = cursor.SeekToFirst();
    while (status.ok() && cursor.valid()) {
      keys += cursor.key();
      status = cursor.Next();
    }
    EXPECT_TRUE(status.ok());
    std::string backwards;
    status = cursor.SeekToLast();
    while (status.ok() && cursor.valid()) {
      backwards.insert(0, cursor.key());
      status = cursor.Prev();
    }
    EXPECT_EQ(keys, backwards);
    return keys;
  }
  void Commit(std::string_view key, std::string_view value) {
    ASSERT_TRUE(db_->Put({}, key, value).ok());
  }

  EntryLocks entry_locks_;
  TempDir directory_;
  std::unique_ptr<DB> db_;
};

TEST_F(SessionTest, AStatementIsUndoneAlone) {
  auto session = Begun(Isolation::kSnapshot);
  ASSERT_TRUE(session->Put(nullptr, "a", "1").ok());
  session->EndStatement();
  session->BeginStatement(true, {});
  ASSERT_TRUE(session->Put(nullptr, "a", "2").ok());
  ASSERT_TRUE(session->Put(nullptr, "b", "2").ok());
  ASSERT_TRUE(session->RollbackStatement().ok());
  session->BeginStatement(true, {});
  EXPECT_EQ(Read(session.get(), "a"), "1");
  EXPECT_EQ(Keys(session.get()), "a");
  ASSERT_TRUE(session->Commit().ok());
  EXPECT_FALSE(session->active());
  std::string value;
  ASSERT_TRUE(db_->Get({}, "a", &value).ok());
  EXPECT_EQ(value, "1");
}

TEST_F(SessionTest, SavepointsStayWhenRolledBackTo) {
  auto session = Begun(Isolation::kSnapshot);
  session->EndStatement();
  const size_t first = session->SetSavepoint();
  session->BeginStatement(true, {});
  ASSERT_TRUE(session->Put(nullptr, "a", "1").ok());
  session->EndStatement();
  const size_t second = session->SetSavepoint();
  for (int i = 0; i < 3; ++i) {
    session->BeginStatement(true, {});
    ASSERT_TRUE(session->Put(nullptr, "b", "1").ok());
    session->EndStatement();
    ASSERT_TRUE(session->RollbackToSavepoint(second).ok());
    EXPECT_EQ(Keys(session.get()), "a");
  }
  ASSERT_TRUE(session->RollbackToSavepoint(first).ok());
  EXPECT_EQ(Keys(session.get()), "");
  EXPECT_TRUE(session->RollbackToSavepoint(second).IsNotFound());
  ASSERT_TRUE(session->ReleaseSavepoint(first).ok());
  EXPECT_TRUE(session->RollbackToSavepoint(first).IsNotFound());
}

TEST_F(SessionTest, AForgottenSavepointLeavesTheOthers) {
  auto session = Begun(Isolation::kSnapshot);
  session->EndStatement();
  const auto write = [&session](std::string_view key) {
    session->BeginStatement(true, {});
    ASSERT_TRUE(session->Put(nullptr, key, "1").ok());
    session->EndStatement();
  };
  const size_t first = session->SetSavepoint();
  write("a");
  const size_t second = session->SetSavepoint();
  write("b");
  ASSERT_TRUE(session->ForgetSavepoint(first).ok());
  const size_t third = session->SetSavepoint();
  write("c");
  EXPECT_GT(third, second);
  ASSERT_TRUE(session->RollbackToSavepoint(third).ok());
  EXPECT_EQ(Keys(session.get()), "ab");
  ASSERT_TRUE(session->RollbackToSavepoint(second).ok());
  EXPECT_EQ(Keys(session.get()), "a");
  EXPECT_TRUE(session->RollbackToSavepoint(third).IsNotFound());
  // What was forgotten below goes with the last one.
  ASSERT_TRUE(session->ForgetSavepoint(second).ok());
  EXPECT_EQ(session->SetSavepoint(), first);
}

TEST_F(SessionTest, ReadCommittedSeesOneStatePerStatement) {
  auto session = Begun(Isolation::kReadCommitted);
  Commit("a", "1");
  EXPECT_EQ(Read(session.get(), "a"), "1");
  Commit("a", "2");
  Commit("b", "2");
  EXPECT_EQ(Read(session.get(), "a"), "1");
  EXPECT_EQ(Keys(session.get()), "a");
  session->EndStatement();
  session->BeginStatement(true, {});
  EXPECT_EQ(Read(session.get(), "a"), "2");
  EXPECT_EQ(Keys(session.get()), "ab");
}

TEST_F(SessionTest, SnapshotsSeeOneStatePerTransaction) {
  Commit("a", "1");
  auto session = Begun(Isolation::kSnapshot);
  ASSERT_TRUE(session->FixSnapshot().ok());
  Commit("a", "2");
  EXPECT_EQ(Read(session.get(), "a"), "1");
  session->EndStatement();
  session->BeginStatement(true, {});
  EXPECT_EQ(Read(session.get(), "a"), "1");
  std::string value;
  EXPECT_EQ(session->GetLocked(nullptr, "a", {}, &value).code(), Status::Code::kConflict);
  ASSERT_TRUE(session->Rollback().ok());
  Begin(session.get(), Isolation::kSnapshot);
  EXPECT_EQ(Read(session.get(), "a"), "2");
}

TEST_F(SessionTest, AnyFirstReadFixesWhatASnapshotSees) {
  Commit("a", "1");
  const auto fixes = [this](const auto& read) {
    auto session = Begun(Isolation::kSnapshot);
    const auto sequence = [this] {
      const Snapshot* const now = db_->GetSnapshot();
      const uint64_t sequence_now = now->sequence();
      db_->ReleaseSnapshot(now);
      return sequence_now;
    };
    const uint64_t before = sequence();
    read(session.get());
    Commit("a", "2");
    Commit("b", "2");
    EXPECT_EQ(Read(session.get(), "a"), "1");
    EXPECT_EQ(Keys(session.get()), "a");
    EXPECT_FALSE(session->Precedes(before));
    EXPECT_TRUE(session->Precedes(sequence()));
    session.reset();
    Commit("a", "1");
    EXPECT_TRUE(db_->Delete({}, "b").ok());
  };
  std::string value;
  fixes([&](Session* session) { EXPECT_TRUE(session->Get(nullptr, "a", &value).ok()); });
  fixes([&](Session* session) { EXPECT_TRUE(session->Get(nullptr, "x", &value).IsNotFound()); });
  fixes([&](Session* session) {  // which is not looked up in the database
    ASSERT_TRUE(session->Put(nullptr, "c", "own").ok());
    EXPECT_TRUE(session->Get(nullptr, "c", &value).ok());
    ASSERT_TRUE(session->Delete(nullptr, "c").ok());
  });
  std::vector<std::string> values;
  fixes([&](Session* session) { EXPECT_TRUE(session->MultiGet(nullptr, {"a"}, &values)[0].ok()); });
  fixes([&](Session* session) {
    ASSERT_TRUE(session->Put(nullptr, "c", "own").ok());
    EXPECT_TRUE(session->MultiGet(nullptr, {"c"}, &values)[0].ok());
    ASSERT_TRUE(session->Delete(nullptr, "c").ok());
  });
  fixes([this](Session* session) { EXPECT_EQ(Keys(session), "a"); });
  for (const Sight sight : {Sight::kStatement, Sight::kNewest}) {
    fixes([sight](Session* session) {
      Cursor cursor;
      cursor.Open(session, nullptr, sight);
      EXPECT_TRUE(cursor.SeekBefore("a").ok());
    });
  }
  fixes([](Session* session) {
    CountedRange counted;
    uint64_t count = 0;
    EXPECT_TRUE(counted.Count(session, nullptr, /*keep=*/true, "a", "b", 64, &count).ok());
    EXPECT_EQ(count, 1u);
  });
}

TEST_F(SessionTest, CursorsGoOnAfterTheirTransaction) {
  for (const char* const key : {"a", "b", "c", "d"}) {
    Commit(key, key);
  }
  auto session = Begun(Isolation::kReadCommitted);
  Cursor cursor;
  cursor.Open(session.get(), nullptr, Sight::kStatement);
  ASSERT_TRUE(cursor.Seek("b").ok());
  EXPECT_EQ(cursor.value(), "b");
  ASSERT_TRUE(session->Commit().ok());
  ASSERT_TRUE(db_->Delete({}, "b").ok());
  Begin(session.get(), Isolation::kReadCommitted);
  ASSERT_TRUE(cursor.Next().ok());
  EXPECT_EQ(cursor.key(), "c");
  session->EndStatement();
  session->BeginStatement(true, {});
  ASSERT_TRUE(cursor.Prev().ok());
  EXPECT_EQ(cursor.key(), "a");
  ASSERT_TRUE(cursor.Prev().ok());
  EXPECT_FALSE(cursor.valid());
  cursor.StandOn("c");
  ASSERT_TRUE(cursor.Next().ok());
  EXPECT_EQ(cursor.key(), "d");
  ASSERT_TRUE(cursor.SeekBefore("d").ok());
  EXPECT_EQ(cursor.key(), "c");
}

TEST_F(SessionTest, CursorsDoNotMeetWhatTheyCause) {
  for (const char* const key : {"a", "b", "c"}) {
    Commit(key, key);
  }
  auto session = Begun(Isolation::kReadCommitted);
  Cursor cursor;
  cursor.Open(session.get(), nullptr, Sight::kNewest);
  ASSERT_TRUE(cursor.SeekToFirst().ok());
  int moved = 0;
  while (cursor.valid()) {
    ASSERT_TRUE(session->Delete(nullptr, cursor.key()).ok());
    ASSERT_TRUE(session->Put(nullptr, std::string(cursor.key()) + "+", "").ok());
    ++moved;
    ASSERT_TRUE(cursor.Next().ok());
  }
  EXPECT_EQ(moved, 3);
  EXPECT_EQ(Keys(session.get()), "a+b+c+");
}

TEST_F(SessionTest, GuardsHoldWhatIsPassedOver) {
  for (const char* const key : {"b", "d", "f", "h"}) {
    Commit(key, key);
  }
  auto session = Serializable();
  Cursor cursor;
  cursor.Open(session.get(), nullptr, Sight::kGuardForShare);
  ASSERT_TRUE(cursor.Seek("c").ok());
  EXPECT_EQ(cursor.key(), "d");
  EXPECT_FALSE(Free("c"));
  EXPECT_FALSE(Free("d"));
  EXPECT_TRUE(Free("e"));
  EXPECT_TRUE(Free("b"));
  ASSERT_TRUE(cursor.Next().ok());
  EXPECT_EQ(cursor.value(), "f");
  EXPECT_FALSE(Free("e"));
  ASSERT_TRUE(cursor.Next().ok());
  EXPECT_EQ(cursor.value(), "h");
  ASSERT_TRUE(cursor.Next().ok());
  EXPECT_FALSE(cursor.valid());
  EXPECT_FALSE(Free("z"));
  EXPECT_TRUE(Free("b"));
  // Backwards from the end, where it stood.
  ASSERT_TRUE(cursor.SeekBefore("d").ok());
  EXPECT_EQ(cursor.value(), "b");
  EXPECT_TRUE(Free("a"));
  ASSERT_TRUE(cursor.Prev().ok());
  EXPECT_FALSE(cursor.valid());
  EXPECT_FALSE(Free("a"));
  ASSERT_TRUE(session->Commit().ok());
  EXPECT_TRUE(Free("c"));
}

TEST_F(SessionTest, GuardsStopWhereTheyAreTold) {
  for (const char* const key : {"b", "d", "f"}) {
    Commit(key, key);
  }
  auto session = Serializable();
  Cursor cursor;
  cursor.Open(session.get(), nullptr, Sight::kGuardForUpdate);
  cursor.StopBefore("d");
  ASSERT_TRUE(cursor.Seek("b").ok());
  EXPECT_EQ(cursor.key(), "b");
  ASSERT_TRUE(cursor.Next().ok());
  EXPECT_FALSE(cursor.valid());
  EXPECT_FALSE(Free("c"));
  EXPECT_TRUE(Free("d"));
  cursor.StopBefore({});
  ASSERT_TRUE(cursor.Next().ok());
  EXPECT_EQ(cursor.key(), "d");
  // All of a range at once, even if nothing is there.
  cursor.Close();
  session = Serializable();
  cursor.Open(session.get(), nullptr, Sight::kGuardForUpdate);
  ASSERT_TRUE(cursor.SeekFirstIn("m", "n").ok());
  EXPECT_FALSE(cursor.valid());
  EXPECT_FALSE(Free("mm"));
  EXPECT_TRUE(Free("n"));
  ASSERT_TRUE(cursor.SeekLastIn("d", "g").ok());
  EXPECT_EQ(cursor.key(), "f");
  EXPECT_TRUE(Free("g"));
  EXPECT_FALSE(Free("e"));
  ASSERT_TRUE(cursor.SeekFirstIn({}, {}).ok());
  EXPECT_EQ(cursor.key(), "b");
  EXPECT_FALSE(Free("g"));
}

TEST_F(SessionTest, GuardsSeeWhatWasThereWhenTheyWereSet) {
  Commit("b", "b");
  auto session = Serializable();
  Cursor cursor;
  cursor.Open(session.get(), nullptr, Sight::kGuardForShare);
  ASSERT_TRUE(cursor.Seek("b").ok());
  EXPECT_EQ(cursor.key(), "b");
  // Outside of what is guarded yet.
  Commit("c", "c");
  ASSERT_TRUE(cursor.Next().ok());
  EXPECT_EQ(cursor.key(), "c");
  Commit("e", "e");
  ASSERT_TRUE(cursor.SeekFirstIn("d", "f").ok());
  EXPECT_EQ(cursor.key(), "e");
}

TEST_F(SessionTest, GuardsFindAsOthersDo) {
  TestRandom random(TestSeed());
  std::map<std::string, std::string> model;
  for (int i = 0; i < 3000; ++i) {
    const std::string key = std::to_string(Uniform(&random, 0, 99999));
    model[key] = key;
    Commit(key, key);
  }
  auto session = Serializable();
  Cursor cursor;
  cursor.Open(session.get(), nullptr, Sight::kGuardForShare);
  for (int i = 0; i < 200; ++i) {
    const std::string from = std::to_string(Uniform(&random, 0, 99999));
    const std::string stop =
        Uniform(&random, 0, 1) == 0 ? "" : std::to_string(Uniform(&random, 0, 99999));
    cursor.StopBefore(stop);
    auto at = model.lower_bound(from);
    ASSERT_TRUE(cursor.Seek(from).ok());
    for (uint64_t steps = Uniform(&random, 0, 2999);; --steps) {
      const bool there = at != model.end() && (stop.empty() || at->first < stop);
      ASSERT_EQ(cursor.valid(), there);
      if (!there || steps == 0) {
        break;
      }
      ASSERT_EQ(cursor.key(), at->first);
      ++at;
      ASSERT_TRUE(cursor.Next().ok());
    }
    at = model.lower_bound(from);
    ASSERT_TRUE(cursor.SeekBefore(from).ok());
    for (uint64_t steps = Uniform(&random, 0, 2999);; --steps) {
      ASSERT_EQ(cursor.valid(), at != model.begin());
      if (at == model.begin() || steps == 0) {
        break;
      }
      --at;
      ASSERT_EQ(cursor.key(), at->first);
      ASSERT_TRUE(cursor.Prev().ok());
    }
  }
}

TEST_F(SessionTest, EntriesAreLockedOnceRangesMayBe) {
  auto early = Begun(Isolation::kReadCommitted);
  ASSERT_TRUE(early->PutEntry(nullptr, "a", "1").ok());
  EXPECT_TRUE(Free("a"));
  EXPECT_FALSE(entry_locks_.Require(db_.get()));
  auto late = Begun(Isolation::kReadCommitted);
  ASSERT_TRUE(late->PutEntry(nullptr, "b", "1").ok());
  EXPECT_FALSE(Free("b"));
  // It goes on as it began.
  ASSERT_TRUE(early->DeleteEntry(nullptr, "c").ok());
  EXPECT_TRUE(Free("c"));
  EXPECT_FALSE(entry_locks_.Require(db_.get()));
  ASSERT_TRUE(early->Prepare("x").ok());
  EXPECT_FALSE(entry_locks_.Require(db_.get()));
  early.reset();
  EXPECT_FALSE(entry_locks_.Require(db_.get()));
  std::unique_ptr<Transaction> transaction;
  ASSERT_TRUE(db_->ResumeTransaction("x", {}, &transaction).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_TRUE(entry_locks_.Require(db_.get()));
  EXPECT_TRUE(entry_locks_.Require(db_.get()));
}

TEST_F(SessionTest, WhatIsPreparedOutlivesTheSession) {
  auto session = Begun(Isolation::kSnapshot);
  ASSERT_TRUE(session->Put(nullptr, "a", "1").ok());
  ASSERT_TRUE(session->Prepare("x").ok());
  session.reset();
  ASSERT_EQ(db_->ListPrepared().size(), 1U);
  std::unique_ptr<Transaction> transaction;
  ASSERT_TRUE(db_->ResumeTransaction("x", {}, &transaction).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  std::string value;
  EXPECT_TRUE(db_->Get({}, "a", &value).ok());
}

TEST_F(SessionTest, SaysWhetherThereIsSomethingToCommit) {
  auto session = Begun(Isolation::kReadCommitted);
  EXPECT_EQ(Read(session.get(), "a"), "-");
  EXPECT_FALSE(session->wrote());
  ASSERT_TRUE(session->PutEntry(nullptr, "a", "1").ok());
  EXPECT_TRUE(session->wrote());
  ASSERT_TRUE(session->Commit(/*sync=*/false).ok());
  EXPECT_FALSE(session->wrote());
  Begin(session.get(), Isolation::kReadCommitted);
  EXPECT_EQ(Read(session.get(), "a"), "1");
  EXPECT_FALSE(session->wrote());
}

TEST_F(SessionTest, ACommitThatIsLoggedElsewhereIsNotSynced) {
  FaultEnv env;
  Options options;
  options.create_if_missing = true;
  options.env = &env;
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  uint64_t operations[2];
  for (const bool logged : {false, true}) {
    Session session(db.get(), &entry_locks_);
    session.Begin({}, {.sync = true});
    session.BeginStatement(true, {});
    ASSERT_TRUE(session.Put(nullptr, logged ? "a" : "b", "1").ok());
    ASSERT_TRUE(session.Prepare("x").ok());
    session.FixPlace(1, logged);
    const uint64_t before = env.operations();
    ASSERT_TRUE(session.Commit().ok());
    operations[logged ? 1 : 0] = env.operations() - before;
    EXPECT_FALSE(session.place());
  }
  EXPECT_LT(operations[1], operations[0]);
  EXPECT_TRUE(db->ListPrepared().empty());
  std::string value;
  EXPECT_TRUE(db->Get({}, "a", &value).ok());
}

TEST_F(SessionTest, TablesMadeLaterAreNoticed) {
  auto session = Begun(Isolation::kSnapshot);
  ASSERT_TRUE(session->FixSnapshot().ok());
  Commit("a", "1");
  const Snapshot* const now = db_->GetSnapshot();
  const uint64_t created = now->sequence();
  db_->ReleaseSnapshot(now);
  EXPECT_TRUE(session->Precedes(created));
  ASSERT_TRUE(session->Rollback().ok());
  Begin(session.get(), Isolation::kSnapshot);
  ASSERT_TRUE(session->FixSnapshot().ok());
  EXPECT_FALSE(session->Precedes(created));
}

TEST_F(SessionTest, SubtablesThatItWroteAreDroppedAtItsEnd) {
  for (const bool commits : {true, false}) {
    Subtable* subtable = nullptr;
    ASSERT_TRUE(db_->CreateSubtable("temporary", &subtable).ok());
    auto session = Begun(Isolation::kSnapshot);
    ASSERT_TRUE(session->Put(subtable, "a", "1").ok());
    ASSERT_TRUE(session->Put(nullptr, "a", "1").ok());
    session->DropAtEnd({subtable});
    EXPECT_EQ(db_->FindSubtable("temporary"), subtable);
    EXPECT_TRUE((commits ? session->Commit() : session->Rollback()).ok());
    EXPECT_EQ(db_->FindSubtable("temporary"), nullptr);
  }
}

TEST_F(SessionTest, RowsOfWhatIsUndoneAreTakenBack) {
  const auto rows = std::make_shared<std::atomic<int64_t>>(100);
  const auto others = std::make_shared<std::atomic<int64_t>>(0);
  auto session = Begun(Isolation::kReadCommitted);
  session->CountRow(rows, 1);
  EXPECT_TRUE(session->RollbackStatement().ok());
  EXPECT_EQ(*rows, 100);
  Begin(session.get(), Isolation::kReadCommitted);
  session->CountRow(rows, 1);
  session->CountRow(others, 1);
  session->EndStatement();
  const size_t savepoint = session->SetSavepoint();
  for (int i = 0; i < 3; ++i) {
    Begin(session.get(), Isolation::kReadCommitted);
    session->CountRow(rows, -10);
    session->CountRow(others, 1);
    session->EndStatement();
  }
  EXPECT_EQ(*rows, 71);
  EXPECT_TRUE(session->RollbackToSavepoint(savepoint).ok());
  EXPECT_EQ(*rows, 101);
  EXPECT_EQ(*others, 1);
  EXPECT_TRUE(session->ReleaseSavepoint(savepoint).ok());
  Begin(session.get(), Isolation::kReadCommitted);
  session->CountRow(rows, 1);
  EXPECT_TRUE(session->Commit().ok());
  EXPECT_EQ(*rows, 102);
  Begin(session.get(), Isolation::kReadCommitted);
  session->CountRow(rows, 5);
  EXPECT_TRUE(session->Rollback().ok());
  EXPECT_EQ(*rows, 102);
  EXPECT_EQ(*others, 1);
}

class CountedRangeTest : public SessionTest {
 protected:
  CountedRangeTest() {
    for (const char c : std::string("bcdefg")) {
      Commit(std::string(1, c), std::string(3, c));
    }
  }
  // What `counted` has of a range as the session sees it; `most` records at most.
  void Count(Session* session, const std::string& from, const std::string& to, size_t most) {
    uint64_t count = 0;
    ASSERT_TRUE(counted_.Count(session, nullptr, /*keep=*/true, from, to, most, &count).ok());
  }
  void Seek(Session* session, Cursor* cursor, std::string_view from, std::string_view to) {
    cursor->Open(session, nullptr, Sight::kStatement, &counted_);
    cursor->StopBefore(to);
    ASSERT_TRUE(cursor->Seek(from).ok());
  }
  // The keys that a scan of the range finds, with their values' first bytes.
  static std::string Rest(Cursor* cursor, const std::string& to) {
    std::string found;
    while (cursor->valid() && (to.empty() || cursor->key() < to)) {
      found += std::string(cursor->key()) + cursor->value()[0];
      EXPECT_TRUE(cursor->Next().ok());
    }
    return found;
  }
  std::string Scan(Session* session, const std::string& from, const std::string& to,
                   Sight sight = Sight::kStatement) {
    Cursor cursor;
    cursor.Open(session, nullptr, sight, &counted_);
    cursor.StopBefore(to);
    EXPECT_TRUE(cursor.Seek(from).ok());
    return Rest(&cursor, to);
  }
  // Whether a scan has taken it.
  bool Used() const { return counted_.size() == 0; }

  CountedRange counted_;
};

TEST_F(CountedRangeTest, AScanTakesWhatWasCounted) {
  auto session = Begun(Isolation::kReadCommitted);
  Count(session.get(), "c", "f", 64);
  EXPECT_TRUE(counted_.all());
  EXPECT_EQ(Scan(session.get(), "c", "f"), "ccddee");
  EXPECT_TRUE(Used());
  EXPECT_EQ(Scan(session.get(), "c", "f"), "ccddee");  // only once
  Count(session.get(), "", "", 64);
  EXPECT_EQ(Scan(session.get(), "", ""), "bbccddeeffgg");
  EXPECT_TRUE(Used());
}

// A table's handler goes from one connection to another.
TEST_F(CountedRangeTest, AnotherSessionFindsItsOwn) {
  auto session = Begun(Isolation::kReadCommitted);
  Count(session.get(), "c", "f", 64);
  Commit("dx", "new");
  auto other = Begun(Isolation::kReadCommitted);
  ASSERT_EQ(other->statement(), session->statement());
  EXPECT_EQ(Scan(other.get(), "c", "f"), "ccdddxnee");
  EXPECT_FALSE(Used());
}

TEST_F(CountedRangeTest, CountsUpToALimit) {
  auto session = Begun(Isolation::kReadCommitted);
  uint64_t count = 0;
  for (const auto& [from, to, most, expected] : {std::tuple("c", "f", 64, 3u),
                                                 {"c", "f", 3, 3u},
                                                 {"c", "f", 2, 2u},
                                                 {"", "", 64, 6u},
                                                 {"ca", "cb", 64, 0u},
                                                 {"g", "", 64, 1u},
                                                 {"f", "c", 64, 0u}}) {
    ASSERT_TRUE(counted_.Count(session.get(), nullptr, /*keep=*/true, from, to, most, &count).ok());
    EXPECT_EQ(count, expected) << from << " " << to;
  }
}

TEST_F(CountedRangeTest, WhatIsCountedForALockingReadIsNotKept) {
  auto session = Begun(Isolation::kReadCommitted);
  Commit("d", "x");
  uint64_t count = 0;
  ASSERT_TRUE(counted_.Count(session.get(), nullptr, /*keep=*/false, "c", "f", 64, &count).ok());
  EXPECT_EQ(count, 3u);
  EXPECT_FALSE(counted_.all());
  EXPECT_EQ(counted_.size(), 0u);
}

TEST_F(CountedRangeTest, WhatIsCountedAndNotKeptFixesNothing) {
  auto session = Begun(Isolation::kSnapshot);
  uint64_t count = 0;
  ASSERT_TRUE(counted_.Count(session.get(), nullptr, /*keep=*/false, "c", "f", 64, &count).ok());
  EXPECT_EQ(count, 3u);
  Commit("d", "new");
  std::string value;
  ASSERT_TRUE(session->Get(nullptr, "d", &value).ok());
  EXPECT_EQ(value, "new");
  // What the transaction itself has written counts.
  ASSERT_TRUE(session->Put(nullptr, "da", "own").ok());
  ASSERT_TRUE(counted_.Count(session.get(), nullptr, /*keep=*/false, "c", "f", 64, &count).ok());
  EXPECT_EQ(count, 4u);
}

TEST_F(CountedRangeTest, AScanGoesOnBehindWhatWasCounted) {
  auto session = Begun(Isolation::kReadCommitted);
  for (size_t most = 1; most <= 6; ++most) {
    Count(session.get(), "b", "g", most);
    EXPECT_EQ(counted_.all(), most > 5);
    EXPECT_EQ(Scan(session.get(), "b", "g"), "bbccddeeff") << most;
    EXPECT_TRUE(Used());
  }
}

TEST_F(CountedRangeTest, AnEmptyRangeIsNotLookedFor) {
  auto session = Begun(Isolation::kReadCommitted);
  Count(session.get(), "ca", "cb", 64);
  Cursor cursor;
  Seek(session.get(), &cursor, "ca", "cb");
  EXPECT_FALSE(cursor.valid());
}

TEST_F(CountedRangeTest, AnotherScanFindsItsOwn) {
  auto session = Begun(Isolation::kReadCommitted);
  Count(session.get(), "c", "f", 64);
  EXPECT_EQ(Scan(session.get(), "d", "f"), "ddee");
  EXPECT_EQ(Scan(session.get(), "c", "g"), "ccddeeff");
  EXPECT_EQ(Scan(session.get(), "c", "f", Sight::kNewest), "ccddee");
  EXPECT_FALSE(Used());
  EXPECT_EQ(Scan(session.get(), "c", "f"), "ccddee");
  EXPECT_TRUE(Used());
}

TEST_F(CountedRangeTest, WritesMakeItOld) {
  auto session = Begun(Isolation::kReadCommitted);
  Count(session.get(), "c", "f", 64);
  ASSERT_TRUE(session->Delete(nullptr, "d").ok());
  EXPECT_EQ(Scan(session.get(), "c", "f"), "ccee");
  Count(session.get(), "c", "f", 64);
  ASSERT_TRUE(session->RollbackStatement().ok());
  session->BeginStatement(true, {});
  EXPECT_EQ(Scan(session.get(), "c", "f"), "ccddee");
}

TEST_F(CountedRangeTest, AnotherStatementSeesWhatOthersCommitted) {
  auto session = Begun(Isolation::kReadCommitted);
  Count(session.get(), "c", "f", 64);
  Commit("d", "x");
  session->EndStatement();
  session->BeginStatement(true, {});
  EXPECT_EQ(Scan(session.get(), "c", "f"), "ccdxee");
}

TEST_F(CountedRangeTest, ACursorTurnsAndLeavesTheRange) {
  auto session = Begun(Isolation::kReadCommitted);
  Count(session.get(), "c", "f", 64);
  Cursor cursor;
  Seek(session.get(), &cursor, "c", "f");
  ASSERT_TRUE(cursor.Next().ok());
  ASSERT_EQ(cursor.key(), "d");
  ASSERT_TRUE(cursor.Prev().ok());
  ASSERT_TRUE(cursor.Prev().ok());
  EXPECT_EQ(cursor.key(), "b");
  EXPECT_EQ(cursor.value(), "bbb");

  Count(session.get(), "c", "f", 64);
  ASSERT_TRUE(cursor.Seek("c").ok());
  ASSERT_TRUE(Used());
  cursor.StopBefore({});  // what reads now wants more than the range
  EXPECT_EQ(Rest(&cursor, ""), "ccddeeffgg");
}

TEST_F(CountedRangeTest, ACursorOutlivesItsStatement) {
  auto session = Begun(Isolation::kReadCommitted);
  Count(session.get(), "c", "f", 64);
  Cursor cursor;
  Seek(session.get(), &cursor, "c", "f");
  Commit("cc", "new");
  session->EndStatement();
  session->BeginStatement(true, {});
  ASSERT_TRUE(cursor.Next().ok());
  EXPECT_EQ(cursor.key(), "cc");
  EXPECT_EQ(cursor.value(), "new");
}

TEST_F(CountedRangeTest, LargeRecordsAreCountedAndNotKept) {
  Commit("d", std::string(100'000, 'd'));
  auto session = Begun(Isolation::kReadCommitted);
  Count(session.get(), "c", "f", 64);
  EXPECT_EQ(counted_.size(), 1u);
  EXPECT_FALSE(counted_.all());
  EXPECT_EQ(Scan(session.get(), "c", "f"), "ccddee");
  EXPECT_TRUE(Used());
}

}  // namespace
}  // namespace sluice::mariadb
