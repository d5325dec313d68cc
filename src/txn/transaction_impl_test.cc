// A transaction over a store whose writes fail, or end late, as a test says.

#include "txn/transaction_impl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "write/batch_format.h"

namespace sluice {
namespace {

class TestSubtable final : public Subtable {
 public:
  explicit TestSubtable(uint32_t id) : id_(id), name_(std::to_string(id)) {}
  const std::string& name() const override { return name_; }
  uint32_t id() const override { return id_; }

 private:
  const uint32_t id_;
  const std::string name_;
};

class TestSnapshot final : public Snapshot {
 public:
  explicit TestSnapshot(uint64_t sequence) : sequence_(sequence) {}
  uint64_t sequence() const override { return sequence_; }

 private:
  const uint64_t sequence_;
};

// All versions of all keys in a map. `outcomes` is what the next calls that may fail return.
class TestStore final : public TransactionStore {
 public:
  Subtable* Resolve(Subtable* subtable) const override {
    return subtable != nullptr ? subtable : default_.get();
  }
  Subtable* FindSubtable(uint32_t id) override {
    return id == kDefaultSubtableId ? default_.get() : nullptr;
  }
  Status CheckWritable() const override { return {}; }
  Status CheckWrite(const Subtable&, std::string_view, std::string_view) const override {
    return {};
  }
  Status Get(const ReadOptions& options, Subtable* subtable, std::string_view key,
             std::string* value) override {
    const uint64_t at = options.snapshot != nullptr ? options.snapshot->sequence() : sequence;
    const auto found = versions.lower_bound({subtable->id(), std::string(key), ~at});
    if (found == versions.end() || std::get<1>(found->first) != key || !found->second) {
      return Status::NotFound({});
    }
    *value = *found->second;
    return {};
  }
  std::vector<Status> MultiGet(const ReadOptions& options, Subtable* subtable,
                               const std::vector<std::string_view>& keys,
                               std::vector<std::string>* values) override {
    values->resize(keys.size());
    std::vector<Status> statuses;
    for (size_t i = 0; i < keys.size(); ++i) {
      statuses.push_back(Get(options, subtable, keys[i], &(*values)[i]));
    }
    return statuses;
  }
  std::unique_ptr<Iterator> IteratorOver(std::unique_ptr<RecordIterator>, const ReadOptions&,
                                         Subtable*) override {
    return nullptr;  // its own suite: write_buffer_test, transaction_test
  }
  const Snapshot* GetSnapshot() override {
    ++snapshots;
    return new TestSnapshot(sequence);
  }
  void ReleaseSnapshot(const Snapshot* snapshot) override {
    --snapshots;
    delete snapshot;
  }
  Status ChangedSince(Subtable* subtable, std::string_view key, SequenceNumber since,
                      bool* changed) override {
    const auto found = versions.lower_bound({subtable->id(), std::string(key), 0});
    *changed = found != versions.end() && std::get<1>(found->first) == key &&
               ~std::get<2>(found->first) > since;
    return NextOutcome();
  }
  Status RangeChangedSince(Subtable* subtable, std::string_view begin, std::string_view end,
                           SequenceNumber since, bool* changed) override {
    ++range_checks;
    *changed = std::any_of(versions.begin(), versions.end(), [&](const auto& version) {
      const auto& [id, key, order] = version.first;
      return id == subtable->id() && key >= begin && (end.empty() || key < end) && ~order > since;
    });
    return NextOutcome();
  }
  LogPosition LogEnd() const override { return log_end; }
  Status WriteRecord(std::string_view record, uint32_t count, bool) override {
    if (const Status outcome = NextOutcome(); !outcome.ok()) {
      return outcome;
    }
    Apply(record, count);
    return {};
  }
  void WriteRecordAsync(std::string record, uint32_t count, bool, WriteCallback callback) override {
    under_way = [this, record = std::move(record), count, callback = std::move(callback)] {
      if (const Status outcome = NextOutcome(); !outcome.ok()) {
        return callback(outcome);
      }
      Apply(record, count);
      callback({});
    };
  }

  void Apply(std::string_view record, uint32_t count) {
    uint32_t writes = 0;
    for (BatchWrite write; ReadWrite(&record, &write); ++writes) {
      versions[{write.subtable, std::string(write.key), ~++sequence}] =
          write.type == EntryType::kValue ? std::optional<std::string>(write.value) : std::nullopt;
    }
    EXPECT_EQ(writes, count);
    log_end += 100;
  }
  Status NextOutcome() { return outcomes.empty() ? Status() : std::exchange(outcomes, {}).front(); }

  // The newest version of a key first.
  std::map<std::tuple<uint32_t, std::string, uint64_t>, std::optional<std::string>> versions;
  uint64_t sequence = 0;
  LogPosition log_end = 0;
  int snapshots = 0;
  int range_checks = 0;
  std::vector<Status> outcomes;
  std::function<void()> under_way;

