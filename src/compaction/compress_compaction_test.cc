// Merged blocks that executors have compressed: extents hold them as they are.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compaction/testing.h"
#include "merge/cpu_executor.h"
#include "merge/outputs.h"

namespace sluice {
namespace {

// The CPU, as units compress, but for what `change` does to the data of each table.
class Compressor final : public Executor {
 public:
  using Change = std::function<void(std::string*)>;
  explicit Compressor(Change change) : change_(std::move(change)) {}
  std::string_view name() const override { return "compressor"; }
  size_t max_runs() const override { return SIZE_MAX; }
  size_t max_snapshots() const override { return SIZE_MAX; }
  bool checks_outputs() const override { return true; }  // as it says
  bool compresses() const override { return true; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    return cpu_.Run(task, [&](const MergeOutput& output) {
      SLUICE_RETURN_IF_ERROR(ForEachBlock(output, [this](const OutputBlock& block) {
        (block.compressed() ? compressed : raw).emplace_back(block.stored);
        return Status();
      }));
      std::string data(output.data);
      change_(&data);
      MergeOutput changed = output;
      changed.data = data;
      return sink(changed);
    });
  }

  // Blocks of all tables as they are stored.
  std::vector<std::string> compressed;
  std::vector<std::string> raw;

 private:
  const Change change_;
  CpuExecutor cpu_;
};

class CompressCompactionTest : public CompactionFixture {
 protected:
  // Merges keys with values of so many equal bytes on an executor that compresses.
  Status Merge(
      Compression compression, size_t value_bytes, CompactionResult* result,
      Compressor::Change change = [](std::string*) {}) {
    executor_ = std::make_shared<Compressor>(std::move(change));
    OffloadDriver driver({executor_}, {});
    const std::string value(value_bytes, 'v');
    const auto extent = [&](int first, SequenceNumber sequence) {
      TestBlocks blocks;
      for (int key = first; key < first + 20; key += 2) {
        blocks.push_back({{InternalKey(fmt::format("{:03}", key), sequence), value}});
      }
      return Make(blocks);
    };
    CompactionPick pick;
    pick.inputs = {{{1, 0}, {extent(0, 9)}}, {{2, 0}, {extent(1, 1)}}};
    pick.output = {2, 0};
    return Run(pick, {},
               {.extent = {.codec = {.type = compression}},
                .block_bytes = 60,
                .snapshots = {kMaxSequence}},
               result, &driver);
  }
  // Blocks of `stored` that the extents hold.
  static size_t Found(const std::vector<std::string>& stored, const CompactionResult& result) {
    std::string bytes;
    for (const Extent& extent : result.added) {
      std::string table(extent.bytes, '\0');
      EXPECT_TRUE(
          extent.place->file()->Read(extent.place->offset(), table.size(), table.data()).ok());
      bytes += table;
    }
    return static_cast<size_t>(std::count_if(
        stored.begin(), stored.end(),
        [&](const std::string& block) { return bytes.find(block) != std::string::npos; }));
  }

  std::shared_ptr<Compressor> executor_;
};

// The library says a short block's length in one byte, units in two: the host has compressed nothing.
TEST_F(CompressCompactionTest, BlocksAreTheExecutors) {
  CompactionResult result;
  const Status status = Merge(Compression::kSnappy, 80, &result);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(executor_->compressed.size(), 20u);
  EXPECT_EQ(Found(executor_->compressed, result), 20u);
}

// They are too long for units, and the host compresses them.
TEST_F(CompressCompactionTest, LongBlocksAreTheHosts) {
  CompactionResult result;
  const Status status = Merge(Compression::kSnappy, 9000, &result);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(executor_->raw.size(), 20u);
  EXPECT_EQ(Found(executor_->raw, result), 0u);
  uint64_t bytes = 0;
  for (const Extent& extent : result.added) {
    bytes += extent.bytes;
  }
  EXPECT_LT(bytes, 20u * 9000 / 4);
}

TEST_F(CompressCompactionTest, AreNotAskedForWithAnotherCodec) {
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    CompactionResult result;
    const Status status = Merge(compression, 80, &result);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(executor_->compressed.size(), 0u);
    EXPECT_EQ(result.added.size(), 1u);
  }
}

TEST_F(CompressCompactionTest, DamagedOnesAreNotInstalled) {
  CompactionResult result;
  const Status status = Merge(Compression::kSnappy, 80, &result,
                              [](std::string* data) { (*data)[data->size() / 2] ^= 4; });
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
}

}  // namespace
}  // namespace sluice
