// What sluice/transaction.h promises, one by one, and random transactions against maps.

#include "sluice/transaction.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "db/transaction_fixture.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

using Code = Status::Code;

TEST_F(TransactionTest, ShowsItsWritesToItselfUntilItCommits) {
  Subtable* orders;
  ASSERT_TRUE(db_->CreateSubtable("orders", &orders).ok());
  Put("a", "1");
  Put("b", "2");
  auto t = Begin();
  ASSERT_TRUE(t->Put(nullptr, "a", "x").ok());
  ASSERT_TRUE(t->Delete(nullptr, "b").ok());
  ASSERT_TRUE(t->Put(orders, "a", "order").ok());
  EXPECT_EQ(Get(*t, "a"), "x");
  EXPECT_EQ(Get(*t, "b"), "-");
  EXPECT_EQ(Get(*t, "a", orders), "order");
  EXPECT_EQ(Scan(*t), "a=x ");
  EXPECT_EQ(Scan(*db_), "a=1 b=2 ");
  EXPECT_EQ(db_->GetStatistics().transactions.active, 1u);
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 3u);
  ASSERT_TRUE(t->Commit().ok());
  EXPECT_EQ(Scan(*db_), "a=x ");
  EXPECT_EQ(Get(*db_, "a", orders), "order");
  EXPECT_EQ(t->Put(nullptr, "a", "y").code(), Code::kInvalidArgument);
  EXPECT_EQ(t->Commit().code(), Code::kInvalidArgument);
  EXPECT_EQ(t->Rollback().code(), Code::kInvalidArgument);
  EXPECT_EQ(t->NewIterator({}, nullptr)->status().code(), Code::kInvalidArgument);
  EXPECT_EQ(db_->GetStatistics().transactions.active, 0u);
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 0u);
  EXPECT_EQ(db_->GetStatistics().transactions.committed, 1u);
  t.reset();
  Open();
  EXPECT_EQ(Scan(*db_), "a=x ");
}

TEST_F(TransactionTest, LeavesNothingBehindWhenItRollsBack) {
  Put("a", "1");
  {
    auto t = Begin();
    ASSERT_TRUE(t->Put(nullptr, "a", "2").ok());
    EXPECT_EQ(db_->GetStatistics().transactions.locks, 1u);
  }
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 0u);
  auto t = Begin();
  ASSERT_TRUE(t->Put(nullptr, "a", "3").ok());
  ASSERT_TRUE(t->Rollback().ok());
  EXPECT_TRUE(t->Rollback().ok());
  EXPECT_EQ(t->Commit().code(), Code::kInvalidArgument);
  EXPECT_EQ(Get(*db_, "a"), "1");
}

TEST_F(TransactionTest, FirstCommitterWins) {
  Put("a", "1");
  auto first = Begin();
  auto second = Begin();
  EXPECT_EQ(Get(*first, "a"), "1");
  EXPECT_EQ(Get(*second, "a"), "1");
  ASSERT_TRUE(first->Put(nullptr, "a", "first").ok());
  const Status busy = second->Put(nullptr, "a", "second");
  EXPECT_EQ(busy.code(), Code::kTimedOut);
  EXPECT_TRUE(busy.IsRetryable());
  ASSERT_TRUE(first->Commit().ok());
  const Status conflict = second->Put(nullptr, "a", "second");
  EXPECT_EQ(conflict.code(), Code::kConflict);
  EXPECT_TRUE(conflict.IsRetryable());
  std::string value;
  EXPECT_EQ(second->GetForUpdate({}, nullptr, "a", &value).code(), Code::kConflict);
  EXPECT_EQ(db_->GetStatistics().transactions.conflicts, 2u);
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 0u);
  // The write that failed was not done; the transaction goes on at its own state.
  EXPECT_EQ(Get(*second, "a"), "1");
  ASSERT_TRUE(second->Put(nullptr, "b", "second").ok());
  ASSERT_TRUE(second->Commit().ok());
  EXPECT_EQ(Scan(*db_), "a=first b=second ");
}

