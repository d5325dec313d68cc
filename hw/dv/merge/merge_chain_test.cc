// Tree, verdict and transfer together, against the same models.

#include <gtest/gtest.h>

#include "Vmerge_chain_16_2.h"
#include "Vmerge_chain_64_4.h"
#include "Vmerge_chain_8_9.h"
#include "merge_ports.h"
#include "value_streams.h"

namespace sluice::dv {
namespace {

constexpr size_t kMaxKeyBytes = 1024;

struct Flow {
  unsigned key_percent = 100;
  unsigned value_percent = 100;
  unsigned out_percent = 100;
};

struct ChainRun {
  uint64_t cycles = 0;  // from the first key beat in to the end out
  size_t dropped = 0;
};

template <typename Model>
ChainRun RunChain(Testbench<Model>& tb, const std::vector<KeyRun>& runs,
                  const std::vector<std::vector<RecordInfo>>& infos, const VerdictConfig& config,
                  unsigned v, const Flow& flow, std::mt19937_64& rng) {
  const auto verdicts = VerdictModel(MergeModel(runs), config);
  const auto want = TransferModel(verdicts, infos, v);
  KeyInputs<Model> keys(runs, v, flow.key_percent, rng);
  ValueInputs<Model> values(Tagged(verdicts, infos), v, flow.value_percent);
  TransferSink<Model> sink(want, v, flow.out_percent);
  KeptSink<Model> kept(v, flow.out_percent);
  Model& m = *tb.operator->();
  m.rst_ni = 0;
  Configure(tb, config, kMaxKeyBytes, rng);
  tb.Reset();
  ChainRun run{0, want.dropped_records};
  const uint64_t start = tb.cycle();
  for (int idle = 0; idle < 4000 && !(sink.ended() && idle > 300) && !testing::Test::HasFailure();
       ++idle) {
    keys.Drive(m);
    values.Drive(m, rng);
    sink.Drive(m, rng);
    kept.Drive(m, rng, sink.records());
    tb.Settle();
    if (m.kept_key_valid_o && m.kept_key_ready_i) idle = 0;
    const bool ended = sink.ended();
    if (sink.Edge(m)) idle = 0;
    if (sink.ended() && !ended) run.cycles = tb.cycle() - start + 1;
    kept.Edge(m);
    keys.Edge(m);
    if (values.Edge(m)) idle = 0;
    tb.Tick();
  }
  sink.Expect();
  kept.Expect(verdicts);
  EXPECT_TRUE(values.empty());
  EXPECT_FALSE(m.parity_error_o);
  EXPECT_FALSE(m.order_error_o);
  EXPECT_FALSE(m.tag_error_o);
  return run;
}

std::vector<size_t> Sizes(const std::vector<KeyRun>& runs) {
  std::vector<size_t> sizes;
  for (const KeyRun& run : runs) sizes.push_back(run.size());
  return sizes;
}

template <typename Model>
void TestRandomChains(unsigned v, unsigned ways, int rounds) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  Testbench<Model> tb;
  for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const size_t limit = Chance(rng, 50) ? kMaxKeyBytes : 1 + 3 * v;
    const auto runs = RandomRuns(rng, ways, rng() % 100, limit);
    const auto infos = RandomInfos(rng, Sizes(runs), Chance(rng, 10) ? 60 * v : 4 * v);
    const auto config = RandomConfig(rng, MergeModel(runs), limit);
    const auto percent = [&] { return Chance(rng, 30) ? 100u : 15u + unsigned(rng() % 85); };
    RunChain(tb, runs, infos, config, v, {percent(), percent(), percent()}, rng);
  }
}

TEST(MergeChain, RandomV8) { TestRandomChains<Vmerge_chain_8_9>(8, 9, 200); }
TEST(MergeChain, RandomV16) { TestRandomChains<Vmerge_chain_16_2>(16, 2, 300); }
TEST(MergeChain, RandomV64) { TestRandomChains<Vmerge_chain_64_4>(64, 4, 300); }

// The slower of keys and values sets the pace: max(key beats, 1, value beats) cycles per record.
template <typename Model>
void TestThroughput(const char* name, unsigned v, unsigned ways) {
  std::mt19937_64 rng(1);
  Testbench<Model> tb;
  constexpr size_t kRecords = 1000;
  struct Shape {
    const char* name;
    size_t key_bytes, value_bytes, way_stride;
    bool dropped;
  };
  const Shape shapes[] = {
      {"1-beat keys, 1-beat values, alternating", v, v, 1, false},
      {"1-beat keys, 1-beat values, one way", v, v, 0, false},
      {"1-beat keys, no values, alternating", v, 0, 1, false},
      {"1-beat keys, 8-beat values, alternating", v, 8 * v, 1, false},
      {"3-beat keys, 1-beat values, alternating", 3 * v, v, 1, false},
      {"3-beat keys, 5-beat values, one way", 3 * v, 5 * v, 0, false},
      {"1-beat keys, 1-beat values, all but one dropped", v, v, 1, true},
      {"3-beat keys, 4-beat values, all but one dropped", 3 * v, 4 * v, 1, true},
  };
  for (const Shape& shape : shapes) {
    std::vector<KeyRun> runs = ShapedRuns(ways, kRecords, shape.key_bytes,
                                          [&](size_t i) { return i * shape.way_stride % ways; });
    if (shape.dropped) {
      for (KeyRun& run : runs) {
        for (Key& key : run) key.user.assign(shape.key_bytes, 'd');
        std::sort(run.begin(), run.end(), KeyLess);
      }
    }
    auto infos = RandomInfos(rng, Sizes(runs), 0);
    for (auto& way : infos) {
      for (RecordInfo& info : way) info.value = RandomBytes(rng, shape.value_bytes, false);
    }
    const auto run = RunChain(tb, runs, infos, {}, v, {}, rng);
    EXPECT_EQ(run.dropped, shape.dropped ? kRecords - 1 : 0);
    const size_t pace = std::max<size_t>(KeyBeats(shape.key_bytes, v), shape.value_bytes / v);
    std::cout << name << " " << shape.name << ": " << double(run.cycles) / kRecords
              << " cycles per record\n";
    EXPECT_LE(run.cycles, kRecords * pace + 60) << shape.name;
  }
}

TEST(MergeChain, ThroughputV8) { TestThroughput<Vmerge_chain_8_9>("chain N=9 V=8", 8, 9); }
TEST(MergeChain, ThroughputV16) { TestThroughput<Vmerge_chain_16_2>("chain N=2 V=16", 16, 2); }
TEST(MergeChain, ThroughputV64) { TestThroughput<Vmerge_chain_64_4>("chain N=4 V=64", 64, 4); }

}  // namespace
}  // namespace sluice::dv