 private:
  const std::unique_ptr<Subtable> default_ = std::make_unique<TestSubtable>(kDefaultSubtableId);
};

class TransactionImplTest : public testing::Test {
 protected:
  std::unique_ptr<TransactionImpl> Begin(TransactionOptions options = {}) {
    options.lock_timeout = std::chrono::milliseconds(0);
    return std::make_unique<TransactionImpl>(&store_, &all_, options, WriteOptions{});
  }
  std::string Get(std::string_view key) {
    std::string value;
    const Status status = store_.Get({}, store_.Resolve(nullptr), key, &value);
    return status.ok() ? value : "-";
  }
  // No transaction is left, and none holds anything.
  void ExpectNothingHeld() {
    const TransactionStatistics now = all_.GetStatistics();
    EXPECT_EQ(now.active, 0);
    EXPECT_EQ(now.prepared, 0);
    EXPECT_EQ(now.locks, 0);
    EXPECT_EQ(now.memory_bytes, 0);
    EXPECT_EQ(store_.snapshots, 0);
  }

  TestStore store_;
  Transactions all_;
  const Status failure_ = Status::IoError("the test says so");
};

TEST_F(TransactionImplTest, ACommitThatFailsWritesNothingAndReleasesEverything) {
  auto transaction = Begin();
  ASSERT_TRUE(transaction->Put(nullptr, "a", "1").ok());
  ASSERT_TRUE(transaction->Delete(nullptr, "b").ok());
  store_.outcomes = {failure_};
  EXPECT_EQ(transaction->Commit().code(), Status::Code::kIoError);
  EXPECT_EQ(Get("a"), "-");
  EXPECT_EQ(all_.GetStatistics().locks, 0);
  EXPECT_FALSE(transaction->Put(nullptr, "a", "2").ok());
  EXPECT_FALSE(transaction->Commit().ok());
  transaction.reset();
  EXPECT_EQ(all_.GetStatistics().committed, 0);
  ExpectNothingHeld();
}

TEST_F(TransactionImplTest, LocksAreHeldUntilAnAsynchronousCommitIsVisible) {
  for (const bool fails : {false, true}) {
    auto first = Begin();
    ASSERT_TRUE(first->Put(nullptr, "a", "1").ok());
    std::optional<Status> outcome;
    first->CommitAsync([&](const Status& status) {
      EXPECT_EQ(all_.GetStatistics().locks, 0);
      outcome = status;
    });
    first.reset();  // for its thread it has ended
    auto second = Begin();
    EXPECT_EQ(second->Put(nullptr, "a", "2").code(), Status::Code::kTimedOut);
    EXPECT_FALSE(outcome.has_value());
    if (fails) {
      store_.outcomes = {failure_};
    }
    std::exchange(store_.under_way, nullptr)();
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->ok(), !fails);
    EXPECT_EQ(Get("a"), "1");  // of the first round
    ASSERT_TRUE(second->Rollback().ok());
    ASSERT_TRUE(Begin()->Put(nullptr, "a", "2").ok());
  }
  ExpectNothingHeld();
}

TEST_F(TransactionImplTest, APrepareThatFailsLeavesTheTransactionAsItWas) {
  auto transaction = Begin();
  ASSERT_TRUE(transaction->Put(nullptr, "a", "1").ok());
  std::string value;
  ASSERT_TRUE(transaction->GetForShare({}, nullptr, "s", &value).IsNotFound());
  store_.outcomes = {failure_};
  EXPECT_EQ(transaction->Prepare("t").code(), Status::Code::kIoError);
  EXPECT_TRUE(all_.prepared.Names().empty());
  EXPECT_EQ(Begin()->Put(nullptr, "s", "1").code(), Status::Code::kTimedOut);
  ASSERT_TRUE(transaction->Put(nullptr, "b", "2").ok());
  ASSERT_TRUE(transaction->Prepare("t").ok());  // the name is free
  EXPECT_EQ(Begin()->Put(nullptr, "s", "1").code(), Status::Code::kOk);
  EXPECT_EQ(Get("a"), "-");

  // Neither does a commit or a rollback that fails resolve what is prepared.
  store_.outcomes = {failure_};
  EXPECT_EQ(transaction->Commit().code(), Status::Code::kIoError);
  transaction.reset();
  PreparedPtr prepared;
  ASSERT_TRUE(all_.prepared.Take("t", &prepared).ok());
  transaction = std::make_unique<TransactionImpl>(&store_, &all_, prepared, WriteOptions{});
  store_.outcomes = {failure_};
  EXPECT_EQ(transaction->Rollback().code(), Status::Code::kIoError);
  EXPECT_EQ(all_.GetStatistics().locks, 2);
  transaction.reset();
  ASSERT_TRUE(all_.prepared.Take("t", &prepared).ok());
  transaction = std::make_unique<TransactionImpl>(&store_, &all_, prepared, WriteOptions{});
  prepared.reset();
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "2");
  transaction.reset();
  ExpectNothingHeld();
}

