// Bank transfers: whatever fails meanwhile, the sum of all accounts is the same in every state.
//
// Threads move money between accounts that lie in two sub-tables, some in two phases. Crashes: at a
// random operation of the file system, with or without the power, life after life; what was
// prepared, and is not known to be resolved, must be there again. Devices: compactions on a card
// that fails now and then, while readers add up snapshots.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "device/test_units.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr uint64_t kAccounts = 30;
constexpr int64_t kEach = 1000;
constexpr int kThreads = 3;

// Not inline: GCC 12 takes parts of inlined defaults for uninitialized.
[[gnu::noinline]] Options TestOptions(Env* env) {
  Options options;
  options.create_if_missing = true;
  options.env = env;
  options.memtable_bytes = 32 << 10;
  options.extent_bytes = 8192;
  options.block_bytes = 1024;
  options.l0_compaction_runs = 2;
  options.l1_bytes = 65536;
  options.log_segment_bytes = 16384;
  options.task_bytes = 32768;
  options.compaction_bytes = 65536;
  return options;
}

std::string Name(uint64_t account) { return fmt::format("account{:02}", account); }

class Bank {
 public:
  // Opens the accounts, if they are not there.
  static Status Make(DB* db) {
    Subtable* other = db->FindSubtable("other");
    if (other == nullptr) {
      SLUICE_RETURN_IF_ERROR(db->CreateSubtable("other", &other));
    }
    std::string value;
    if (db->Get({}, Name(0), &value).ok()) {
      return {};
    }
    WriteBatch batch;
    for (uint64_t i = 0; i < kAccounts; ++i) {
      batch.Put(i % 2 == 0 ? nullptr : other, Name(i), std::to_string(kEach));
    }
    return db->Write({.sync = true}, batch);
  }
  static Subtable* Table(DB* db, uint64_t account) {
    return account % 2 == 0 ? nullptr : db->FindSubtable("other");
  }
  template <typename From>
  static Status Sum(DB* db, From* from, const ReadOptions& options, int64_t* sum) {
    *sum = 0;
    for (const uint64_t table : {0, 1}) {
      const auto at = from->NewIterator(options, Table(db, table));
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        *sum += std::stoll(std::string(at->value()));
      }
      SLUICE_RETURN_IF_ERROR(at->status());
    }
    return {};
  }
  // Moves some money within the transaction.
  static Status Move(DB* db, Transaction* transaction, TestRandom* random) {
    const uint64_t from = Uniform(random, 0, kAccounts - 1);
    const uint64_t to = Uniform(random, 0, kAccounts - 1);
    const auto amount = static_cast<int64_t>(Uniform(random, 1, 100));
    for (const auto& [account, change] : {std::pair{from, -amount}, std::pair{to, amount}}) {
      std::string value;
      const bool lock = Uniform(random, 0, 1) != 0;
      SLUICE_RETURN_IF_ERROR(
          lock ? transaction->GetForUpdate({}, Table(db, account), Name(account), &value)
               : transaction->Get({}, Table(db, account), Name(account), &value));
      // Spaces, so that there is something to flush and merge.
      SLUICE_RETURN_IF_ERROR(transaction->Put(
          Table(db, account), Name(account),
          std::to_string(std::stoll(value) + change) + std::string(Uniform(random, 0, 200), ' ')));
    }
    return {};
  }
};

// What is known of the two-phase transactions of all lives.
struct Known {
  std::mutex mutex;
  uint64_t next = 1;
  std::set<std::string> prepared;         // acknowledged, and nothing else was tried
  std::set<std::string> prepared_synced;  // of those
  // Prepared, and a commit was tried: they are either prepared still or committed.
  std::set<std::string> committing;
  std::set<std::string> committing_synced;  // of those, prepared for good
  std::set<std::string> resolved;           // acknowledged
  std::set<std::string> resolved_synced;    // of those

  std::string NewName() {
    const std::lock_guard lock(mutex);
    return fmt::format("transfer {}", next++);
  }
  void Prepared(const std::string& name, bool sync) {
    const std::lock_guard lock(mutex);
    prepared.insert(name);
    if (sync) {
      prepared_synced.insert(name);
    }
  }
  void Resolving(const std::string& name, bool commit) {
    const std::lock_guard lock(mutex);
    prepared.erase(name);
    committing.erase(name);
    committing_synced.erase(name);
    const bool synced = prepared_synced.erase(name) == 1;
    if (commit) {
      committing.insert(name);
    }
    if (commit && synced) {
      committing_synced.insert(name);
    }
  }
  void Resolved(const std::string& name, bool sync) {
    const std::lock_guard lock(mutex);
    resolved.insert(name);
    if (sync) {
      resolved_synced.insert(name);
    }
  }
};

