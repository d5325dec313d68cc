// As isolation_test.cc, with transactions that mostly write without reading, deletions among them,
// commits that are still under way when their thread goes on, and batches written beside all
// transactions (register_checker.h).
//
// The order of versions, and of commits, is read from the redo log at the end: it holds each batch
// whole, in the order of sequence numbers, and one segment keeps all of this history. A batch
// begins with a key that is its transaction's alone. Rows that batches beside transactions write
// are only read by transactions: they heed no locks, so no isolation is promised where both write.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "isolation/clients.h"
#include "isolation/register_checker.h"
#include "log/log_reader.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"
#include "write/batch_format.h"

namespace sluice {
namespace {

using Kind = RegisterOperation::Kind;

constexpr int kThreads = 6;
constexpr int kTransactions = 200;  // of each thread
constexpr uint64_t kRows = 10;      // of transactions, and as many of batches beside them

class RegisterIsolationTest : public testing::TestWithParam<Isolation> {
 protected:
  struct Row {
    bool in_other;
    std::string key;
  };
  // A transaction under way. What it has recorded is kept when it ends.
  struct Recorder {
    explicit Recorder(RegisterIsolationTest* of) : test(*of), id(of->next_number_++) {
      record.begin_before = test.Tick();
    }
    std::string Mark() const { return fmt::format("!{}", id); }
    // Returns the number.
    uint64_t Write(Kind kind, const Row& row) {
      const uint64_t number = test.next_number_++;
      record.operations.push_back({kind, Name(row), number});
      return number;
    }
    void End(bool committed) {
      if (!committed) {
        record.end = RecordedSpan::End::kAborted;
      }
      record.commit_by = test.Tick();
      if (record.snapshot_by == 0) {
        record.snapshot_by = record.commit_by;
      }
      const std::lock_guard lock(test.mutex_);
      if (committed && wrote) {
        test.committed_[id] = test.history_.size();
      }
      test.history_.push_back(std::move(record));
      --test.under_way_;
    }

    RegisterIsolationTest& test;
    const uint64_t id;
    bool wrote = false;
    RegisterTransaction record;
  };
  using RecorderPtr = std::shared_ptr<Recorder>;

  static std::string Name(const Row& row) { return (row.in_other ? "other/" : "") + row.key; }
  static Row RowOf(char kind, uint64_t number) {
    return {number % 2 != 0, fmt::format("{}{:02}", kind, number)};
  }
  Subtable* Table(const Row& row) const { return row.in_other ? other_ : nullptr; }
  uint64_t Tick() { return ++clock_; }
  RecorderPtr NewRecorder() {
    ++under_way_;
    return std::make_shared<Recorder>(this);
  }

  void Open() {
    Options options;
    options.create_if_missing = true;
    options.memtable_bytes = 256 << 10;
    options.extent_bytes = 64 << 10;
    options.block_bytes = 1024;
    options.l0_compaction_runs = 2;
    ASSERT_TRUE(DB::Open(options, dir_.File("db"), &db_).ok());
    ASSERT_TRUE(db_->CreateSubtable("other", &other_).ok());
  }

  // False if it cannot go on.
  bool Read(Transaction* transaction, const Row& row, bool for_update, Recorder* to) {
    const uint64_t before = Tick();
    std::string value;
    const Status status = for_update ? transaction->GetForUpdate({}, Table(row), row.key, &value)
                                     : transaction->Get({}, Table(row), row.key, &value);
    if (!status.ok() && !status.IsNotFound()) {
      EXPECT_TRUE(status.IsRetryable()) << status.ToString();
      return false;
    }
    to->record.operations.push_back({for_update ? Kind::kReadForUpdate : Kind::kRead, Name(row),
                                     status.ok() ? std::stoull(value) : 0, before, Tick()});
    return true;
  }
  void Scan(Transaction* transaction, bool in_other, Recorder* to) {
    const uint64_t before = Tick();
    const auto at = transaction->NewIterator({}, in_other ? other_ : nullptr);
    std::map<std::string, uint64_t> found;
    for (at->Seek("a"); at->Valid(); at->Next()) {
      found[std::string(at->key())] = std::stoull(std::string(at->value()));
    }
    EXPECT_TRUE(at->status().ok());
    const uint64_t after = Tick();
    for (const char kind : {'b', 't'}) {
      for (uint64_t i = in_other ? 1 : 0; i < kRows; i += 2) {
        const Row row = RowOf(kind, i);
        to->record.operations.push_back({Kind::kRead, Name(row),
                                         found.count(row.key) != 0 ? found[row.key] : 0, before,
                                         after});
      }
    }
  }
  bool Write(Transaction* transaction, const Row& row, Recorder* to, TestRandom* random) {
    const bool put = Uniform(random, 0, 5) != 0;
    const uint64_t number = to->Write(put ? Kind::kPut : Kind::kDelete, row);
    const Status status = put ? transaction->Put(Table(row), row.key, std::to_string(number))
                              : transaction->Delete(Table(row), row.key);
    if (!status.ok()) {
      EXPECT_TRUE(status.IsRetryable()) << status.ToString();
      to->record.operations.pop_back();
      return false;
    }
    to->wrote = true;
    return true;
  }

