#include <gtest/gtest.h>

#include "Vtransfer_16_2.h"
#include "Vtransfer_64_16.h"
#include "Vtransfer_8_9.h"
#include "value_streams.h"

namespace sluice::dv {
namespace {

struct TransferRun {
  uint64_t cycles = 0;  // first to last verdict taken, the end counted
  uint64_t stall_merge = 0;
  uint64_t stall_value = 0;
  bool tag_error = false;
};

struct VerdictItem {
  Verdict verdict;
  bool end = false;
};

template <typename Model>
void DriveVerdict(Model& m, Source<VerdictItem>& source, std::mt19937_64& rng) {
  m.verdict_valid_i = source.Valid(rng);
  if (!m.verdict_valid_i) {
    m.verdict_keep_i = m.verdict_in_range_i = m.verdict_eos_i = Chance(rng, 50);
    return;
  }
  const auto& [verdict, end] = source.front();
  m.verdict_eos_i = end;
  m.verdict_way_i = static_cast<uint8_t>(verdict.record.way);
  m.verdict_in_range_i = verdict.in_range;
  m.verdict_keep_i = verdict.keep;
  m.verdict_tombstone_i = verdict.tombstone;
  m.verdict_user_bytes_i = static_cast<uint16_t>(verdict.record.key.user.size());
  m.verdict_shared_i = static_cast<uint16_t>(verdict.shared);
  m.verdict_trailer_i = verdict.record.key.trailer;
  m.verdict_tag_i = VerdictTag(verdict.record.key.user, verdict.record.key.trailer);
}

// `infos` are tagged.
template <typename Model>
TransferRun Transfer(Testbench<Model>& tb, const std::vector<Verdict>& verdicts,
                     const std::vector<std::vector<RecordInfo>>& infos, unsigned v,
                     unsigned verdict_percent, unsigned value_percent, unsigned out_percent,
                     std::mt19937_64& rng) {
  const auto want = TransferModel(verdicts, infos, v);
  std::deque<VerdictItem> items;
  for (const Verdict& verdict : verdicts) items.push_back({verdict, false});
  items.push_back({{}, true});
  Source<VerdictItem> source(std::move(items), verdict_percent);
  ValueInputs<Model> inputs(infos, v, value_percent);
  TransferSink<Model> sink(want, v, out_percent);
  Model& m = *tb.operator->();
  tb.Reset();
  TransferRun run;
  const uint64_t start = tb.cycle();
  for (int idle = 0; idle < 2000 && !(sink.ended() && idle > 100) && !testing::Test::HasFailure();
       ++idle) {
    DriveVerdict(m, source, rng);
    inputs.Drive(m, rng);
    sink.Drive(m, rng);
    tb.Settle();
    run.stall_merge += m.stall_merge_o;
    run.stall_value += m.stall_value_o;
    EXPECT_FALSE(m.stall_merge_o && m.stall_value_o);
    if (m.verdict_valid_i && m.verdict_ready_o) run.cycles = tb.cycle() - start + 1;
    if (sink.Edge(m)) idle = 0;
    source.Edge(m.verdict_ready_o);
    if (inputs.Edge(m)) idle = 0;
    tb.Tick();
  }
  sink.Expect();
  EXPECT_TRUE(inputs.empty());
  run.tag_error = m.tag_error_o;
  return run;
}

std::vector<Verdict> RandomVerdicts(std::mt19937_64& rng, unsigned ways, size_t count,
                                    unsigned keep_percent) {
  std::vector<Verdict> verdicts(count);
  for (Verdict& verdict : verdicts) {
    verdict.record.way = rng() % ways;
    verdict.record.key = {std::string(rng() % 1025, 'k'), rng()};
    verdict.in_range = Chance(rng, 80);
    verdict.keep = verdict.in_range && Chance(rng, keep_percent);
    verdict.tombstone = Chance(rng, 20);
    verdict.shared = rng() % 1024;
  }
  return verdicts;
}

std::vector<size_t> CountByWay(const std::vector<Verdict>& verdicts, unsigned ways) {
  std::vector<size_t> counts(ways);
  for (const Verdict& verdict : verdicts) ++counts[verdict.record.way];
  return counts;
}

template <typename Model>
void TestRandomTransfers(unsigned v, unsigned ways, int rounds) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  Testbench<Model> tb;
  for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const auto verdicts = RandomVerdicts(rng, ways, rng() % 60, rng() % 101);
    const size_t limit = Chance(rng, 10) ? 100 * v : 4 * v;
    auto infos = Tagged(verdicts, RandomInfos(rng, CountByWay(verdicts, ways), limit));
    const bool wrong = !verdicts.empty() && Chance(rng, 50);
    if (wrong) infos[verdicts[rng() % verdicts.size()].record.way][0].tag ^= 1 << rng() % 16;
    const auto percent = [&] { return Chance(rng, 30) ? 100u : 15u + unsigned(rng() % 85); };
    const auto run = Transfer(tb, verdicts, infos, v, percent(), percent(), percent(), rng);
    EXPECT_EQ(run.tag_error, wrong);
  }
}

