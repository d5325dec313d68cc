// Single faults that are no crashes: a full disk, an I/O error, a read or write that does a part.
// Each call succeeds or says which file and what failed; reads are never wrong; and the database
// opened again has all that was acknowledged.

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <string>
#include <utility>

#include "engine/testing.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Recovers, writes, flushes, compacts, reads, closes.
Status ShortLife(FaultEnv* env, Life* life, uint64_t batches = 30) {
  SLUICE_RETURN_IF_ERROR(life->Open(env));
  SLUICE_RETURN_IF_ERROR(life->WriteBatches(batches));
  SLUICE_RETURN_IF_ERROR(life->db()->CompactRange(nullptr, "", ""));
  SLUICE_RETURN_IF_ERROR(life->WriteBatches(5));
  SLUICE_RETURN_IF_ERROR(life->Check());
  return life->Close();
}

// After an error: what can be read is right, and writes work or do not, but stay so, unless the
// device is only full.
void GoOn(Life* life) {
  EXPECT_TRUE(life->Check().ok());
  const bool was_whole = life->history()->acknowledged + 1 == life->history()->states.size();
  const Status status = life->WriteBatches(3);
  if (status.ok()) {
    EXPECT_TRUE(was_whole) << "written behind a batch that failed";
  } else if (!status.IsNoSpace()) {
    EXPECT_FALSE(life->WriteBatches(1).ok());
  }
  EXPECT_TRUE(life->Check().ok());
}

// An error says what failed: "path: cannot sync: ...".
void ExpectNamed(const Status& status, const FaultEnv& env) {
  if (!status.ok()) {
    EXPECT_NE(env.failure(), "") << status.ToString();
    EXPECT_NE(status.message().find(env.failure()), std::string::npos)
        << "\"" << status.message() << "\" does not say \"" << env.failure() << "\"";
  }
}

class DbFaultTest : public testing::Test {
 protected:
  // Lives with one fault, then once more without.
  void LiveWith(const std::function<void(FaultEnv*)>& arm, uint64_t seed) {
    FaultEnv env(files_);
    arm(&env);
    Life life(seed_, history_);
    const Status status = ShortLife(&env, &life, batches_);
    SCOPED_TRACE(testing::Message() << env.failure() << ", and so " << status.ToString());
    ExpectNamed(status, env);
    if (life.db() != nullptr) {
      GoOn(&life);
      (void)life.Close();
    }
    if (env.failure().empty()) {
      return;  // threads make runs differ: this one had fewer calls
    }
    ++happened_;
    // The same process opens it again, or another on the same system, which has in its page cache
    // what a failed sync dropped, or the power was lost in between.
    TestRandom random(seed);
    History expected = *life.history();
    FaultEnv* next_env = &env;
    std::unique_ptr<FaultEnv> another;
    if (const uint64_t way = Uniform(&random, 0, 2); way == 1) {
      env.Restart(seed);
    } else if (way == 2) {
      expected.Crash(CrashKind::kPower);
      another = std::make_unique<FaultEnv>(env.Survivors(CrashKind::kPower, seed));
      next_env = another.get();
    }
    Life next(seed, std::move(expected));
    Status again = next.Open(next_env);
    ASSERT_TRUE(again.ok()) << again.ToString();
    ASSERT_TRUE(next.WriteBatches(Uniform(&random, 0, 10)).ok());
    // Now the power goes: what the open found, and what was synced since, is there.
    History promised = *next.history();
    promised.Crash(CrashKind::kPower);
    FaultEnv powerless(next_env->Survivors(CrashKind::kPower, seed));
    Life last(seed, std::move(promised));
    again = last.Open(&powerless);
    EXPECT_TRUE(again.ok()) << again.ToString();
    again = last.db() != nullptr ? last.Close() : Status();
    EXPECT_TRUE(again.ok()) << again.ToString();
    again = next.Close();
    EXPECT_TRUE(again.ok()) << again.ToString();
    again = ShortLife(next_env, &next);
    EXPECT_TRUE(again.ok()) << again.ToString();
  }

