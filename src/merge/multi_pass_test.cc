#include "merge/multi_pass.h"

#include <gtest/gtest.h>

#include <random>

#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/reference_merge.h"
#include "merge/task_generator.h"
#include "util/testing.h"

namespace sluice {
namespace {

// The CPU executor with fewer ways; counts what it is given.
class NarrowExecutor : public Executor {
 public:
  explicit NarrowExecutor(size_t ways) : ways_(ways) {}

  std::string_view name() const override { return "narrow"; }
  size_t max_runs() const override { return ways_; }
  size_t max_snapshots() const override { return SIZE_MAX; }
  bool makes_filters() const override { return true; }
  bool compresses() const override { return true; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    EXPECT_LE(task.runs.size(), ways_);
    runs.push_back(task.runs.size());
    with_filters += task.bloom_bits_per_key > 0 ? 1 : 0;
    compressed += task.compress ? 1 : 0;
    return CpuExecutor().Run(task, sink);
  }

  std::vector<size_t> runs;  // of each task
  size_t with_filters = 0;   // tasks
  size_t compressed = 0;     // likewise

 private:
  const size_t ways_;
};

void ExpectSameAsOnePass(const GeneratorOptions& options, size_t ways) {
  SCOPED_TRACE("seed " + std::to_string(options.seed) + ", runs " + std::to_string(options.runs) +
               ", ways " + std::to_string(ways));
  GeneratedTask generated = GenerateTask(options);
  if (options.seed % 3 == 0) {
    generated.task.has_begin = generated.task.has_end = true;
    generated.task.begin = "0000000000001000";
    generated.task.end = "0000000000004000";
  }
  generated.task.bloom_bits_per_key = options.seed % 4 == 0 ? 10 : 0;
  generated.task.compress = options.seed % 3 == 0;
  if (options.seed % 5 < 2) {
    std::mt19937_64 bases(options.seed);
    generated.UseXxh3(bases);
  }
  std::vector<OwnedOutput> want;
  const MergeResult one = CpuExecutor().Run(generated.task, CollectInto(&want));
  ASSERT_TRUE(one.ok());
  std::vector<OwnedOutput> got;
  NarrowExecutor executor(ways);
  const MultiPassResult many = MergeAll(executor, generated.task, CollectInto(&got));
  ASSERT_TRUE(many.merge.ok()) << many.merge.error.ToString();
  const Status same = CompareOutputs(want, got);
  EXPECT_TRUE(same.ok()) << same.ToString();
  EXPECT_EQ(many.passes, executor.runs.size());
  EXPECT_EQ(executor.with_filters, generated.task.bloom_bits_per_key > 0 ? 1u : 0u);
  EXPECT_EQ(executor.compressed, generated.task.compress ? 1u : 0u);
  const MergeStats& a = one.stats;
  const MergeStats& b = many.merge.stats;
  EXPECT_EQ(a.input_records, b.input_records);
  EXPECT_EQ(a.output_records, b.output_records);
  EXPECT_EQ(a.dropped_records, b.dropped_records);
  EXPECT_EQ(a.dropped_shadowed, b.dropped_shadowed);
  EXPECT_EQ(a.dropped_tombstones, b.dropped_tombstones);
  EXPECT_EQ(a.input_bytes, b.input_bytes);
  EXPECT_EQ(a.output_bytes, b.output_bytes);
  EXPECT_EQ(a.output_tables, b.output_tables);
  EXPECT_EQ(a.input_checksum, b.input_checksum);
  EXPECT_EQ(a.output_checksum, b.output_checksum);
  EXPECT_EQ(a.dropped_checksum, b.dropped_checksum);
  EXPECT_GE(many.bytes_read, b.input_bytes);
}

TEST(MultiPass, SameAsOnePass) {
  std::mt19937_64 random(TestSeed());
  for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
    GeneratorOptions options;
    options.seed = random();
    options.runs = 1 + random() % 20;
    options.records = random() % 1000;
    options.duplicate_percent = random() % 100;
    options.delete_percent = random() % 100;
    options.key_shape = random() % 2 == 0 ? KeyShape::kTree : KeyShape::kDecimal;
    if (random() % 2 == 0) {
      options.snapshots = DrawSnapshots(random, 1 + random() % 20, 1000);
    }
    // Above the last snapshot both of two equal keys live, and no run may hold both.
    options.clone_percent = options.snapshots.back() >= options.records ? random() % 20 : 0;
    options.bottommost = random() % 2 == 0;
    options.table_bytes = 1 + random() % 50000;
    ExpectSameAsOnePass(options, 2 + random() % 5);
  }
}

TEST(MultiPass, GroupsAreFullButTheFirst) {
  const auto passes = [](uint32_t runs, size_t ways) {
    GeneratorOptions options;
    options.runs = runs;
    options.records = 100 * runs;
    const GeneratedTask generated = GenerateTask(options);
    NarrowExecutor executor(ways);
    std::vector<OwnedOutput> outputs;
    EXPECT_TRUE(MergeAll(executor, generated.task, CollectInto(&outputs)).merge.ok());
    return executor.runs;
  };
  EXPECT_EQ(passes(4, 4), (std::vector<size_t>{4}));
  EXPECT_EQ(passes(5, 4), (std::vector<size_t>{2, 4}));
  EXPECT_EQ(passes(6, 4), (std::vector<size_t>{3, 4}));
  EXPECT_EQ(passes(7, 4), (std::vector<size_t>{4, 4}));
  EXPECT_EQ(passes(8, 4), (std::vector<size_t>{2, 4, 4}));
  EXPECT_EQ(passes(4, 2), (std::vector<size_t>{2, 2, 2}));
}

TEST(MultiPass, EmptyRunsCostNoPass) {
  GeneratorOptions options;
  options.runs = 2;
  GeneratedTask generated = GenerateTask(options);
  generated.task.runs.insert(generated.task.runs.begin() + 1, 5, MergeRun());
  NarrowExecutor executor(2);
  std::vector<OwnedOutput> outputs;
  EXPECT_EQ(MergeAll(executor, generated.task, CollectInto(&outputs)).passes, 1u);
  EXPECT_EQ(outputs.size(), 1u);
}

TEST(MultiPass, SmallRunsGoFirst) {
  GeneratorOptions options;
  options.runs = 4;
  options.records = 4000;
  GeneratedTask generated = GenerateTask(options);
  GeneratorOptions small = options;
  small.records = 40;
  GeneratedTask few = GenerateTask(small);
  generated.task.runs[1] = few.task.runs[1];
  generated.task.runs[2] = few.task.runs[2];
  NarrowExecutor executor(3);
  std::vector<OwnedOutput> outputs;
  const MultiPassResult result = MergeAll(executor, generated.task, CollectInto(&outputs));
  ASSERT_TRUE(result.merge.ok());
  EXPECT_LT(result.bytes_read, result.merge.stats.input_bytes + 10000);
}

TEST(MultiPass, FaultNamesTheTasksRun) {
  GeneratorOptions options;
  options.runs = 5;
  for (uint32_t bad = 0; bad < options.runs; ++bad) {
    GeneratedTask generated = GenerateTask(options);
    generated.images[bad][0].file[0] ^= 1;
    NarrowExecutor executor(2);
    std::vector<OwnedOutput> outputs;
    const MergeResult result = MergeAll(executor, generated.task, CollectInto(&outputs)).merge;
    EXPECT_EQ(result.status, MergeStatus::kBlockChecksum);
    EXPECT_EQ(result.fault.run, bad);
    EXPECT_EQ(result.fault.offset, 0u);
    const std::string want = "run " + std::to_string(bad);
    EXPECT_EQ(result.error.message().substr(0, want.size()), want);
  }
}

// Says that all went well of a pass of which it has left out the first record of a run.
class Forgetful : public NarrowExecutor {
 public:
  Forgetful(size_t ways, size_t pass, size_t run) : NarrowExecutor(ways), pass_(pass), run_(run) {}

  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    if (runs.size() != pass_) {
      return NarrowExecutor::Run(task, sink);
    }
    const MergeTable& table = task.runs[run_].front();
    const auto records = DecodePlainTable(table.image, table.index);
    TableImageBuilder builder;
    for (size_t i = 1; i < records.size(); ++i) {
      const std::string trailer(reinterpret_cast<const char*>(&records[i].trailer), kTrailerBytes);
      builder.Add(records[i].user_key + trailer, records[i].value);
    }
    const TableImage image = builder.Finish();
    MergeTask less = task;
    less.runs[run_].front() = {image.file, image.index};
    MergeResult result = NarrowExecutor::Run(less, sink);
    // It has read all blocks, as it says.
    const auto bytes_of = [](const MergeTask& of) {
      return CpuExecutor().Run(of, [](const auto&) { return Status(); }).stats.input_bytes;
    };
    result.stats.input_bytes = bytes_of(task);
    return result;
  }

