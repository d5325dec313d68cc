#include "session.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cursor.h"
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
    auto session = std::make_unique<Session>(db_.get());
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
  static std::string Read(Session* session, std::string_view key) {
    std::string value;
    const Status status = session->Get(nullptr, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : status.ToString();
  }
  // All keys, forwards and backwards.
  std::string Keys(Session* session) {
    std::string keys;
    Cursor cursor;
    cursor.Open(session, nullptr, false);
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

TEST_F(SessionTest, CursorsGoOnAfterTheirTransaction) {
  for (const char* const key : {"a", "b", "c", "d"}) {
    Commit(key, key);
  }
  auto session = Begun(Isolation::kReadCommitted);
  Cursor cursor;
  cursor.Open(session.get(), nullptr, false);
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
  cursor.Open(session.get(), nullptr, true);
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

}  // namespace
}  // namespace sluice::mariadb