TEST_F(TransactionImplTest, APreparedTransactionHoldsTheLogFromBeforeItsRecord) {
  store_.log_end = 700;
  auto transaction = Begin();
  ASSERT_TRUE(transaction->Put(nullptr, "a", "1").ok());
  ASSERT_TRUE(transaction->Prepare("t").ok());
  EXPECT_GT(store_.log_end, 700);
  EXPECT_EQ(all_.prepared.OldestInLog(), 700);
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(all_.prepared.OldestInLog(), ~LogPosition{0});
}

TEST_F(TransactionImplTest, ARowThatCannotBeCheckedIsNotLocked) {
  auto transaction = Begin();
  store_.outcomes = {failure_};
  EXPECT_EQ(transaction->Put(nullptr, "a", "1").code(), Status::Code::kIoError);
  EXPECT_EQ(all_.GetStatistics().locks, 0);
  ASSERT_TRUE(transaction->Put(nullptr, "a", "1").ok());
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(Get("a"), "1");
  transaction.reset();
  ExpectNothingHeld();
}

TEST_F(TransactionImplTest, TheFirstCommitterWins) {
  auto loser = Begin();
  std::string value;
  ASSERT_TRUE(loser->Get({}, nullptr, "a", &value).IsNotFound());
  auto winner = Begin();
  ASSERT_TRUE(winner->Put(nullptr, "a", "1").ok());
  ASSERT_TRUE(winner->Commit().ok());
  EXPECT_TRUE(loser->Get({}, nullptr, "a", &value).IsNotFound());  // its snapshot is older
  EXPECT_EQ(loser->Put(nullptr, "a", "2").code(), Status::Code::kConflict);
  EXPECT_EQ(all_.GetStatistics().locks, 0);
  ASSERT_TRUE(loser->Put(nullptr, "b", "2").ok());  // and it goes on
  ASSERT_TRUE(loser->Commit().ok());
  auto later = Begin({.isolation = Isolation::kReadCommitted});
  ASSERT_TRUE(later->Put(nullptr, "a", "3").ok());
  ASSERT_TRUE(later->Commit().ok());
  EXPECT_EQ(Get("a"), "3");
  loser.reset();
  winner.reset();
  later.reset();
  ExpectNothingHeld();
}

TEST_F(TransactionImplTest, ACommitToADroppedSubtableReleasesEverything) {
  TestSubtable dropped(7);  // the store finds it no longer
  for (const bool async : {false, true}) {
    auto transaction = Begin();
    ASSERT_TRUE(transaction->Put(nullptr, "a", "1").ok());
    ASSERT_TRUE(transaction->Put(&dropped, "a", "1").ok());
    EXPECT_FALSE(transaction->Prepare("t").ok());
    EXPECT_FALSE((async ? transaction->CommitAsync().get() : transaction->Commit()).ok());
    EXPECT_EQ(Get("a"), "-");
    transaction.reset();
    ExpectNothingHeld();
  }
}

// Only a snapshot that is older than the lock has to be compared with what there is.
TEST_F(TransactionImplTest, ARangeIsCheckedAgainstAnOlderSnapshot) {
  auto first = Begin();
  ASSERT_TRUE(first->LockRangeForShare(nullptr, "a", "m").ok());
  EXPECT_EQ(store_.range_checks, 0);
  EXPECT_EQ(store_.snapshots, 1);  // of now: what comes later is not in the range
  auto writer = Begin();
  ASSERT_TRUE(writer->Put(nullptr, "n", "1").ok());
  ASSERT_TRUE(writer->Commit().ok());
  ASSERT_TRUE(first->LockRangeForUpdate(nullptr, "b", "c").ok());
  EXPECT_EQ(first->LockRangeForUpdate(nullptr, "b", "").code(), Status::Code::kConflict);
  EXPECT_EQ(store_.range_checks, 2);
  EXPECT_EQ(all_.GetStatistics().conflicts, 1);
  // What it had is as it was: shared, but for what became exclusive before.
  auto other = Begin({.isolation = Isolation::kReadCommitted});
  EXPECT_TRUE(other->LockRangeForShare(nullptr, "c", "").ok());
  EXPECT_EQ(other->LockRangeForShare(nullptr, "b", "c").code(), Status::Code::kTimedOut);
  ASSERT_TRUE(other->Rollback().ok());
  // Nor if it cannot be found out.
  store_.outcomes = {failure_};
  EXPECT_EQ(first->LockRangeForUpdate(nullptr, "x", "").code(), Status::Code::kIoError);
  ASSERT_TRUE(writer->Rollback().code() != Status::Code::kOk);
  writer = Begin();
  EXPECT_TRUE(writer->Put(nullptr, "x", "1").ok());
  // It has what it was told that it has.
  EXPECT_TRUE(first->LockRangeForUpdate(nullptr, "b", "b1").ok());
  EXPECT_EQ(store_.range_checks, 3);
  auto committed = Begin({.isolation = Isolation::kReadCommitted});
  EXPECT_TRUE(committed->LockRangeForShare(nullptr, "n", "o").ok());
  EXPECT_EQ(store_.range_checks, 3);
  first.reset();
  writer.reset();
  other.reset();
  committed.reset();
  ExpectNothingHeld();
}

}  // namespace
}  // namespace sluice