// A conflict is found wherever the conflicting version lies: in the active memtable, in runs, in
// the row cache, or dropped except for its tombstone.
TEST_F(TransactionTest, FindsConflictsWhereverTheyLie) {
  enum Place { kMemtable, kRun, kRowCache, kCompacted };
  for (const Place place : {kMemtable, kRun, kRowCache, kCompacted}) {
    for (const bool deleted : {false, true}) {
      SCOPED_TRACE(fmt::format("place {}, deleted {}", static_cast<int>(place), deleted));
      Put("k", "old");
      Put("still", "old");
      ASSERT_TRUE(db_->Flush(nullptr).ok());
      auto t = Begin();
      EXPECT_EQ(Get(*t, "k"), "old");
      ASSERT_TRUE(deleted ? db_->Delete({}, "k").ok() : db_->Put({}, "k", "new").ok());
      if (place != kMemtable) {
        ASSERT_TRUE(db_->Flush(nullptr).ok());
      }
      if (place == kRowCache) {
        EXPECT_EQ(Get(*db_, "k"), deleted ? "-" : "new");
        EXPECT_EQ(Get(*db_, "k"), deleted ? "-" : "new");
      }
      if (place == kCompacted) {
        ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
      }
      EXPECT_EQ(t->Put(nullptr, "k", "mine").code(), Code::kConflict);
      EXPECT_TRUE(t->Put(nullptr, "still", "mine").ok());
      EXPECT_TRUE(t->Put(nullptr, "nowhere", "mine").ok());
    }
  }
}

// A transaction that begins with a write takes its snapshot when it has the lock: an update of a
// hot row waits, and does not fail.
TEST_F(TransactionTest, TakesItsSnapshotWhenItHasItsFirstLock) {
  Put("hot", "0");
  auto first = Begin();
  std::string value;
  ASSERT_TRUE(first->GetForUpdate({}, nullptr, "hot", &value).ok());
  auto second = Begin(Isolation::kSnapshot, std::chrono::hours(1));
  auto update = std::async(std::launch::async, [&] {
    std::string found;
    EXPECT_TRUE(second->GetForUpdate({}, nullptr, "hot", &found).ok());
    EXPECT_EQ(found, "1");
    EXPECT_TRUE(second->Put(nullptr, "hot", "2").ok());
    return second->Commit();
  });
  while (db_->GetStatistics().transactions.lock_waits == 0) {
    std::this_thread::yield();
  }
  ASSERT_TRUE(first->Put(nullptr, "hot", "1").ok());
  ASSERT_TRUE(first->Commit().ok());
  EXPECT_TRUE(update.get().ok());
  EXPECT_EQ(Get(*db_, "hot"), "2");
}

TEST_F(TransactionTest, ReadCommittedSeesWhatIsCommitted) {
  Put("a", "1");
  auto t = Begin(Isolation::kReadCommitted);
  EXPECT_EQ(Get(*t, "a"), "1");
  Put("a", "2");
  EXPECT_EQ(Get(*t, "a"), "2");
  // A statement that reads one state.
  const Snapshot* const statement = db_->GetSnapshot();
  Put("a", "3");
  std::string value;
  ASSERT_TRUE(t->Get({.snapshot = statement}, nullptr, "a", &value).ok());
  EXPECT_EQ(value, "2");
  EXPECT_EQ(Scan(*t, {.snapshot = statement}), "a=2 ");
  db_->ReleaseSnapshot(statement);
  ASSERT_TRUE(t->Put(nullptr, "a", "mine").ok());
  ASSERT_TRUE(t->Commit().ok());
  EXPECT_EQ(Get(*db_, "a"), "mine");
}

