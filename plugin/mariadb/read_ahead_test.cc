#include "read_ahead.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "session.h"
#include "util/testing.h"

namespace sluice::mariadb {
namespace {

class ReadAheadTest : public testing::Test {
 protected:
  ReadAheadTest() {
    Options options;
    options.create_if_missing = true;
    EXPECT_TRUE(DB::Open(options, directory_.File("db"), &db_).ok());
    for (int i = 0; i < kRows; ++i) {
      EXPECT_TRUE(db_->Put({}, Key(i), std::to_string(i)).ok());
    }
    session_ = std::make_unique<Session>(db_.get(), &entry_locks_);
    TransactionOptions options_of_transaction;
    options_of_transaction.isolation = Isolation::kReadCommitted;
    session_->Begin(options_of_transaction, {});
    session_->BeginStatement(true, {});
  }
  static std::string Key(int i) { return fmt::format("row{:03}", i); }
  // Reads a batch of rows, from this one on, and returns how many it has taken.
  int ReadBatch(int first) {
    int next = first;
    ahead_.Begin(*session_, true);
    while (next < kRows && !ahead_.full()) {
      ahead_.Add("entry of " + Key(next), Key(next));
      ++next;
    }
    ahead_.Read(session_.get(), nullptr);
    return next - first;
  }
  std::string Take() {
    const std::string entry(ahead_.entry());
    std::string key;
    std::string row;
    const Status status = ahead_.Take(session_.get(), nullptr, &key, &row);
    EXPECT_EQ(entry, "entry of " + key);
    EXPECT_EQ(ahead_.taken(), entry);
    return status.ok() ? row : status.IsNotFound() ? "-" : status.ToString();
  }

  static constexpr int kRows = 200;
  EntryLocks entry_locks_;
  TempDir directory_;
  std::unique_ptr<DB> db_;
  std::unique_ptr<Session> session_;
  ReadAhead ahead_;
};

TEST_F(ReadAheadTest, ReadsMoreAsAScanGoesOn) {
  for (int scan = 0; scan < 2; ++scan) {
    ahead_.Restart();
    int row = 0;
    for (const int rows : {1, 2, 4, 8, 16, 32, 32, 32, 32, 32, 9}) {
      ASSERT_TRUE(ahead_.empty());
      ASSERT_EQ(ReadBatch(row), rows);
      for (const int end = row + rows; row < end; ++row) {
        ASSERT_EQ(Take(), std::to_string(row));
      }
    }
    ASSERT_EQ(ReadBatch(row), 0);
    ASSERT_TRUE(ahead_.empty());
  }
}

TEST_F(ReadAheadTest, ReadsNoMoreLongRowsThanHaveRoom) {
  for (int i = 7; i < 20; ++i) {
    ASSERT_TRUE(db_->Put({}, Key(i), std::string(100 << 10, 'r')).ok());
  }
  ASSERT_TRUE(db_->Put({}, Key(20), std::string(1 << 20, 'r')).ok());
  int row = 0;
  // The first long ones are a surprise.
  for (const int rows : {1, 2, 4, 8, 2, 2, 2, 1, 2, 4, 8}) {
    ASSERT_EQ(ReadBatch(row), rows) << row;
    for (const int end = row + rows; row < end; ++row) {
      (void)Take();
    }
  }
}

TEST_F(ReadAheadTest, SeesWhatTheTransactionWritesMeanwhile) {
  (void)ReadBatch(0);
  (void)ReadBatch(1);
  ASSERT_EQ(ReadBatch(3), 4);
  EXPECT_EQ(Take(), "3");
  ASSERT_TRUE(session_->Put(nullptr, Key(4), "new").ok());
  ASSERT_TRUE(session_->Delete(nullptr, Key(5)).ok());
  ASSERT_TRUE(db_->Put({}, Key(6), "of another one").ok());
  EXPECT_EQ(Take(), "new");
  EXPECT_EQ(Take(), "-");
  EXPECT_EQ(Take(), "6");
}

TEST_F(ReadAheadTest, IsOfOneStatementAndOneDirection) {
  (void)ReadBatch(0);
  EXPECT_TRUE(ahead_.Continues(*session_, true));
  EXPECT_FALSE(ahead_.Continues(*session_, false));
  session_->EndStatement();
  session_->BeginStatement(true, {});
  EXPECT_FALSE(ahead_.Continues(*session_, true));
}

}  // namespace
}  // namespace sluice::mariadb
