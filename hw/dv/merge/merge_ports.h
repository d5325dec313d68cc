// A merge model's input streams by way, whether it is a node with ports a and b or a tree with
// arrays, and the loop that runs a merge through either.

#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "key_streams.h"

namespace sluice::dv {

template <typename Model>
concept IsNode = requires(Model& m) {
  m.a_valid_i;
};

template <typename Model>
void DriveKey(Model& m, unsigned way, unsigned v, bool valid, const KeyBeat& beat) {
  const unsigned kb = CountBits(v);
  if constexpr (IsNode<Model>) {
    auto& data = way == 0 ? m.a_data_i : m.b_data_i;
    (way == 0 ? m.a_valid_i : m.b_valid_i) = valid;
    (way == 0 ? m.a_bytes_i : m.b_bytes_i) = static_cast<uint8_t>(beat.bytes);
    (way == 0 ? m.a_last_i : m.b_last_i) = beat.last;
    (way == 0 ? m.a_eos_i : m.b_eos_i) = beat.eos;
    (way == 0 ? m.a_trailer_i : m.b_trailer_i) = beat.trailer;
    (way == 0 ? m.a_way_i : m.b_way_i) = static_cast<uint8_t>(way);
    SetElement(data, 0, beat.data);
  } else {
    SetBits(m.in_valid_i, way, 1, valid);
    SetBits(m.in_bytes_i, way * kb, kb, beat.bytes);
    SetBits(m.in_last_i, way, 1, beat.last);
    SetBits(m.in_eos_i, way, 1, beat.eos);
    SetBits(m.in_parity_i, way, 1, beat.parity);
    SetElement(m.in_trailer_i, way,
               std::string_view(reinterpret_cast<const char*>(&beat.trailer), 8));
    SetElement(m.in_data_i, way, beat.data);
  }
}

template <typename Model>
bool KeyReady(const Model& m, unsigned way) {
  if constexpr (IsNode<Model>) {
    return way == 0 ? m.a_ready_o : m.b_ready_o;
  } else {
    return GetBits(m.in_ready_o, way, 1) != 0;
  }
}

// Drives all ways of a model's key input; random beats while valid is low.
template <typename Model>
class KeyInputs {
 public:
  KeyInputs(const std::vector<KeyRun>& runs, unsigned v, unsigned percent, std::mt19937_64& rng)
      : v_(v), rng_(rng) {
    for (const KeyRun& run : runs) ways_.emplace_back(RunBeats(run, v, rng()), percent);
  }

  void Drive(Model& m) {
    for (unsigned way = 0; way < ways_.size(); ++way) {
      if (ways_[way].Valid(rng_)) {
        DriveKey(m, way, v_, true, ways_[way].front());
      } else {
        const bool coin = Chance(rng_, 50);
        DriveKey(m, way, v_, false, {std::string(v_, coin ? '\xa5' : '\0'), 0, coin, coin, 0});
      }
    }
  }

  void Edge(const Model& m) {
    for (unsigned way = 0; way < ways_.size(); ++way) ways_[way].Edge(KeyReady(m, way));
  }

  bool empty() const {
    return std::all_of(ways_.begin(), ways_.end(), [](const auto& way) { return way.empty(); });
  }

 private:
  unsigned v_;
  std::mt19937_64& rng_;
  std::vector<Source<KeyBeat>> ways_;
};

struct MergeRunResult {
  std::vector<MergedKey> keys;
  bool ended = false;
  uint64_t cycles = 0;  // first to last output beat, both counted
};

// Merges `runs`; sources and sink are active in so many percent of the cycles.
template <typename Model>
MergeRunResult RunMerge(Testbench<Model>& tb, const std::vector<KeyRun>& runs, unsigned v,
                        unsigned in_percent, unsigned out_percent, std::mt19937_64& rng) {
  MergeRunResult result;
  KeyInputs<Model> inputs(runs, v, in_percent, rng);
  Model& m = *tb.operator->();
  tb.Reset();
  std::string key;
  uint64_t first = 0;
  uint64_t idle = 0;
  while (idle < 2000 && !(result.ended && idle > 100)) {
    ++idle;
    inputs.Drive(m);
    m.out_ready_i = Chance(rng, out_percent);
    tb.Settle();
    if (m.out_valid_o && m.out_ready_i) {
      idle = 0;
      EXPECT_FALSE(result.ended) << "a beat after the end";
      if (first == 0) first = tb.cycle();
      if (!m.out_eos_o) result.cycles = tb.cycle() - first + 1;
      EXPECT_TRUE(m.out_last_o || m.out_bytes_o == v);
      key += GetBytes(m.out_data_o, v).substr(0, m.out_bytes_o);
      EXPECT_EQ(GetBytes(m.out_data_o, v).substr(m.out_bytes_o),
                std::string(v - m.out_bytes_o, '\0'));
      if (m.out_eos_o) {
        result.ended = true;
      } else if (m.out_last_o) {
        result.keys.push_back({{key, m.out_trailer_o}, m.out_way_o});
        key.clear();
      }
    }
    inputs.Edge(m);
    tb.Tick();
  }
  return result;
}

inline void ExpectMerged(const std::vector<MergedKey>& got, const std::vector<MergedKey>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].key.user, want[i].key.user) << "record " << i;
    ASSERT_EQ(got[i].key.trailer, want[i].key.trailer) << "record " << i;
    ASSERT_EQ(got[i].way, want[i].way) << "record " << i;
  }
}

