#include <gtest/gtest.h>

#include "../common/record_tag.h"
#include "Vvisibility_filter_16_2.h"
#include "Vvisibility_filter_64_16.h"
#include "Vvisibility_filter_8_9.h"
#include "verdict_model.h"

namespace sluice::dv {
namespace {

constexpr size_t kMaxKeyBytes = 1024;

struct Flow {
  unsigned in_percent = 100;
  unsigned verdict_percent = 100;
  unsigned kept_percent = 100;
  bool keys_after_records = true;
};

struct InputBeat {
  KeyBeat beat;
  unsigned way;
};

struct VerdictRun {
  size_t verdicts = 0;
  bool ended = false;
  uint64_t cycles = 0;  // first to last verdict, both counted
};

template <typename Model>
void DriveBeat(Model& m, Source<InputBeat>& source, unsigned v, std::mt19937_64& rng) {
  m.key_valid_i = source.Valid(rng);
  const KeyBeat noise{std::string(v, '\x5a'), 0, true, true, 0};
  const KeyBeat& beat = m.key_valid_i ? source.front().beat : noise;
  SetElement(m.key_data_i, 0, beat.data);
  m.key_bytes_i = static_cast<uint8_t>(beat.bytes);
  m.key_last_i = beat.last;
  m.key_eos_i = beat.eos;
  m.key_trailer_i = beat.trailer;
  m.key_parity_i = beat.parity;
  m.key_way_i = m.key_valid_i ? static_cast<uint8_t>(source.front().way) : 0;
}

template <typename Model>
void ExpectVerdict(const Model& m, const Verdict& want) {
  EXPECT_EQ(m.verdict_way_o, want.record.way);
  EXPECT_EQ(m.verdict_in_range_o, want.in_range);
  EXPECT_EQ(m.verdict_keep_o, want.keep);
  EXPECT_EQ(m.verdict_tombstone_o, want.tombstone);
  EXPECT_EQ(m.verdict_user_bytes_o, want.record.key.user.size());
  EXPECT_EQ(m.verdict_trailer_o, want.record.key.trailer);
  EXPECT_EQ(m.verdict_tag_o, VerdictTag(want.record.key.user, want.record.key.trailer));
  if (want.keep) {
    EXPECT_EQ(m.verdict_shared_o, want.shared);
  }
}

std::deque<InputBeat> InputBeats(const std::vector<MergedKey>& merged, unsigned v,
                                 std::mt19937_64& rng) {
  std::deque<InputBeat> beats;
  for (const MergedKey& record : merged) {
    std::deque<KeyBeat> key;
    AppendBeats(record.key, v, rng(), &key);
    for (KeyBeat& beat : key) beats.push_back({std::move(beat), record.way});
  }
  beats.push_back({{std::string(v, '\0'), 0, true, true, rng()}, 0});
  return beats;
}

template <typename Model>
VerdictRun Judge(Testbench<Model>& tb, const std::vector<MergedKey>& merged,
                 const VerdictConfig& config, unsigned v, const Flow& flow, std::mt19937_64& rng) {
  const auto want = VerdictModel(merged, config);
  Source<InputBeat> source(InputBeats(merged, v, rng), flow.in_percent);
  KeptSink<Model> kept(v, flow.kept_percent);
  Model& m = *tb.operator->();
  m.key_valid_i = 0;
  m.rst_ni = 0;
  Configure(tb, config, kMaxKeyBytes, rng);
  tb.Reset();
  VerdictRun run;
  uint64_t first = 0;
  size_t records = 0;
  for (int idle = 0; idle < 2000 && !(run.ended && idle > 300) && !testing::Test::HasFailure();
       ++idle) {
    DriveBeat(m, source, v, rng);
    m.verdict_ready_i = Chance(rng, flow.verdict_percent);
    kept.Drive(m, rng, flow.keys_after_records ? records : merged.size() + 1);
    tb.Settle();
    if (m.verdict_valid_o && m.verdict_ready_i) {
      idle = 0;
      EXPECT_FALSE(run.ended) << "a verdict after the end";
      if (m.verdict_eos_o) {
        run.ended = true;
      } else if (run.verdicts < want.size()) {
        SCOPED_TRACE("record " + std::to_string(run.verdicts));
        ExpectVerdict(m, want[run.verdicts]);
        records += m.verdict_keep_o;
        if (first == 0) first = tb.cycle();
        run.cycles = tb.cycle() - first + 1;
        ++run.verdicts;
      }
    }
    if (m.kept_key_valid_o && m.kept_key_ready_i) idle = 0;
    kept.Edge(m);
    source.Edge(m.key_ready_o);
    tb.Tick();
  }
  EXPECT_TRUE(run.ended);
  EXPECT_FALSE(m.parity_error_o);
  EXPECT_FALSE(m.order_error_o);
  EXPECT_EQ(run.verdicts, want.size());
  kept.Expect(want);
  return run;
}

template <typename Model>
void TestRandomVerdicts(unsigned v, unsigned ways, int rounds) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  Testbench<Model> tb;
  for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const size_t limit = Chance(rng, 50) ? kMaxKeyBytes : 1 + 3 * v;
    const auto merged = MergeModel(RandomRuns(rng, ways, rng() % 60, limit));
    const auto config = RandomConfig(rng, merged, limit);
    const auto percent = [&] { return Chance(rng, 30) ? 100u : 15u + unsigned(rng() % 85); };
    Judge(tb, merged, config, v, {percent(), percent(), percent(), Chance(rng, 50)}, rng);
  }
}

