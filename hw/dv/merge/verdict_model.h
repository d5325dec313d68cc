// The rules of include/sluice/executor.h over a merged sequence, as plainly as they can be put, and a
// model's key range and kept-key ports.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "key_streams.h"
#include "sluice_abi.h"

namespace sluice::dv {

constexpr size_t kSnapshots = abi::job::kSnapshotCount;

struct VerdictConfig {
  std::array<uint64_t, kSnapshots> snapshots = Only((uint64_t{1} << 56) - 1);  // ascending
  bool bottommost = false;
  bool has_begin = false;
  bool has_end = false;
  std::string begin;
  std::string end;

  static std::array<uint64_t, kSnapshots> Only(uint64_t snapshot) {
    std::array<uint64_t, kSnapshots> snapshots;
    snapshots.fill(snapshot);
    return snapshots;
  }
};

struct Verdict {
  MergedKey record;
  bool in_range = false;
  bool keep = false;
  bool tombstone = false;
  size_t shared = 0;  // of kept records only
};

inline std::vector<Verdict> VerdictModel(const std::vector<MergedKey>& merged,
                                         const VerdictConfig& config) {
  std::vector<Verdict> verdicts;
  // User keys with the snapshots that see a record of them.
  std::set<std::pair<std::string, uint64_t>> seen;
  const std::string* kept = nullptr;
  for (const MergedKey& record : merged) {
    const std::string& user = record.key.user;
    Verdict verdict{record};
    const uint64_t sequence = record.key.trailer >> 8;
    // A snapshot reads the newest record that is not above it.
    bool seen_first = sequence > config.snapshots.back();
    for (const uint64_t snapshot : config.snapshots) {
      seen_first = (sequence <= snapshot && seen.insert({user, snapshot}).second) || seen_first;
    }
    const bool oldest_sees = sequence <= config.snapshots.front();
    verdict.tombstone = (record.key.trailer & 0xff) == 0;
    verdict.in_range =
        !(config.has_begin && user < config.begin) && !(config.has_end && user >= config.end);
    verdict.keep =
        verdict.in_range && seen_first && !(verdict.tombstone && oldest_sees && config.bottommost);
    if (verdict.keep) {
      if (kept != nullptr) {
        const auto ends = std::mismatch(user.begin(), user.end(), kept->begin(), kept->end());
        verdict.shared = static_cast<size_t>(ends.first - user.begin());
      }
      kept = &record.key.user;
    }
    verdicts.push_back(verdict);
  }
  return verdicts;
}

inline VerdictConfig RandomConfig(std::mt19937_64& rng, const std::vector<MergedKey>& merged,
                                  size_t max_bytes) {
  KeyMaker maker(rng, max_bytes);
  const auto bound = [&] {
    std::string key =
        merged.empty() || Chance(rng, 30) ? maker.Make() : merged[rng() % merged.size()].key.user;
    if (Chance(rng, 20)) key += '\0';
    if (Chance(rng, 20) && !key.empty()) key.pop_back();
    key.resize(std::min(key.size(), max_bytes));
    return key;
  };
  VerdictConfig config;
  if (Chance(rng, 70)) {
    for (uint64_t& snapshot : config.snapshots) {
      snapshot = merged.empty() || Chance(rng, 30) ? rng() % 8
                                                   : merged[rng() % merged.size()].key.trailer >> 8;
    }
    std::sort(config.snapshots.begin(), config.snapshots.end());
    if (Chance(rng, 30)) config.snapshots.fill(config.snapshots.front());
  }
  config.bottommost = Chance(rng, 50);
  config.has_begin = Chance(rng, 30);
  config.has_end = Chance(rng, 30);
  config.begin = bound();
  config.end = bound();
  if (config.end < config.begin && Chance(rng, 70)) std::swap(config.begin, config.end);
  return config;
}

// Sets the configuration and loads the bounds over whatever an earlier job left.
template <typename Model>
void Configure(Testbench<Model>& tb, const VerdictConfig& config, size_t max_bytes,
               std::mt19937_64& rng) {
  Model& m = *tb.operator->();
  std::string snapshots;
  for (uint64_t snapshot : config.snapshots) {
    snapshots.append(reinterpret_cast<const char*>(&snapshot), 7);
  }
  SetBytes(m.snapshots_i, snapshots);
  m.bottommost_i = config.bottommost;
  m.has_begin_i = config.has_begin;
  m.has_end_i = config.has_end;
  m.begin_bytes_i = static_cast<uint16_t>(config.begin.size());
  m.end_bytes_i = static_cast<uint16_t>(config.end.size());
  for (int sel = 0; sel < 2; ++sel) {
    std::string image = sel == 0 ? config.begin : config.end;
    image.resize((image.size() + 7) / 8 * 8);
    image += RandomBytes(rng, max_bytes - image.size(), false);
    for (size_t word = 0; word < max_bytes / 8; ++word) {
      m.range_we_i = 1;
      m.range_sel_i = sel;
      m.range_addr_i = word;
      std::memcpy(&m.range_data_i, image.data() + 8 * word, 8);
      tb.Settle();
      tb.Tick();
    }
  }
  m.range_we_i = 0;
}

// Collects the kept keys of a model. An entry encoder takes a key only after its record, so the
// sink can be told how many it may take.
template <typename Model>
class KeptSink {
 public:
  KeptSink(unsigned v, unsigned percent) : v_(v), percent_(percent) {}

  void Drive(Model& m, std::mt19937_64& rng, size_t limit) {
    m.kept_key_ready_i = keys_ < limit && Chance(rng, percent_);
  }

  void Edge(const Model& m) {
    if (!m.kept_key_valid_o || !m.kept_key_ready_i) return;
    data_ += GetBytes(m.kept_key_data_o, v_);
    if (m.kept_key_last_o) ++keys_;
  }

  // The beats so far are those of the kept keys, and no more.
  void Expect(const std::vector<Verdict>& verdicts) const {
    std::string want;
    size_t keys = 0;
    for (const Verdict& verdict : verdicts) {
      if (!verdict.keep) continue;
      ++keys;
      std::string key = verdict.record.key.user;
      key.resize(KeyBeats(key.size(), v_) * v_);
      want += key;
    }
    EXPECT_EQ(keys_, keys);
    EXPECT_TRUE(data_ == want) << "kept keys differ: " << data_.size() << " bytes, expected "
                               << want.size();
  }

 private:
  unsigned v_;
  unsigned percent_;
  std::string data_;
  size_t keys_ = 0;
};

}  // namespace sluice::dv
