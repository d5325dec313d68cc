// kill -9, on the real file system, judged by an expected-state file: what a killed process was
// told is written is there, and the database is in the state after some whole batch.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

using Records = std::map<std::string, std::string>;
constexpr char kCounter[] = "counter";

Options TestOptions() {
  Options options;
  options.create_if_missing = true;
  options.memtable_bytes = 256 << 10;
  options.extent_bytes = 128 << 10;
  options.l0_compaction_runs = 2;
  options.l1_bytes = 1 << 20;
  options.log_segment_bytes = 256 << 10;
  return options;
}

// Batch number `i` (from 1): the same in every process.
WriteBatch MakeBatch(uint64_t seed, uint64_t i, Records* records) {
  TestRandom random(seed + i * 0x9e3779b97f4a7c15);
  WriteBatch batch;
  for (uint64_t n = Uniform(&random, 1, 5); n > 0; --n) {
    const std::string key = fmt::format("key{}", Uniform(&random, 0, 2000));
    if (Uniform(&random, 0, 4) == 0) {
      batch.Delete(key);
      records->erase(key);
    } else {
      const std::string value(Uniform(&random, 0, 1000), static_cast<char>('a' + i % 26));
      batch.Put(key, value);
      (*records)[key] = value;
    }
  }
  batch.Put(kCounter, std::to_string(i));
  return batch;
}

// What outlives a killed process.
struct Expected {
  std::atomic<uint64_t> begun;
  std::atomic<uint64_t> acknowledged;
};

[[noreturn]] void WriteUntilKilled(const std::string& dir, uint64_t seed, uint64_t from,
                                   Expected* expected) {
  std::unique_ptr<DB> db;
  if (!DB::Open(TestOptions(), dir, &db).ok()) {
    ::_exit(2);
  }
  Records ignored;
  for (uint64_t i = from + 1;; ++i) {
    expected->begun = i;
    if (!db->Write({.sync = i % 100 == 0}, MakeBatch(seed, i, &ignored)).ok()) {
      ::_exit(3);
    }
    expected->acknowledged = i;
  }
}

TEST(DbKill, KeepsWhatWasAcknowledged) {
  const uint64_t seed = TestSeed();
  TestRandom random(seed);
  TempDir dir;
  void* const shared =
      ::mmap(nullptr, sizeof(Expected), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const expected = new (shared) Expected{};
  Records records;
  uint64_t at = 0;  // batches in `records`
  for (int life = 0; life < 12; ++life) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      WriteUntilKilled(dir.File("db"), seed, at, expected);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(Uniform(&random, 1, 250)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself: " << WEXITSTATUS(status);

    std::unique_ptr<DB> db;
    const Status opened = DB::Open(TestOptions(), dir.File("db"), &db);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    std::string counter = "0";
    (void)db->Get({}, kCounter, &counter);
    const uint64_t found = std::stoull(counter);
    ASSERT_GE(found, std::max(at, expected->acknowledged.load()));
    ASSERT_LE(found, std::max(at, expected->begun.load()));
    while (at < found) {
      (void)MakeBatch(seed, ++at, &records);
    }
    Records read;
    const auto walk = db->NewIterator({});
    for (walk->SeekToFirst(); walk->Valid(); walk->Next()) {
      if (walk->key() != kCounter) {
        read[std::string(walk->key())] = walk->value();
      }
    }
    ASSERT_TRUE(walk->status().ok()) << walk->status().ToString();
    ASSERT_TRUE(read == records) << "not the state after " << found << " batches";
  }
  EXPECT_GT(at, 0u);
  ::munmap(shared, sizeof(Expected));
}

}  // namespace
}  // namespace sluice
