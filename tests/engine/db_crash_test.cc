// Crashes: whatever operation of the file system is the last one, what was acknowledged is there
// again, and what is there is a state that there was.

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/testing.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

TEST(DbCrash, KeepsWhatItPromisedLifeAfterLife) {
  TestRandom seeds(TestSeed());
  for (int round = 0; round < TestRounds(25) && !testing::Test::HasFailure(); ++round) {
    Life life(seeds());
    TestRandom* const random = life.random();
    auto env = std::make_unique<FaultEnv>();
    for (int i = 0; i < 12 && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(testing::Message() << "round " << round << ", life " << i);
      env->CrashAt(env->operations() + SkewedSize(random, 3000), (*random)());
      const bool fault = Uniform(random, 0, 1) == 0;
      env->FailAt(fault ? env->operations() + SkewedSize(random, 1000) : UINT64_MAX, EIO,
                  (*random)());
      Status status = life.Open(env.get());
      for (uint64_t n = Uniform(random, 0, 6); n > 0 && status.ok(); --n) {
        status = life.WriteBatches(Uniform(random, 0, 60));
        if (status.ok()) {
          status = life.Compact();
        }
      }
      EXPECT_TRUE(status.ok() || fault || env->crashed()) << status.ToString();
      if (life.db() != nullptr) {
        (void)life.Close();
      }
      // Another process on the same system, where what a failed sync dropped can still be read, or
      // on what is on disk.
      if (Uniform(random, 0, 1) == 0) {
        env->Restart((*random)());
      } else {
        life.history()->Crash(CrashKind::kPower);
        env = std::make_unique<FaultEnv>(env->Survivors(CrashKind::kPower, (*random)()));
      }
    }
  }
}

// Recovers, writes, flushes, compacts, closes.
Status ShortLife(FaultEnv* env, Life* life) {
  SLUICE_RETURN_IF_ERROR(life->Open(env));
  SLUICE_RETURN_IF_ERROR(life->WriteBatches(25));
  SLUICE_RETURN_IF_ERROR(life->db()->CompactRange(nullptr, "", ""));
  SLUICE_RETURN_IF_ERROR(life->WriteBatches(5));
  return life->Close();
}

// A new database, and then what a loss of power left of one, with each operation the last.
TEST(DbCrash, KeepsWhatItPromisedAtEveryOperation) {
  const uint64_t seed = TestSeed();
  FileImage files;
  History history;
  for (int generation = 0; generation < 2; ++generation) {
    FaultEnv whole(files);
    Life undisturbed(seed, history);
    const Status status = ShortLife(&whole, &undisturbed);
    ASSERT_TRUE(status.ok()) << status.ToString();
    FileImage next_files;
    History next_history;
    const uint64_t step = StepThrough(whole.operations());
    for (uint64_t k = seed % step; k < whole.operations() && !testing::Test::HasFailure();
         k += step) {
      FaultEnv env(files);
      env.CrashAt(k, seed + k);
      Life life(seed, history);
      (void)ShortLife(&env, &life);
      for (const CrashKind kind : {CrashKind::kPower, CrashKind::kProcess}) {
        SCOPED_TRACE(testing::Message()
                     << "generation " << generation << ", operation " << k << ", "
                     << (kind == CrashKind::kPower ? "power" : "process") << " lost");
        const FileImage left = env.Survivors(kind, seed + k);
        History expected = *life.history();
        expected.Crash(kind);
        if (kind == CrashKind::kPower && k >= whole.operations() / 3 && next_files.empty()) {
          next_files = left;
          next_history = expected;
        }
        FaultEnv after(left);
        Life next(seed + k, std::move(expected));
        Status again = next.Open(&after);
        EXPECT_TRUE(again.ok()) << again.ToString();
        if (again.ok()) {
          again = next.WriteBatches(1);
          EXPECT_TRUE(again.ok()) << again.ToString();
          EXPECT_TRUE(next.Close().ok());
        }
      }
    }
    files = std::move(next_files);
    history = std::move(next_history);
  }
}

}  // namespace
}  // namespace sluice
