// Random concurrent transactions, recorded, and checked for the anomalies that their isolation
// excludes (history_checker.h). Those that lock all that they read must be serializable, be it row
// by row or, with those that are not there yet, by ranges.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "isolation/clients.h"
#include "isolation/history_checker.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

using List = std::vector<uint64_t>;

constexpr int kThreads = 6;
constexpr int kTransactions = 250;  // of each thread
constexpr uint64_t kKeys = 12;

List Parse(std::string_view text) {
  List list;
  while (!text.empty()) {
    size_t used;
    list.push_back(std::stoull(std::string(text.substr(0, 20)), &used));
    text.remove_prefix(used + 1);
  }
  return list;
}

struct Level {
  Isolation isolation;
  bool locking_reads;
  bool ranges = false;  // scans lock ranges
};

class IsolationTest : public testing::TestWithParam<Level> {
 protected:
  // One transaction, recorded, until it ends or fails.
  class Run {
   public:
    Run(IsolationTest* test, TestRandom* random)
        : test_(*test), random_(*random), transaction_(test->Begin()) {
      record_.begin_before = test_.Tick();
    }

    void Do() {
      bool ok = true;
      for (uint64_t n = Uniform(&random_, 1, 6); ok && n > 0; --n) {
        const uint64_t key = Uniform(&random_, 0, kKeys - 1);
        switch (Uniform(&random_, 0, 9)) {
          case 0:
            ok = Scan();
            break;
          case 1:
          case 2:
          case 3:
            ok = Read(key, /*for_update=*/false, nullptr) &&
                 (!GetParam().locking_reads || Uniform(&random_, 0, 2) != 0 || Reject());
            break;
          default:
            ok = Append(key);
        }
        if (record_.snapshot_by == 0) {
          record_.snapshot_by = test_.Tick();
        }
      }
      record_.commit_before = test_.Tick();
      if (!ok || Uniform(&random_, 0, 9) == 0) {
        record_.end = RecordedTransaction::End::kAborted;
        EXPECT_TRUE(transaction_->Rollback().ok());
      } else if (Uniform(&random_, 0, 1) != 0) {
        EXPECT_TRUE(transaction_->CommitAsync().get().ok());
      } else {
        EXPECT_TRUE(transaction_->Commit().ok());
      }
      record_.commit_by = test_.Tick();
      test_.Keep(std::move(record_));
    }

   private:
    // Even keys lie in one sub-table, odd ones in another.
    Subtable* Table(uint64_t key) const { return key % 2 == 0 ? nullptr : test_.other_; }
    static std::string Name(uint64_t key) { return fmt::format("k{:02}", key); }

    void Record(const std::string& key, uint64_t before, std::string_view value) {
      record_.reads.push_back({key, Parse(value), before});
      const auto own = record_.appends.find(key);
      record_.own_appends.push_back(own != record_.appends.end() ? own->second.size() : 0);
    }
    bool Read(uint64_t key, bool for_update, std::string* found) {
      std::string value;
      const uint64_t before = test_.Tick();
      const Status status =
          for_update                 ? transaction_->GetForUpdate({}, Table(key), Name(key), &value)
          : GetParam().locking_reads ? transaction_->GetForShare({}, Table(key), Name(key), &value)
                                     : transaction_->Get({}, Table(key), Name(key), &value);
      if (!status.ok() && !status.IsNotFound()) {
        EXPECT_TRUE(status.IsRetryable()) << status.ToString();
        return false;
      }
      // The lock may come late: what was committed before the call is seen either way.
      Record(Name(key), before, value);
      if (found != nullptr) {
        *found = value;
      }
      return true;
    }
    // Looks at a row and lets go of it, which must leave it locked if it was before.
    bool Reject() {
      const uint64_t key = Uniform(&random_, 0, kKeys - 1);
      std::string value;
      const Status status = Uniform(&random_, 0, 1) != 0
                                ? transaction_->GetForShare({}, Table(key), Name(key), &value)
                                : transaction_->GetForUpdate({}, Table(key), Name(key), &value);
      if (!status.ok() && !status.IsNotFound()) {
        EXPECT_TRUE(status.IsRetryable()) << status.ToString();
        return false;
      }
      EXPECT_TRUE(transaction_->Unlock(Table(key), Name(key)).ok());
      return true;
    }
    bool Append(uint64_t key) {
      // What is read without a lock may be out of date when it is written: a conflict in snapshot
      // isolation, a lost update that read committed allows.
      const bool lock =
          (GetParam().isolation == Isolation::kReadCommitted && !GetParam().locking_reads) ||
          Uniform(&random_, 0, 1) != 0;
      std::string value;
      if (!Read(key, lock, &value)) {
        return false;
      }
      const uint64_t number = test_.next_number_++;
      value += std::to_string(number) + ",";
      const Status status = transaction_->Put(Table(key), Name(key), value);
      if (!status.ok()) {
        EXPECT_TRUE(status.IsRetryable()) << status.ToString();
        return false;
      }
      record_.appends[Name(key)].push_back(number);
      return true;
    }
    // Scans the odd keys from one to before another: deleted ones must not come either.
    bool ScanRange() {
      const uint64_t begin = Uniform(&random_, 0, kKeys - 1);
      const uint64_t end = Uniform(&random_, begin + 1, kKeys);
      const std::string last = end == kKeys ? "" : Name(end);
      const uint64_t before = test_.Tick();
      const Status status = Uniform(&random_, 0, 3) == 0
                                ? transaction_->LockRangeForUpdate(test_.other_, Name(begin), last)
                                : transaction_->LockRangeForShare(test_.other_, Name(begin), last);
      if (!status.ok()) {
        EXPECT_TRUE(status.IsRetryable()) << status.ToString();
        return false;
      }
      const auto at = transaction_->NewIterator({}, test_.other_);
      at->Seek(Name(begin));
      for (uint64_t key = begin; key < end; ++key) {
        if (key % 2 == 0) {
          continue;
        }
        if (at->Valid() && at->key() == Name(key)) {
          Record(Name(key), before, at->value());
          at->Next();
        } else {
          Record(Name(key), before, {});
        }
      }
      EXPECT_TRUE(at->status().ok());
      return true;
    }
    bool Scan() {
      if (GetParam().ranges) {
        return ScanRange();
      }
      if (GetParam().locking_reads) {
        for (uint64_t key = 1; key < kKeys; key += 2) {
          if (!Read(key, /*for_update=*/false, nullptr)) {
            return false;
          }
        }
        return true;
      }
      const uint64_t before = test_.Tick();
      const auto at = transaction_->NewIterator({}, test_.other_);
      at->SeekToFirst();
      for (uint64_t key = 1; key < kKeys; key += 2) {
        if (at->Valid() && at->key() == Name(key)) {
          Record(Name(key), before, at->value());
          at->Next();
        } else {
          Record(Name(key), before, {});
        }
      }
      EXPECT_FALSE(at->Valid());
      return at->status().ok();
    }