template <typename Model>
void TestRandomMerges(unsigned ways, unsigned v, size_t max_bytes, int rounds) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  Testbench<Model> tb;
  for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const size_t limit = Chance(rng, 50) ? max_bytes : std::min<size_t>(max_bytes, 1 + 3 * v);
    const auto runs = RandomRuns(rng, ways, rng() % (ways * 12), limit);
    const auto percent = [&] { return Chance(rng, 30) ? 100u : 20u + unsigned(rng() % 80); };
    const auto in = percent();
    const auto got = RunMerge(tb, runs, v, in, percent(), rng);
    EXPECT_TRUE(got.ended);
    ExpectMerged(got.keys, MergeModel(runs));
  }
}

// Runs of unique keys of one size, record i going to way `pick(i)`; they differ in their last
// bytes only, so that every comparison runs to its end.
template <typename Pick>
std::vector<KeyRun> ShapedRuns(unsigned ways, size_t records, size_t key_bytes, Pick pick) {
  std::vector<KeyRun> runs(ways);
  for (size_t i = 0; i < records; ++i) {
    std::string user(key_bytes, 'k');
    for (size_t b = 0; b < std::min<size_t>(4, key_bytes); ++b) {
      user[key_bytes - 1 - b] = static_cast<char>(i >> (8 * b));
    }
    runs[pick(i)].push_back({user, i << 8 | 1});
  }
  return runs;
}

// Cycles per record of a merge without back-pressure: one per beat, whatever the interleaving. A
// key may cost 2 more where it fills the memory of its node.
template <typename Model>
void TestMergeThroughput(const char* name, unsigned ways, unsigned v) {
  std::mt19937_64 rng(1);
  Testbench<Model> tb;
  const size_t kRecords = 144 * 3;  // a multiple of every number of ways under test
  const Key same = {std::string(5 * v, 's'), 7};
  const std::vector<std::pair<const char*, std::vector<KeyRun>>> shapes = {
      {"one beat, one way", ShapedRuns(ways, kRecords, v, [](size_t) { return 0; })},
      {"one beat, last way", ShapedRuns(ways, kRecords, v, [=](size_t) { return ways - 1; })},
      {"one beat, alternating", ShapedRuns(ways, kRecords, v, [=](size_t i) { return i % ways; })},
      {"one beat, stretches",
       ShapedRuns(ways, kRecords, v, [=](size_t i) { return i / 16 % ways; })},
      {"5 beats, one way", ShapedRuns(ways, kRecords, 5 * v, [](size_t) { return 0; })},
      {"5 beats, alternating",
       ShapedRuns(ways, kRecords, 5 * v, [=](size_t i) { return i % ways; })},
      {"5 beats, all the same", std::vector<KeyRun>(ways, KeyRun(kRecords / ways, same))},
      {"1024 bytes, one way", ShapedRuns(ways, kRecords, 1024, [](size_t) { return 0; })},
      {"1024 bytes, alternating",
       ShapedRuns(ways, kRecords, 1024, [=](size_t i) { return i % ways; })},
  };
  for (const auto& [shape, runs] : shapes) {
    const auto got = RunMerge(tb, runs, v, 100, 100, rng);
    ASSERT_EQ(got.keys.size(), kRecords);
    size_t beats = 0;
    for (const MergedKey& key : got.keys) beats += KeyBeats(key.key.user.size(), v);
    std::cout << name << " " << shape << ": " << double(got.cycles) / kRecords
              << " cycles per record, " << beats / kRecords << " beats\n";
    const bool fills = beats / kRecords >= 64;
    EXPECT_LE(got.cycles, beats + (fills ? 2 * kRecords : 0) + 8) << name << " " << shape;
  }
}

}  // namespace sluice::dv
