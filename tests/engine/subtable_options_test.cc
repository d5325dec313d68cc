// Options of sub-tables: that whoever writes extents heeds them, that they last, and can change.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "db/describe.h"
#include "db/fixture.h"
#include "engine/workload.h"

namespace sluice {
namespace {

constexpr int kRecords = 2000;
constexpr Compression kNone = Compression::kNone;
constexpr Compression kZstd = Compression::kZstd;
using Levels = std::vector<Compression>;

std::string Key(int i) { return fmt::format("{:08}", i); }
// Long words in an order of their own, of which all values have the same.
std::string Value(int i) {
  std::string value;
  for (uint32_t word = 1 + i; value.size() < 100; word = word * 1664525 + 1013904223) {
    value += fmt::format("word-number-{}-of-many ", (word >> 16) % 97);
  }
  return value;
}

enum class Writer { kFlush, kCompaction, kIngestion };

class SubtableOptionsTest : public DbFixture {
 protected:
  SubtableOptionsTest() {
    options_.automatic_compactions = false;
    options_.memtable_bytes = 4 << 20;
    options_.extent_bytes = 256 << 10;  // all records fit into one, whose padding is small
  }

  // What a sub-table of its own has of kRecords records.
  struct Shape {
    uint64_t bytes = 0;
    uint64_t blocks = 0;
    uint64_t value_extents = 0;
  };

  SubtableStatistics StatisticsOf(const std::string& name) {
    for (const SubtableStatistics& subtable : db_->GetStatistics().subtables) {
      if (subtable.name == name) {
        return subtable;
      }
    }
    ADD_FAILURE() << "no sub-table " << name;
    return {};
  }
  uint64_t BytesOf(const std::string& name) {
    uint64_t bytes = 0;
    for (const LevelStatistics& level : StatisticsOf(name).levels) {
      bytes += level.bytes;
    }
    return bytes;
  }
  void Fill(Subtable* subtable, Writer writer) {
    std::unique_ptr<Ingestion> ingestion;
    if (writer == Writer::kIngestion) {
      ASSERT_TRUE(db_->NewIngestion(&ingestion).ok());
    }
    for (int i = 0; i < kRecords; ++i) {
      ASSERT_TRUE((ingestion != nullptr ? ingestion->Add(subtable, Key(i), Value(i))
                                        : db_->Put({}, subtable, Key(i), Value(i)))
                      .ok());
    }
    if (ingestion != nullptr) {
      ASSERT_TRUE(ingestion->Commit().ok());
      return;
    }
    ASSERT_TRUE(db_->Flush(subtable).ok());
    if (writer == Writer::kCompaction) {
      // Of two runs, or it would move the one that there is.
      ASSERT_TRUE(db_->Put({}, subtable, Key(kRecords / 2), Value(kRecords / 2)).ok());
      ASSERT_TRUE(db_->CompactRange(subtable, {}, {}).ok());
    }
  }
  void ExpectRecords(Subtable* subtable) {
    const auto at = db_->NewIterator({}, subtable);
    int i = 0;
    for (at->SeekToFirst(); at->Valid(); at->Next(), ++i) {
      ASSERT_EQ(at->key(), Key(i));
      ASSERT_EQ(at->value(), Value(i));
    }
    ASSERT_TRUE(at->status().ok()) << at->status().ToString();
    ASSERT_EQ(i, kRecords);
  }
  Shape Measure(const SubtableOptions& own, Writer writer) {
    const std::string name = fmt::format("t{}", ++made_);
    Open();
    Subtable* subtable = nullptr;
    const Status status = db_->CreateSubtable(own, name, &subtable);
    EXPECT_TRUE(status.ok()) << status.ToString();
    Fill(subtable, writer);
    Open();  // with empty caches
    ExpectRecords(db_->FindSubtable(name));
    Shape shape{.bytes = BytesOf(name),
                .blocks = db_->GetStatistics().block_cache.entries,
                .value_extents = StatisticsOf(name).value_extents};
    EXPECT_TRUE(db_->Verify(nullptr).ok());
    return shape;
  }

