// The CPU executor on tables that are read and written by others: here LevelDB's, in disguise, so that
// all must be as it is with them.

#include "merge/foreign_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/task_generator.h"
#include "table/block_builder.h"
#include "table/index_walk.h"
#include "table/stored_block.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Gives blocks away in memory of exactly their size, or where they are.
class Disguised : public ForeignTable {
 public:
  Disguised(const MergeTable& table, bool in_place) : image_(table.image), in_place_(in_place) {
    EXPECT_TRUE(OpenIndex::In(table.image, table.index, &index_).ok());
    index_contents_ = std::string(index_.contents);
  }

  std::string_view image() const override { return image_; }
  std::string_view index() const override { return index_contents_; }
  Status ReadBlock(const BlockHandle& handle, std::string_view* contents) override {
    if (--fails_in == 0) {
      return failure;
    }
    SLUICE_RETURN_IF_ERROR(ReadStoredBlock(image_, handle, &buffer_, contents));
    if (!in_place_ || contents->data() == buffer_.data()) {
      block_ = std::make_unique_for_overwrite<char[]>(contents->size());
      std::copy(contents->begin(), contents->end(), block_.get());
      *contents = {block_.get(), contents->size()};
    }
    return {};
  }

  int fails_in = 0;  // calls; 0: never
  Status failure;

 private:
  const std::string_view image_;
  const bool in_place_;
  OpenIndex index_;
  std::string index_contents_;
  std::string buffer_;
  std::unique_ptr<char[]> block_;
};

// Makes tables of the blocks, as executors do.
class Rebuilt : public ForeignSink {
 public:
  Status AddBlock(std::string_view contents, std::string_view last_key) override {
    EXPECT_TRUE(failure.ok() || fails_in > 0) << "a call after an error";
    if (fails_in > 0 && --fails_in == 0) {
      return failure;
    }
    std::string encoded;
    BlockHandle{data_.size(), contents.size()}.AppendTo(&encoded);
    index_.Add(last_key, encoded);
    data_.append(contents);
    AppendBlockTrailer(contents, Compression::kNone, &data_);
    return {};
  }
  Status EndTable(const MergeOutput& output) override {
    EXPECT_TRUE(failure.ok() || fails_in > 0) << "a call after an error";
    EXPECT_TRUE(output.data.empty() && output.index.empty());
    std::string index(index_.Finish());
    AppendBlockTrailer(std::string(index), Compression::kNone, &index);
    MergeOutput whole = output;
    whole.data = data_;
    whole.index = index;
    outputs.emplace_back(whole);
    data_.clear();
    index_.Reset();
    return {};
  }

  std::vector<OwnedOutput> outputs;
  int fails_in = 0;  // blocks; 0: never
  Status failure;

 private:
  std::string data_;
  BlockBuilder index_{1};
};

struct Inputs {
  explicit Inputs(const MergeTask& task, bool in_place = true) {
    for (const MergeRun& run : task.runs) {
      ForeignRun& foreign = runs.emplace_back();
      for (const MergeTable& table : run) {
        foreign.push_back(tables.emplace_back(std::make_unique<Disguised>(table, in_place)).get());
      }
    }
  }

  std::vector<std::unique_ptr<Disguised>> tables;
  std::vector<ForeignRun> runs;
};

MergeTask WithoutRuns(MergeTask task) {
  task.runs.clear();
  return task;
}