  void Transact(TestRandom* random) {
    const auto transaction =
        db_->BeginTransaction({.isolation = GetParam(), .lock_timeout = std::chrono::hours(1)}, {});
    const RecorderPtr recorder = NewRecorder();
    bool ok = true;
    for (uint64_t n = Uniform(random, 1, 6); ok && n > 0; --n) {
      const Row row = RowOf('t', Uniform(random, 0, kRows - 1));
      switch (Uniform(random, 0, 11)) {
        case 0:
          Scan(transaction.get(), Uniform(random, 0, 1) != 0, recorder.get());
          break;
        case 1:
        case 2:
          ok = Read(transaction.get(), row, /*for_update=*/false, recorder.get());
          break;
        case 3:
          ok = Read(transaction.get(), RowOf('b', Uniform(random, 0, kRows - 1)),
                    /*for_update=*/false, recorder.get());
          break;
        case 4:
          ok = Read(transaction.get(), row, /*for_update=*/true, recorder.get());
          break;
        case 5:
          ok = Read(transaction.get(), row, Uniform(random, 0, 1) != 0, recorder.get()) &&
               Write(transaction.get(), row, recorder.get(), random);
          break;
        default:
          ok = Write(transaction.get(), row, recorder.get(), random);
      }
      if (recorder->record.snapshot_by == 0) {
        recorder->record.snapshot_by = Tick();
      }
      if (Uniform(random, 0, 3) == 0) {
        std::this_thread::yield();
      }
    }
    ok = ok && (!recorder->wrote || transaction->Put(nullptr, recorder->Mark(), "").ok());
    recorder->record.commit_before = Tick();
    if (!ok || Uniform(random, 0, 9) == 0) {
      EXPECT_TRUE(transaction->Rollback().ok());
      recorder->End(false);
    } else if (Uniform(random, 0, 1) != 0) {
      transaction->CommitAsync([recorder](const Status& status) {
        EXPECT_TRUE(status.ok()) << status.ToString();
        recorder->End(true);
      });
    } else {
      EXPECT_TRUE(transaction->Commit().ok());
      recorder->End(true);
    }
  }

  void WriteBeside(TestRandom* random) {
    const RecorderPtr recorder = NewRecorder();
    recorder->wrote = true;
    WriteBatch batch;
    batch.Put(recorder->Mark(), "");
    for (uint64_t i = Uniform(random, 0, 3); i < kRows; i += Uniform(random, 1, 4)) {
      const Row row = RowOf('b', i);
      if (Uniform(random, 0, 5) != 0) {
        batch.Put(Table(row), row.key, std::to_string(recorder->Write(Kind::kPut, row)));
      } else {
        recorder->Write(Kind::kDelete, row);
        batch.Delete(Table(row), row.key);
      }
    }
    recorder->record.commit_before = Tick();
    if (Uniform(random, 0, 2) != 0) {
      db_->WriteAsync({}, std::move(batch), [recorder](const Status& status) {
        EXPECT_TRUE(status.ok()) << status.ToString();
        recorder->End(true);
      });
    } else {
      EXPECT_TRUE(db_->Write({}, batch).ok());
      recorder->End(true);
    }
  }