  int made_ = 0;
};

TEST_F(SubtableOptionsTest, WhoeverWritesExtentsHeedsThem) {
  for (const Writer writer : {Writer::kFlush, Writer::kCompaction, Writer::kIngestion}) {
    SCOPED_TRACE(static_cast<int>(writer));
    const bool last_level = writer != Writer::kFlush;
    const Shape plain = Measure({}, writer);
    EXPECT_GT(plain.bytes, uint64_t{100} * kRecords);
    EXPECT_EQ(plain.value_extents, 0u);
    EXPECT_GT(Measure({.block_bytes = 512}, writer).blocks, 4 * plain.blocks);
    const Shape zstd = Measure({.compression = kZstd}, writer);
    EXPECT_LT(zstd.bytes, plain.bytes / 3);
    EXPECT_LT(Measure({.compression = kZstd, .zstd_level = 19}, writer).bytes, zstd.bytes);
    const Shape by_level = Measure({.compression_per_level = Levels{kNone, kNone, kZstd}}, writer);
    EXPECT_EQ(by_level.bytes < plain.bytes / 3, last_level);
    const Shape small = Measure({.block_bytes = 512, .compression = kZstd}, writer);
    const Shape dictionary =
        Measure({.block_bytes = 512, .compression = kZstd, .zstd_dictionary_bytes = 2048}, writer);
    if (last_level) {
      EXPECT_LT(dictionary.bytes, small.bytes);
    } else {
      EXPECT_EQ(dictionary.bytes, small.bytes);
    }
    const Shape filtered = Measure({.bloom_bits_per_key = 64}, writer);
    EXPECT_GT(filtered.bytes, plain.bytes + 4 * kRecords);
    // As many prefixes as keys.
    EXPECT_GT(Measure({.bloom_bits_per_key = 64, .prefix_bytes = 8}, writer).bytes,
              filtered.bytes + 4 * kRecords);
    if (writer != Writer::kCompaction) {
      EXPECT_GT(Measure({.separate_value_bytes = 100}, writer).value_extents, 0u);
    }
  }
}

TEST_F(SubtableOptionsTest, GoBeforeTheDatabases) {
  const uint64_t raw = Measure({}, Writer::kIngestion).bytes;
  options_.compression = kZstd;
  options_.compression_per_level = {kZstd, kZstd, kZstd};
  options_.separate_value_bytes = 100;
  const Shape apart = Measure({}, Writer::kIngestion);
  EXPECT_GT(apart.value_extents, 0u);
  EXPECT_LT(apart.bytes, raw / 3);
  // Its own compression is that of all levels, unless it has some of those, too.
  const SubtableOptions own{.compression = kNone, .separate_value_bytes = 0};
  EXPECT_EQ(Measure(own, Writer::kIngestion).bytes, raw);
  options_.compression = kNone;
  const SubtableOptions no_levels{.compression_per_level = Levels(), .separate_value_bytes = 0};
  EXPECT_EQ(Measure(no_levels, Writer::kIngestion).bytes, raw);
  EXPECT_LT(Measure({.separate_value_bytes = 0}, Writer::kIngestion).bytes, raw / 3);
}

TEST_F(SubtableOptionsTest, IteratorsUseTheFiltersOfPrefixes) {
  constexpr int kRuns = 6;
  const auto blocks_of_scans = [&](const SubtableOptions& own) {
    Subtable* subtable = nullptr;
    const std::string name = fmt::format("t{}", ++made_);
    EXPECT_TRUE(db_->CreateSubtable(own, name, &subtable).ok());
    for (int run = 0; run < kRuns; ++run) {
      for (int i = run; i < 600; i += kRuns) {
        EXPECT_TRUE(db_->Put({}, subtable, Key(i) + "record", "value").ok());
      }
      EXPECT_TRUE(db_->Flush(subtable).ok());
    }
    const auto looked_up = [&] {
      const CacheStatistics blocks = db_->GetStatistics().block_cache;
      return blocks.hits + blocks.misses;
    };
    const uint64_t before = looked_up();
    for (int i = kRuns; i < 600 - kRuns; ++i) {
      const std::string lower = Key(i);
      const std::string upper = Key(i + 1);
      const auto at = db_->NewIterator({.lower_bound = &lower, .upper_bound = &upper}, subtable);
      at->SeekToFirst();
      EXPECT_TRUE(at->Valid());
    }
    return looked_up() - before;
  };
  Open();
  EXPECT_LT(2 * blocks_of_scans({.prefix_bytes = 8}), blocks_of_scans({}));
}

TEST_F(SubtableOptionsTest, AreKeptAndChangeWhatIsWrittenLater) {
  Open();
  const SubtableOptions first{.block_bytes = 1024, .compression = kZstd};
  const SubtableOptions second{.compression_per_level = Levels{},
                               .zstd_level = 7,
                               .zstd_dictionary_bytes = 512,
                               .bloom_bits_per_key = 0,
                               .prefix_bytes = 3,
                               .separate_value_bytes = uint64_t{1} << 40};
  Subtable* subtable = nullptr;
  ASSERT_TRUE(db_->CreateSubtable(first, "t", &subtable).ok());
  EXPECT_EQ(db_->GetSubtableOptions(subtable), first);
  EXPECT_EQ(db_->GetSubtableOptions(nullptr), SubtableOptions());
  Fill(subtable, Writer::kFlush);
  const uint64_t packed = BytesOf("t");
  ASSERT_TRUE(db_->SetSubtableOptions(subtable, second).ok());
  ASSERT_TRUE(db_->SetSubtableOptions(nullptr, first).ok());
  EXPECT_EQ(db_->GetSubtableOptions(subtable), second);
  EXPECT_EQ(BytesOf("t"), packed);  // as it was
  ExpectRecords(subtable);
  Fill(subtable, Writer::kFlush);
  EXPECT_GT(BytesOf("t"), 3 * packed);
  for (int opening = 0; opening < 2; ++opening) {
    Open();
    subtable = db_->FindSubtable("t");
    EXPECT_EQ(db_->GetSubtableOptions(subtable), second);
    EXPECT_EQ(db_->GetSubtableOptions(nullptr), first);
    ExpectRecords(subtable);
  }
  // What is not set is the database's again, as it is opened.
  ASSERT_TRUE(db_->SetSubtableOptions(subtable, {}).ok());
  options_.compression = kZstd;
  Open();
  subtable = db_->FindSubtable("t");
  EXPECT_EQ(db_->GetSubtableOptions(subtable), SubtableOptions());
  ASSERT_TRUE(db_->DeleteRange({}, subtable, {}, {}).ok());
  ASSERT_TRUE(db_->Flush(subtable).ok());
  Fill(subtable, Writer::kCompaction);
  EXPECT_LT(BytesOf("t"), 2 * packed);
  ExpectRecords(subtable);
}

TEST_F(SubtableOptionsTest, CopiesHaveThem) {
  Open();
  const SubtableOptions own{.block_bytes = 32 << 10, .compression = kZstd};
  const SubtableOptions of_default{.zstd_level = 5};
  Subtable* subtable = nullptr;
  ASSERT_TRUE(db_->CreateSubtable(own, "t", &subtable).ok());
  ASSERT_TRUE(db_->SetSubtableOptions(nullptr, of_default).ok());
  Fill(subtable, Writer::kFlush);
  ASSERT_TRUE(db_->CreateCheckpoint(dir_.File("copy")).ok());
  db_.reset();
  RepairReport report;
  ASSERT_TRUE(DB::Repair(options_, dir_.File("db"), dir_.File("repaired"), &report).ok());
  EXPECT_EQ(report.losses.size(), 0u);
  for (const char* const name : {"copy", "repaired"}) {
    Open(name);
    EXPECT_EQ(db_->GetSubtableOptions(db_->FindSubtable("t")), own);
    EXPECT_EQ(db_->GetSubtableOptions(nullptr), of_default);
    ExpectRecords(db_->FindSubtable("t"));
    const uint64_t packed = BytesOf("t");
    EXPECT_LT(packed, uint64_t{100} * kRecords / 3) << name;
  }
}

TEST_F(SubtableOptionsTest, StatisticsShowThem) {
  Open();
  Subtable* subtable = nullptr;
  const SubtableOptions own{.block_bytes = 1024,
                            .compression = kZstd,
                            .compression_per_level = Levels{kNone, Compression::kLz4},
                            .level_tiers = std::vector<uint32_t>{0, 0, 2}};
  ASSERT_TRUE(db_->CreateSubtable(own, "t", &subtable).ok());
  const std::string text =
      "block_bytes=1024 compression=zstd compression_per_level=none,lz4 level_tiers=0,0,2";
  EXPECT_EQ(own.ToString(), text);
  EXPECT_EQ(SubtableOptions().ToString(), "");
  EXPECT_EQ(StatisticsOf("t").options, own);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_NE(statistics.ToString().find("  its own options: " + text + "\n"), std::string::npos);
  const nlohmann::json json = ToJson(statistics)["subtables"];
  EXPECT_EQ(json[0]["options"].dump(), "{}");
  EXPECT_EQ(json[1]["options"].dump(),
            R"({"block_bytes":1024,"compression":"zstd","compression_per_level":["none","lz4"],)"
            R"("level_tiers":[0,0,2]})");
}

TEST_F(SubtableOptionsTest, WhatIsOutOfItsRangeIsRefusedByName) {
  Open();
  Subtable* subtable = nullptr;
  const SubtableOptions good{.zstd_level = 2};
  ASSERT_TRUE(db_->CreateSubtable(good, "t", &subtable).ok());
  const std::pair<const char*, SubtableOptions> bad[] = {
      {"block_bytes", {.block_bytes = 63}},
      {"block_bytes", {.block_bytes = options_.extent_bytes + 1}},
      {"compression", {.compression = Compression{3}}},
      {"compression_per_level", {.compression_per_level = Levels{kNone, Compression{9}}}},
      {"compression_per_level", {.compression_per_level = Levels(4)}},
      {"zstd_level", {.zstd_level = 0}},
      {"zstd_level", {.zstd_level = 23}},
      {"zstd_dictionary_bytes", {.zstd_dictionary_bytes = 255}},
      {"zstd_dictionary_bytes", {.zstd_dictionary_bytes = options_.extent_bytes / 8 + 1}},
      {"bloom_bits_per_key", {.bloom_bits_per_key = -1}},
      {"bloom_bits_per_key", {.bloom_bits_per_key = 65}},
      {"prefix_bytes", {.prefix_bytes = 256}},
      {"level_tiers", {.level_tiers = std::vector<uint32_t>{0, 3}}},
      {"level_tiers", {.level_tiers = std::vector<uint32_t>(4)}},
  };
  for (const auto& [name, options] : bad) {
    Subtable* made = nullptr;
    for (const Status& status :
         {db_->CreateSubtable(options, "bad", &made), db_->SetSubtableOptions(subtable, options)}) {
      EXPECT_EQ(status.code(), Status::Code::kInvalidArgument) << status.ToString();
      EXPECT_NE(status.message().find(fmt::format("SubtableOptions::{} ", name)), std::string::npos)
          << status.ToString();
    }
  }
  EXPECT_EQ(db_->FindSubtable("bad"), nullptr);
  EXPECT_EQ(db_->GetSubtableOptions(subtable), good);
  EXPECT_TRUE(db_->SetSubtableOptions(subtable, {.block_bytes = options_.extent_bytes,
                                                 .zstd_dictionary_bytes = options_.extent_bytes / 8,
                                                 .bloom_bits_per_key = 64,
                                                 .prefix_bytes = 255})
                  .ok());
  ASSERT_TRUE(db_->DropSubtable(subtable).ok());
  EXPECT_EQ(db_->SetSubtableOptions(subtable, good).code(), Status::Code::kInvalidArgument);
  options_.read_only = true;
  Open();
  EXPECT_EQ(db_->SetSubtableOptions(nullptr, good).code(), Status::Code::kInvalidArgument);
}

// Were they refused, a database could not be opened with the defaults, by the command line say.
TEST_F(SubtableOptionsTest, AreCutToWhatSmallerExtentsPermit) {
  options_.extent_bytes = 1 << 20;
  const SubtableOptions own{
      .block_bytes = 1 << 20, .compression = kZstd, .zstd_dictionary_bytes = 128 << 10};
  Open();
  Subtable* subtable = nullptr;
  ASSERT_TRUE(db_->CreateSubtable(own, "t", &subtable).ok());
  for (const uint32_t extent_bytes : {16u << 10, 4u << 10}) {
    options_.extent_bytes = extent_bytes;
    options_.block_bytes = 1024;
    Open();
    subtable = db_->FindSubtable("t");
    EXPECT_EQ(db_->GetSubtableOptions(subtable), own);
    Fill(subtable, Writer::kCompaction);
    ExpectRecords(subtable);
    EXPECT_GT(StatisticsOf("t").levels[2].extents, 1u);
    EXPECT_TRUE(db_->Verify(nullptr).ok());
    db_.reset();
    RepairReport report;
    const std::string repaired = fmt::format("repaired-{}", extent_bytes);
    ASSERT_TRUE(DB::Repair(options_, dir_.File("db"), dir_.File(repaired), &report).ok());
    EXPECT_EQ(report.losses, std::vector<std::string>());
    Open(repaired);
    subtable = db_->FindSubtable("t");
    EXPECT_EQ(db_->GetSubtableOptions(subtable),
              (SubtableOptions{.block_bytes = extent_bytes,
                               .compression = kZstd,
                               .zstd_dictionary_bytes = extent_bytes / 8}));
    ExpectRecords(subtable);
  }
}

TEST_F(SubtableOptionsTest, ChangeBesideThreads) {
  constexpr int kKeys = 500;
  TestRandom random(TestSeed());
  options_ = RandomOptions(&random);
  Open();
  Subtable* subtable = nullptr;
  ASSERT_TRUE(db_->CreateSubtable(RandomSubtableOptions(&random, options_), "t", &subtable).ok());
  std::atomic<bool> stop{false};
  std::map<std::string, std::string> model;
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    while (!stop) {
      const std::string lower = Key(100);
      const std::string upper = Key(101);
      const auto at = db_->NewIterator({.lower_bound = &lower, .upper_bound = &upper}, subtable);
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        ASSERT_EQ(at->key(), lower);
      }
      ASSERT_TRUE(at->status().ok()) << at->status().ToString();
      (void)db_->GetStatistics();
    }
  });
  threads.emplace_back([&] {
    while (!stop) {
      const Status status = db_->CompactRange(subtable, {}, {});
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
  });
  for (int i = 0; i < 60; ++i) {
    const SubtableOptions own = RandomSubtableOptions(&random, options_);
    ASSERT_TRUE(db_->SetSubtableOptions(subtable, own).ok());
    ASSERT_EQ(db_->GetSubtableOptions(subtable), own);
    for (int n = 0; n < 200; ++n) {
      const std::string key = Key(static_cast<int>(Uniform(&random, 0, kKeys)));
      model[key] = Value(i) + std::to_string(n);
      ASSERT_TRUE(db_->Put({}, subtable, key, model[key]).ok());
    }
    if (i % 10 == 0) {
      ASSERT_TRUE(db_->CreateCheckpoint(dir_.File("copy" + std::to_string(i))).ok());
    }
  }
  stop = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto expect = [&] {
    std::map<std::string, std::string> found;
    const auto at = db_->NewIterator({}, db_->FindSubtable("t"));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      found.emplace(at->key(), at->value());
    }
    EXPECT_TRUE(found == model);
    EXPECT_TRUE(db_->Verify(nullptr).ok());
  };
  expect();
  Open();
  expect();
}

}  // namespace
}  // namespace sluice
