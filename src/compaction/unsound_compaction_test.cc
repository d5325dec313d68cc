// Compactions that must not take effect: what they make is not all that is in their inputs, or the
// inputs are not what the metadata says.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "compaction/testing.h"
#include "merge/cpu_executor.h"
#include "table/stored_block.h"
#include "tree/value_extent.h"

namespace sluice {
namespace {

using UnsoundCompactionTest = CompactionFixture;

// The inputs' metadata says how many records must come out. An input that has another number is to
// be set aside.
TEST_F(UnsoundCompactionTest, AnInputWithTooManyOrTooFewRecordsIsNamed) {
  for (const int surplus : {-1, 1}) {
    auto extent = std::make_shared<Extent>(*Numbers({{1, 3}, {5, 7}}, 9));
    extent->entries += surplus;
    CompactionPick pick;
    pick.inputs = {{{1, 0}, {extent}}, {{2, 0}, {Numbers({{2, 4}}, 1)}}};
    pick.output = {2, 0};
    CompactionResult result;
    const Status status = Run(pick, {}, {.extent = {}, .snapshots = {kMaxSequence}}, &result);
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_EQ(result.damaged, extent);
    EXPECT_FALSE(result.unsound);
  }
}

// Leaves out the oldest run; what it says of the others is right.
class ForgetfulExecutor final : public Executor {
 public:
  std::string_view name() const override { return "forgetful"; }
  size_t max_runs() const override { return SIZE_MAX; }
  size_t max_snapshots() const override { return SIZE_MAX; }
  bool checks_outputs() const override { return true; }  // as it says
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    MergeTask less = task;
    less.runs.pop_back();
    return cpu_.Run(less, sink);
  }

 private:
  CpuExecutor cpu_;
};

TEST_F(UnsoundCompactionTest, RecordsThatDoNotBalanceAreNotInstalled) {
  CompactionPick pick;
  pick.inputs = {{{1, 0}, {Numbers({{1, 3}, {5, 7}}, 9)}}, {{2, 0}, {Numbers({{2, 4}}, 1)}}};
  pick.output = {2, 0};
  OffloadDriver driver({std::make_shared<ForgetfulExecutor>()}, {});
  CompactionResult result;
  const Status status =
      Run(pick, {}, {.extent = {}, .snapshots = {kMaxSequence}}, &result, &driver);
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_TRUE(result.unsound);
  EXPECT_EQ(result.damaged, nullptr);
}

// What a planner never makes of sound inputs, it makes of a run whose extents are out of order: the
// job asks the checker, and nobody else would notice.
TEST_F(UnsoundCompactionTest, UnsoundPlansAreNotInstalled) {
  CompactionPick pick;
  pick.inputs = {{{1, 0}, {Numbers({{5, 7}}, 9), Numbers({{1, 3}}, 9)}},
                 {{2, 0}, {Numbers({{2, 4}}, 1)}}};
  pick.output = {2, 0};
  CompactionResult result;
  const Status status = Run(pick, {}, {.extent = {}, .snapshots = {kMaxSequence}}, &result);
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_TRUE(result.unsound);
  EXPECT_EQ(result.damaged, nullptr);
}

// Puts one reference into the place of another.
class ConfusedExecutor final : public Executor {
 public:
  ConfusedExecutor(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}
  std::string_view name() const override { return "confused"; }
  size_t max_runs() const override { return SIZE_MAX; }
  size_t max_snapshots() const override { return SIZE_MAX; }
  bool checks_outputs() const override { return true; }  // as it says
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    return cpu_.Run(task, [&](const MergeOutput& output) {
      std::string data(output.data);
      const size_t at = data.find(from_);
      EXPECT_NE(at, std::string::npos);
      data.replace(at, from_.size(), to_);
      MergeOutput confused = output;
      confused.data = data;
      return sink(confused);
    });
  }

 private:
  CpuExecutor cpu_;
  const std::string from_;
  const std::string to_;
};

// As if a bit had strayed in the host's memory after the executor's output was checked: the block
// keeps the CRC that it had, and whoever reads it finds out.
TEST_F(UnsoundCompactionTest, BlocksAreNotSealedAnew) {
  for (const bool confused : {false, true}) {
    CompactionPick pick;
    pick.inputs = {{{1, 0}, {Make({{{InternalKey("001", 9), "a value"}}})}},
                   {{2, 0}, {Numbers({{1}}, 1)}}};
    pick.output = {2, 0};
    OffloadDriver driver(
        {std::make_shared<ConfusedExecutor>("a value", confused ? "a volue" : "a value")}, {});
    CompactionResult result;
    const Status status =
        Run(pick, {}, {.extent = {}, .snapshots = {kMaxSequence}}, &result, &driver);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(result.added.size(), 1u);
    const Extent& extent = result.added.front();
    TableHeadRef head;
    ASSERT_TRUE(reader_.OpenHead(extent, &head).ok());
    std::string table(extent.bytes, '\0');
    ASSERT_TRUE(
        extent.place->file()->Read(extent.place->offset(), table.size(), table.data()).ok());
    std::string buffer;
    std::string_view contents;
    EXPECT_EQ(ReadStoredBlock(table, head->block(0), &buffer, &contents).IsCorruption(), confused);
  }
}

// As many records as there should be, but two of them refer to one large value: what the metadata
// counts of its value extent would be wrong for ever.
TEST_F(UnsoundCompactionTest, ReferencesThatDoNotBalanceAreNotInstalled) {
  Extent pages{};
  pages.number = 77;
  pages.bytes = 8192;
  pages.entries = 2;
  const auto values = std::make_shared<const ValueExtent>(pages);
  const std::string small = ValueReference{77, 32, 100, 1}.Encode();
  const std::string large = ValueReference{77, 132, 5000, 2}.Encode();
  const TestBlocks references = {{{InternalKey("001", 9, kTypeValueReference), small},
                                  {InternalKey("003", 9, kTypeValueReference), large}}};
  const ExtentPtr extent =
      Make(references, [&](uint64_t number) { return number == 77 ? values : ValueExtentPtr(); });
  CompactionPick pick;
  pick.inputs = {{{1, 0}, {extent}}, {{2, 0}, {Numbers({{2, 4}}, 1)}}};
  pick.output = {2, 0};
  for (const bool confused : {false, true}) {
    OffloadDriver driver({std::make_shared<ConfusedExecutor>(small, confused ? large : small)}, {});
    CompactionResult result;
    const Status status =
        Run(pick, {}, {.extent = {}, .snapshots = {kMaxSequence}}, &result, &driver);
    EXPECT_EQ(status.IsCorruption(), confused) << status.ToString();
    EXPECT_EQ(status.ok(), !confused) << status.ToString();
    EXPECT_EQ(result.unsound, confused);
    EXPECT_EQ(result.damaged, nullptr);
    if (!confused) {
      ASSERT_EQ(result.added.size(), 1u);
      ASSERT_EQ(ValueShares::Of(result.added[0]).size(), 1u);
      EXPECT_EQ(ValueShares::Of(result.added[0])[0].bytes, 5100u);
    }
  }
}

}  // namespace
}  // namespace sluice