TEST(Verdict, RandomV8) { TestRandomVerdicts<Vvisibility_filter_8_9>(8, 9, 600); }
TEST(Verdict, RandomV16) { TestRandomVerdicts<Vvisibility_filter_16_2>(16, 2, 600); }
TEST(Verdict, RandomV64) { TestRandomVerdicts<Vvisibility_filter_64_16>(64, 16, 600); }

// Whether the filter finds that records are not in order.
template <typename Model>
bool OutOfOrder(Testbench<Model>& tb, const std::vector<MergedKey>& records, unsigned v,
                std::mt19937_64& rng) {
  Source<InputBeat> source(InputBeats(records, v, rng), 15 + rng() % 86);
  Model& m = *tb.operator->();
  m.key_valid_i = 0;
  tb.Reset();
  while (!source.empty()) {
    DriveBeat(m, source, v, rng);
    m.verdict_ready_i = m.kept_key_ready_i = Chance(rng, 80);
    tb.Settle();
    source.Edge(m.key_ready_o);
    tb.Tick();
  }
  m.key_valid_i = 0;
  m.verdict_ready_i = m.kept_key_ready_i = 1;
  for (int i = 0; i < 10; ++i) {
    tb.Settle();
    tb.Tick();
  }
  return m.order_error_o;
}

// Two neighbours change places.
template <typename Model>
void TestOrder(unsigned v, int rounds) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  Testbench<Model> tb;
  int swapped = 0;
  for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const size_t limit = Chance(rng, 30) ? kMaxKeyBytes : 1 + 3 * v;
    auto records = MergeModel(RandomRuns(rng, 2, 2 + rng() % 20, limit));
    EXPECT_FALSE(OutOfOrder(tb, records, v, rng));
    MergedKey& a = records[rng() % (records.size() - 1)];
    MergedKey& b = *(&a + 1);
    const bool apart = KeyLess(a.key, b.key);
    std::swap(a, b);
    EXPECT_EQ(OutOfOrder(tb, records, v, rng), apart);
    swapped += apart;
  }
  EXPECT_GT(swapped, rounds / 2);
}

TEST(Verdict, OrderV8) { TestOrder<Vvisibility_filter_8_9>(8, 600); }
TEST(Verdict, OrderV16) { TestOrder<Vvisibility_filter_16_2>(16, 600); }
TEST(Verdict, OrderV64) { TestOrder<Vvisibility_filter_64_16>(64, 600); }