TEST(ForeignTable, MergesAsIfItWereLevelDbs) {
  TestRandom random(TestSeed());
  for (int round = 0; round < TestRounds(60); ++round) {
    GeneratorOptions options;
    options.seed = random();
    options.runs = static_cast<uint32_t>(Uniform(&random, 1, 5));
    options.records = Uniform(&random, 0, 3000);
    options.user_key_bytes = {0, static_cast<uint32_t>(Uniform(&random, 0, 60))};
    options.key_shape = Uniform(&random, 0, 1) == 0 ? KeyShape::kTree : KeyShape::kRandom;
    options.value_bytes = {0, static_cast<uint32_t>(Uniform(&random, 0, 300))};
    options.duplicate_percent = 30;
    options.delete_percent = 20;
    options.table_bytes = Uniform(&random, 1, 100000);
    options.table.block_bytes = static_cast<uint32_t>(Uniform(&random, 1, 8000));
    options.snapshots = DrawSnapshots(random, 5, options.records + 1);
    options.bottommost = Uniform(&random, 0, 1) == 0;
    GeneratedTask generated = GenerateTask(options);
    MergeTask& task = generated.task;
    task.has_begin = Uniform(&random, 0, 3) == 0;
    task.begin = std::string(1, static_cast<char>(Uniform(&random, 0, 255)));
    std::vector<OwnedOutput> expected;
    const MergeResult want = CpuExecutor().Run(task, CollectInto(&expected));
    ASSERT_TRUE(want.ok());
    for (const bool in_place : {false, true}) {
      const Inputs inputs(task, in_place);
      Rebuilt got;
      const MergeResult result = CpuExecutor().RunForeign(WithoutRuns(task), inputs.runs, &got);
      ASSERT_TRUE(result.ok()) << result.error.ToString();
      const Status same = CompareOutputs(expected, got.outputs);
      ASSERT_TRUE(same.ok()) << same.ToString();
      EXPECT_EQ(result.stats.input_records, want.stats.input_records);
      EXPECT_EQ(result.stats.input_bytes, want.stats.input_bytes);
      EXPECT_EQ(result.stats.output_records, want.stats.output_records);
      EXPECT_EQ(result.stats.output_checksum, want.stats.output_checksum);
      EXPECT_EQ(result.stats.output_tables, want.stats.output_tables);
    }
  }
}

GeneratedTask SomeTask() {
  GeneratorOptions options;
  options.records = 2000;
  options.table_bytes = 20000;
  return GenerateTask(options);
}

TEST(ForeignTable, SaysWhichBlockIsAtFault) {
  const GeneratedTask generated = SomeTask();
  for (const auto& [failure, status] :
       {std::pair{Status::Corruption("bad bytes"), MergeStatus::kBlockCorrupt},
        std::pair{Status::NotSupported("compressed by magic"), MergeStatus::kBlockType}}) {
    Inputs inputs(generated.task);
    auto& table = static_cast<Disguised&>(*inputs.runs[1][1]);
    table.fails_in = 2;
    table.failure = failure;
    Rebuilt got;
    const MergeResult result =
        CpuExecutor().RunForeign(WithoutRuns(generated.task), inputs.runs, &got);
    EXPECT_EQ(result.status, status);
    EXPECT_EQ(result.fault.run, 1u);
    EXPECT_EQ(result.fault.table, 1u);
    EXPECT_GT(result.fault.offset, 0u);
    EXPECT_NE(result.error.message().find(failure.message()), std::string::npos);
  }
}

// References are Sluice's own: RocksDB's merge operands have the same type.
TEST(ForeignTable, HasValuesAndDeletionsOnly) {
  GeneratorOptions options;
  options.records = 1000;
  options.reference_percent = 1;
  const GeneratedTask generated = GenerateTask(options);
  const Inputs inputs(generated.task);
  Rebuilt got;
  const MergeResult result =
      CpuExecutor().RunForeign(WithoutRuns(generated.task), inputs.runs, &got);
  EXPECT_EQ(result.status, MergeStatus::kRecordType);
}

TEST(ForeignTable, AnErrorOfTheSinkEndsTheMerge) {
  const GeneratedTask generated = SomeTask();
  for (const int block : {1, 2, 9}) {
    const Inputs inputs(generated.task);
    Rebuilt sink;
    sink.fails_in = block;
    sink.failure = Status::NoSpace("full");
    const MergeResult result =
        CpuExecutor().RunForeign(WithoutRuns(generated.task), inputs.runs, &sink);
    EXPECT_EQ(result.status, MergeStatus::kSink);
    EXPECT_NE(result.error.message().find("full"), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice
