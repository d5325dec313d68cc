// Databases that the real LevelDB made, compacted by Sluice, judged by the real LevelDB.

#include "leveldb_dir/compact.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "leveldb_dir/database.h"
#include "merge/cpu_executor.h"
#include "real_leveldb.h"
#include "sluice/env.h"
#include "table/table_reader.h"
#include "util/files.h"
#include "util/testing.h"

namespace sluice {
namespace {

Status Compact(const std::string& dir, CompactReport* report, const CompactOptions& options = {},
               Executor* executor = nullptr) {
  CpuExecutor cpu;
  return CompactDatabase(Env::Posix(), dir, executor != nullptr ? executor : &cpu, options, nullptr,
                         report);
}

// Compacts `dir` and checks everything that must hold afterwards, whatever it held before.
void CompactAndCheck(const std::string& dir, const RealOptions& real, const Contents& contents,
                     CompactReport* report, const CompactOptions& options = {},
                     Executor* executor = nullptr) {
  const Status status = Compact(dir, report, options, executor);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(report->merge.output_records, contents.size());
  EXPECT_EQ(report->merge.input_records,
            report->merge.output_records + report->merge.dropped_records);
  EXPECT_EQ(report->merge.input_checksum,
            report->merge.output_checksum + report->merge.dropped_checksum);
  EXPECT_EQ(report->files_left, 0u);

  // Nothing is in the directory but what the new state needs.
  size_t tables = 0;
  for (const auto& [name, bytes] : ReadDirectory(dir)) {
    if (name.ends_with(".ldb")) {
      ++tables;
      std::unique_ptr<TableReader> table;
      ASSERT_TRUE(TableReader::OpenImage(bytes, name, &table).ok());
      EXPECT_EQ(table->filter() != nullptr, report->filter_bits_per_key > 0) << name;
    }
    EXPECT_TRUE(name.ends_with(".ldb") || name == "CURRENT" || name.starts_with("MANIFEST-"))
        << name;
  }
  EXPECT_EQ(tables, report->output_tables);

  ExpectHolds(dir, real, contents);
  RealLevelDb db(dir, real);
  ASSERT_TRUE(db.status().ok()) << db.status().ToString();
  for (int level = 0; level < static_cast<int>(kNumLevels); ++level) {
    EXPECT_EQ(db.FilesAtLevel(level),
              level == static_cast<int>(report->output_level) ? report->output_tables : 0)
        << db.Property("leveldb.sstables");
  }
}

class CompactTest : public testing::Test {
 protected:
  const std::string& dir() const { return dir_.path(); }

  const uint64_t seed_ = TestSeed();
  TempDir dir_;
  CompactReport report_;
};

class CompactOptionsTest : public CompactTest, public testing::WithParamInterface<RealOptions> {};

TEST_P(CompactOptionsTest, HoldsWhatItHeld) {
  const RealOptions& real = GetParam();
  Contents contents = MakeRealDatabase(dir(), {.leveldb = real, .seed = seed_});
  CompactAndCheck(dir(), real, contents, &report_);
  EXPECT_EQ(report_.snappy, real.compression == leveldb::kSnappyCompression);
  EXPECT_EQ(report_.filter_bits_per_key, real.bloom_bits);
  EXPECT_GE(report_.runs, 8u);
  EXPECT_GE(report_.log_records, 300u);

  // LevelDB goes on working with it, and Sluice after LevelDB.
  std::mt19937_64 random(seed_ + 1);
  {
    RealLevelDb db(dir(), real);
    ASSERT_TRUE(db.status().ok()) << db.status().ToString();
    for (int i = 0; i < 3000; ++i) {
      db.Put(fmt::format("{:05}", random() % 4000), RandomValue(&random, 300), &contents);
    }
    for (int i = 0; i < 200; ++i) {
      db.Delete(std::string(std::next(contents.begin(), random() % contents.size())->first),
                &contents);
    }
    db.db()->CompactRange(nullptr, nullptr);
    db.Put("last", "write", &contents);
  }
  ExpectHolds(dir(), real, contents);
  CompactAndCheck(dir(), real, contents, &report_);
}

INSTANTIATE_TEST_SUITE_P(
    Real, CompactOptionsTest,
    testing::Values(RealOptions{}, RealOptions{.compression = leveldb::kNoCompression},
                    RealOptions{.bloom_bits = 10},
                    RealOptions{.compression = leveldb::kNoCompression, .bloom_bits = 16},
                    RealOptions{.bloom_bits = 4, .block_size = 512, .restart_interval = 1},
                    RealOptions{.block_size = 65536, .restart_interval = 128},
                    RealOptions{.write_buffer_size = 256 << 10, .max_file_size = 4 << 20}),
    [](const auto& info) { return fmt::format("Case{}", info.index); });

TEST_F(CompactTest, EmptyDatabaseIsLeftAlone) {
  { RealLevelDb db(dir(), {}); }
  const auto before = ReadDirectory(dir());
  ASSERT_TRUE(Compact(dir(), &report_).ok());
  EXPECT_EQ(ReadDirectory(dir()), before);
  EXPECT_EQ(report_.tasks, 0u);
  ExpectHolds(dir(), {}, {});
}

TEST_F(CompactTest, OnlyALog) {
  Contents contents;
  {
    RealLevelDb db(dir(), {});
    db.Put("b", "old", &contents);
    db.Put("a", "", &contents);
    db.Put("b", std::string(100000, 'x'), &contents);  // its log record spans blocks
    db.Put("", "the empty key", &contents);
    db.Put("gone", "1", &contents);
    db.Delete("gone", &contents);
  }
  CompactAndCheck(dir(), {}, contents, &report_);
  EXPECT_EQ(report_.log_records, 6u);
  EXPECT_EQ(report_.output_level, 1u);
}

TEST_F(CompactTest, EverythingDeleted) {
  Contents contents;
  {
    RealLevelDb db(dir(), {});
    for (int i = 0; i < 1000; ++i) {
      db.Put(std::to_string(i), "value", &contents);
    }
    db.db()->CompactRange(nullptr, nullptr);
    for (int i = 0; i < 1000; ++i) {
      db.Delete(std::to_string(i), &contents);
    }
  }
  CompactAndCheck(dir(), {}, contents, &report_);
  EXPECT_EQ(report_.output_tables, 0u);
  EXPECT_EQ(report_.merge.dropped_records, 2000u);
}

TEST_F(CompactTest, TornLogTailIsWhatLevelDbTakesIt) {
  Contents contents;
  {
    RealLevelDb db(dir(), {});
    db.Put("kept", "1", &contents);
    db.Put("kept too", "2", &contents);
    Contents torn;
    db.Put("torn", std::string(1000, 't'), &torn);
  }
  for (const auto& entry : std::filesystem::directory_iterator(dir())) {
    if (entry.path().extension() == ".log") {
      std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) - 100);
    }
  }
  CompactAndCheck(dir(), {}, contents, &report_);
}

// Tasks by key range, several passes per task, small tables: all at once.
TEST_F(CompactTest, ManyTasksAndPasses) {
  const MakeOptions make{.leveldb = {.write_buffer_size = 256 << 10},
                         .seed = seed_,
                         .keys = 20000,
                         .deep_writes = 30000,
                         .level0_tables = 12};
  const Contents contents = MakeRealDatabase(dir(), make);

  // Merges no more than two runs at once, as a small device.
  class TwoWays : public Executor {
   public:
    std::string_view name() const override { return "two ways"; }
    size_t max_runs() const override { return 2; }
    size_t max_snapshots() const override { return 1; }
    MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
      EXPECT_LE(task.runs.size(), 2u);
      return cpu_.Run(task, sink);
    }

   private:
    CpuExecutor cpu_;
  };
  TwoWays executor;
  const CompactOptions options{.table_bytes = 100000, .task_bytes = 500000};
  CompactAndCheck(dir(), make.leveldb, contents, &report_, options, &executor);
  EXPECT_GE(report_.tasks, 4u);
  EXPECT_GE(report_.passes, 4 * report_.tasks);
  EXPECT_GT(report_.bytes_read, report_.merge.input_bytes);
  EXPECT_TRUE(report_.retries.empty());
}

TEST_F(CompactTest, ProgressRisesToTheEnd) {
  MakeRealDatabase(dir(), {.seed = seed_});
  std::vector<CompactProgress> told;
  CpuExecutor cpu;
  const CompactOptions options{.table_bytes = 20000, .task_bytes = 200000};
  const Status status = CompactDatabase(
      Env::Posix(), dir(), &cpu, options, [&](const CompactProgress& now) { told.push_back(now); },
      &report_);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_GE(told.size(), report_.output_tables);
  EXPECT_EQ(told.front().done_bytes, 0u);
  for (size_t i = 1; i < told.size(); ++i) {
    EXPECT_GE(told[i].done_bytes, told[i - 1].done_bytes);
  }
  EXPECT_GT(told.back().total_bytes, 0u);
  EXPECT_EQ(told.back().done_bytes, told.back().total_bytes);
}