void Transfer(DB* db, FaultEnv* env, TestRandom* random, Known* known) {
  const bool sync = Uniform(random, 0, 2) == 0;
  // Rows of those that were left prepared are not to be had.
  const auto t =
      db->BeginTransaction({.lock_timeout = std::chrono::milliseconds(5)}, {.sync = sync});
  Status status = Bank::Move(db, t.get(), random);
  if (!status.ok()) {
    ASSERT_TRUE(status.IsRetryable() || env->crashed()) << status.ToString();
    return;
  }
  const bool two_phases = Uniform(random, 0, 2) == 0;
  const std::string name = two_phases ? known->NewName() : "";
  if (two_phases) {
    // Tells later whether it is committed, and is no money.
    status = t->Put(nullptr, name, "0");
    if (status.ok()) {
      status = t->Prepare(name);
    }
    ASSERT_TRUE(status.ok() || env->crashed()) << status.ToString();
    if (!status.ok()) {
      return;
    }
    known->Prepared(name, sync);
    if (Uniform(random, 0, 40) == 0) {
      return;  // it stays, and with it its locks
    }
  }
  const uint64_t how = Uniform(random, 0, 3);
  if (two_phases) {
    known->Resolving(name, /*commit=*/how != 0);
  }
  status = how == 0 ? t->Rollback() : how == 1 ? t->CommitAsync().get() : t->Commit();
  ASSERT_TRUE(status.ok() || env->crashed()) << status.ToString();
  if (two_phases && status.ok()) {
    known->Resolved(name, sync);
  }
}

void CheckSum(DB* db, FaultEnv* env) {
  int64_t sum;
  const Status status = Bank::Sum(db, db, {}, &sum);
  if (!status.ok()) {
    ASSERT_TRUE(env->crashed()) << status.ToString();
    return;
  }
  ASSERT_EQ(sum, static_cast<int64_t>(kAccounts) * kEach);
}

