// Holds the simulator to the engine: both get the same workload, with compactions that keep up.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/distribution.h"
#include "simulate/key_model.h"
#include "simulate/simulation.h"
#include "sluice/db.h"
#include "util/coding.h"
#include "util/testing.h"

namespace sluice::simulate {
namespace {

// Not inlined: GCC 12 then believes that the default of an option is not initialised.
[[gnu::noinline]] Settings SmallSettings(uint64_t memtables) {
  Settings settings;
  settings.options.create_if_missing = true;
  settings.options.memtable_bytes = 256 << 10;
  settings.options.extent_bytes = 32 << 10;
  settings.options.l1_bytes = 1 << 20;
  settings.options.compaction_bytes = 1 << 20;
  // Extents of 32 KiB fill their last page in part, which takes much of what a limit leaves.
  settings.options.max_space_amplification = 0;
  settings.data_bytes = memtables * settings.options.memtable_bytes;
  return settings;
}

Report Simulated(const Settings& settings) {
  Report report;
  const Status status = Simulate(
      settings, [](uint64_t, uint64_t) {}, &report);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return report;
}

// What the engine does with it.
Statistics Real(const Settings& settings) {
  const TempDir dir;
  std::unique_ptr<DB> db;
  EXPECT_TRUE(DB::Open(settings.options, dir.File("db"), &db).ok());
  Subtable* table;
  EXPECT_TRUE(db->CreateSubtable("t", &table).ok());
  const std::string value(settings.record.value_bytes, 'v');
  const uint64_t keys = settings.data_bytes / settings.record.bytes();
  std::mt19937_64 random(TestSeed());
  uint64_t written = 0;
  const auto put = [&](uint64_t number) {
    std::string key;
    const bool in_order = settings.distribution.kind == Distribution::Kind::kSequential;
    const uint64_t place = in_order ? number : bench::Mix(number);
    for (int shift = 56; shift >= 0; shift -= 8) {
      key += static_cast<char>(place >> shift);
    }
    key.resize(settings.record.key_bytes, 'k');
    EXPECT_TRUE(db->Put({}, table, key, value).ok());
    if (++written % 64 == 0) {
      EXPECT_TRUE(db->WaitForBackgroundWork().ok());
    }
  };
  std::vector<uint64_t> order(keys);
  std::iota(order.begin(), order.end(), 0);
  if (settings.distribution.kind != Distribution::Kind::kSequential) {
    std::shuffle(order.begin(), order.end(), random);
  }
  std::for_each(order.begin(), order.end(), put);
  const bench::Zipf zipf(keys, settings.distribution.theta);
  bench::Random draws(random());
  const auto overwrites = static_cast<uint64_t>(static_cast<double>(keys) * settings.overwrites);
  for (uint64_t i = 0; i < overwrites; ++i) {
    switch (settings.distribution.kind) {
      case Distribution::Kind::kUniform:
        put(draws.Below(keys));
        break;
      case Distribution::Kind::kZipf:
        put(zipf.Draw(&draws) - 1);
        break;
      case Distribution::Kind::kSequential:
        put(i % keys);
        break;
    }
  }
  EXPECT_TRUE(db->WaitForBackgroundWork().ok());
  return db->GetStatistics();
}

void Compare(const Settings& settings) {
  const Report simulated = Simulated(settings);
  const Statistics real = Real(settings);
  const double expected =
      static_cast<double>(real.flush_bytes_written + real.compaction_bytes_written) /
      static_cast<double>(real.flush_bytes_written);
  const double told = simulated.all.WriteAmplification();
  fmt::print("write amplification {:.2f}, simulated {:.2f}; flushes {}, simulated {}\n", expected,
             told, real.flushes, simulated.all.flushes);
  for (size_t kind = 0; kind < real.compactions.size(); ++kind) {
    fmt::print("  kind {}: {} parts, simulated {}\n", kind, real.compactions[kind],
               simulated.all.compactions[kind]);
  }
  EXPECT_NEAR(told, expected, 0.1 * expected);
  EXPECT_NEAR(static_cast<double>(simulated.all.flushes), static_cast<double>(real.flushes),
              1 + 0.05 * static_cast<double>(real.flushes));
  uint64_t bytes = 0;
  for (const LevelStatistics& level : real.subtables.back().levels) {
    bytes += level.bytes;
  }
  // How much is there twice depends on when the last major compaction was.
  EXPECT_NEAR(static_cast<double>(simulated.disk_bytes - simulated.dead_bytes),
              static_cast<double>(bytes), 0.15 * static_cast<double>(bytes));
}

TEST(Simulate, SmallAsTheEngine) { Compare(SmallSettings(16)); }
TEST(Simulate, LargerAsTheEngine) { Compare(SmallSettings(128)); }
TEST(Simulate, LargestAsTheEngine) {
  Settings settings = SmallSettings(400);
  settings.overwrites = 0.5;
  Compare(settings);
}

TEST(Simulate, SkewedAsTheEngine) {
  Settings settings = SmallSettings(128);
  settings.distribution.kind = Distribution::Kind::kZipf;
  Compare(settings);
}

TEST(Simulate, InOrderAsTheEngine) {
  Settings settings = SmallSettings(128);
  settings.distribution.kind = Distribution::Kind::kSequential;
  Compare(settings);
}

// At any moment, while a compaction has its inputs and its outputs, and with the memtable that would
// be flushed meanwhile.
TEST(Simulate, SpaceStaysUnderItsLimit) {
  for (const uint64_t memtables : {16, 64, 128}) {
    for (const Distribution::Kind kind : {Distribution::Kind::kUniform, Distribution::Kind::kZipf,
                                          Distribution::Kind::kSequential}) {
      for (const double limit : {1.15, 1.3}) {
        Settings settings = SmallSettings(memtables);
        settings.distribution.kind = kind;
        settings.options.max_space_amplification = limit;
        const Report report = Simulated(settings);
        const Options& options = settings.options;
        const auto live = static_cast<double>(report.live_bytes);
        // l1_bytes, two memtables and, for two threads, a part and the rest of an extent of each run.
        const auto extent = static_cast<double>(options.extent_bytes);
        const double part = std::clamp((limit - 1) * live / 8, 4 * extent,
                                       static_cast<double>(options.compaction_bytes));
        const double floor =
            1 + (static_cast<double>(options.l1_bytes + 2 * options.memtable_bytes) +
                 2 * (part + static_cast<double>(report.most_runs + 1) * extent)) /
                    live;
        EXPECT_LE(report.most_space + static_cast<double>(options.memtable_bytes) / live,
                  std::max(limit, floor))
            << memtables << " memtables, distribution " << static_cast<int>(kind) << ", limit "
            << limit << ", floor " << floor << ", runs " << report.most_runs;
      }
    }
  }
  Settings unlimited = SmallSettings(400);
  unlimited.options.max_space_amplification = 0;
  EXPECT_GT(Simulated(unlimited).most_space, 1.11);
}

// RocksDB 10.4.2 with these sizes of memtable, file and level base, dynamic level bytes and a
// WaitForCompact after every 64 writes, by its own statistics.
TEST(Simulate, LeveledAsRocksDb) {
  Settings settings = SmallSettings(128);
  settings.policy = Policy::kLeveled;
  EXPECT_NEAR(Simulated(settings).overwrite_amplification, 9.13, 0.5);
  settings.data_bytes = 400 * settings.options.memtable_bytes;
  EXPECT_NEAR(Simulated(settings).overwrite_amplification, 12.69, 0.6);
}

TEST(Simulate, PeersKeepAllData) {
  for (const Policy policy : {Policy::kLeveled, Policy::kLazyLeveling, Policy::kSpooky}) {
    for (const Distribution::Kind kind : {Distribution::Kind::kUniform, Distribution::Kind::kZipf,
                                          Distribution::Kind::kSequential}) {
      Settings settings = SmallSettings(64);
      settings.policy = policy;
      settings.distribution.kind = kind;
      const Report report = Simulated(settings);
      EXPECT_GE(report.disk_bytes, report.live_bytes * 99 / 100) << static_cast<int>(kind);
      EXPECT_LE(report.disk_bytes, report.live_bytes * 3 / 2) << static_cast<int>(kind);
    }
  }
}

TEST(KeyModel, CountsDistinctKeys) {
  constexpr uint64_t kKeys = 20000;
  std::mt19937_64 random(TestSeed());
  for (const double theta : {0.0, 0.5, 0.99, 1.2}) {
    Distribution zipf{.kind = Distribution::Kind::kZipf, .theta = theta};
    const KeyModel model(zipf, kKeys);
    const bench::Zipf ranks(kKeys, theta);
    bench::Random draws(random());
    std::vector<bool> seen(kKeys);
    uint64_t distinct = 0;
    for (uint64_t n = 1; n <= 300000; ++n) {
      const uint64_t rank = ranks.Draw(&draws) - 1;
      distinct += seen[rank] ? 0 : 1;
      seen[rank] = true;
      if (n == 1000 || n == 10000 || n == 300000) {
        EXPECT_NEAR(model.Distinct({.draws = n}), static_cast<double>(distinct),
                    5 * std::sqrt(static_cast<double>(distinct)))
            << theta << ", " << n;
      }
    }
  }
  const KeyModel uniform({}, kKeys);
  EXPECT_NEAR(uniform.Distinct({.once = kKeys / 2, .draws = kKeys}),
              kKeys * (1 - 0.5 * std::exp(-1)), 1);
  EXPECT_EQ(uniform.Distinct({.once = kKeys, .draws = 7}), kKeys);
}

}  // namespace
}  // namespace sluice::simulate
