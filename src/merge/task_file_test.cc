#include "merge/task_file.h"

#include <gtest/gtest.h>

#include <random>

#include "merge/task_generator.h"
#include "util/coding.h"
#include "util/crc32c.h"
#include "util/fault_env.h"
#include "util/files.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr char kPath[] = "/dumps/a.task";

class TaskFileTest : public testing::Test {
 protected:
  TaskFileTest() { EXPECT_TRUE(env_.CreateDir("/dumps").ok()); }

  std::string Written(const MergeTask& task) {
    EXPECT_TRUE(WriteTaskFile(&env_, kPath, task, "unit 3: hung").ok());
    std::string bytes;
    EXPECT_TRUE(env_.ReadFile(kPath, &bytes).ok());
    return bytes;
  }
  Status Read(const std::string& bytes, TaskFile* task) {
    EXPECT_TRUE(WriteFileSynced(&env_, kPath, bytes).ok());
    return ReadTaskFile(&env_, kPath, task);
  }

  std::mt19937_64 rng_{TestSeed()};
  FaultEnv env_;
};

TEST_F(TaskFileTest, ComesBackAsItWas) {
  GeneratorOptions options;
  options.runs = 3;
  options.table_bytes = 5000;
  GeneratedTask generated = GenerateTask(options);
  std::mt19937_64 bases(4);
  generated.UseXxh3(bases);
  MergeTask task = generated.task;
  task.runs.emplace_back();  // an empty run
  task.has_end = true;
  task.end = "some key";
  task.bottommost = true;
  task.snapshots = {5, 77, 1000};
  task.restart_interval = 5;
  task.bloom_bits_per_key = 12;
  task.compress = true;
  TaskFile file;
  const Status status = Read(Written(task), &file);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(file.note, "unit 3: hung");
  EXPECT_EQ(file.task.snapshots, task.snapshots);
  EXPECT_TRUE(file.task.bottommost);
  EXPECT_FALSE(file.task.has_begin);
  EXPECT_TRUE(file.task.has_end);
  EXPECT_EQ(file.task.end, "some key");
  EXPECT_EQ(file.task.block_bytes, task.block_bytes);
  EXPECT_EQ(file.task.table_bytes, task.table_bytes);
  EXPECT_EQ(file.task.restart_interval, 5u);
  EXPECT_EQ(file.task.bloom_bits_per_key, 12u);
  EXPECT_TRUE(file.task.compress);
  EXPECT_EQ(file.task.checksum, BlockChecksum::kXxh3);
  EXPECT_NE(task.checksum_base, 0u);
  EXPECT_EQ(file.task.checksum_base, task.checksum_base);
  ASSERT_EQ(file.task.runs.size(), 4u);
  for (size_t r = 0; r < 4; ++r) {
    ASSERT_EQ(file.task.runs[r].size(), task.runs[r].size());
    for (size_t t = 0; t < task.runs[r].size(); ++t) {
      EXPECT_EQ(file.task.runs[r][t].image, task.runs[r][t].image);
      EXPECT_EQ(file.task.runs[r][t].index, task.runs[r][t].index);
      EXPECT_EQ(file.task.runs[r][t].checksum_base, task.runs[r][t].checksum_base);
    }
  }
}

// Whatever is changed or cut off: an error, and no read outside the file.
TEST_F(TaskFileTest, Damage) {
  GeneratorOptions options;
  options.records = 20;
  const std::string good = Written(GenerateTask(options).task);
  TaskFile file;
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    bad[rng_() % bad.size()] ^= static_cast<char>(1 << rng_() % 8);
    EXPECT_FALSE(Read(bad, &file).ok());
    EXPECT_FALSE(Read(good.substr(0, rng_() % good.size()), &file).ok());
  }
  // Under a right CRC.
  for (int i = 0; i < 300; ++i) {
    std::string bad = good.substr(0, good.size() - 4);
    bad[12 + rng_() % 80] ^= static_cast<char>(1 << rng_() % 8);
    bad.resize(bad.size() - rng_() % 3);
    PutFixed32(&bad, MaskCrc(Crc32c(bad)));
    (void)Read(bad, &file);
  }
}

}  // namespace
}  // namespace sluice