TEST_F(TransactionTest, RefusesWhatDoesNotFit) {
  auto t = db_->BeginTransaction({.lock_timeout = {}, .max_bytes = 10'000}, {});
  const std::string value(1000, 'v');
  int fitted = 0;
  Status status;
  while ((status = t->Put(nullptr, std::to_string(fitted), value)).ok()) {
    ++fitted;
  }
  EXPECT_EQ(status.code(), Code::kTooLarge);
  EXPECT_FALSE(status.IsRetryable());
  EXPECT_GE(fitted, 7);
  EXPECT_LE(fitted, 10);
  EXPECT_EQ(db_->GetStatistics().transactions.locks, static_cast<uint64_t>(fitted));
  std::string found;
  while (
      (status = t->GetForUpdate({}, nullptr, fmt::format("lock{}", fitted), &found)).IsNotFound()) {
    ASSERT_LT(++fitted, 100);
  }
  EXPECT_EQ(status.code(), Code::kTooLarge);
  ASSERT_TRUE(t->Commit().ok());
  EXPECT_EQ(Get(*db_, "0"), value);
}

TEST_F(TransactionTest, ADroppedSubtableFailsTheCommit) {
  Subtable* orders;
  ASSERT_TRUE(db_->CreateSubtable("orders", &orders).ok());
  auto t = Begin();
  ASSERT_TRUE(t->Put(nullptr, "a", "1").ok());
  ASSERT_TRUE(t->Put(orders, "a", "1").ok());
  ASSERT_TRUE(db_->DropSubtable(orders).ok());
  EXPECT_EQ(t->Put(orders, "b", "1").code(), Code::kInvalidArgument);
  EXPECT_EQ(t->Commit().code(), Code::kInvalidArgument);
  EXPECT_EQ(Get(*db_, "a"), "-");
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 0u);
}

// A few threads keep many commits under way, of transactions that are destroyed already.
TEST_F(TransactionTest, CommitsAsynchronously) {
  std::atomic<int> done{0};
  std::atomic<int> failed{0};
  constexpr int kCommits = 2000;
  for (int i = 0; i < kCommits; ++i) {
    auto t = db_->BeginTransaction({}, {.sync = i % 2 == 0});
    ASSERT_TRUE(t->Put(nullptr, fmt::format("k{:04}", i), "v").ok());
    t->CommitAsync([&](const Status& status) {
      failed += status.ok() ? 0 : 1;
      ++done;
    });
    EXPECT_EQ(t->Put(nullptr, "k", "v").code(), Code::kInvalidArgument);
  }
  // The next owner of a row has it when the commit before is visible.
  auto add = [&](std::chrono::milliseconds timeout) {
    auto t = Begin(Isolation::kSnapshot, timeout);
    std::string value = "0";
    const Status status = t->GetForUpdate({}, nullptr, "sum", &value);
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    EXPECT_TRUE(t->Put(nullptr, "sum", std::to_string(std::stoi(value) + 1)).ok());
    return t->CommitAsync();
  };
  std::vector<std::future<Status>> sums;
  for (int i = 0; i < 500; ++i) {
    sums.push_back(add(std::chrono::hours(1)));
  }
  for (auto& sum : sums) {
    EXPECT_TRUE(sum.get().ok());
  }
  EXPECT_EQ(Get(*db_, "sum"), "500");
  auto empty = Begin();
  EXPECT_TRUE(empty->CommitAsync().get().ok());
  EXPECT_EQ(empty->CommitAsync().get().code(), Code::kInvalidArgument);
  while (done < kCommits) {
    std::this_thread::yield();
  }
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(db_->GetStatistics().transactions.locks, 0u);
}

using Model = std::map<std::string, std::string>;

// Iterators both ways, with bounds, over own writes and what is committed.
void CompareIterators(Transaction* transaction, Subtable* subtable, const Model& model,
                      const ReadOptions& options, TestRandom* random) {
  const auto at = transaction->NewIterator(options, subtable);
  const auto begin =
      options.lower_bound != nullptr ? model.lower_bound(*options.lower_bound) : model.begin();
  const auto end =
      options.upper_bound != nullptr ? model.lower_bound(*options.upper_bound) : model.end();
  Model within;
  if (options.lower_bound == nullptr || options.upper_bound == nullptr ||
      *options.lower_bound < *options.upper_bound) {
    within = Model(begin, end);
  }
  auto expected = within.end();
  const auto before = [&](Model::iterator i) {
    return i == within.begin() ? within.end() : std::prev(i);
  };
  for (int step = 0; step < 20; ++step) {
    const std::string key = std::to_string(Uniform(random, 0, 40));
    switch (Uniform(random, 0, 7)) {
      case 0:
        at->SeekToFirst();
        expected = within.begin();
        break;
      case 1:
        at->SeekToLast();
        expected = before(within.end());
        break;
      case 2:
        at->Seek(key);
        expected = within.lower_bound(key);
        break;
      case 3:
        at->SeekForPrev(key);
        expected = before(within.upper_bound(key));
        break;
      default:
        if (expected == within.end()) {
          continue;
        }
        if (Uniform(random, 0, 1) != 0) {
          at->Next();
          ++expected;
        } else {
          at->Prev();
          expected = before(expected);
        }
    }
    ASSERT_EQ(at->Valid(), expected != within.end());
    if (at->Valid()) {
      ASSERT_EQ(at->key(), expected->first);
      ASSERT_EQ(at->value(), expected->second);
    }
    ASSERT_TRUE(at->status().ok());
  }
}

// Keys in any order, and several times.
void CompareMultiGet(Transaction* transaction, Subtable* subtable, const Model& model,
                     TestRandom* random) {
  std::vector<std::string> keys(Uniform(random, 0, 50));
  for (std::string& key : keys) {
    key = std::to_string(Uniform(random, 0, 40));
  }
  std::vector<std::string> values;
  const std::vector<Status> statuses =
      transaction->MultiGet({}, subtable, {keys.begin(), keys.end()}, &values);
  ASSERT_EQ(statuses.size(), keys.size());
  ASSERT_EQ(values.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto expected = model.find(keys[i]);
    ASSERT_EQ(statuses[i].ok(), expected != model.end()) << statuses[i].ToString();
    ASSERT_TRUE(statuses[i].ok() || statuses[i].IsNotFound()) << statuses[i].ToString();
    if (statuses[i].ok()) {
      ASSERT_EQ(values[i], expected->second);
    }
  }
}

TEST_F(TransactionTest, MultiGetSeesOneState) {
  const std::vector<std::string_view> keys = {"a", "b", "c", "d"};
  const auto multi_get = [&](Transaction* transaction, const ReadOptions& options) {
    std::vector<std::string> values;
    const std::vector<Status> statuses = transaction->MultiGet(options, nullptr, keys, &values);
    std::string all;
    for (size_t i = 0; i < keys.size(); ++i) {
      all += statuses[i].ok() ? values[i] : statuses[i].IsNotFound() ? "-" : "?";
    }
    return all;
  };
  Put("a", "1");
  Put("b", "2");
  auto snapshot = Begin();
  auto newest = Begin(Isolation::kReadCommitted);
  for (const auto& t : {snapshot.get(), newest.get()}) {
    EXPECT_EQ(multi_get(t, {}), "12--");
  }
  ASSERT_TRUE(snapshot->Put(nullptr, "d", "s").ok());
  ASSERT_TRUE(newest->Delete(nullptr, "b").ok());
  const Snapshot* const before = db_->GetSnapshot();
  Put("a", "3");
  Put("c", "4");
  EXPECT_EQ(multi_get(snapshot.get(), {}), "12-s");
  EXPECT_EQ(multi_get(newest.get(), {}), "3-4-");
  EXPECT_EQ(multi_get(newest.get(), {.snapshot = before}), "1---");
  db_->ReleaseSnapshot(before);
  ASSERT_TRUE(newest->Commit().ok());
  EXPECT_EQ(multi_get(newest.get(), {}), "????");
}

TEST_F(TransactionTest, DoesWhatMapsDo) {
  TestRandom random(TestSeed());
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  std::map<Subtable*, Model> committed;
  for (int round = 0; round < 200 && !testing::Test::HasFailure(); ++round) {
    auto t = Begin(Uniform(&random, 0, 1) != 0 ? Isolation::kSnapshot : Isolation::kReadCommitted);
    std::vector<std::map<Subtable*, Model>> states{committed};
    const uint64_t steps = Uniform(&random, 0, 60);
    for (uint64_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      Subtable* const subtable = Uniform(&random, 0, 1) != 0 ? other : nullptr;
      Model& model = states.back()[subtable];
      const std::string key = std::to_string(Uniform(&random, 0, 40));
      switch (Uniform(&random, 0, 13)) {
        case 0:
          t->SetSavepoint();
          states.push_back(states.back());
          break;
        case 1:
          ASSERT_EQ(t->RollbackToSavepoint().ok(), states.size() > 1);
          if (states.size() > 1) {
            states.pop_back();
          }
          break;
        case 2:
          ASSERT_EQ(t->ReleaseSavepoint().ok(), states.size() > 1);
          if (states.size() > 1) {
            states.erase(states.end() - 2);
          }
          break;
        case 3:
          ASSERT_TRUE(t->Delete(subtable, key).ok());
          model.erase(key);
          break;
        case 4: {
          const std::string lower = std::to_string(Uniform(&random, 0, 40));
          const std::string upper = std::to_string(Uniform(&random, 0, 40));
          ReadOptions options;
          options.lower_bound = Uniform(&random, 0, 1) != 0 ? &lower : nullptr;
          options.upper_bound = Uniform(&random, 0, 1) != 0 ? &upper : nullptr;
          CompareIterators(t.get(), subtable, model, options, &random);
          break;
        }
        case 5:
          CompareMultiGet(t.get(), subtable, model, &random);
          break;
        case 6:
        case 7: {
          std::string value;
          const Status status = Uniform(&random, 0, 1) != 0
                                    ? t->Get({}, subtable, key, &value)
                                    : t->GetForUpdate({}, subtable, key, &value);
          ASSERT_EQ(status.ok(), model.count(key) == 1) << status.ToString();
          if (status.ok()) {
            ASSERT_EQ(value, model[key]);
          }
          break;
        }
        default: {
          const std::string value(SkewedSize(&random, 3000), static_cast<char>('a' + step % 26));
          ASSERT_TRUE((Uniform(&random, 0, 2) != 0 ? t->Put(subtable, key, value)
                                                   : t->PutUntracked(subtable, key, value))
                          .ok());
          model[key] = value;
        }
      }
    }
    switch (Uniform(&random, 0, 3)) {
      case 0:
        ASSERT_TRUE(t->Rollback().ok());
        break;
      case 1:
        ASSERT_TRUE(t->CommitAsync().get().ok());
        committed = states.back();
        break;
      default:
        ASSERT_TRUE(t->Commit().ok());
        committed = states.back();
    }
    t.reset();
    if (Uniform(&random, 0, 30) == 0) {
      Open();
      other = db_->FindSubtable("other");
      std::map<Subtable*, Model> same;
      for (auto& [subtable, model] : committed) {
        same[subtable == nullptr ? nullptr : other] = model;
      }
      committed = same;
    }
  }
}

}  // namespace
}  // namespace sluice
