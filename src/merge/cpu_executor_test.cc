// The CPU executor beyond what CheckExecutor (sluice/conformance.h) asks of every executor.

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
  EXPECT_EQ(result.status, MergeStatus::kSink);
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
  EXPECT_EQ(result.status, MergeStatus::kBlockChecksum);
  EXPECT_EQ(result.fault.run, 0u);
}

// Each snapshot keeps the version that it sees of a key with versions 1 to 9; 9 is newer than all.
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
    return result.status == MergeStatus::kBadDescriptor &&
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