// A device that takes only short values: some tasks fail, perhaps after tables have been written.
class ShortValues : public Executor {
 public:
  explicit ShortValues(uint64_t max_value_bytes)
      : cpu_({.max_key_bytes = UINT64_MAX, .max_value_bytes = max_value_bytes}) {}

  std::string_view name() const override { return "short values"; }
  size_t max_runs() const override { return 16; }
  size_t max_snapshots() const override { return 1; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    return cpu_.Run(task, sink);
  }

 private:
  CpuExecutor cpu_;
};

TEST_F(CompactTest, WhatADeviceCannotDoGoesToTheCpu) {
  Contents contents = MakeRealDatabase(dir(), {.seed = seed_, .max_value = 300});
  {
    RealLevelDb db(dir(), {});
    db.Put("0050/long", std::string(5000, 'L'), &contents);
  }
  ShortValues executor(1000);
  const CompactOptions options{.table_bytes = 20000, .task_bytes = 100000};
  CompactAndCheck(dir(), {}, contents, &report_, options, &executor);
  ASSERT_EQ(report_.retries.size(), 1u);
  EXPECT_EQ(report_.retries[0].status, MergeStatus::kValueTooLong);
  EXPECT_GT(report_.tasks, 1u);
}

TEST_F(CompactTest, WithoutRetryADeviceLimitIsAnError) {
  MakeRealDatabase(dir(), {.seed = seed_});
  const auto before = ReadDirectory(dir());
  ShortValues executor(10);
  EXPECT_FALSE(Compact(dir(), &report_, {.retry_on_cpu = false}, &executor).ok());
  EXPECT_EQ(ReadDirectory(dir()), before);
}

// Leftovers of a run that was killed are overwritten or removed, and never mistaken for data.
TEST_F(CompactTest, LeftoversOfAKilledRunGoAway) {
  const Contents contents = MakeRealDatabase(dir(), {.seed = seed_});
  uint64_t next = 0;
  {
    Database database;
    ASSERT_TRUE(OpenDatabase(Env::Posix(), dir(), &database).ok());
    next = database.next_file_number;
  }
  for (const std::string& name :
       {fmt::format("{:06}.ldb", next), fmt::format("{:06}.dbtmp", next + 1),
        fmt::format("MANIFEST-{:06}", next + 1)}) {
    ASSERT_TRUE(WriteFileSynced(Env::Posix(), dir_.File(name), "half a file").ok());
  }
  CompactAndCheck(dir(), {}, contents, &report_);
}

TEST_F(CompactTest, TablesWithTheOldSuffix) {
  const Contents contents = MakeRealDatabase(dir(), {.seed = seed_});
  for (const auto& entry : std::filesystem::directory_iterator(dir())) {
    if (entry.path().extension() == ".ldb") {
      std::filesystem::rename(entry.path(),
                              std::filesystem::path(entry.path()).replace_extension(".sst"));
    }
  }
  CompactAndCheck(dir(), {}, contents, &report_);
}

// A level that is too full would be rewritten by LevelDB as soon as it opens.
TEST_F(CompactTest, OutputGoesToALevelThatHasRoom) {
  Contents contents;
  std::mt19937_64 random(seed_);
  const RealOptions real{.compression = leveldb::kNoCompression, .write_buffer_size = 64 << 20};
  {
    RealLevelDb db(dir(), real);
    for (int i = 0; i < 600; ++i) {
      db.Put(std::to_string(i), RandomValue(&random, 100000), &contents);
    }
  }
  CompactAndCheck(dir(), real, contents, &report_);
  EXPECT_GT(report_.output_file_bytes, 10u << 20);
  EXPECT_EQ(report_.output_level, 2u);
}

TEST_F(CompactTest, CompactingTwiceChangesNoRecord) {
  const Contents contents = MakeRealDatabase(dir(), {.seed = seed_});
  CompactAndCheck(dir(), {}, contents, &report_);
  CompactAndCheck(dir(), {}, contents, &report_);
  EXPECT_EQ(report_.merge.dropped_records, 0u);
  EXPECT_EQ(report_.log_records, 0u);
}

}  // namespace
}  // namespace sluice