 private:
  const size_t pass_;
  const size_t run_;
};

// Five runs at two ways take four passes, of two runs each.
TEST(MultiPass, ARecordThatIsLostOnTheWayIsMissed) {
  GeneratorOptions options;
  options.seed = TestSeed();
  options.runs = 5;
  const GeneratedTask generated = GenerateTask(options);
  for (size_t pass = 0; pass < 4; ++pass) {
    for (size_t run = 0; run < 2; ++run) {
      Forgetful executor(2, pass, run);
      std::vector<OwnedOutput> outputs;
      const MultiPassResult result = MergeAll(executor, generated.task, CollectInto(&outputs));
      EXPECT_EQ(result.merge.status, MergeStatus::kEndToEnd) << pass << ", " << run;
      EXPECT_EQ(result.passes, pass + 1);
      EXPECT_FALSE(result.merge.error.ok());
    }
  }
}

TEST(MultiPass, SinkErrorAndTooNarrowAnExecutor) {
  GeneratorOptions options;
  options.runs = 3;
  const GeneratedTask generated = GenerateTask(options);
  NarrowExecutor two(2);
  const MultiPassResult result =
      MergeAll(two, generated.task, [](const MergeOutput&) { return Status::IoError("full"); });
  EXPECT_EQ(result.merge.status, MergeStatus::kSink);
  EXPECT_EQ(result.merge.error.code(), Status::Code::kIoError);
  NarrowExecutor one(1);
  EXPECT_EQ(MergeAll(one, generated.task, nullptr).merge.status, MergeStatus::kBadDescriptor);
}

}  // namespace
}  // namespace sluice
