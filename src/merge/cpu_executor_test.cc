// The CPU executor against the plain reference, over random tasks.

#include "merge/cpu_executor.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>

#include "merge/outputs.h"
#include "merge/reference_merge.h"
#include "merge/task_generator.h"
#include "util/testing.h"

namespace sluice {
namespace {

class Choice {
 public:
  explicit Choice(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t n) { return random_() % n; }
  std::mt19937_64& random() { return random_; }
  bool Percent(unsigned percent) { return Below(100) < percent; }
  template <typename T>
  T Of(std::initializer_list<T> values) {
    return values.begin()[Below(values.size())];
  }

 private:
  std::mt19937_64 random_;
};

GeneratorOptions RandomOptions(uint64_t seed, Choice* choice) {
  GeneratorOptions options;
  options.seed = seed;
  options.runs = choice->Of({1, 2, 2, 2, 3, 4, 5, 7, 16});
  options.records = choice->Of({0, 1, 2, 10, 100, 100, 1000, 1000, 5000});
  options.user_key_bytes = choice->Of<LengthRange>(
      {{16, 16}, {16, 16}, {0, 3}, {1, 1}, {8, 8}, {24, 25}, {1, 40}, {17, 130}, {3, 700}});
  options.value_bytes = choice->Of<LengthRange>(
      {{0, 0}, {32, 32}, {32, 32}, {1, 66}, {100, 200}, {0, 1000}, {127, 128}, {0, 20000}});
  if (choice->Percent(3)) {
    options.value_bytes = {0, 65536};
    options.records = std::min<uint64_t>(options.records, 200);
  }
  options.key_shape = choice->Of({KeyShape::kDecimal, KeyShape::kRandom, KeyShape::kTree});
  options.interleave = choice->Percent(80) ? Interleave::kRandom : Interleave::kOneRunFirst;
  options.duplicate_percent = choice->Of({0, 0, 10, 50, 99, 100});
  options.clone_percent = choice->Of({0, 0, 0, 20});
  options.delete_percent = choice->Of({0, 0, 10, 50, 100});
  options.table.restart_interval = choice->Of({1, 2, 3, 16, 16, 128});
  options.table.block_bytes = choice->Of({512, 1024, 4096, 4096, 16384, 65536});
  options.table.compression = choice->Percent(30) ? Compression::kSnappy : Compression::kNone;
  options.table.share_trailers = choice->Percent(70);
  options.table.short_separators = choice->Percent(70);
  options.table_bytes = choice->Of({1, 3000, 30000, 1 << 20});
  if (choice->Percent(60)) {
    options.snapshots = DrawSnapshots(choice->random(), 1 + choice->Below(20), options.records + 1);
  }
  options.bottommost = choice->Percent(50);
  return options;
}

void RandomiseTask(const GeneratedTask& generated, Choice* choice, MergeTask* task) {
  task->restart_interval = choice->Of({1, 2, 5, 16, 16, 128});
  task->block_bytes = choice->Of({1, 512, 4096, 4096, 65536});
  task->table_bytes = choice->Of({1, 512, 10000, 100000, 2 << 20});
  if (!choice->Percent(40)) {
    return;
  }
  std::vector<std::string> bounds = {"", "a", std::string(1, '\xff')};
  for (const auto& run : generated.images) {
    for (const TableImage& image : run) {
      const auto records = DecodePlainTable(image.file, image.index);
      bounds.push_back(records[choice->Below(records.size())].user_key);
    }
  }
  task->has_begin = choice->Percent(60);
  task->begin = bounds[choice->Below(bounds.size())];
  task->has_end = choice->Percent(60);
  task->end = bounds[choice->Below(bounds.size())];
}

// Input bytes without one to spare on either side, so that a sanitizer sees any read beyond them.
std::vector<std::unique_ptr<char[]>> TightenInputs(MergeTask* task) {
  std::vector<std::unique_ptr<char[]>> owned;
  for (MergeRun& run : task->runs) {
    for (MergeTable& table : run) {
      // The index stands last of what the executor may read.
      const size_t n = table.index.offset + table.index.size + kBlockTrailerBytes;
      owned.push_back(std::make_unique_for_overwrite<char[]>(n));
      std::memcpy(owned.back().get(), table.image.data(), n);
      table.image = {owned.back().get(), n};
    }
  }
  return owned;
}

void ExpectSame(const ReferenceResult& want, const std::vector<OwnedOutput>& got) {
  ASSERT_EQ(want.tables.size(), got.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(want.tables[i].data, got[i].data()) << "table " << i;
    ASSERT_EQ(want.tables[i].index, got[i].index_block()) << "table " << i;
    ASSERT_EQ(want.tables[i].smallest, got[i].smallest) << "table " << i;
    ASSERT_EQ(want.tables[i].largest, got[i].largest) << "table " << i;
    ASSERT_EQ(want.tables[i].entries, got[i].entries) << "table " << i;
    ASSERT_EQ(want.tables[i].tombstones, got[i].tombstones) << "table " << i;
  }
}

void ExpectSame(const MergeStats& want, const MergeStats& got) {
  EXPECT_EQ(want.input_records, got.input_records);
  EXPECT_EQ(want.output_records, got.output_records);
  EXPECT_EQ(want.dropped_records, got.dropped_records);
  EXPECT_EQ(want.dropped_shadowed, got.dropped_shadowed);
  EXPECT_EQ(want.dropped_tombstones, got.dropped_tombstones);
  EXPECT_EQ(got.dropped_shadowed + got.dropped_tombstones, got.dropped_records);
  EXPECT_EQ(want.output_bytes, got.output_bytes);
  EXPECT_EQ(want.output_tables, got.output_tables);
  EXPECT_EQ(want.input_checksum, got.input_checksum);
  EXPECT_EQ(want.output_checksum, got.output_checksum);
  EXPECT_EQ(want.dropped_checksum, got.dropped_checksum);
}

void RunRandomTask(uint64_t seed) {
  SCOPED_TRACE("replay with SLUICE_TASKS=1 SLUICE_SEED=" + std::to_string(seed));
  Choice choice(seed);
  const GeneratedTask generated = GenerateTask(RandomOptions(seed, &choice));
  MergeTask task = generated.task;
  RandomiseTask(generated, &choice, &task);
  const auto owned = TightenInputs(&task);

  const ReferenceResult want = ReferenceMerge(task);
  std::vector<OwnedOutput> got;
  const MergeResult result = CpuExecutor().Run(task, CollectInto(&got));
  ASSERT_TRUE(result.ok()) << result.error.ToString();
  ExpectSame(want, got);
  ExpectSame(want.stats, result.stats);
  if (!task.has_begin && !task.has_end) {
    uint64_t input_bytes = 0;
    for (const auto& run : generated.images) {
      for (const TableImage& image : run) {
        for (const BlockHandle& block : image.blocks) {
          input_bytes += block.size + kBlockTrailerBytes;
        }
      }
    }
    EXPECT_EQ(input_bytes, result.stats.input_bytes);
  }
}

TEST(CpuExecutor, RandomTasksMatchTheReference) {
  const uint64_t first = TestSeed();
  const char* const tasks = std::getenv("SLUICE_TASKS");
  const uint64_t n = tasks != nullptr ? std::strtoull(tasks, nullptr, 0) : 3000;
  for (uint64_t i = 0; i < n && !testing::Test::HasFailure(); ++i) {
    RunRandomTask(first + i);
  }
}

TEST(CpuExecutor, NoRunsNoTables) {
  std::vector<OwnedOutput> outputs;
  MergeTask task;
  EXPECT_TRUE(CpuExecutor().Run(task, CollectInto(&outputs)).ok());
  task.runs.resize(3);
  const MergeResult result = CpuExecutor().Run(task, CollectInto(&outputs));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.stats.input_records, 0u);
  EXPECT_TRUE(outputs.empty());
}

TEST(CpuExecutor, ManyRuns) {
  GeneratorOptions options;
  options.runs = 300;
  options.records = 6000;
  options.duplicate_percent = 30;
  const GeneratedTask generated = GenerateTask(options);
  std::vector<OwnedOutput> got;
  ASSERT_TRUE(CpuExecutor().Run(generated.task, CollectInto(&got)).ok());
  ExpectSame(ReferenceMerge(generated.task), got);
}

TEST(CpuExecutor, OutputsMergeToThemselves) {
  GeneratorOptions options;
  options.records = 20000;
  options.key_shape = KeyShape::kTree;
  options.user_key_bytes = {5, 50};
  options.duplicate_percent = 20;
  options.table_bytes = 100000;
  const GeneratedTask generated = GenerateTask(options);
  std::vector<OwnedOutput> first;
  ASSERT_TRUE(CpuExecutor().Run(generated.task, CollectInto(&first)).ok());
  MergeTask again = generated.task;
  again.runs.assign(1, {});
  for (const OwnedOutput& output : first) {
    again.runs[0].push_back(output.AsInput());
  }
  std::vector<OwnedOutput> second;
  ASSERT_TRUE(CpuExecutor().Run(again, CollectInto(&second)).ok());
  EXPECT_GT(second.size(), 3u);
  const Status same = CompareOutputs(first, second);
  EXPECT_TRUE(same.ok()) << same.ToString();
}

TEST(CpuExecutor, RangeSkipsBlocksOutsideIt) {
  GeneratorOptions options;
  options.records = 20000;
  const GeneratedTask generated = GenerateTask(options);
  MergeTask task = generated.task;
  const auto records = DecodePlainTable(generated.images[0][0].file, generated.images[0][0].index);
  task.has_begin = task.has_end = true;
  task.begin = records[records.size() / 2].user_key;
  task.end = records[records.size() / 2 + 1].user_key;
  std::vector<OwnedOutput> got;
  const MergeResult result = CpuExecutor().Run(task, CollectInto(&got));
  ASSERT_TRUE(result.ok());
  EXPECT_GE(result.stats.input_records, 1u);
  EXPECT_LE(result.stats.input_bytes, 4u * 4300);
}

TEST(CpuExecutor, SinkErrorEndsTheMerge) {
  GeneratorOptions options;
  options.records = 20000;
  options.table_bytes = 50000;
  const GeneratedTask generated = GenerateTask(options);
  int calls = 0;
  const MergeResult result = CpuExecutor().Run(generated.task, [&](const MergeOutput&) {
    return ++calls == 2 ? Status::IoError("no space") : Status();
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(result.status, abi::MergeStatus::kSink);
  EXPECT_EQ(result.error.code(), Status::Code::kIoError);
  EXPECT_NE(result.error.message().find("no space"), std::string::npos);
}

// Later runs have nothing to compare yet when the first block of an early one is found faulty.
TEST(CpuExecutor, FaultInTheFirstBlockOfTheFirstRun) {
  GeneratorOptions options;
  options.runs = 3;
  GeneratedTask generated = GenerateTask(options);
  generated.images[0][0].file[1] ^= 1;
  generated.Refer();
  CpuExecutor executor;
  const MergeResult result =
      executor.Run(generated.task, [](const MergeOutput&) { return Status(); });
  EXPECT_EQ(result.status, abi::MergeStatus::kBlockChecksum);
  EXPECT_EQ(result.fault.run, 0u);
}

// Of a key with versions 1 to 9, each snapshot keeps what it sees, and 9 is newer than all.
TEST(CpuExecutor, OneVersionPerSnapshot) {
  TableImageBuilder builder;
  for (SequenceNumber sequence = 9; sequence > 0; --sequence) {
    builder.Add(
        MakeInternalKey("k", sequence, sequence == 2 ? RecordType::kDeletion : RecordType::kValue),
        "");
  }
  const TableImage image = builder.Finish();
  const auto kept = [&](std::vector<SequenceNumber> snapshots, bool bottommost) {
    MergeTask task;
    task.runs = {{{image.file, image.index}}};
    task.snapshots = std::move(snapshots);
    task.bottommost = bottommost;
    std::vector<OwnedOutput> outputs;
    const MergeResult result = CpuExecutor().Run(task, CollectInto(&outputs));
    EXPECT_TRUE(result.ok()) << result.error.ToString();
    EXPECT_EQ(result.stats.dropped_shadowed + result.stats.dropped_tombstones,
              result.stats.dropped_records);
    std::vector<SequenceNumber> sequences;
    for (const OwnedOutput& output : outputs) {
      for (const PlainRecord& record : DecodePlainTable(output.image, output.index)) {
        sequences.push_back(record.trailer >> 8);
      }
    }
    return sequences;
  };
  using Sequences = std::vector<SequenceNumber>;
  EXPECT_EQ(kept({kMaxSequence}, false), (Sequences{9}));
  EXPECT_EQ(kept({7}, false), (Sequences{9, 8, 7}));
  EXPECT_EQ(kept({3, 6, 8}, false), (Sequences{9, 8, 6, 3}));
  EXPECT_EQ(kept({3, 6, 20, 30}, false), (Sequences{9, 6, 3}));
  EXPECT_EQ(kept({0, 1, 2}, true), (Sequences{9, 8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(kept({2, 5, kMaxSequence}, true), (Sequences{9, 5}));
  EXPECT_EQ(kept({2, 5, kMaxSequence}, false), (Sequences{9, 5, 2}));
  EXPECT_EQ(kept({1, 2, 5}, true), (Sequences{9, 8, 7, 6, 5, 2, 1}));
}

TEST(CpuExecutor, RefusesWhatIsNoTask) {
  const auto refused = [](const MergeTask& task) {
    const MergeResult result = CpuExecutor().Run(task, nullptr);
    return result.status == abi::MergeStatus::kBadDescriptor &&
           result.error.code() == Status::Code::kInvalidArgument;
  };
  MergeTask task;
  EXPECT_FALSE(refused(task));
  task.restart_interval = 0;
  EXPECT_TRUE(refused(task));
  task.restart_interval = 16;
  for (const auto& snapshots :
       std::vector<std::vector<SequenceNumber>>{{}, {5, 5}, {7, 5}, {1, 2, 2}}) {
    task.snapshots = snapshots;
    EXPECT_TRUE(refused(task));
  }
}

}  // namespace
}  // namespace sluice
