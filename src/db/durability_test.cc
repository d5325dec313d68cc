// What is there after a crash at rest: what extents, metadata and log each must hold by then. Crashes
// at any moment are in tests/engine/db_crash_test.cc.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "sluice/db.h"
#include "sluice/ingestion.h"
#include "util/fault_env.h"

namespace sluice {
namespace {

using Model = std::map<std::string, std::string>;

// Whether a loss of power now may take the record away.
bool MayBeLost(const FaultEnv& env, Options options, std::string_view key) {
  for (uint64_t seed = 0; seed < 16; ++seed) {
    FaultEnv after(env.Survivors(CrashKind::kPower, seed));
    options.env = &after;
    std::unique_ptr<DB> db;
    const Status status = DB::Open(options, "db", &db);
    EXPECT_TRUE(status.ok()) << status.ToString();
    std::string value;
    if (status.ok() && db->Get({}, key, &value).IsNotFound()) {
      return true;
    }
  }
  return false;
}

class DurabilityTest : public testing::Test {
 protected:
  DurabilityTest() {
    options_.create_if_missing = true;
    options_.automatic_compactions = false;
    options_.extent_bytes = 64 << 10;
    options_.separate_value_bytes = 4096;
    options_.env = &env_;
    EXPECT_TRUE(DB::Open(options_, "db", &db_).ok());
  }
  // Some of the values are stored apart.
  void Write(const std::string& text) {
    for (int i = 0; i < 200; ++i) {
      const std::string key = fmt::format("{:03}", i);
      model_[key] = text + std::string(i % 20 == 0 ? 5000 : 100, 'v');
      ASSERT_TRUE(db_->Put({}, key, model_[key]).ok());
    }
  }
  // Crashes leave of what is not synced this or that.
  void ExpectAfter(CrashKind kind, std::string_view subtable, const Model& model) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      FaultEnv after(env_.Survivors(kind, seed));
      Options options = options_;
      options.env = &after;
      std::unique_ptr<DB> db;
      const Status status = DB::Open(options, "db", &db);
      ASSERT_TRUE(status.ok()) << status.ToString();
      Model found;
      const auto at = db->NewIterator({}, db->FindSubtable(subtable));
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        found.emplace(at->key(), at->value());
      }
      EXPECT_TRUE(at->status().ok()) << at->status().ToString();
      EXPECT_EQ(found, model);
    }
  }

  FaultEnv env_;
  Options options_;
  std::unique_ptr<DB> db_;
  Model model_;
};

TEST_F(DurabilityTest, OfFlushes) {
  Write("first");
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ExpectAfter(CrashKind::kPower, kDefaultSubtable, model_);
}

TEST_F(DurabilityTest, OfCompactions) {
  for (const char* const text : {"first", "second"}) {
    Write(text);
    ASSERT_TRUE(db_->Flush(nullptr).ok());
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  ASSERT_GT(db_->GetStatistics().compaction_bytes_written, 0u);
  ExpectAfter(CrashKind::kPower, kDefaultSubtable, model_);
}

TEST_F(DurabilityTest, OfIngestionsAndWhatCameBefore) {
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  ASSERT_TRUE(db_->Put({}, other, "key", "value").ok());
  std::unique_ptr<Ingestion> ingestion;
  ASSERT_TRUE(db_->NewIngestion(&ingestion).ok());
  ASSERT_TRUE(ingestion->Add(nullptr, "a", std::string(5000, 'v')).ok());
  ASSERT_TRUE(ingestion->Commit().ok());
  ExpectAfter(CrashKind::kPower, kDefaultSubtable, {{"a", std::string(5000, 'v')}});
  ExpectAfter(CrashKind::kPower, "other", {{"key", "value"}});
}

// A commit that was not synced is durable once an empty write is that was.
TEST_F(DurabilityTest, OfCommitsThatAreSyncedLater) {
  for (const char* const key : {"blocking", "asynchronous"}) {
    const auto transaction = db_->BeginTransaction({}, {.sync = true});
    ASSERT_TRUE(transaction->Put(nullptr, key, "value").ok());
    transaction->SetWriteOptions({.sync = false});
    ASSERT_TRUE(transaction->Commit().ok());
    EXPECT_TRUE(MayBeLost(env_, options_, key));
    ASSERT_TRUE(
        (key[0] == 'b' ? db_->Write({.sync = true}, {}) : db_->WriteAsync({.sync = true}, {}).get())
            .ok());
    EXPECT_FALSE(MayBeLost(env_, options_, key));
  }
}

// Where a failed flush stops all writes, what was committed before can still be made durable: it is
// the log alone that tells.
TEST(Durability, OfCommitsBeforeAFlushThatFails) {
  int stopped = 0;
  int told = 0;
  for (uint64_t operation = 0; operation < 30; ++operation) {
    SCOPED_TRACE(testing::Message() << "operation " << operation);
    FaultEnv env;
    Options options;
    options.create_if_missing = true;
    options.env = &env;
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options, "db", &db).ok());
    ASSERT_TRUE(db->Put({}, "key", "value").ok());
    env.FailAt(env.operations() + operation, EIO, operation);
    (void)db->Flush(nullptr);
    if (db->Put({}, "other", "value").ok()) {
      continue;
    }
    ++stopped;
    if (!db->Write({.sync = true}, {}).ok()) {
      continue;  // it is the log that failed
    }
    ++told;
    EXPECT_FALSE(MayBeLost(env, options, "key"));
  }
  EXPECT_GT(stopped, told);
  EXPECT_GT(told, 0);
}

// The log is given up as far as memtables of no sub-table need it.
TEST_F(DurabilityTest, OfMemtablesWhileOthersAreFlushed) {
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  Write("first");
  ASSERT_TRUE(db_->Put({}, other, "key", "value").ok());
  Write("second");
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  ExpectAfter(CrashKind::kProcess, "other", {{"key", "value"}});
  ExpectAfter(CrashKind::kPower, "other", {{"key", "value"}});  // the flush has synced the log
}

}  // namespace
}  // namespace sluice
