// Filters that the CPU executor makes of blocks, against those that the real LevelDB makes.

#include <gtest/gtest.h>
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <memory>
#include <string>
#include <vector>

#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/reference_merge.h"
#include "merge/task_generator.h"
#include "util/testing.h"

namespace sluice::interop {
namespace {

// The library's filter of a data block's user keys.
std::string RealFilter(const leveldb::FilterPolicy& policy, std::string_view block_and_trailer) {
  const std::vector<PlainRecord> records = DecodePlainBlock(block_and_trailer);
  std::vector<leveldb::Slice> keys;
  for (const PlainRecord& record : records) {
    keys.emplace_back(record.user_key);
  }
  std::string filter;
  policy.CreateFilter(keys.data(), static_cast<int>(keys.size()), &filter);
  return filter;
}

TEST(FilterInterop, ExecutorsMakeWhatLevelDbMakes) {
  TestRandom random(TestSeed());
  size_t filters = 0;
  for (int round = 0; round < 100; ++round) {
    GeneratorOptions options;
    options.seed = random();
    options.records = Uniform(&random, 1, 2000);
    options.user_key_bytes = {0, static_cast<uint32_t>(Uniform(&random, 0, 80))};
    options.key_shape = Uniform(&random, 0, 1) != 0 ? KeyShape::kRandom : KeyShape::kTree;
    options.duplicate_percent = static_cast<uint32_t>(Uniform(&random, 0, 60));
    GeneratedTask input = GenerateTask(options);
    MergeTask& task = input.task;
    task.snapshots = {1, options.records / 2 + 2, kMaxSequence};  // some keys have several versions
    task.block_bytes = static_cast<uint32_t>(Uniform(&random, 1, 8000));
    task.table_bytes = Uniform(&random, 1, 100'000);
    task.bloom_bits_per_key = static_cast<uint32_t>(
        Uniform(&random, 0, 1) != 0 ? 10 : Uniform(&random, 1, kMaxMergeBloomBits));
    const std::unique_ptr<const leveldb::FilterPolicy> policy(
        leveldb::NewBloomFilterPolicy(static_cast<int>(task.bloom_bits_per_key)));
    std::vector<OwnedOutput> outputs;
    ASSERT_TRUE(CpuExecutor().Run(task, CollectInto(&outputs)).ok());
    for (const OwnedOutput& output : outputs) {
      size_t block = 0;
      const auto compare = [&](const OutputBlock& visited) {
        EXPECT_EQ(visited.filter, RealFilter(*policy, visited.stored)) << "block " << block;
        ++block;
        return Status();
      };
      ASSERT_TRUE(ForEachBlock(output.AsOutput(), compare).ok());
      ASSERT_EQ(block, output.filters.size());
      filters += block;
    }
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  EXPECT_GT(filters, 1000u);
}

}  // namespace
}  // namespace sluice::interop