  void ReadLogOfDb(RegisterVersions* versions) {
    LogContents contents;
    const RegisterTransaction* writer = nullptr;
    const auto visit = [&](LogPosition, std::string_view payload) -> Status {
      uint64_t sequence;
      EXPECT_TRUE(GetVarint64(&payload, &sequence));
      for (BatchWrite write; ReadWrite(&payload, &write);) {
        if (write.key[0] == '!') {
          const auto found = committed_.find(std::stoull(std::string(write.key.substr(1))));
          if (found == committed_.end()) {
            return Status::Corruption(fmt::format("a batch that is not committed: {}", write.key));
          }
          writer = &history_[found->second];
          versions->commits.push_back(found->second);
          continue;
        }
        const std::string name = Name({write.subtable != 0, std::string(write.key)});
        if (writer == nullptr) {
          return Status::Corruption("a batch without a beginning writes " + name);
        }
        uint64_t number = 0;
        if (write.type == EntryType::kValue) {
          number = std::stoull(std::string(write.value));
        } else {
          for (const RegisterOperation& op : writer->operations) {
            number = op.kind == Kind::kDelete && op.key == name ? op.number : number;
          }
        }
        versions->of_key[name].push_back(number);
      }
      return {};
    };
    const Status status = ReadLog(Env::Posix(), dir_.File("db/log"), 0, visit, &contents);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(contents.segments.front(), LogSegment(contents.end));  // none was given up
  }

  TempDir dir_;
  std::unique_ptr<DB> db_;
  Subtable* other_ = nullptr;
  std::atomic<uint64_t> clock_{0};
  std::atomic<uint64_t> next_number_{1};
  std::atomic<int> under_way_{0};
  std::mutex mutex_;
  std::vector<RegisterTransaction> history_;
  std::map<uint64_t, size_t> committed_;  // by id, those that wrote
};

TEST_P(RegisterIsolationTest, ExcludesWhatItMust) {
  const uint64_t seed = TestSeed();
  Open();
  RunClients(kThreads, seed, db_.get(), other_, [&](TestRandom* random) {
    for (int n = 0; n < kTransactions; ++n) {
      if (Uniform(random, 0, 5) == 0) {
        WriteBeside(random);
      } else {
        Transact(random);
      }
    }
  });
  while (under_way_ > 0) {
    std::this_thread::yield();
  }
  // What is there at the end, as one more transaction reads it.
  const RecorderPtr last = NewRecorder();
  {
    const auto transaction = db_->BeginTransaction({}, {});
    Scan(transaction.get(), false, last.get());
    Scan(transaction.get(), true, last.get());
    last->record.commit_before = Tick();
    ASSERT_TRUE(transaction->Commit().ok());
    last->End(true);
  }
  const TransactionStatistics stats = db_->GetStatistics().transactions;
  ASSERT_TRUE(db_->Close().ok());
  RegisterVersions versions;
  ASSERT_NO_FATAL_FAILURE(ReadLogOfDb(&versions));
  const RegisterReport report =
      CheckRegisters(history_, versions,
                     GetParam() == Isolation::kSnapshot ? CheckedIsolation::kSnapshot
                                                        : CheckedIsolation::kReadCommitted);
  std::cout << fmt::format(
      "{} transactions, {} that wrote committed, {} waits, {} deadlocks, {} conflicts; {} reads, "
      "{} of them ambiguous\n",
      history_.size(), versions.commits.size(), stats.lock_waits, stats.deadlocks, stats.conflicts,
      report.reads, report.left_out);
  for (const std::string& anomaly : report.anomalies) {
    ADD_FAILURE() << anomaly;
  }
  EXPECT_EQ(versions.commits.size(), committed_.size());
  EXPECT_GT(versions.commits.size(), history_.size() / 10);
  EXPECT_LT(report.left_out, report.reads / 2);
}

INSTANTIATE_TEST_SUITE_P(Levels, RegisterIsolationTest,
                         testing::Values(Isolation::kSnapshot, Isolation::kReadCommitted),
                         [](const auto& info) {
                           return info.param == Isolation::kSnapshot ? "Snapshot" : "ReadCommitted";
                         });

}  // namespace
}  // namespace sluice
