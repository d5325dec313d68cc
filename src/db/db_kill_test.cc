// kill -9, on the real file system, judged by an expected-state file: what a killed process was
// told is written is there, and the database is in the state after some whole batch.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "db/kill.h"
#include "db/workload.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

using Records = std::map<std::string, std::string>;
constexpr char kCounter[] = "\xff counter";  // no other key is like it

// One batch after the other: the same in every process that starts from the same state.
class Batches {
 public:
  explicit Batches(uint64_t seed)
      : random_(seed), keys_(&random_), values_(&random_, size_t{200} << 10) {}

  WriteBatch Next(Records* records) {
    WriteBatch batch;
    for (uint64_t n = Uniform(&random_, 1, 5); n > 0; --n) {
      if (Uniform(&random_, 0, 4) == 0) {
        const std::string key = keys_.Any(&random_);
        batch.Delete(key);
        records->erase(key);
      } else {
        const std::string key = keys_.Next(&random_);
        const std::string value = values_.Next(&random_);
        batch.Put(key, value);
        (*records)[key] = value;
      }
    }
    batch.Put(kCounter, std::to_string(++count_));
    return batch;
  }
  uint64_t count() const { return count_; }

 private:
  TestRandom random_;
  KeySpace keys_;
  ValueSpace values_;
  uint64_t count_ = 0;
};

// What outlives a killed process. Batches are counted from 1.
struct Expected {
  std::atomic<uint64_t> begun;
  std::atomic<uint64_t> acknowledged;
};

[[noreturn]] void WriteUntilKilled(const Options& options, const std::string& dir, Batches batches,
                                   Expected* expected) {
  std::unique_ptr<DB> db;
  if (!DB::Open(options, dir, &db).ok()) {
    ::_exit(2);
  }
  Records ignored;
  for (;;) {
    const WriteBatch batch = batches.Next(&ignored);
    expected->begun = batches.count();
    if (!db->Write({.sync = batches.count() % 100 == 0}, batch).ok()) {
      ::_exit(3);
    }
    expected->acknowledged = batches.count();
    if (batches.count() % 300 == 0 && !db->CompactRange(nullptr, "", "").ok()) {
      ::_exit(4);
    }
  }
}

void Kill(uint64_t seed) {
  TestRandom random(seed);
  TempDir dir;
  void* const shared =
      ::mmap(nullptr, sizeof(Expected), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const expected = new (shared) Expected{};
  Batches batches(seed);
  Records records;  // after as many batches as `batches` has made
  for (int life = 0; life < 8; ++life) {
    SCOPED_TRACE(testing::Message() << "life " << life);
    const Options options = RandomOptions(&random);
    // Some lives end while they recover.
    const uint64_t lasts = life % 4 == 3 ? 0 : Uniform(&random, 1, 600);
    const uint64_t before = batches.count();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      WriteUntilKilled(options, dir.File("db"), batches, expected);
    }
    ASSERT_TRUE(KillWhen(child, expected->acknowledged, lasts == 0 ? 0 : before + lasts,
                         std::chrono::microseconds(SkewedSize(&random, 50000))))
        << "the writer ended by itself";

    std::unique_ptr<DB> db;
    const Status opened = DB::Open(options, dir.File("db"), &db);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    std::string counter = "0";
    (void)db->Get({}, kCounter, &counter);
    const uint64_t found = std::stoull(counter);
    ASSERT_GE(found, std::max(before, expected->acknowledged.load()));
    ASSERT_LE(found, std::max(before, expected->begun.load()));
    while (batches.count() < found) {
      (void)batches.Next(&records);
    }
    auto at = records.begin();
    const auto walk = db->NewIterator({});
    for (walk->SeekToFirst(); walk->Valid() && walk->key() != kCounter; walk->Next(), ++at) {
      ASSERT_TRUE(at != records.end()) << "goes on with " << walk->key();
      ASSERT_EQ(walk->key(), at->first);
      ASSERT_TRUE(walk->value() == at->second) << "another value of " << at->first;
    }
    ASSERT_TRUE(walk->status().ok()) << walk->status().ToString();
    ASSERT_TRUE(at == records.end()) << "ends before " << at->first;
  }
  EXPECT_GT(batches.count(), 0u);
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
