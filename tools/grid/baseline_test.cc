#include "grid/baseline.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sluice::grid {
namespace {

using Complaints = std::vector<std::string>;

Measurement Cell(const std::string& config, uint64_t cycles) {
  Measurement m;
  m.cell.config = config;
  m.cell.key_bytes = {16, 16};
  m.cell.value_bytes = {512, 512};
  m.info.value_bytes = 16;
  m.job_cycles = {1000, 1000 + cycles};
  m.steady.records = 10;
  m.steady.raw_bytes = 10 * (24 + 512);
  m.steady.contract_cycles = 360;
  m.steady.cycles = cycles;
  return m;
}

TEST(Contract, IsMetToTheCycle) {
  EXPECT_TRUE(Cell("a", 360).MeetsContract());
  EXPECT_FALSE(Cell("a", 361).MeetsContract());
}

TEST(Contract, AsksForOutputOfLongValues) {
  Measurement m = Cell("a", 360);
  EXPECT_DOUBLE_EQ(m.OutputRate(), 5360.0 / 360);
  m.steady.raw_bytes = 5184;  // 0.9 * 16 * 360
  EXPECT_TRUE(m.MeetsContract());
  --m.steady.raw_bytes;
  EXPECT_FALSE(m.MeetsContract());
  m.cell.value_bytes = {511, 511};
  EXPECT_TRUE(m.MeetsContract()) << "shorter than 32 V";
  m.cell.value_bytes = {512, 512};
  m.steady.dropped_records = 1;
  EXPECT_TRUE(m.MeetsContract()) << "what is dropped does not leave";
}

TEST(Baseline, SameCyclesPass) {
  const Baseline baseline = MakeBaseline({Cell("a", 300), Cell("b", 400)});
  EXPECT_EQ(baseline.below_contract, std::set<std::string>{"b/random/k16/v512/l30"});
  EXPECT_EQ(Compare(baseline, baseline), Complaints{});
}

TEST(Baseline, EveryDifferenceIsNamed) {
  const Baseline then = MakeBaseline({Cell("a", 300)});
  const std::string name = "a/random/k16/v512/l30: ";
  EXPECT_EQ(Compare(then, MakeBaseline({Cell("a", 301)})),
            Complaints{name + "1000 and 1301 cycles, and 1000 and 1300 in the baseline"});
  EXPECT_EQ(Compare(then, MakeBaseline({Cell("a", 299)})),
            Complaints{name + "1000 and 1299 cycles, and 1000 and 1300 in the baseline"});
  EXPECT_EQ(Compare({}, MakeBaseline({Cell("a", 300)})), Complaints{name + "not in the baseline"});
}

TEST(Baseline, NewCellBelowTheContractFails) {
  Baseline then = MakeBaseline({Cell("a", 361)});
  const Baseline now = then;
  then.below_contract.clear();
  EXPECT_EQ(Compare(then, now), Complaints{"a/random/k16/v512/l30: below the contract"});
  EXPECT_EQ(Compare(now, then), Complaints{"a/random/k16/v512/l30: meets the contract, but the "
                                           "baseline calls it below"});
}

TEST(Baseline, CellsLeftOutAreNoticed) {
  Measurement longer = Cell("a", 300);
  longer.cell.value_bytes = {1024, 1024};
  Measurement later = Cell("a", 300);
  later.cell.latency = 200;
  const Baseline then = MakeBaseline({Cell("a", 300), longer, later, Cell("b", 300)});
  EXPECT_EQ(Compare(then, MakeBaseline({Cell("a", 300)})),
            Complaints{"a/random/k16/v1024/l30: in the baseline, but not measured"})
      << "and nothing of b and of the other latency, which this run left out";
}

TEST(Baseline, IsWrittenAndRead) {
  const std::string path = testing::TempDir() + "/baseline.json";
  for (const uint64_t cycles : {300, 400}) {
    const Baseline written = MakeBaseline({Cell("a", cycles), Cell("b", cycles)});
    ASSERT_TRUE(WriteBaseline(path, written).ok());
    Baseline read;
    ASSERT_TRUE(ReadBaseline(path, &read).ok());
    EXPECT_EQ(read.cycles, written.cycles);
    EXPECT_EQ(read.below_contract, written.below_contract);
  }
  std::ofstream(path) << "{\"cycles\": 1}";
  Baseline read;
  EXPECT_TRUE(ReadBaseline(path, &read).IsCorruption());
  std::filesystem::remove(path);
  EXPECT_EQ(ReadBaseline(path, &read).code(), Status::Code::kIoError);
}

}  // namespace
}  // namespace sluice::grid
