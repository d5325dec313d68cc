// Executors that say that all went well are found out where it did not.

#include "merge/checked_run.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lying_executor.h"
#include "merge/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Some ten tables.
GeneratedTask SomeTables(uint64_t seed) {
  GeneratorOptions options;
  options.seed = seed;
  options.records = 2000;
  options.duplicate_percent = 30;
  options.delete_percent = 10;
  GeneratedTask input = GenerateTask(options);
  input.task.table_bytes = 20'000;
  return input;
}

TEST(CheckedRunTest, TellsWhatIsTrueFromWhatIsNot) {
  const GeneratedTask input = SomeTables(TestSeed());
  for (const Lie& lie : Lies()) {
    LyingExecutor liar(lie);
    std::vector<OwnedOutput> outputs;
    const MergeResult result = RunChecked(liar, input.task, CollectInto(&outputs));
    EXPECT_EQ(liar.lies, 1u);
    EXPECT_EQ(result.status, MergeStatus::kDevice) << lie.name;
    EXPECT_FALSE(result.error.ok()) << lie.name;
  }
}

// Whatever the task, as long as the executor does as it is told.
TEST(CheckedRunTest, TakesWhatIsRight) {
  TestRandom random(TestSeed());
  std::mt19937_64 rng(TestSeed());
  LyingExecutor honest({"nothing", [](auto*, auto*) {}});
  for (int i = 0; i < 300; ++i) {
    GeneratedTask input = RandomTask(rng, 8);
    if (Uniform(&random, 0, 1) == 0) {
      input.task.snapshots = DrawSnapshots(rng, 5, 400);
    }
    input.task.compress = Uniform(&random, 0, 1) == 0;
    if (Uniform(&random, 0, 2) == 0) {
      input.UseXxh3(rng);
    }
    input.task.bloom_bits_per_key = static_cast<uint32_t>(Uniform(&random, 0, 20));
    std::vector<OwnedOutput> outputs;
    std::vector<OwnedOutput> expected;
    const MergeResult result = RunChecked(honest, input.task, CollectInto(&outputs));
    ASSERT_TRUE(result.ok()) << result.error.ToString();
    ASSERT_TRUE(CpuExecutor().Run(input.task, CollectInto(&expected)).ok());
    EXPECT_TRUE(CompareOutputs(outputs, expected).ok());
  }
}

TEST(CheckedRunTest, FiltersMustBeTheirBlocks) {
  GeneratedTask input = SomeTables(TestSeed());
  input.task.bloom_bits_per_key = 10;
  const auto status_of = [&](const std::function<void(OwnedOutput*)>& change) {
    LyingExecutor liar({"", [&](auto* outputs, auto*) { change(&outputs->front()); }});
    std::vector<OwnedOutput> outputs;
    return RunChecked(liar, input.task, CollectInto(&outputs)).status;
  };
  EXPECT_EQ(status_of([](OwnedOutput*) {}), MergeStatus::kOk);
  EXPECT_EQ(status_of([](OwnedOutput* o) { o->filters.pop_back(); }), MergeStatus::kDevice);
  EXPECT_EQ(status_of([](OwnedOutput* o) { o->filters.front() = ""; }), MergeStatus::kDevice);
  EXPECT_EQ(status_of([](OwnedOutput* o) { std::swap(o->filters.front(), o->filters.back()); }),
            MergeStatus::kDevice);
  input.task.bloom_bits_per_key = 0;
  EXPECT_EQ(status_of([](OwnedOutput* o) { o->filters = {"a"}; }), MergeStatus::kDevice);
}

// Does what it is told, but for the task.
class OtherTask : public Executor {
 public:
  explicit OtherTask(std::function<void(MergeTask*)> change) : change_(std::move(change)) {}
  std::string_view name() const override { return "other task"; }
  size_t max_runs() const override { return SIZE_MAX; }
  size_t max_snapshots() const override { return SIZE_MAX; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    MergeTask other = task;
    change_(&other);
    return CpuExecutor().Run(other, sink);
  }

 private:
  const std::function<void(MergeTask*)> change_;
};

TEST(CheckedRunTest, ItMustBeTheTask) {
  GeneratedTask input = SomeTables(TestSeed());
  const auto status_of = [&](const std::function<void(MergeTask*)>& change) {
    OtherTask executor(change);
    std::vector<OwnedOutput> outputs;
    return RunChecked(executor, input.task, CollectInto(&outputs)).status;
  };
  const auto leaves_out_a_run = [](MergeTask* task) { task->runs.pop_back(); };
  EXPECT_EQ(status_of([](MergeTask*) {}), MergeStatus::kOk);
  EXPECT_EQ(status_of(leaves_out_a_run), MergeStatus::kDevice);
  EXPECT_EQ(status_of([](MergeTask* task) { task->runs.clear(); }), MergeStatus::kDevice);
  EXPECT_EQ(status_of([](MergeTask* task) {
              task->snapshots = {500, kMaxSequence};
            }),
            MergeStatus::kDevice);
  EXPECT_EQ(status_of([](MergeTask* task) { task->compress = true; }), MergeStatus::kDevice);
  input.task.has_begin = input.task.has_end = true;
  const MergeRun& run = input.task.runs.front();
  const auto records = DecodePlainTable(run.front().image, run.front().index);
  input.task.begin = records[records.size() / 3].user_key;
  input.task.end = records[records.size() / 2].user_key;
  EXPECT_EQ(status_of([](MergeTask*) {}), MergeStatus::kOk);
  EXPECT_EQ(status_of([](MergeTask* task) { task->has_begin = false; }), MergeStatus::kDevice);
  EXPECT_EQ(status_of([](MergeTask* task) { task->has_end = false; }), MergeStatus::kDevice);
}

// The sink's error is the sink's own, even if the executor thinks nothing of it.
TEST(CheckedRunTest, TheSinksErrorIsKept) {
  const GeneratedTask input = SomeTables(TestSeed());
  LyingExecutor heedless({"nothing", [](auto*, auto*) {}});
  int calls = 0;
  const MergeResult result = RunChecked(heedless, input.task, [&](const MergeOutput&) {
    return ++calls == 2 ? Status::IoError("disk full") : Status();
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(result.status, MergeStatus::kSink);
  EXPECT_EQ(result.error.message(), "disk full");
}

// What an executor refuses or fails by itself is passed on.
TEST(CheckedRunTest, FailuresAreTheExecutorsOwn) {
  GeneratedTask input = SomeTables(TestSeed());
  input.task.restart_interval = 0;
  LyingExecutor honest({"nothing", [](auto*, auto*) {}});
  const MergeResult result =
      RunChecked(honest, input.task, [](const MergeOutput&) { return Status(); });
  EXPECT_EQ(result.status, MergeStatus::kBadDescriptor);
  EXPECT_EQ(result.error.code(), Status::Code::kInvalidArgument);
}

}  // namespace
}  // namespace sluice
