// kill -9, on the real file system, judged by an expected-state file: what a killed process was
// told is written is there, and each writer's writes are there up to some whole batch.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/kill.h"
#include "engine/workload.h"
#include "sluice/db.h"
#include "sluice/transaction.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr size_t kSubtables = 3;
using Subtables = std::array<Subtable*, kSubtables>;
using Records = std::array<std::map<std::string, std::string>, kSubtables>;

enum Writer { kBlocking, kAsynchronous, kTransactions, kTwoPhases, kWriters };

std::string NameOf(size_t subtable) {
  return subtable == 0 ? std::string(kDefaultSubtable) : std::to_string(subtable);
}
std::string CounterOf(int writer) { return fmt::format("\xff counter {}", writer); }
std::string PreparedName(uint64_t count) { return fmt::format("transaction {}", count); }

struct Change {
  size_t subtable = 0;
  std::string key;
  std::optional<std::string> value;  // none: a deletion
};

// One batch after the other: the same in every process that starts from the same state. Writers'
// keys lie among each other, but none has a key of another.
class Batches {
 public:
  Batches(int writer, uint64_t seed)
      : writer_(writer),
        random_(seed + static_cast<uint64_t>(writer)),
        keys_(&random_),
        values_(&random_, size_t{100} << 10) {}

  std::vector<Change> Next() {
    std::vector<Change> changes;
    for (uint64_t n = Uniform(&random_, 1, 5); n > 0; --n) {
      const bool deletion = Uniform(&random_, 0, 4) == 0;
      Change& change = changes.emplace_back();
      change.subtable = Uniform(&random_, 0, kSubtables - 1);
      change.key = (deletion ? keys_.Any(&random_) : keys_.Next(&random_)) +
                   static_cast<char>('0' + writer_);
      if (!deletion) {
        change.value = values_.Next(&random_);
      }
    }
    changes.push_back({0, CounterOf(writer_), std::to_string(++count_)});
    return changes;
  }
  uint64_t count() const { return count_; }

 private:
  int writer_;
  TestRandom random_;
  KeySpace keys_;
  ValueSpace values_;
  uint64_t count_ = 0;
};

// What outlives a killed process. Batches are counted from 1.
struct Expected {
  std::array<std::atomic<uint64_t>, kWriters> begun;
  std::array<std::atomic<uint64_t>, kWriters> acknowledged;
  std::atomic<uint64_t> acknowledgements;

  void Acknowledge(int writer, uint64_t count) {
    // Callbacks may overtake each other.
    for (uint64_t most = acknowledged[writer];
         most < count && !acknowledged[writer].compare_exchange_weak(most, count);) {
    }
    ++acknowledgements;
  }
};

WriteBatch BatchOf(const std::vector<Change>& changes, const Subtables& subtables) {
  WriteBatch batch;
  for (const Change& change : changes) {
    if (change.value) {
      batch.Put(subtables[change.subtable], change.key, *change.value);
    } else {
      batch.Delete(subtables[change.subtable], change.key);
    }
  }
  return batch;
}

std::unique_ptr<Transaction> TransactionOf(DB* db, const WriteOptions& options,
                                           const std::vector<Change>& changes,
                                           const Subtables& subtables) {
  // Read committed: the one before may still be committing.
  auto transaction = db->BeginTransaction(
      {.isolation = Isolation::kReadCommitted, .lock_timeout = std::chrono::minutes(10)}, options);
  for (const Change& change : changes) {
    Subtable* const subtable = subtables[change.subtable];
    const Status status = change.value ? transaction->Put(subtable, change.key, *change.value)
                                       : transaction->Delete(subtable, change.key);
    if (!status.ok()) {
      ::_exit(5);
    }
  }
  return transaction;
}

[[noreturn]] void Write(DB* db, const Subtables& subtables, int writer, Batches* batches,
                        Expected* expected) {
  const auto done = [=](uint64_t count, const Status& status) {
    if (!status.ok()) {
      ::_exit(3);
    }
    expected->Acknowledge(writer, count);
  };
  for (;;) {
    const std::vector<Change> changes = batches->Next();
    const uint64_t count = batches->count();
    const WriteOptions options{.sync = count % 100 == 0};
    expected->begun[writer] = count;
    if (writer == kBlocking) {
      done(count, db->Write(options, BatchOf(changes, subtables)));
    } else if (writer == kAsynchronous) {
      db->WriteAsync(options, BatchOf(changes, subtables),
                     [=](const Status& status) { done(count, status); });
    } else {
      const auto transaction = TransactionOf(db, options, changes, subtables);
      if (writer == kTwoPhases) {
        // Prepared, it is committed by whoever finds it.
        done(count, transaction->Prepare(PreparedName(count)));
      }
      if (count % 2 == 0) {
        transaction->CommitAsync([=](const Status& status) { done(count, status); });
      } else {
        done(count, transaction->Commit());
      }
    }
    if (writer == kBlocking && count % 300 == 0 && !db->CompactRange(nullptr, "", "").ok()) {
      ::_exit(4);
    }
  }
}

