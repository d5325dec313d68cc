// Crashes: whatever operation of the file system is the last one, what was acknowledged is there
// again, and what is there is a state that there was.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/db.h"
#include "table/testing.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

using Model = std::map<std::string, std::string>;  // of both sub-tables, with a prefix

constexpr char kCounter[] = "counter";

struct Life {
  std::vector<Model> states;  // after 0, 1, ... batches
  size_t tried = 0;           // batches that were begun
  size_t acknowledged = 0;
  size_t synced = 0;  // of those, up to the last one that asked for it
};

Options TestOptions(TestRandom* random, Env* env) {
  Options options;
  options.create_if_missing = true;
  options.env = env;
  options.memtable_bytes = 8192 << Uniform(random, 0, 2);
  options.extent_bytes = 8192;
  options.block_bytes = 1024;
  options.l0_compaction_runs = 2;
  options.l1_bytes = 65536;
  options.log_segment_bytes = 16384;
  options.task_bytes = 32768;
  return options;
}

// Reads the whole database; the counter says how many batches it has.
Status ReadState(DB* db, Model* state, size_t* batches) {
  *batches = 0;
  for (Subtable* const subtable : db->ListSubtables()) {
    const auto at = db->NewIterator({}, subtable);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      if (at->key() == kCounter) {
        *batches = std::stoul(std::string(at->value()));
      } else {
        (*state)[subtable->name() + "/" + std::string(at->key())] = at->value();
      }
    }
    if (const Status status = at->status(); !status.ok()) {
      return status;
    }
  }
  return {};
}

// Opens, checks against what the lives before promised, and writes until the crash.
void Live(FaultEnv* env, TestRandom* random, size_t batches, Life* life) {
  std::unique_ptr<DB> db;
  const Options options = TestOptions(random, env);
  Status status = DB::Open(options, "db", &db);
  if (env->crashed()) {
    return;
  }
  ASSERT_TRUE(status.ok()) << status.ToString();
  Model found;
  size_t count;
  status = ReadState(db.get(), &found, &count);
  if (env->crashed()) {
    return;
  }
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_LE(count, life->tried);
  ASSERT_GE(count, life->acknowledged);
  ASSERT_TRUE(found == life->states[count]) << "not the state after " << count << " batches";
  // What was lost is lost for good.
  life->states.resize(count + 1);
  life->tried = life->acknowledged = life->synced = count;

  Subtable* other = db->FindSubtable("other");
  if (other == nullptr && !db->CreateSubtable("other", &other).ok()) {
    ASSERT_TRUE(env->crashed());
    return;
  }
  for (size_t i = 0; i < batches; ++i) {
    Model next = life->states.back();
    WriteBatch batch;
    for (uint64_t n = Uniform(random, 1, 10); n > 0; --n) {
      Subtable* const subtable = Uniform(random, 0, 1) != 0 ? other : nullptr;
      const std::string key = fmt::format("k{}", Uniform(random, 0, 300));
      const std::string name = (subtable != nullptr ? "other/" : "default/") + key;
      if (Uniform(random, 0, 3) == 0) {
        batch.Delete(subtable, key);
        next.erase(name);
      } else {
        const std::string value(SkewedSize(random, 2000), static_cast<char>('a' + i % 26));
        batch.Put(subtable, key, value);
        next[name] = value;
      }
    }
    batch.Put(kCounter, std::to_string(life->states.size()));
    life->states.push_back(std::move(next));
    life->tried = life->states.size() - 1;
    const bool sync = Uniform(random, 0, 5) == 0;
    if (!db->Write({.sync = sync}, batch).ok()) {
      ASSERT_TRUE(env->crashed());
      return;
    }
    life->acknowledged = life->tried;
    if (sync) {
      life->synced = life->tried;
    }
    if (Uniform(random, 0, 60) == 0) {
      (void)db->CompactRange(nullptr, "", "");
    }
  }
}

TEST(DbCrash, KeepsWhatItPromised) {
  TestRandom seeds(TestSeed());
  for (int round = 0; round < 25 && !testing::Test::HasFailure(); ++round) {
    TestRandom random(seeds());
    FileImage files;
    Life life;
    life.states.emplace_back();
    for (int i = 0; i < 12 && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(testing::Message() << "round " << round << ", life " << i);
      FaultEnv env(files);
      env.CrashAt(SkewedSize(&random, 3000), random());
      Live(&env, &random, Uniform(&random, 0, 300), &life);
      const CrashKind kind = Uniform(&random, 0, 1) != 0 ? CrashKind::kPower : CrashKind::kProcess;
      files = env.Survivors(kind, random());
      // What the next life must find.
      if (kind == CrashKind::kPower) {
        life.acknowledged = life.synced;
      } else {
        life.synced = life.acknowledged;  // it takes all files as durable (fault_env.h)
      }
    }
  }
}

}  // namespace
}  // namespace sluice
