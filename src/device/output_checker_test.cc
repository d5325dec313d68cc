#include "device/output_checker.h"

#include <gtest/gtest.h>

#include <random>

#include "device/testing.h"
#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "util/testing.h"

namespace sluice {
namespace {

const std::vector<SequenceNumber> kNewest = {kMaxSequence};

class OutputCheckerTest : public testing::Test {
 protected:
  Status Check(OutputChecker* checker, std::string data, std::string_view index,
               MergeOutput* output) {
    const size_t bytes = data.size();
    data.resize(bytes + OutputChecker::kSlack);
    return checker->Check(std::string_view(data).substr(0, bytes), index, output);
  }

  std::mt19937_64 rng_{TestSeed()};
};

TEST_F(OutputCheckerTest, FindsWhatTheCpuWrote) {
  for (int i = 0; i < 50; ++i) {
    GeneratedTask input = RandomTask(rng_);
    if (i % 2 == 0) {
      input.task.snapshots = DrawSnapshots(rng_, 5, 400);
    }
    std::vector<OwnedOutput> outputs;
    const MergeResult result = CpuExecutor().Run(input.task, CollectInto(&outputs));
    OutputChecker checker(input.task.snapshots);
    for (const OwnedOutput& expected : outputs) {
      MergeOutput output;
      const Status status =
          Check(&checker, std::string(expected.data()), expected.index_block(), &output);
      ASSERT_TRUE(status.ok()) << status.ToString();
      EXPECT_EQ(output.smallest, expected.smallest);
      EXPECT_EQ(output.largest, expected.largest);
      EXPECT_EQ(output.entries, expected.entries);
      EXPECT_EQ(output.tombstones, expected.tombstones);
    }
    EXPECT_EQ(checker.records(), result.stats.output_records);
    EXPECT_EQ(checker.checksum(), result.stats.output_checksum);
  }
}

// As a unit would that has a fault between its own checksum and the CRC.
TEST_F(OutputCheckerTest, SeesBitsThatWereFlippedBeforeTheSeal) {
  int intact = 0;
  for (int i = 0; i < 1000; ++i) {
    // No key shares bytes with another: a flip in bytes that several share can cancel out in the
    // sum of their checksums. Against that the unit has guards of its own (docs/hardware.md).
    TableImageBuilder table(
        {.restart_interval = 1, .share_trailers = false, .short_separators = false});
    const int records = 1 + static_cast<int>(rng_() % 20);
    for (int r = 0; r < records; ++r) {
      table.Add(MakeInternalKey(std::to_string(100 + r), 1 + rng_() % 100, RecordType::kValue),
                std::string(rng_() % 100, static_cast<char>('a' + r)));
    }
    table.EndBlock();
    const TableImage image = table.Finish();
    const BlockHandle block = image.blocks[0];
    const std::string index =
        image.file.substr(image.index.offset, image.index.size + kBlockTrailerBytes);
    std::string data = image.file.substr(0, block.size + kBlockTrailerBytes);
    OutputChecker good(kNewest);
    MergeOutput output;
    ASSERT_TRUE(Check(&good, data, index, &output).ok());

    // Entries only: a restart is for those who seek.
    const uint64_t entries = block.size - 4 - 4 * DecodeFixed32(data.data() + block.size - 4);
    data[rng_() % entries] ^= static_cast<char>(1 << rng_() % 8);
    EncodeBlockTrailer(data.data() + block.size, Compression::kNone,
                       Crc32c(std::string_view(data).substr(0, block.size)));
    OutputChecker checker(kNewest);
    intact += Check(&checker, data, index, &output).ok() && checker.records() == good.records() &&
              checker.checksum() == good.checksum();
  }
  EXPECT_EQ(intact, 0);
}

TEST_F(OutputCheckerTest, SeesVersionsThatShouldHaveGone) {
  TableImageBuilder table(
      {.restart_interval = 1, .share_trailers = false, .short_separators = false});
  for (const SequenceNumber sequence : {9, 7, 4}) {
    table.Add(MakeInternalKey("k", sequence, RecordType::kValue), "v");
  }
  const TableImage image = table.Finish();
  const std::string data = image.file.substr(0, image.blocks[0].size + kBlockTrailerBytes);
  const std::string index =
      image.file.substr(image.index.offset, image.index.size + kBlockTrailerBytes);
  const auto sound = [&](const std::vector<SequenceNumber>& snapshots) {
    OutputChecker checker(snapshots);
    MergeOutput output;
    return Check(&checker, data, index, &output).ok();
  };
  EXPECT_TRUE(sound({4}));
  EXPECT_TRUE(sound({6}));
  EXPECT_TRUE(sound({4, 8, 9}));
  EXPECT_TRUE(sound({6, 7}));
  EXPECT_FALSE(sound({7}));
  EXPECT_FALSE(sound({9}));
  EXPECT_FALSE(sound({4, 6, 9}));
  EXPECT_FALSE(sound({7, 8, 20}));
  EXPECT_FALSE(sound({kMaxSequence}));
}

TEST_F(OutputCheckerTest, TablesMustBeInOrder) {
  GeneratorOptions options;
  options.table_bytes = 10000;
  const GeneratedTask input = GenerateTask(options);
  std::vector<OwnedOutput> outputs;
  ASSERT_TRUE(CpuExecutor().Run(input.task, CollectInto(&outputs)).ok());
  ASSERT_GT(outputs.size(), 1u);
  OutputChecker checker(kNewest);
  MergeOutput output;
  const auto check = [&](const OwnedOutput& o) {
    return Check(&checker, std::string(o.data()), o.index_block(), &output);
  };
  EXPECT_TRUE(check(outputs[1]).ok());
  EXPECT_FALSE(check(outputs[0]).ok());
}

}  // namespace
}  // namespace sluice
