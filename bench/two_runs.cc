#include "bench/two_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/distribution.h"
#include "bench/records.h"

namespace sluice::bench {

namespace {

constexpr uint64_t kBigToSmall = 10;
constexpr uint64_t kSpots = 16;
constexpr uint64_t kBatch = 100;
// What a record takes of a memtable beside key and value, at most.
constexpr uint64_t kMemtableOverhead = 128;

// The big run's key number `i`, with room for as many new ones after it.
uint64_t BigKey(uint64_t i) { return i << 32; }

uint64_t SmallRecords(const BenchSettings& settings) {
  return std::max<uint64_t>(1, settings.num / kBigToSmall);
}

// The small run's keys, in the order in which they are written.
std::vector<uint64_t> SmallKeys(uint64_t big, uint64_t small, const TwoRuns& runs, Random* random) {
  std::vector<uint64_t> keys;
  const auto distinct = static_cast<uint64_t>(runs.distinct * static_cast<double>(small));
  const uint64_t stretch = runs.scattered ? 1 : std::max<uint64_t>(1, distinct / kSpots);
  for (uint64_t place = 0; keys.size() < distinct; ++place) {
    const uint64_t before = BigKey(random->Below(big));
    for (uint64_t i = 1; i <= stretch && keys.size() < distinct; ++i) {
      // Stretches that fall on the same place share no key.
      keys.push_back(before + place * stretch + i);
    }
  }
  const auto hot = std::max<uint64_t>(
      1, static_cast<uint64_t>((1 - runs.distinct) * static_cast<double>(big)) / kSpots);
  const Zipf zipf(hot, 0.99);
  const Permutation scatter(hot, random->Next());
  std::vector<uint64_t> spots(kSpots);
  for (uint64_t& spot : spots) {
    spot = random->Below(big - hot + 1);
  }
  while (keys.size() < small) {
    keys.push_back(BigKey(spots[random->Below(kSpots)] + scatter(zipf.Draw(random) - 1)));
  }
  return keys;
}

class Filler {
 public:
  Filler(const BenchSettings& settings, uint64_t seed, Engine* engine)
      : settings_(settings),
        values_(settings.min_value_bytes, settings.max_value_bytes, seed),
        session_(engine->NewSession()),
        keys_(kBatch) {}

  // The keys `key(0)` to `key(count - 1)`.
  template <typename Key, typename Done>
  Status Put(uint64_t count, const Key& key, const Done& done) {
    for (uint64_t first = 0; first < count; first += kBatch) {
      records_.clear();
      for (uint64_t i = 0; i < std::min(kBatch, count - first); ++i) {
        MakeKey(key(first + i), KeyOrder::kOrdered, settings_.key_bytes, &keys_[i]);
        records_.push_back({.key = keys_[i], .value = values_.Next()});
      }
      SLUICE_RETURN_IF_ERROR(session_->Put(records_));
      done(first + records_.size());
    }
    return {};
  }

 private:
  const BenchSettings& settings_;
  ValueSource values_;
  const std::unique_ptr<EngineSession> session_;
  std::vector<std::string> keys_;
  std::vector<Record> records_;
};

}  // namespace

Status CheckTwoRuns(const BenchSettings& settings) {
  const uint64_t need =
      SmallRecords(settings) * (settings.key_bytes + settings.max_value_bytes + kMemtableOverhead);
  if (need > settings.engine.write_buffer_bytes) {
    return Status::InvalidArgument(
        fmt::format("a tenth of {} records has to fit a memtable: give --write-buffer-size {}",
                    settings.num, need));
  }
  return {};
}

Status BuildTwoRuns(const BenchSettings& settings, const TwoRuns& runs, uint64_t seed,
                    Engine* engine, const std::function<void(uint64_t, uint64_t)>& progress,
                    uint64_t* records) {
  Random random(seed);
  const uint64_t big = settings.num;
  const std::vector<uint64_t> small = SmallKeys(big, SmallRecords(settings), runs, &random);
  *records = big + small.size();
  Filler filler(settings, seed, engine);
  SLUICE_RETURN_IF_ERROR(filler.Put(big, BigKey, [&](uint64_t done) { progress(done, *records); }));
  SLUICE_RETURN_IF_ERROR(engine->Flush());
  SLUICE_RETURN_IF_ERROR(engine->WaitForBackgroundWork());
  SLUICE_RETURN_IF_ERROR(engine->Compact());
  SLUICE_RETURN_IF_ERROR(engine->WaitForBackgroundWork());
  SLUICE_RETURN_IF_ERROR(filler.Put(
      small.size(), [&](uint64_t i) { return small[i]; },
      [&](uint64_t done) { progress(big + done, *records); }));
  SLUICE_RETURN_IF_ERROR(engine->Flush());
  return engine->WaitForBackgroundWork();
}

}  // namespace sluice::bench
