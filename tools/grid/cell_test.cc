#include "grid/cell.h"

#include <gtest/gtest.h>

#include <set>

#include "device/contract.h"
#include "grid/thesis.h"
#include "merge/cpu_executor.h"
#include "table/table_reader.h"

namespace sluice::grid {
namespace {

TEST(ThesisTask, IsTable41s) {
  for (const ThesisResult& shape : kThesisResults) {
    const GeneratedTask task = ThesisTask(shape.key_bytes, {shape.value_bytes, shape.value_bytes});
    std::vector<std::set<std::string>> keys;
    for (const auto& run : task.images) {
      ASSERT_EQ(run.size(), 1u);
      std::unique_ptr<TableReader> table;
      ASSERT_TRUE(TableReader::OpenImage(run[0].file, "run", &table).ok());
      TableIterator record(table.get());
      auto& of_run = keys.emplace_back();
      for (record.SeekToFirst(); record.Valid(); record.Next()) {
        const size_t bytes = record.key().size() - kTrailerBytes;
        EXPECT_GE(bytes, shape.key_bytes.min);
        EXPECT_LE(bytes, shape.key_bytes.max);
        EXPECT_EQ(record.value().size(), shape.value_bytes);
        of_run.emplace(record.key().substr(0, bytes));
      }
    }
    ASSERT_EQ(keys.size(), 2u);
    EXPECT_EQ(keys[0].size(), 50u);
    EXPECT_EQ(keys[1].size(), 30u);
    const MergeResult merged =
        CpuExecutor().Run(task.task, [](const MergeOutput&) { return Status(); });
    ASSERT_TRUE(merged.ok()) << merged.error.ToString();
    EXPECT_EQ(merged.stats.dropped_records, 18u) << "0.6 of the shorter run";
  }
}

TEST(Measure, CountsWhatTheUnitDid) {
  const Cell cell{"tiny", Shape::kRandom, {16, 16}, {256, 256}};
  Measurement m;
  Status status = Measure(cell, &m);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(m.steady.raw_bytes, m.steady.records * (24 + 256));
  EXPECT_EQ(m.steady.contract_cycles, m.steady.records * ContractCycles(24, 256, 8));
  EXPECT_EQ(m.steady.cycles, m.job_cycles[1] - m.job_cycles[0]);
  EXPECT_EQ(m.steady.dropped_records, 0u);
  EXPECT_GE(m.CyclesPerRecord(), 256.0 / 8);
  EXPECT_GE(m.CyclesPerRecord(), 0.99 * m.Limit());
  EXPECT_GT(m.OutputRate(), 0);

  Measurement again;
  ASSERT_TRUE(Measure(cell, &again).ok());
  EXPECT_EQ(again.job_cycles, m.job_cycles);
}

// Where each record fills a block, the block's overhead takes more words than the contract has
// cycles: 24 + 4096 bytes, a header of 4, an array of 8 and a trailer of 5.
TEST(Measure, NoUnitIsFasterThanItsPort) {
  Measurement m;
  ASSERT_TRUE(Measure({"tiny", Shape::kRandom, {16, 16}, {4096, 4096}}, &m).ok());
  EXPECT_EQ(m.Contract(), 2 + 24 / 8 + 4096 / 8);
  EXPECT_NEAR(m.Limit(), (24 + 4096 + 4 + 8 + 5 + 7) / 8.0, 0.1);
  EXPECT_GT(m.CyclesPerRecord(), m.Contract());
  EXPECT_TRUE(m.MeetsContract());
}

TEST(Measure, ShapesDropWhatTheySay) {
  Measurement m;
  ASSERT_TRUE(Measure({"tiny", Shape::kDuplicates, {16, 16}, {32, 32}}, &m).ok());
  EXPECT_NEAR(static_cast<double>(m.steady.dropped_records) / m.steady.records, 0.9, 0.05);
  EXPECT_EQ(m.OutputRate(), 0);
  ASSERT_TRUE(Measure({"tiny", Shape::kDeletions, {16, 16}, {32, 32}}, &m).ok());
  EXPECT_NEAR(static_cast<double>(m.steady.dropped_records) / m.steady.records, 0.5, 0.05);
}

TEST(Measure, NamesConfigurationsThatAreMissing) {
  Measurement m;
  EXPECT_TRUE(Measure({"nosuch", Shape::kRandom, {16, 16}, {32, 32}}, &m).IsNotFound());
}

}  // namespace
}  // namespace sluice::grid