Subtables FindSubtables(DB* db) {
  Subtables subtables;
  for (size_t i = 0; i < kSubtables; ++i) {
    subtables[i] = db->FindSubtable(NameOf(i));
  }
  return subtables;
}

[[noreturn]] void WriteUntilKilled(const Options& options, const std::string& dir,
                                   std::vector<Batches> batches, Expected* expected) {
  std::unique_ptr<DB> db;
  if (!DB::Open(options, dir, &db).ok()) {
    ::_exit(2);
  }
  Subtables subtables = FindSubtables(db.get());
  for (size_t i = 0; i < kSubtables; ++i) {
    if (subtables[i] == nullptr && !db->CreateSubtable(NameOf(i), &subtables[i]).ok()) {
      ::_exit(2);
    }
  }
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back(
        [&, writer] { Write(db.get(), subtables, writer, &batches[writer], expected); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ::_exit(6);
}

// Commits what was prepared. That is one transaction at most: all write the same counter.
void Resolve(DB* db, uint64_t begun) {
  const std::vector<std::string> names = db->ListPrepared();
  ASSERT_LE(names.size(), 1u);
  for (const std::string& name : names) {
    ASSERT_TRUE(name == PreparedName(begun) || name == PreparedName(begun - 1)) << name;
    std::unique_ptr<Transaction> transaction;
    ASSERT_TRUE(db->ResumeTransaction(name, {}, &transaction).ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }
}

void ExpectRecords(DB* db, const Records& records) {
  const Subtables subtables = FindSubtables(db);
  for (size_t i = 0; i < kSubtables; ++i) {
    SCOPED_TRACE(testing::Message() << "sub-table " << i);
    auto at = records[i].begin();
    if (subtables[i] != nullptr) {
      const auto walk = db->NewIterator({}, subtables[i]);
      for (walk->SeekToFirst(); walk->Valid(); walk->Next(), ++at) {
        ASSERT_TRUE(at != records[i].end()) << "goes on with " << walk->key();
        ASSERT_EQ(walk->key(), at->first);
        ASSERT_TRUE(walk->value() == at->second) << "another value of " << at->first;
      }
      ASSERT_TRUE(walk->status().ok()) << walk->status().ToString();
    }
    ASSERT_TRUE(at == records[i].end()) << "ends before " << at->first;
  }
}

void Kill(uint64_t seed) {
  TestRandom random(seed);
  TempDir dir;
  void* const shared =
      ::mmap(nullptr, sizeof(Expected), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const expected = new (shared) Expected{};
  std::vector<Batches> batches;
  for (int writer = 0; writer < kWriters; ++writer) {
    batches.emplace_back(writer, seed);
  }
  Records records;  // after as many batches as `batches` have made
  for (int life = 0; life < 8; ++life) {
    SCOPED_TRACE(testing::Message() << "life " << life);
    const Options options = RandomOptions(&random);
    // Some lives end while they recover.
    const uint64_t lasts = life % 4 == 3 ? 0 : Uniform(&random, 1, 1200);
    const uint64_t before = expected->acknowledgements;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      WriteUntilKilled(options, dir.File("db"), batches, expected);
    }
    ASSERT_TRUE(KillWhen(child, expected->acknowledgements, lasts == 0 ? 0 : before + lasts,
                         std::chrono::microseconds(SkewedSize(&random, 50000))))
        << "the writers ended by themselves";

    std::unique_ptr<DB> db;
    const Status opened = DB::Open(options, dir.File("db"), &db);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    ASSERT_NO_FATAL_FAILURE(Resolve(db.get(), expected->begun[kTwoPhases]));
    for (int writer = 0; writer < kWriters; ++writer) {
      SCOPED_TRACE(testing::Message() << "writer " << writer);
      std::string counter = "0";
      (void)db->Get({}, CounterOf(writer), &counter);
      const uint64_t found = std::stoull(counter);
      ASSERT_GE(found, std::max(batches[writer].count(), expected->acknowledged[writer].load()));
      ASSERT_LE(found, std::max(batches[writer].count(), expected->begun[writer].load()));
      while (batches[writer].count() < found) {
        for (Change& change : batches[writer].Next()) {
          if (change.value) {
            records[change.subtable][change.key] = std::move(*change.value);
          } else {
            records[change.subtable].erase(change.key);
          }
        }
      }
      expected->begun[writer] = expected->acknowledged[writer] = found;
    }
    ASSERT_NO_FATAL_FAILURE(ExpectRecords(db.get(), records));
  }
  EXPECT_GT(expected->acknowledgements, 0u);
  ::munmap(shared, sizeof(Expected));
}

TEST(DbKill, KeepsWhatWasAcknowledged) {
  const uint64_t seed = TestSeed();
  const int databases = TestRounds(4);
  for (int i = 0; i < databases && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(testing::Message() << "database " << i << ", first with SLUICE_SEED=" << seed + i);
    Kill(seed + i);
  }
}

}  // namespace
}  // namespace sluice
