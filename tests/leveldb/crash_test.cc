// A compaction killed at any moment: the real LevelDB opens what is left, and nothing is missing.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "leveldb_dir/compact.h"
#include "merge/cpu_executor.h"
#include "real_leveldb.h"
#include "sluice/env.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

const CompactOptions kSmallTables{.table_bytes = 30000, .task_bytes = 60000};

Status Compact(Env* env, const std::string& dir) {
  CpuExecutor cpu;
  CompactReport report;
  return CompactDatabase(env, dir, &cpu, kSmallTables, nullptr, &report);
}

class CrashTest : public testing::Test {
 protected:
  void SetUp() override {
    contents_ = MakeRealDatabase(dir_.path(), {.seed = seed_,
                                               .keys = 500,
                                               .max_value = 300,
                                               .deep_writes = 900,
                                               .level0_tables = 3,
                                               .unflushed_writes = 50});
    ASSERT_TRUE(LoadFiles(Env::Posix(), dir_.path(), &before_).ok());
  }

  void ExpectRealLevelDbFindsAll(const FileImage& files) {
    const TempDir survivor;
    ASSERT_TRUE(StoreFiles(files, dir_.path(), Env::Posix(), survivor.path()).ok());
    ExpectHolds(survivor.path(), {}, contents_);
  }

  const uint64_t seed_ = TestSeed();
  TempDir dir_;
  Contents contents_;
  FileImage before_;
};

TEST_F(CrashTest, AtEveryFileOperation) {
  uint64_t operations = 0;
  uint64_t tables = 0;
  {
    FaultEnv env(before_);
    CpuExecutor cpu;
    CompactReport report;
    const Status status = CompactDatabase(&env, dir_.path(), &cpu, kSmallTables, nullptr, &report);
    ASSERT_TRUE(status.ok()) << status.ToString();
    operations = env.operations();
    tables = report.output_tables;
  }
  EXPECT_GE(tables, 2u);
  std::cout << operations << " operations, " << tables << " tables\n";
  for (uint64_t k = 0; k < operations; ++k) {
    SCOPED_TRACE(testing::Message() << "crash at operation " << k);
    FaultEnv env(before_);
    env.CrashAt(k, seed_ + k);
    // Whatever comes after the commit may fail unnoticed; before it, the error must show.
    const Status status = Compact(&env, dir_.path());
    ASSERT_TRUE(env.crashed());
    ASSERT_TRUE(status.ok() || status.code() == Status::Code::kIoError) << status.ToString();
    const FileImage killed = env.Survivors(CrashKind::kProcess, seed_ + k);
    ExpectRealLevelDbFindsAll(killed);
    const FileImage lost_power = env.Survivors(CrashKind::kPower, seed_ + k);
    ExpectRealLevelDbFindsAll(lost_power);

    // Sluice starts over where LevelDB has not cleaned up.
    FaultEnv again(lost_power);
    const Status second = Compact(&again, dir_.path());
    ASSERT_TRUE(second.ok()) << second.ToString();
    ExpectRealLevelDbFindsAll(again.Survivors(CrashKind::kPower, seed_ + k));
    if (HasFailure()) {
      return;
    }
  }
}

// What a power loss leaves is drawn anew, often, around the commit.
TEST_F(CrashTest, ManyPowerLossesPerOperation) {
  uint64_t operations = 0;
  {
    FaultEnv env(before_);
    ASSERT_TRUE(Compact(&env, dir_.path()).ok());
    operations = env.operations();
  }
  std::mt19937_64 random(seed_);
  for (int i = 0; i < 40; ++i) {
    const uint64_t k = random() % operations;
    const uint64_t draw = random();
    SCOPED_TRACE(testing::Message() << "crash at operation " << k << ", draw " << draw);
    FaultEnv env(before_);
    env.CrashAt(k, draw);
    (void)Compact(&env, dir_.path());
    ExpectRealLevelDbFindsAll(env.Survivors(CrashKind::kPower, draw));
    if (HasFailure()) {
      return;
    }
  }
}

TEST_F(CrashTest, RealKills) {
  using Clock = std::chrono::steady_clock;
  std::mt19937_64 random(seed_);
  const auto compact_copy = [this](const std::string& dir) {
    return Compact(Env::Posix(), dir).ok() ? 0 : 1;
  };
  std::chrono::microseconds whole{};
  {
    const TempDir copy;
    ASSERT_TRUE(StoreFiles(before_, dir_.path(), Env::Posix(), copy.path()).ok());
    const auto start = Clock::now();
    ASSERT_EQ(InChildProcess([&] { return compact_copy(copy.path()); }), 0);
    whole = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
  }
  int killed = 0;
  for (int i = 0; i < 12; ++i) {
    const TempDir copy;
    ASSERT_TRUE(StoreFiles(before_, dir_.path(), Env::Posix(), copy.path()).ok());
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::_exit(compact_copy(copy.path()));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % (whole.count() + 1)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    killed += WIFSIGNALED(status) ? 1 : 0;
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    ExpectHolds(copy.path(), {}, contents_);
  }
  std::cout << killed << " of 12 were killed before they ended\n";
}

}  // namespace
}  // namespace sluice
