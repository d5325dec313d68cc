// What sluice/transaction.h promises, one by one, and random transactions against maps.

#include "sluice/transaction.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

using Code = Status::Code;

class TransactionTest : public DbFixture {
 protected:
  TransactionTest() {
    options_.l0_compaction_runs = 2;
    Open();
  }
  std::unique_ptr<Transaction> Begin(Isolation isolation = Isolation::kSnapshot,
                                     std::chrono::milliseconds lock_timeout = {}) {
    return db_->BeginTransaction({.isolation = isolation, .lock_timeout = lock_timeout}, {});
  }
  // What a transaction or database reads: the value, "-" or the error.
  template <typename From>
  static std::string Get(From& from, std::string_view key, Subtable* subtable = nullptr) {
    std::string value;
    const Status status = from.Get({}, subtable, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : status.ToString();
  }
  template <typename From>
  static std::string Scan(From& from, const ReadOptions& options = {}) {
    std::string all;
    const auto at = from.NewIterator(options, nullptr);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      all += fmt::format("{}={} ", at->key(), at->value());
    }
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    return all;
  }
  void Put(std::string_view key, std::string_view value) {
    ASSERT_TRUE(db_->Put({}, key, value).ok());
  }
};

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

// All transactions together have a bound on buffers and locks; one that is refused more goes on
// with what it has.
TEST_F(TransactionTest, HaveABoundTogether) {
  options_.transaction_memory_bytes = 100'000;
  Open();
  const auto used = [&] { return db_->GetStatistics().transactions.memory_bytes; };
  const std::string value(1000, 'v');
  for (const bool locks_only : {false, true}) {
    std::vector<std::unique_ptr<Transaction>> open;
    Status status;
    while (status.ok()) {
      ASSERT_LT(open.size(), 100u);
      open.push_back(Begin());
      const std::string key = std::to_string(open.size());
      if (!locks_only) {
        status = open.back()->Put(nullptr, key, value);
        continue;
      }
      std::string found;
      for (int i = 0; i < 10 && status.ok(); ++i) {
        status = open.back()->GetForUpdate({}, nullptr, fmt::format("lock{}.{}", key, i), &found);
        status = status.IsNotFound() ? Status() : status;
      }
    }
    EXPECT_EQ(status.code(), Code::kTooLarge);
    EXPECT_NE(status.message().find("Options::transaction_memory_bytes"), std::string::npos)
        << status.ToString();
    EXPECT_GT(open.size(), 10u);
    EXPECT_GT(used(), 90'000u);
    // The transaction object itself may go beyond the bound, but not what it holds.
    EXPECT_LE(used(), 101'500u);
    std::string text;
    ASSERT_TRUE(db_->GetProperty("sluice.transaction-memory-capacity", &text).ok());
    EXPECT_EQ(text, "100000");
    ASSERT_TRUE(db_->GetProperty("sluice.transaction-memory-usage", &text).ok());
    EXPECT_EQ(text, std::to_string(used()));
    // What was refused was not done, and locks nothing.
    const std::string refused = std::to_string(open.size());
    EXPECT_EQ(Get(*open.back(), refused), "-");
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(open[i]->Commit().ok());
      open[i].reset();
    }
    EXPECT_EQ(Get(*db_, "1"), value);
    auto other = Begin();
    ASSERT_TRUE(other->Put(nullptr, refused, "other").ok());
    ASSERT_TRUE(other->Rollback().ok());
    ASSERT_TRUE(open.back()->Put(nullptr, refused, "later").ok());
    ASSERT_TRUE(open.back()->Commit().ok());
    EXPECT_EQ(Get(*db_, refused), "later");
    open.clear();
    other.reset();
    EXPECT_EQ(used(), 0u);
  }
}

TEST_F(TransactionTest, GiveMemoryBackAsTheyShrinkAndEnd) {
  options_.transaction_memory_bytes = 100'000;
  Open();
  const auto used = [&] { return db_->GetStatistics().transactions.memory_bytes; };
  auto t = Begin();
  const uint64_t empty = used();
  EXPECT_GT(empty, 0u);
  ASSERT_TRUE(t->Put(nullptr, "k", "v").ok());
  const uint64_t small = used();
  t->SetSavepoint();
  ASSERT_TRUE(t->Put(nullptr, "k", std::string(50'000, 'v')).ok());
  EXPECT_GT(used(), 50'000u);
  EXPECT_EQ(t->Put(nullptr, "l", std::string(50'000, 'v')).code(), Code::kTooLarge);
  ASSERT_TRUE(t->RollbackToSavepoint().ok());
  EXPECT_EQ(used(), small);
  // One row, written over and over, is one row.
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(t->Put(nullptr, "k", std::string(i, 'v')).ok());
  }
  EXPECT_LT(used(), small + 3000);
  // A transaction that waits in vain, or loses, holds nothing more than before.
  auto other = Begin();
  const uint64_t before = used();
  EXPECT_EQ(other->Put(nullptr, "k", std::string(10'000, 'v')).code(), Code::kTimedOut);
  EXPECT_EQ(used(), before);
  ASSERT_TRUE(other->Put(nullptr, "l", "v").ok());
  ASSERT_TRUE(other->CommitAsync().get().ok());
  other.reset();
  ASSERT_TRUE(t->Commit().ok());
  EXPECT_EQ(used(), empty);  // it is still there
  t.reset();
  EXPECT_EQ(used(), 0u);
}

// However many threads take memory at once, it never exceeds the bound, and in the end none is
// taken.
TEST_F(TransactionTest, KeepTheirBoundAmongThreads) {
  constexpr int kThreads = 6;
  constexpr uint64_t kBound = 200'000;
  const uint64_t seed = TestSeed();
  options_.transaction_memory_bytes = kBound;
  options_.memtable_bytes = 16 << 20;
  options_.log_segment_bytes = 16 << 20;
  Open();
  // At first each thread takes what it can get and keeps it until all have: so the bound is met
  // whatever runs when.
  std::atomic<int> refused{0};
  std::barrier full(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      TestRandom random(seed + i);
      {
        auto t = Begin();
        Status status;
        for (int n = 0; status.ok() && n <= static_cast<int>(kBound / 8000); ++n) {
          status = t->Put(nullptr, fmt::format("{}/{}", i, n), std::string(8000, 'v'));
        }
        refused += status.code() == Code::kTooLarge ? 1 : 0;
        full.arrive_and_wait();
      }
      for (int n = 0; n < 100; ++n) {
        auto t =
            Begin(Isolation::kReadCommitted, std::chrono::milliseconds(Uniform(&random, 0, 1)));
        Status status;
        for (uint64_t steps = Uniform(&random, 1, 30); steps > 0; --steps) {
          const std::string key = std::to_string(Uniform(&random, 0, 200));
          status = t->Put(nullptr, key, std::string(Uniform(&random, 0, 8000), 'v'));
          if (status.code() == Code::kDeadlock) {
            break;
          }
        }
        ASSERT_LE(db_->GetStatistics().transactions.memory_bytes, kBound + kThreads * 1024);
        if (status.code() != Code::kDeadlock && Uniform(&random, 0, 4) == 0) {
          ASSERT_TRUE(Uniform(&random, 0, 1) != 0 ? t->Commit().ok() : t->CommitAsync().get().ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(refused, kThreads);
  EXPECT_EQ(db_->GetStatistics().transactions.memory_bytes, 0u);
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