    IsolationTest& test_;
    TestRandom& random_;
    std::unique_ptr<Transaction> transaction_;
    RecordedTransaction record_;
  };

  void Open() {
    Options options;
    options.create_if_missing = true;
    options.memtable_bytes = 256 << 10;
    options.extent_bytes = 64 << 10;
    options.block_bytes = 1024;
    options.l0_compaction_runs = 2;
    options.log_segment_bytes = 256 << 10;
    ASSERT_TRUE(DB::Open(options, dir_.File("db"), &db_).ok());
    ASSERT_TRUE(db_->CreateSubtable("other", &other_).ok());
  }
  std::unique_ptr<Transaction> Begin() {
    return db_->BeginTransaction(
        {.isolation = GetParam().isolation, .lock_timeout = std::chrono::hours(1)}, {});
  }
  uint64_t Tick() { return ++clock_; }
  void Keep(RecordedTransaction record) {
    const std::lock_guard lock(mutex_);
    history_.push_back(std::move(record));
  }
  std::map<std::string, List> ReadAll() {
    std::map<std::string, List> all;
    for (Subtable* const subtable : {db_->FindSubtable("default"), other_}) {
      const auto at = db_->NewIterator({}, subtable);
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        all[std::string(at->key())] = Parse(at->value());
      }
    }
    return all;
  }

  TempDir dir_;
  std::unique_ptr<DB> db_;
  Subtable* other_ = nullptr;
  std::atomic<uint64_t> clock_{0};
  std::atomic<uint64_t> next_number_{1};
  std::mutex mutex_;
  std::vector<RecordedTransaction> history_;
};

TEST_P(IsolationTest, ExcludesWhatItMust) {
  const uint64_t seed = TestSeed();
  Open();
  RunClients(kThreads, seed, db_.get(), other_, [&](TestRandom* random) {
    for (int n = 0; n < kTransactions; ++n) {
      Run(this, random).Do();
    }
  });
  size_t committed = 0;
  for (const RecordedTransaction& t : history_) {
    committed += t.end == RecordedTransaction::End::kCommitted ? 1 : 0;
  }
  const TransactionStatistics stats = db_->GetStatistics().transactions;
  std::cout << fmt::format("{} transactions, {} committed, {} waits, {} deadlocks, {} conflicts\n",
                           history_.size(), committed, stats.lock_waits, stats.deadlocks,
                           stats.conflicts);
  EXPECT_GT(committed, history_.size() / 10);
  const auto found = CheckHistory(history_, ReadAll(),
                                  GetParam().locking_reads ? CheckedIsolation::kSerializable
                                  : GetParam().isolation == Isolation::kSnapshot
                                      ? CheckedIsolation::kSnapshot
                                      : CheckedIsolation::kReadCommitted);
  for (const std::string& anomaly : found) {
    ADD_FAILURE() << anomaly;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Levels, IsolationTest,
    testing::Values(Level{Isolation::kSnapshot, false}, Level{Isolation::kReadCommitted, false},
                    Level{Isolation::kSnapshot, true}, Level{Isolation::kReadCommitted, true},
                    Level{Isolation::kSnapshot, true, true},
                    Level{Isolation::kReadCommitted, true, true}),
    [](const auto& info) {
      return std::string(info.param.isolation == Isolation::kSnapshot ? "Snapshot"
                                                                      : "ReadCommitted") +
             (info.param.ranges          ? "WithLockedRanges"
              : info.param.locking_reads ? "WithLockingReads"
                                         : "");
    });

}  // namespace
}  // namespace sluice