// Opens, checks what the lives before have left, resolves it, and goes on until the crash.
void Live(FaultEnv* env, TestRandom* random, int transfers, Known* known) {
  std::unique_ptr<DB> db;
  Status status = DB::Open(TestOptions(env), "db", &db);
  ASSERT_TRUE(status.ok() || env->crashed()) << status.ToString();
  if (!status.ok()) {
    return;
  }
  const std::vector<std::string> names = db->ListPrepared();
  for (const std::string& name : known->prepared) {
    ASSERT_TRUE(std::count(names.begin(), names.end(), name) == 1) << name << " is lost";
  }
  for (const std::string& name : names) {
    ASSERT_EQ(known->resolved.count(name), 0u) << name << " is back";
  }
  for (const std::string& name : known->committing) {
    std::string value;
    status = db->Get({}, name, &value);
    ASSERT_TRUE(status.ok() || env->crashed() || std::count(names.begin(), names.end(), name) == 1)
        << name << " is neither prepared nor committed";
  }
  status = Bank::Make(db.get());
  ASSERT_TRUE(status.ok() || env->crashed()) << status.ToString();
  if (!status.ok()) {
    return;
  }
  CheckSum(db.get(), env);
  for (const std::string& name : names) {
    known->Prepared(name, /*sync=*/true);  // recovery has synced what it found
    if (Uniform(random, 0, 5) == 0) {
      continue;
    }
    std::unique_ptr<Transaction> t;
    ASSERT_TRUE(db->ResumeTransaction(name, {.sync = true}, &t).ok());
    const bool commit = Uniform(random, 0, 1) != 0;
    known->Resolving(name, commit);
    status = commit ? t->Commit() : t->Rollback();
    ASSERT_TRUE(status.ok() || env->crashed()) << status.ToString();
    if (!status.ok()) {
      return;
    }
    known->Resolved(name, /*sync=*/true);
  }
  CheckSum(db.get(), env);
  std::atomic<int> left = transfers;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, seed = (*random)()] {
      TestRandom own(seed);
      while (left-- > 0 && !env->crashed()) {
        Transfer(db.get(), env, &own, known);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CheckSum(db.get(), env);
}

TEST(TransactionCrash, KeepsTheSum) {
  TestRandom seeds(TestSeed());
  for (int round = 0; round < 12 && !testing::Test::HasFailure(); ++round) {
    TestRandom random(seeds());
    FileImage files;
    Known known;
    for (int i = 0; i < 12 && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(testing::Message() << "round " << round << ", life " << i);
      FaultEnv env(files);
      env.CrashAt(SkewedSize(&random, 3000), random());
      Live(&env, &random, static_cast<int>(Uniform(&random, 0, 400)), &known);
      const CrashKind kind = Uniform(&random, 0, 1) != 0 ? CrashKind::kPower : CrashKind::kProcess;
      files = env.Survivors(kind, random());
      if (kind == CrashKind::kPower) {
        known.prepared = known.prepared_synced;
        known.committing = known.committing_synced;
        known.resolved = known.resolved_synced;
      } else {
        // They are taken for durable (fault_env.h).
        known.prepared_synced = known.prepared;
        known.committing_synced = known.committing;
        known.resolved_synced = known.resolved;
      }
    }
  }
}

// A flush gives up the log behind it. What has been prepared there, and is resolved just before
// that, but not on disk, must be prepared again when the power goes.
TEST(TransactionCrash, GivesNoLogUpForAResolutionThatIsNotOnDisk) {
  class CommitAtFlush final : public EventListener {
   public:
    void OnFlush(const FlushEvent&) override {
      std::unique_ptr<Transaction> t;
      if (db->ResumeTransaction("t", {}, &t).ok()) {
        EXPECT_TRUE(t->Commit().ok());
      }
    }
    DB* db = nullptr;
  };
  const uint64_t seed = TestSeed();
  FaultEnv env;
  Options options = TestOptions(&env);
  const auto listener = std::make_shared<CommitAtFlush>();
  options.listeners = {listener};
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  listener->db = db.get();
  {
    const auto t = db->BeginTransaction({}, {.sync = true});
    ASSERT_TRUE(t->Put(nullptr, "k", "v").ok());
    ASSERT_TRUE(t->Prepare("t").ok());
  }
  ASSERT_TRUE(db->Put({.sync = true}, "l", "v").ok());
  ASSERT_TRUE(db->Flush(nullptr).ok());
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  ASSERT_TRUE(db->ListPrepared().empty());
  size_t prepared = 0;
  for (uint64_t i = 0; i < 50; ++i) {
    FaultEnv after(env.Survivors(CrashKind::kPower, seed + i));
    std::unique_ptr<DB> again;
    const Status status = DB::Open(TestOptions(&after), "db", &again);
    ASSERT_TRUE(status.ok()) << status.ToString();
    std::string value;
    const bool committed = again->Get({}, "k", &value).ok();
    ASSERT_EQ(again->ListPrepared().size(), committed ? 0u : 1u);
    prepared += committed ? 0 : 1;
  }
  EXPECT_GT(prepared, 0u);
}

TEST(TransactionFaults, KeepTheSumOnAFailingDevice) {
  const uint64_t seed = TestSeed();
  TempDir dir;
  Options options = TestOptions(nullptr);
  options.executors = TestUnits("model", 0.2, seed);
  options.always_offload = true;
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, dir.File("db"), &db).ok());
  ASSERT_TRUE(Bank::Make(db.get()).ok());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      TestRandom random(seed + i);
      for (int n = 0; n < 1500; ++n) {
        const auto t = db->BeginTransaction({.lock_timeout = std::chrono::hours(1)}, {});
        const Status status = Bank::Move(db.get(), t.get(), &random);
        ASSERT_TRUE(status.ok() || status.IsRetryable()) << status.ToString();
        if (status.ok()) {
          ASSERT_TRUE(t->Commit().ok());
        }
      }
    });
  }
  std::thread reader([&] {
    TestRandom random(seed + kThreads);
    while (!stop) {
      int64_t sum;
      const auto t = db->BeginTransaction({}, {});
      ASSERT_TRUE(Bank::Sum(db.get(), t.get(), {}, &sum).ok());
      ASSERT_EQ(sum, static_cast<int64_t>(kAccounts) * kEach);
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  stop = true;
  reader.join();
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  // Units take merges under few snapshots only, so those so far may all have been the CPU's.
  TestRandom random(seed);
  for (int i = 0; i < 500 && db->GetStatistics().offload.retries == 0; ++i) {
    const auto t = db->BeginTransaction({}, {});
    ASSERT_TRUE(Bank::Move(db.get(), t.get(), &random).ok());
    ASSERT_TRUE(t->Commit().ok());
    ASSERT_TRUE(db->CompactRange(nullptr, {}, {}).ok());
  }
  EXPECT_GT(db->GetStatistics().offload.retries, 0u);
  int64_t sum;
  ASSERT_TRUE(Bank::Sum(db.get(), db.get(), {}, &sum).ok());
  EXPECT_EQ(sum, static_cast<int64_t>(kAccounts) * kEach);
}

}  // namespace
}  // namespace sluice