// Prefixes that end at every offset, with dropped records between the kept ones.
TEST(Verdict, SharedPrefixesOfEveryLength) {
  std::mt19937_64 rng(1);
  Testbench<Vvisibility_filter_16_2> tb;
  std::vector<MergedKey> merged;
  for (size_t length = 0; length + 2 <= kMaxKeyBytes; ++length) {
    const std::string user = std::string(length, '\x80') + '\x7f';
    merged.push_back({{user, 5 << 8 | 1}, 0});
    if (length % 3 == 0) merged.push_back({{user, 4 << 8 | 1}, 1});
    if (length % 7 == 0) merged.push_back({{user + '\0', 5 << 8}, 1});
  }
  VerdictConfig config;
  config.bottommost = true;
  Judge(tb, merged, config, 16, {}, rng);
}

// Bounds that differ from the keys in length only, at and around beat and word edges.
TEST(Verdict, RangeBoundsAndZeroBytes) {
  std::mt19937_64 rng(1);
  Testbench<Vvisibility_filter_16_2> tb;
  std::vector<MergedKey> merged;
  for (size_t length = 0; length < 40; ++length) {
    merged.push_back({{std::string(length, '\0'), 256 | 1}, 0});
  }
  for (size_t begin = 0; begin < 40; begin += 3) {
    for (size_t end : {begin, begin + 1, begin + 8, size_t{39}, size_t{0}}) {
      VerdictConfig config;
      config.has_begin = config.has_end = true;
      config.begin = std::string(begin, '\0');
      config.end = std::string(end, '\0');
      Judge(tb, merged, config, 16, {}, rng);
    }
  }
}

TEST(Verdict, SnapshotStripes) {
  std::mt19937_64 rng(1);
  Testbench<Vvisibility_filter_8_9> tb;
  std::vector<MergedKey> merged;
  for (int key = 0; key < 4; ++key) {
    for (uint64_t sequence = 9; sequence > 0; --sequence) {
      merged.push_back(
          {{std::string(12, static_cast<char>('a' + key)), sequence << 8 | ((sequence + key) % 2)},
           static_cast<unsigned>(sequence % 9)});
    }
  }
  for (uint64_t snapshot = 0; snapshot < 11; ++snapshot) {
    for (bool bottommost : {false, true}) {
      VerdictConfig config;
      config.snapshots = VerdictConfig::Only(snapshot);
      config.bottommost = bottommost;
      Judge(tb, merged, config, 8, {}, rng);
    }
  }
}

// One cycle per beat, whatever is kept and however lengths alternate.
template <typename Model>
void TestThroughput(const char* name, unsigned v) {
  std::mt19937_64 rng(1);
  Testbench<Model> tb;
  constexpr size_t kRecords = 400;
  struct Shape {
    const char* name;
    size_t odd_bytes, even_bytes;
    bool dropped;
  };
  const Shape shapes[] = {{"one beat, all kept", v, v, false},
                          {"one beat, all but one dropped", v, v, true},
                          {"5 beats, all kept", 5 * v, 5 * v, false},
                          {"5 beats, all but one dropped", 5 * v, 5 * v, true},
                          {"1024 bytes and one beat in turn", 1024, v, false}};
  for (const Shape& shape : shapes) {
    std::vector<MergedKey> merged;
    size_t beats = 0;
    for (size_t i = 0; i < kRecords; ++i) {
      const size_t bytes = i % 2 ? shape.odd_bytes : shape.even_bytes;
      std::string user(4, '\0');
      if (!shape.dropped) user = {'\0', '\0', static_cast<char>(i >> 8), static_cast<char>(i)};
      user.resize(bytes, 'x');
      merged.push_back({{user, (kRecords - i) << 8 | 1}, 0});
      beats += KeyBeats(bytes, v);
    }
    const auto run = Judge(tb, merged, {}, v, {100, 100, 100, false}, rng);
    std::cout << name << " " << shape.name << ": " << double(run.cycles) / kRecords
              << " cycles per record, " << double(beats) / kRecords << " beats\n";
    EXPECT_LE(run.cycles, beats + 8) << shape.name;
  }
}

TEST(Verdict, ThroughputV8) { TestThroughput<Vvisibility_filter_8_9>("verdict V=8", 8); }
TEST(Verdict, ThroughputV64) { TestThroughput<Vvisibility_filter_64_16>("verdict V=64", 64); }

}  // namespace
}  // namespace sluice::dv
