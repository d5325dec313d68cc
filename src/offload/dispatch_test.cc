#include "offload/dispatch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/task_generator.h"
#include "util/testing.h"

namespace sluice {
namespace {

GeneratorOptions Records(uint64_t records, uint32_t key_bytes, uint32_t value_bytes) {
  GeneratorOptions options;
  options.records = records;
  options.user_key_bytes = {key_bytes, key_bytes};
  options.value_bytes = {value_bytes, value_bytes};
  return options;
}

TEST(ShapeOfTest, IsWhatTheTaskHas) {
  TestRandom random(TestSeed());
  for (int i = 0; i < 40; ++i) {
    GeneratorOptions options =
        Records(Uniform(&random, 300, 3000), static_cast<uint32_t>(Uniform(&random, 8, 100)),
                static_cast<uint32_t>(Uniform(&random, 0, 500)));
    options.seed = random();
    options.runs = static_cast<uint32_t>(Uniform(&random, 1, 4));
    options.table.restart_interval = static_cast<uint32_t>(Uniform(&random, 1, 20));
    options.table_bytes = 30'000;
    const GeneratedTask input = GenerateTask(options);
    uint64_t bytes = 0;
    uint64_t longest = 0;
    for (const MergeRun& run : input.task.runs) {
      uint64_t of_run = 0;
      for (const MergeTable& table : run) {
        of_run += table.image.size();
      }
      bytes += of_run;
      longest = std::max(longest, of_run);
    }
    const TaskShape shape = ShapeOf(input.task);
    EXPECT_EQ(shape.bytes, bytes);
    EXPECT_EQ(shape.longest_run, longest);
    EXPECT_EQ(shape.user_key_bytes, options.user_key_bytes.min);
    EXPECT_EQ(shape.value_bytes, options.value_bytes.min);
    EXPECT_LE(shape.shared_bytes, shape.user_key_bytes);
    EXPECT_EQ(shape.shared_bytes == 0, options.table.restart_interval == 1);
    const auto records = static_cast<double>(options.records);
    EXPECT_NEAR(static_cast<double>(shape.records), records, 0.3 * records);
  }
}

// Of compressed tables, shapes are those of the records in them.
TEST(ShapeOfTest, CompressedTables) {
  GeneratorOptions options = Records(5000, 16, 100);
  const TaskShape raw = ShapeOf(GenerateTask(options).task);
  EXPECT_EQ(raw.packed_bytes, 0u);
  EXPECT_EQ(raw.raw_bytes(), raw.bytes);
  options.table.compression = Compression::kSnappy;
  GeneratedTask input = GenerateTask(options);
  const TaskShape shape = ShapeOf(input.task);
  ASSERT_LT(shape.bytes, raw.bytes);  // it compresses
  EXPECT_EQ(shape.packed_bytes, shape.bytes);
  EXPECT_NEAR(static_cast<double>(shape.raw_bytes()), static_cast<double>(raw.bytes),
              0.1 * static_cast<double>(raw.bytes));
  EXPECT_NEAR(static_cast<double>(shape.records), 5000, 500);
  EXPECT_EQ(shape.user_key_bytes, 16u);
  EXPECT_EQ(shape.value_bytes, 100u);
  EXPECT_FALSE(shape.compress);
  input.task.compress = true;
  EXPECT_TRUE(ShapeOf(input.task).compress);
  const TaskShape half = PartOf(shape, 0.5);
  EXPECT_EQ(half.records, shape.records / 2);
  EXPECT_EQ(half.unpacked_bytes, shape.unpacked_bytes / 2);
  EXPECT_EQ(half.value_bytes, shape.value_bytes);
}

TEST(LearnedCostTest, SnappyCosts) {
  const TaskShape raw{.bytes = 100'000, .records = 1000};
  const TaskShape packed{
      .bytes = 50'000, .records = 1000, .packed_bytes = 50'000, .unpacked_bytes = 100'000};
  const LearnedCost cost(kMergeCost);
  EXPECT_EQ(CodecBytesOfMerge(raw).unpacked, 0u);
  EXPECT_NEAR(cost.Of(packed, CodecBytesOfMerge(packed)), cost.Of(raw) + kUnpackCost * 100'000,
              1e-12);
  TaskShape to_pack = packed;
  to_pack.compress = true;
  EXPECT_NEAR(cost.Of(to_pack, CodecBytesOfMerge(to_pack)),
              cost.Of(raw) + (kUnpackCost + kPackCost) * 100'000, 1e-12);
}

TEST(ShapeOfTest, NothingInATableIsTrusted) {
  TestRandom random(TestSeed());
  for (int i = 0; i < 2000; ++i) {
    GeneratorOptions options = Records(Uniform(&random, 0, 60), 12, 30);
    options.seed = random();
    options.table.block_bytes = 256;
    options.table.compression = i % 2 == 0 ? Compression::kNone : Compression::kSnappy;
    GeneratedTask input = GenerateTask(options);
    for (std::vector<TableImage>& run : input.images) {
      for (TableImage& image : run) {
        for (uint64_t flips = Uniform(&random, 0, 30); flips > 0 && !image.file.empty(); --flips) {
          image.file[Uniform(&random, 0, image.file.size() - 1)] = static_cast<char>(random());
        }
        if (Uniform(&random, 0, 5) == 0) {
          image.index = {random() >> Uniform(&random, 0, 63), random() >> Uniform(&random, 0, 63)};
        }
      }
    }
    input.Refer();
    const TaskShape shape = ShapeOf(input.task);
    EXPECT_LE(shape.records, 22 * shape.bytes);  // as Snappy's elements make no more
  }
}

TEST(LearnedCostTest, LearnsTheMachine) {
  TestRandom random(TestSeed());
  for (const double factor : {0.1, 1.0, 7.0}) {
    const LearnedCost truth({factor * 2e-6, factor * 3e-9, factor * 4e-10});
    LearnedCost cost({2e-6, 3e-9, 4e-10});
    const auto draw = [&] {
      return TaskShape{.bytes = Uniform(&random, 1, 1 << 20),
                       .records = Uniform(&random, 1, 10'000)};
    };
    for (int i = 0; i < 100; ++i) {
      const TaskShape task = draw();
      cost.Learn(task, {}, truth.Of(task));
    }
    const TaskShape other = draw();
    EXPECT_NEAR(cost.Of(other) / truth.Of(other), 1, 0.01);
    cost.Learn(other, {}, 1e9);  // as when a machine was asleep
    EXPECT_LT(cost.Of(other) / truth.Of(other), 30);
    cost.Learn(other, {}, 0);
    EXPECT_GT(cost.Of(other), 0);
  }
}

TEST(LearnedCostTest, ForgetsWhatItHasLearned) {
  const LearnedCost::Terms terms{2e-6, 3e-9, 4e-10};
  const TaskShape task{.bytes = 100'000, .records = 1000};
  const double plain = LearnedCost(terms).Of(task);
  LearnedCost cost(terms);
  for (int i = 0; i < 10; ++i) {
    cost.Learn(task, {}, 10 * plain);
  }
  EXPECT_GT(cost.Of(task), 5 * plain);
  EXPECT_DOUBLE_EQ(cost.Of(task), cost.At(cost.scale(), task, {}));
  cost.Forget(2);
  EXPECT_DOUBLE_EQ(cost.Of(task), 2 * plain);
  // The next task is all that is known, those after it count as ever.
  cost.Learn(task, {}, 3 * plain);
  EXPECT_DOUBLE_EQ(cost.Of(task), 3 * plain);
  cost.Learn(task, {}, 11 * plain);
  EXPECT_DOUBLE_EQ(cost.Of(task), 4 * plain);
}

// Against dispatch.h, read word by word.
TEST(ChooseTest, DoesWhatItSays) {
  TestRandom random(TestSeed());
  int chosen[4] = {};
  for (int i = 0; i < 20'000; ++i) {
    const auto seconds = [&] { return std::exp2(-static_cast<double>(Uniform(&random, 0, 20))); };
    DispatchCosts costs{.merge = seconds(),
                        .drive = seconds(),
                        .ahead = Uniform(&random, 0, 1) != 0 ? seconds() : 0,
                        .unit = seconds(),
                        .idle_cores = 0.5 * static_cast<double>(Uniform(&random, 0, 6))};
    const Place place = Choose(costs);
    ++chosen[static_cast<int>(place)];
    const bool saves = costs.drive < costs.merge;
    const bool idle = costs.idle_cores >= 1;
    const auto much_sooner_than = [&](double time) { return costs.merge * kMarkedly < time; };
    EXPECT_EQ(place == Place::kSmall, !saves);
    EXPECT_EQ(place == Place::kSlow, saves && idle && much_sooner_than(costs.unit));
    EXPECT_EQ(place == Place::kQueue, saves && idle && !much_sooner_than(costs.unit) &&
                                          much_sooner_than(costs.unit + costs.ahead));
    // With a longer queue, no task goes back to the units.
    costs.ahead *= 2;
    EXPECT_TRUE(place == Place::kUnit || Choose(costs) != Place::kUnit);
    // And with no core idle, all that pays goes there.
    costs.idle_cores = 0;
    EXPECT_EQ(Choose(costs), saves ? Place::kUnit : Place::kSmall);
  }
  for (const int times : chosen) {
    EXPECT_GT(times, 0);
  }
}

}  // namespace
}  // namespace sluice
