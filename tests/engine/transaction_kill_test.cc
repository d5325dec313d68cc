// kill -9 on the real file system: prepared transactions are prepared again, resolved ones are not.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "engine/kill.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

Options TestOptions() {
  Options options;
  options.create_if_missing = true;
  options.memtable_bytes = 128 << 10;
  options.extent_bytes = 128 << 10;
  options.l0_compaction_runs = 2;
  options.log_segment_bytes = 128 << 10;
  return options;
}

enum class Fate { kCommit, kRollBack, kLeave };
Fate FateOf(uint64_t i) { return static_cast<Fate>(i % 3); }
std::string KeyOf(uint64_t i) { return fmt::format("key{:06}", i); }
std::string NameOf(uint64_t i) { return fmt::format("transaction {}", i); }

// What outlives a killed process: how many transactions it had prepared, and done with.
struct Expected {
  std::atomic<uint64_t> prepared;
  std::atomic<uint64_t> done;
};

[[noreturn]] void RunUntilKilled(const std::string& dir, uint64_t from, Expected* expected) {
  std::unique_ptr<DB> db;
  if (!DB::Open(TestOptions(), dir, &db).ok()) {
    ::_exit(2);
  }
  for (uint64_t i = from + 1;; ++i) {
    const auto t = db->BeginTransaction({}, {.sync = i % 50 == 0});
    if (!t->Put(nullptr, KeyOf(i), std::string(200, 'v')).ok() || !t->Prepare(NameOf(i)).ok()) {
      ::_exit(3);
    }
    expected->prepared = i;
    const Fate fate = FateOf(i);
    if ((fate == Fate::kCommit && !t->Commit().ok()) ||
        (fate == Fate::kRollBack && !t->Rollback().ok())) {
      ::_exit(4);
    }
    expected->done = i;
  }
}

TEST(TransactionKill, PreparedTransactionsSurvive) {
  TestRandom random(TestSeed());
  TempDir dir;
  void* const shared =
      ::mmap(nullptr, sizeof(Expected), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const expected = new (shared) Expected{};
  uint64_t at = 0;
  for (int life = 0; life < 10; ++life) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      RunUntilKilled(dir.File("db"), at, expected);
    }
    ASSERT_TRUE(KillWhen(child, expected->done, life % 4 == 3 ? 0 : at + Uniform(&random, 1, 1000),
                         std::chrono::microseconds(SkewedSize(&random, 50000))))
        << "the child ended by itself";

    std::unique_ptr<DB> db;
    const Status opened = DB::Open(TestOptions(), dir.File("db"), &db);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    const std::vector<std::string> names = db->ListPrepared();
    std::set<std::string> listed(names.begin(), names.end());
    const auto is_there = [&](uint64_t i) {
      std::string value;
      return db->Get({}, KeyOf(i), &value).ok();
    };
    const uint64_t done = std::max(at, expected->done.load());
    const uint64_t prepared = std::max(at, expected->prepared.load());
    for (uint64_t i = at + 1; i <= done; ++i) {
      ASSERT_EQ(is_there(i), FateOf(i) == Fate::kCommit) << i;
      ASSERT_EQ(listed.erase(NameOf(i)), FateOf(i) == Fate::kLeave ? 1u : 0u) << i;
    }
    // The one that was under way.
    const uint64_t last = done + 1;
    if (listed.erase(NameOf(last)) == 1) {
      ASSERT_FALSE(is_there(last));
    } else if (prepared == last) {
      ASSERT_NE(FateOf(last), Fate::kLeave);
      ASSERT_EQ(is_there(last), FateOf(last) == Fate::kCommit);
    } else {
      ASSERT_FALSE(is_there(last));
    }
    ASSERT_TRUE(listed.empty()) << *listed.begin() << " is there again";
    for (const std::string& name : names) {
      std::unique_ptr<Transaction> t;
      ASSERT_TRUE(db->ResumeTransaction(name, {}, &t).ok());
      ASSERT_TRUE(t->Commit().ok());
    }
    for (uint64_t i = at + 1; i <= done; ++i) {
      ASSERT_EQ(is_there(i), FateOf(i) != Fate::kRollBack) << i;
    }
    at = last;
  }
  EXPECT_GT(at, 10u);
  ::munmap(shared, sizeof(Expected));
}

}  // namespace
}  // namespace sluice