TEST(Transfer, RandomV8) { TestRandomTransfers<Vtransfer_8_9>(8, 9, 500); }
TEST(Transfer, RandomV16) { TestRandomTransfers<Vtransfer_16_2>(16, 2, 500); }
TEST(Transfer, RandomV64) { TestRandomTransfers<Vtransfer_64_16>(64, 16, 300); }

// max(1, ceil(value/V)) cycles per record and none in between; the end takes one, after up to two
// in which the last hash is counted.
template <typename Model>
void TestThroughput(const char* name, unsigned v, unsigned ways) {
  std::mt19937_64 rng(1);
  Testbench<Model> tb;
  constexpr size_t kRecords = 500;
  for (size_t value_bytes : {size_t{0}, size_t{1}, size_t{v}, size_t{v} + 1, size_t{9} * v}) {
    for (unsigned keep_percent : {100, 50, 0}) {
      const auto verdicts = RandomVerdicts(rng, ways, kRecords, keep_percent);
      auto infos = RandomInfos(rng, CountByWay(verdicts, ways), 0);
      for (auto& way : infos) {
        for (RecordInfo& info : way) info.value = RandomBytes(rng, value_bytes, false);
      }
      infos = Tagged(verdicts, infos);
      const auto want = TransferModel(verdicts, infos, v);
      const auto run = Transfer(tb, verdicts, infos, v, 100, 100, 100, rng);
      std::cout << name << " value " << value_bytes << ", " << keep_percent
                << "% of those in range kept: " << double(run.cycles) / kRecords
                << " cycles per record\n";
      EXPECT_LE(run.cycles, want.cycles + 3);
      EXPECT_EQ(run.stall_merge + run.stall_value, 0u);
    }
  }
}

TEST(Transfer, ThroughputV8) { TestThroughput<Vtransfer_8_9>("transfer V=8", 8, 9); }
TEST(Transfer, ThroughputV64) { TestThroughput<Vtransfer_64_16>("transfer V=64", 64, 16); }

// A record that comes out of the tree in place of the next one of its way.
TEST(Transfer, RecordsInEachOthersPlace) {
  std::mt19937_64 rng(1);
  Testbench<Vtransfer_16_2> tb;
  auto verdicts = RandomVerdicts(rng, 1, 10, 0);
  auto infos = RandomInfos(rng, {10, 0}, 32);
  for (RecordInfo& info : infos[0]) info.value = "same length";
  infos = Tagged(verdicts, infos);
  EXPECT_FALSE(Transfer(tb, verdicts, infos, 16, 100, 100, 100, rng).tag_error);
  const Verdict lost = verdicts[5];
  verdicts[5] = verdicts[4];
  EXPECT_TRUE(Transfer(tb, verdicts, infos, 16, 100, 100, 100, rng).tag_error);
  verdicts[4] = lost;
  EXPECT_TRUE(Transfer(tb, verdicts, infos, 16, 100, 100, 100, rng).tag_error);
}

// Stalls name their cause: a late verdict, or a late value.
TEST(Transfer, StallCounters) {
  std::mt19937_64 rng(1);
  Testbench<Vtransfer_16_2> tb;
  const auto verdicts = RandomVerdicts(rng, 2, 300, 50);
  const auto infos = Tagged(verdicts, RandomInfos(rng, CountByWay(verdicts, 2), 32));
  const auto late_verdicts = Transfer(tb, verdicts, infos, 16, 10, 100, 100, rng);
  EXPECT_GT(late_verdicts.stall_merge, 1000u);
  EXPECT_EQ(late_verdicts.stall_value, 0u);
  const auto late_values = Transfer(tb, verdicts, infos, 16, 100, 10, 100, rng);
  EXPECT_EQ(late_values.stall_merge, 0u);
  EXPECT_GT(late_values.stall_value, 1000u);
}

}  // namespace
}  // namespace sluice::dv