  // What a loss of power left of a life, for those with recovery to do.
  void LiveAndLosePower() {
    FaultEnv env;
    env.CrashAt(150, seed_);
    Life life(seed_);
    (void)ShortLife(&env, &life);
    files_ = env.Survivors(CrashKind::kPower, seed_);
    history_ = *life.history();
    history_.Crash(CrashKind::kPower);
  }

  const uint64_t seed_ = TestSeed();
  FileImage files_;
  History history_;
  uint64_t batches_ = 30;  // of the life with the fault
  int happened_ = 0;
};

TEST_F(DbFaultTest, OneOperationFails) {
  for (int generation = 0; generation < 2; ++generation) {
    FaultEnv whole(files_);
    Life undisturbed(seed_, history_);
    ASSERT_TRUE(ShortLife(&whole, &undisturbed, batches_).ok());
    const uint64_t step = StepThrough(whole.operations());
    for (uint64_t k = seed_ % step; k < whole.operations() && !HasFailure(); k += step) {
      SCOPED_TRACE(testing::Message() << "generation " << generation << ", operation " << k);
      const int error = (seed_ + k) % 2 == 0 ? EIO : ENOSPC;
      LiveWith([&](FaultEnv* env) { env->FailAt(k, error, seed_ + k); }, seed_ + k);
    }
    EXPECT_GT(happened_, 50);
    LiveAndLosePower();
  }
}

TEST_F(DbFaultTest, OneReadFails) {
  batches_ = 80;
  for (int generation = 0; generation < 2; ++generation) {
    FaultEnv whole(files_);
    Life undisturbed(seed_, history_);
    ASSERT_TRUE(ShortLife(&whole, &undisturbed, batches_).ok());
    const uint64_t step = StepThrough(whole.reads());
    for (uint64_t k = seed_ % step; k < whole.reads() && !HasFailure(); k += step) {
      SCOPED_TRACE(testing::Message() << "generation " << generation << ", read " << k);
      LiveWith([&](FaultEnv* env) { env->FailReadAt(k, EIO, seed_ + k); }, seed_ + k);
    }
    EXPECT_GT(happened_, 10);
    LiveAndLosePower();
  }
}

// Whatever a loss of power then leaves, the copy is whole, or no database and never said to be one.
TEST_F(DbFaultTest, OneOperationOfACheckpointFails) {
  FaultEnv before;
  Life life(seed_);
  ASSERT_TRUE(ShortLife(&before, &life).ok());
  files_ = before.Survivors(CrashKind::kProcess, seed_);
  history_ = *life.history();
  bool failed = true;
  for (uint64_t k = 0; failed && !HasFailure(); ++k) {
    SCOPED_TRACE(testing::Message() << "operation " << k);
    FaultEnv env(files_);
    Life source(seed_, history_);
    ASSERT_TRUE(source.Open(&env).ok());
    ASSERT_TRUE(source.db()->WaitForBackgroundWork().ok());
    env.FailAt(env.operations() + k, ENOSPC, seed_ + k);
    const Status status = source.db()->CreateCheckpoint("copy");
    ExpectNamed(status, env);
    failed = !env.failure().empty();
    env.FailAt(UINT64_MAX, 0, 0);
    if (!status.ok() && k % 2 == 0) {
      const Status again = source.db()->CreateCheckpoint("copy");
      EXPECT_TRUE(again.ok()) << again.ToString();
      continue;
    }
    EXPECT_TRUE(source.WriteBatches(1).ok());
    EXPECT_TRUE(source.Close().ok());
    FaultEnv after(env.Survivors(CrashKind::kPower, seed_ + k));
    const bool made = after.FileExists("copy/CURRENT").ok();
    EXPECT_TRUE(made || !status.ok());
    if (made) {
      Life copy(seed_, history_);
      const Status opened = copy.Open(&after, "copy");
      EXPECT_TRUE(opened.ok()) << opened.ToString();
    }
  }
}

}  // namespace
}  // namespace sluice
