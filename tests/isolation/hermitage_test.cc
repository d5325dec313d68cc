// Hermitage (Kleppmann, github.com/ept/hermitage): small interleavings of transactions, each the
// example of one phenomenon, at each isolation: what is prevented, and what is not.
//
// Rows 1 and 2 hold 10 and 20 at the beginning. Where Hermitage has a transaction wait for a lock,
// here it is refused at once: transactions do not wait, which keeps a test in one thread.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sluice/db.h"
#include "util/testing.h"

namespace sluice {
namespace {

using Code = Status::Code;

class Hermitage : public testing::TestWithParam<Isolation> {
 protected:
  Hermitage() {
    Options options;
    options.create_if_missing = true;
    EXPECT_TRUE(DB::Open(options, dir_.File("db"), &db_).ok());
    EXPECT_TRUE(db_->Put({}, "1", "10").ok());
    EXPECT_TRUE(db_->Put({}, "2", "20").ok());
    for (auto* t : {&t1_, &t2_, &t3_}) {
      *t = db_->BeginTransaction({.isolation = GetParam(), .lock_timeout = {}}, {});
    }
  }

  static bool Snapshot() { return GetParam() == Isolation::kSnapshot; }
  template <typename From>
  static std::string Get(From& from, std::string_view key) {
    std::string value;
    const Status status = from->Get({}, nullptr, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : status.ToString();
  }
  static Code Put(std::unique_ptr<Transaction>& t, std::string_view key, std::string_view value) {
    return t->Put(nullptr, key, value).code();
  }
  static std::string GetForShare(std::unique_ptr<Transaction>& t, std::string_view key) {
    std::string value;
    const Status status = t->GetForShare({}, nullptr, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : status.ToString().substr(0, 8);
  }
  static std::string GetForUpdate(std::unique_ptr<Transaction>& t, std::string_view key) {
    std::string value;
    const Status status = t->GetForUpdate({}, nullptr, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : status.ToString().substr(0, 8);
  }
  // The keys whose values are `like`, which is what a predicate selects.
  static std::string Select(std::unique_ptr<Transaction>& t, std::string_view like) {
    std::string keys;
    const auto at = t->NewIterator({}, nullptr);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      keys += at->value() == like ? std::string(at->key()) : "";
    }
    return keys;
  }
  std::string Both() { return Get(db_, "1") + " " + Get(db_, "2"); }

  TempDir dir_;
  std::unique_ptr<DB> db_;
  std::unique_ptr<Transaction> t1_;
  std::unique_ptr<Transaction> t2_;
  std::unique_ptr<Transaction> t3_;
};

// Dirty writes: prevented.
TEST_P(Hermitage, G0) {
  EXPECT_EQ(Put(t1_, "1", "11"), Code::kOk);
  EXPECT_EQ(Put(t2_, "1", "12"), Code::kTimedOut);
  EXPECT_EQ(Put(t1_, "2", "21"), Code::kOk);
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_EQ(Both(), "11 21");
  // Its snapshot is of its first lock, so there is no conflict either.
  EXPECT_EQ(Put(t2_, "1", "12"), Code::kOk);
  EXPECT_EQ(Put(t2_, "2", "22"), Code::kOk);
  EXPECT_TRUE(t2_->Commit().ok());
  EXPECT_EQ(Both(), "12 22");
}

// Aborted reads: prevented.
TEST_P(Hermitage, G1a) {
  EXPECT_EQ(Put(t1_, "1", "101"), Code::kOk);
  EXPECT_EQ(Get(t2_, "1"), "10");
  EXPECT_TRUE(t1_->Rollback().ok());
  EXPECT_EQ(Get(t2_, "1"), "10");
}

// Intermediate reads: prevented.
TEST_P(Hermitage, G1b) {
  EXPECT_EQ(Put(t1_, "1", "101"), Code::kOk);
  EXPECT_EQ(Get(t2_, "1"), "10");
  EXPECT_EQ(Put(t1_, "1", "11"), Code::kOk);
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_EQ(Get(t2_, "1"), Snapshot() ? "10" : "11");
}

// Circular information flow: prevented.
TEST_P(Hermitage, G1c) {
  EXPECT_EQ(Put(t1_, "1", "11"), Code::kOk);
  EXPECT_EQ(Put(t2_, "2", "22"), Code::kOk);
  EXPECT_EQ(Get(t1_, "2"), "20");
  EXPECT_EQ(Get(t2_, "1"), "10");
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_TRUE(t2_->Commit().ok());
}

// Observed transaction vanishes: prevented.
TEST_P(Hermitage, OTV) {
  EXPECT_EQ(Put(t1_, "1", "11"), Code::kOk);
  EXPECT_EQ(Put(t1_, "2", "19"), Code::kOk);
  EXPECT_EQ(Put(t2_, "1", "12"), Code::kTimedOut);
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_EQ(Put(t2_, "1", "12"), Code::kOk);
  EXPECT_EQ(Get(t3_, "1"), "11");
  EXPECT_EQ(Put(t2_, "2", "18"), Code::kOk);
  EXPECT_EQ(Get(t3_, "2"), "19");
  EXPECT_TRUE(t2_->Commit().ok());
  EXPECT_EQ(Get(t3_, "2"), Snapshot() ? "19" : "18");
  EXPECT_EQ(Get(t3_, "1"), Snapshot() ? "11" : "12");
}

// A predicate that many precede: a later read finds what an earlier one did not. Prevented in
// snapshots.
TEST_P(Hermitage, PMP) {
  EXPECT_EQ(Select(t1_, "30"), "");
  EXPECT_EQ(Put(t2_, "3", "30"), Code::kOk);
  EXPECT_TRUE(t2_->Commit().ok());
  EXPECT_EQ(Select(t1_, "30"), Snapshot() ? "" : "3");
}

// The same, of a write that selects by a predicate: in snapshots its rows are those of the
// snapshot, and it is refused where they are out of date.
TEST_P(Hermitage, PMPForWrites) {
  EXPECT_EQ(Select(t2_, "20"), "2");
  EXPECT_EQ(Put(t1_, "1", "20"), Code::kOk);
  EXPECT_EQ(Put(t1_, "2", "30"), Code::kOk);
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_EQ(Select(t2_, "20"), Snapshot() ? "2" : "1");
  EXPECT_EQ(t2_->Delete(nullptr, "2").code(), Snapshot() ? Code::kConflict : Code::kOk);
}

// Lost updates: prevented in snapshots, and where rows are read for update.
TEST_P(Hermitage, P4) {
  EXPECT_EQ(Get(t1_, "1"), "10");
  EXPECT_EQ(Get(t2_, "1"), "10");
  EXPECT_EQ(Put(t1_, "1", "11"), Code::kOk);
  EXPECT_EQ(Put(t2_, "1", "11"), Code::kTimedOut);
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_EQ(Put(t2_, "1", "11"), Snapshot() ? Code::kConflict : Code::kOk);
}
TEST_P(Hermitage, P4ForUpdate) {
  EXPECT_EQ(GetForUpdate(t1_, "1"), "10");
  EXPECT_EQ(GetForUpdate(t2_, "1"), "timed ou");
  EXPECT_EQ(Put(t1_, "1", "11"), Code::kOk);
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_EQ(GetForUpdate(t2_, "1"), "11");
  EXPECT_EQ(Put(t2_, "1", "12"), Code::kOk);
  EXPECT_TRUE(t2_->Commit().ok());
  EXPECT_EQ(Get(db_, "1"), "12");
}

// Read skew: prevented in snapshots.
TEST_P(Hermitage, GSingle) {
  EXPECT_EQ(Get(t1_, "1"), "10");
  EXPECT_EQ(Get(t2_, "1"), "10");
  EXPECT_EQ(Get(t2_, "2"), "20");
  EXPECT_EQ(Put(t2_, "1", "12"), Code::kOk);
  EXPECT_EQ(Put(t2_, "2", "18"), Code::kOk);
  EXPECT_TRUE(t2_->Commit().ok());
  EXPECT_EQ(Get(t1_, "2"), Snapshot() ? "20" : "18");
}
// By a predicate, and by a write.
TEST_P(Hermitage, GSinglePredicate) {
  EXPECT_EQ(Select(t1_, "10"), "1");
  EXPECT_EQ(Put(t2_, "1", "12"), Code::kOk);
  EXPECT_EQ(Put(t2_, "2", "10"), Code::kOk);
  EXPECT_TRUE(t2_->Commit().ok());
  EXPECT_EQ(Select(t1_, "10"), Snapshot() ? "1" : "2");
}
TEST_P(Hermitage, GSingleWrite) {
  EXPECT_EQ(Get(t1_, "1"), "10");
  EXPECT_EQ(Put(t2_, "1", "12"), Code::kOk);
  EXPECT_EQ(Put(t2_, "2", "18"), Code::kOk);
  EXPECT_TRUE(t2_->Commit().ok());
  EXPECT_EQ(t1_->Delete(nullptr, "2").code(), Snapshot() ? Code::kConflict : Code::kOk);
}

// Write skew: not prevented, but between rows that are read for update or for share.
TEST_P(Hermitage, G2Item) {
  EXPECT_EQ(Get(t1_, "1") + Get(t1_, "2"), "1020");
  EXPECT_EQ(Get(t2_, "1") + Get(t2_, "2"), "1020");
  EXPECT_EQ(Put(t1_, "1", "11"), Code::kOk);
  EXPECT_EQ(Put(t2_, "2", "21"), Code::kOk);
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_TRUE(t2_->Commit().ok());
  EXPECT_EQ(Both(), "11 21");
}
TEST_P(Hermitage, G2ItemForUpdate) {
  EXPECT_EQ(Get(t2_, "1"), "10");
  EXPECT_EQ(GetForUpdate(t1_, "1") + GetForUpdate(t1_, "2"), "1020");
  EXPECT_EQ(GetForUpdate(t2_, "2"), "timed ou");
  EXPECT_EQ(Put(t1_, "1", "11"), Code::kOk);
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_EQ(GetForUpdate(t2_, "2"), "20");
  EXPECT_EQ(GetForUpdate(t2_, "1"), Snapshot() ? "conflict" : "11");
}

TEST_P(Hermitage, G2ItemForShare) {
  EXPECT_EQ(GetForShare(t1_, "1") + GetForShare(t1_, "2"), "1020");
  EXPECT_EQ(GetForShare(t2_, "1") + GetForShare(t2_, "2"), "1020");
  EXPECT_EQ(Put(t1_, "1", "11"), Code::kTimedOut);
  EXPECT_EQ(Put(t2_, "2", "21"), Code::kTimedOut);
  EXPECT_TRUE(t2_->Rollback().ok());
  EXPECT_EQ(Put(t1_, "1", "11"), Code::kOk);
  EXPECT_EQ(GetForShare(t3_, "1"), "timed ou");
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_EQ(GetForShare(t3_, "1") + GetForShare(t3_, "2"), "1120");
}
TEST_P(Hermitage, P4ForShare) {
  EXPECT_EQ(Get(t1_, "2"), "20");
  EXPECT_EQ(GetForShare(t2_, "1"), "10");
  EXPECT_EQ(Put(t2_, "1", "11"), Code::kOk);
  EXPECT_EQ(GetForShare(t1_, "1"), "timed ou");
  EXPECT_TRUE(t2_->Commit().ok());
  EXPECT_EQ(GetForShare(t1_, "1"), Snapshot() ? "conflict" : "11");
}

// The same by predicates: not prevented, but where the range that is scanned is locked. Nothing else
// locks what is not there.
TEST_P(Hermitage, G2) {
  EXPECT_EQ(Select(t1_, "30"), "");
  EXPECT_EQ(Select(t2_, "30"), "");
  EXPECT_EQ(Put(t1_, "3", "30"), Code::kOk);
  EXPECT_EQ(Put(t2_, "4", "30"), Code::kOk);
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_TRUE(t2_->Commit().ok());
  EXPECT_EQ(Select(t3_, "30"), "34");
}

TEST_P(Hermitage, G2RangeForShare) {
  for (auto* t : {&t1_, &t2_}) {
    EXPECT_TRUE((*t)->LockRangeForShare(nullptr, "", "").ok());
    EXPECT_EQ(Select(*t, "30"), "");
  }
  EXPECT_EQ(Put(t1_, "3", "30"), Code::kTimedOut);
  EXPECT_EQ(Put(t2_, "4", "30"), Code::kTimedOut);
  EXPECT_TRUE(t2_->Rollback().ok());
  EXPECT_EQ(Put(t1_, "3", "30"), Code::kOk);
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_EQ(Select(t3_, "30"), "3");
}
TEST_P(Hermitage, G2RangeForUpdate) {
  EXPECT_EQ(Get(t2_, "1"), "10");
  EXPECT_TRUE(t1_->LockRangeForUpdate(nullptr, "", "").ok());
  EXPECT_EQ(Select(t1_, "30"), "");
  EXPECT_EQ(t2_->LockRangeForUpdate(nullptr, "2", "").code(), Code::kTimedOut);
  EXPECT_EQ(Put(t1_, "3", "30"), Code::kOk);
  EXPECT_TRUE(t1_->Commit().ok());
  // What it would read there is of a state before.
  EXPECT_EQ(t2_->LockRangeForUpdate(nullptr, "2", "").code(),
            Snapshot() ? Code::kConflict : Code::kOk);
  EXPECT_EQ(Select(t2_, "30"), Snapshot() ? "" : "3");
}
// Fekete, O'Neil and O'Neil: a transaction that only reads sees a state that no order has. Not where
// it locks what it scans.
TEST_P(Hermitage, G2ReadOnlyRange) {
  EXPECT_TRUE(t1_->LockRangeForShare(nullptr, "", "").ok());
  EXPECT_EQ(Select(t1_, "10") + Select(t1_, "20"), "12");
  EXPECT_EQ(Put(t2_, "2", "25"), Code::kTimedOut);
  EXPECT_TRUE(t3_->LockRangeForShare(nullptr, "", "").ok());
  EXPECT_EQ(Select(t3_, "10") + Select(t3_, "20"), "12");
  EXPECT_TRUE(t3_->Commit().ok());
  EXPECT_EQ(Put(t1_, "1", "0"), Code::kOk);
  EXPECT_EQ(Put(t2_, "2", "25"), Code::kTimedOut);
  EXPECT_TRUE(t1_->Commit().ok());
  EXPECT_EQ(Put(t2_, "2", "25"), Code::kOk);
}

INSTANTIATE_TEST_SUITE_P(Levels, Hermitage,
                         testing::Values(Isolation::kSnapshot, Isolation::kReadCommitted),
                         [](const auto& info) {
                           return info.param == Isolation::kSnapshot ? "Snapshot" : "ReadCommitted";
                         });

}  // namespace
}  // namespace sluice
