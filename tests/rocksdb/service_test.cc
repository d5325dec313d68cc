// A real RocksDB whose compactions Sluice does, beside a twin that compacts by itself and a std::map.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rocksdb/compaction_filter.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_manager.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/unique_id.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "engine/kill.h"
#include "merge/cpu_executor.h"
#include "rocksdb/twins.h"

namespace sluice::interop {
namespace {

TEST(RocksService, ReadersSeeNoDifference) {
  TestRandom random(TestSeed());
  constexpr rocksdb::CompressionType kCompressions[] = {rocksdb::kNoCompression,
                                                        rocksdb::kSnappyCompression,
                                                        rocksdb::kLZ4Compression, rocksdb::kZSTD};
  for (int round = 0; round < TestRounds(8); ++round) {
    rocksdb::Options options = SmallOptions();
    options.compression = kCompressions[Uniform(&random, 0, 3)];
    options.max_subcompactions = Uniform(&random, 0, 1) != 0 ? 4 : 1;
    options.level_compaction_dynamic_level_bytes = Uniform(&random, 0, 1) != 0;
    const auto service = NewSluiceCompactionService({});
    Twins twins(options, service);
    for (int part = 0; part < 4; ++part) {
      RunWorkload(&random, 8000, &twins);
      if (Uniform(&random, 0, 1) != 0) {
        twins.Compact();
      }
      ASSERT_NO_FATAL_FAILURE(twins.Check());
    }
    EXPECT_GT(service->statistics().jobs, 0u) << Reasons(service->statistics());
    EXPECT_EQ(OtherReasons(service->statistics()), "");
    twins.ReopenWithout(options);
    ASSERT_NO_FATAL_FAILURE(twins.Check());
    twins.Compact();
    ASSERT_NO_FATAL_FAILURE(twins.Check());
  }
}

TEST(RocksService, DropsWhatNobodySees) {
  const rocksdb::Options options = SmallOptions();
  const auto service = NewSluiceCompactionService({});
  Twins twins(options, service);
  for (int i = 0; i < 5000; ++i) {
    twins.Put("key" + std::to_string(i), std::string(100, 'a'));
  }
  twins.Compact();
  for (int i = 0; i < 5000; ++i) {
    twins.Delete("key" + std::to_string(i));
  }
  twins.Snapshot();
  twins.Put("key17", "again");
  twins.Compact();
  ASSERT_NO_FATAL_FAILURE(twins.Check());
  // Nothing lies below the last level: the snapshot does not need its tombstones.
  EXPECT_EQ(twins.Versions(true), twins.Versions(false));
  twins.Release(0);
  twins.Delete("key17");
  twins.Compact();
  ASSERT_NO_FATAL_FAILURE(twins.Check());
  EXPECT_EQ(twins.Versions(true), 0u);
  EXPECT_EQ(twins.Versions(false), 0u);
  EXPECT_GT(service->statistics().jobs, 0u);
}

// RocksDB compacts files of the last level again as long as they have sequence numbers that no
// snapshot needs.
TEST(RocksService, ComesToRest) {
  TestRandom random(TestSeed());
  const auto service = NewSluiceCompactionService({});
  Twins twins(SmallOptions(), service);
  RunWorkload(&random, 3000, &twins);
  twins.Compact();
  while (twins.snapshots() > 0) {
    twins.Release(0);
  }
  ASSERT_NO_FATAL_FAILURE(twins.Check());
  const SluiceCompactionStatistics before = service->statistics();
  EXPECT_GT(before.jobs, 0u);
  WaitForCompactions(twins.ours());
  EXPECT_EQ(service->statistics().jobs, before.jobs);
}

// Units take few snapshots. Of those that are held, only such count as see some of a job's records, and
// not all.
TEST(RocksService, SnapshotsThatSeeNoneOrAllOfAJobAreNoneOfIt) {
  class OneSnapshot : public Executor {
   public:
    std::string_view name() const override { return "one snapshot"; }
    size_t max_runs() const override { return cpu_.max_runs(); }
    size_t max_snapshots() const override { return 1; }
    MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
      return cpu_.Run(task, sink);
    }

   private:
    CpuExecutor cpu_;
  };
  TestRandom random(TestSeed());
  const auto service = NewSluiceCompactionService({.executor = std::make_shared<OneSnapshot>()});
  rocksdb::Options options = SmallOptions();
  options.disable_auto_compactions = true;
  Twins twins(options, service);
  const auto write = [&] {
    for (int i = 0; i < 1000; ++i) {
      twins.Put("key" + std::to_string(Uniform(&random, 0, 300)), std::to_string(i));
      twins.Delete("key" + std::to_string(Uniform(&random, 0, 300)));
    }
  };
  twins.Snapshot();
  write();
  twins.Snapshot();
  twins.Snapshot();
  twins.Compact();
  ASSERT_NO_FATAL_FAILURE(twins.Check());
  EXPECT_GT(service->statistics().jobs, 0u);
  EXPECT_EQ(service->statistics().cpu_retries, 0u);
  write();
  twins.Compact();
  ASSERT_NO_FATAL_FAILURE(twins.Check());
  EXPECT_GT(service->statistics().cpu_retries, 0u);
  while (twins.snapshots() > 0) {
    twins.Release(0);
  }
  ASSERT_NO_FATAL_FAILURE(twins.Check());
}

// What is left of a job that is over: nothing.
TEST(RocksService, LeavesNoDirectories) {
  const auto service = NewSluiceCompactionService({});
  Twins twins(SmallOptions(), service);
  std::filesystem::create_directory(twins.path() + "/sluice-compaction-old-1");
  TestRandom random(TestSeed());
  RunWorkload(&random, 3000, &twins);
  twins.Compact();
  ASSERT_NO_FATAL_FAILURE(twins.Check());
  EXPECT_GT(service->statistics().jobs, 0u);
  for (const auto& entry : std::filesystem::directory_iterator(twins.path())) {
    EXPECT_FALSE(entry.is_directory()) << entry.path();
  }
}

// Works wrongly, in one way or another.
class BadExecutor : public Executor {
 public:
  enum class Fault { kFails, kFlipsBits, kLosesTable, kTakesTwoRuns };
  explicit BadExecutor(Fault fault) : fault_(fault) {}

  std::string_view name() const override { return "bad"; }
  size_t max_runs() const override { return fault_ == Fault::kTakesTwoRuns ? 2 : SIZE_MAX; }
  size_t max_snapshots() const override { return fault_ == Fault::kTakesTwoRuns ? 3 : SIZE_MAX; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    int tables = 0;
    MergeResult result = cpu_.Run(task, [&](const MergeOutput& output) {
      ++tables;
      if (fault_ == Fault::kLosesTable && tables == 2) {
        return Status();
      }
      if (fault_ != Fault::kFlipsBits) {
        return sink(output);
      }
      std::string data(output.data);
      data[data.size() / 2] = static_cast<char>(data[data.size() / 2] ^ 4);
      MergeOutput damaged = output;
      damaged.data = data;
      return sink(damaged);
    });
    if (fault_ == Fault::kFails || (fault_ == Fault::kLosesTable && tables >= 2)) {
      result.status = MergeStatus::kDevice;
      result.error = Status::IoError("the device is gone");
    }
    return result;
  }

 private:
  const Fault fault_;
  CpuExecutor cpu_;
};

TEST(RocksService, ExecutorsThatFailAreNoTrouble) {
  TestRandom random(TestSeed());
  using Fault = BadExecutor::Fault;
  for (const Fault fault :
       {Fault::kFails, Fault::kFlipsBits, Fault::kLosesTable, Fault::kTakesTwoRuns}) {
    const auto service =
        NewSluiceCompactionService({.executor = std::make_shared<BadExecutor>(fault)});
    Twins twins(SmallOptions(), service);
    for (int part = 0; part < 2; ++part) {
      RunWorkload(&random, 3000, &twins);
      twins.Compact();
      ASSERT_NO_FATAL_FAILURE(twins.Check());
    }
    const SluiceCompactionStatistics statistics = service->statistics();
    EXPECT_GT(statistics.jobs, 0u);
    EXPECT_TRUE(statistics.cpu_retries > 0 ||
                (fault != Fault::kFails && fault != Fault::kFlipsBits));
    EXPECT_EQ(OtherReasons(statistics), "");
  }
}

// A job that meets a damaged block is left to RocksDB, whose own error it is then; what is sound can be
// read, and nothing is left lying about.
// No exception may reach RocksDB, which knows none.
TEST(RocksService, WhatThrowsIsLeft) {
  class Throws : public Executor {
   public:
    std::string_view name() const override { return "throws"; }
    size_t max_runs() const override { return SIZE_MAX; }
    size_t max_snapshots() const override { return SIZE_MAX; }
    MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
      if (++calls % 3 == 0) {
        return CpuExecutor().Run(task, sink);
      }
      if (calls % 3 == 1) {
        throw std::bad_alloc();
      }
      throw 17;
    }
    std::atomic<int> calls = 0;
  };
  TestRandom random(TestSeed());
  const auto service = NewSluiceCompactionService({.executor = std::make_shared<Throws>()});
  Twins twins(SmallOptions(), service);
  RunWorkload(&random, 8000, &twins);
  twins.Compact();
  ASSERT_NO_FATAL_FAILURE(twins.Check());
  const SluiceCompactionStatistics statistics = service->statistics();
  EXPECT_GT(statistics.reasons.at("failed"), 1u);
  EXPECT_GT(statistics.jobs, 0u) << Reasons(statistics);
}

// Of single deletions no property tells. Once one was met, later jobs find theirs before they merge.
TEST(RocksService, SingleDeletionsAreFoundBeforeTheMerge) {
  class Lines : public rocksdb::Logger {
   public:
    using Logger::Logv;
    void Logv(const char* format, va_list arguments) override {
      char line[2000];
      std::vsnprintf(line, sizeof line, format, arguments);
      const std::lock_guard lock(mutex);
      if (std::string_view(line).find("left to RocksDB") != std::string_view::npos) {
        left.emplace_back(line);
      }
    }
    std::mutex mutex;
    std::vector<std::string> left;
  };
  rocksdb::Options options = SmallOptions();
  const auto lines = std::make_shared<Lines>();
  options.info_log = lines;
  options.disable_auto_compactions = true;
  const auto service = NewSluiceCompactionService({});
  service->AddTo(&options);
  const TempDir dir;
  const std::unique_ptr<rocksdb::DB> db = Open(options, dir.File("db"));
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    for (int file = 0; file < 2; ++file) {
      for (int i = 0; i < 500; ++i) {
        ASSERT_TRUE(db->Put({}, fmt::format("{}key{}", round, i), std::string(100, 'a')).ok());
      }
      ASSERT_TRUE(db->SingleDelete({}, fmt::format("{}last{}", round, file)).ok());
      ASSERT_TRUE(db->Flush({}).ok());
    }
    ASSERT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
  }
  const std::lock_guard lock(lines->mutex);
  ASSERT_GE(lines->left.size(), static_cast<size_t>(kRounds));
  for (size_t i = 0; i < lines->left.size(); ++i) {
    const bool before_the_merge = lines->left[i].find("single deletion") != std::string::npos;
    EXPECT_EQ(before_the_merge, i > 0) << lines->left[i];
  }
}

TEST(RocksService, DamagedInputsAreLeft) {
  TestRandom random(TestSeed());
  for (const rocksdb::CompressionType compression :
       {rocksdb::kNoCompression, rocksdb::kLZ4Compression}) {
    const TempDir dir;
    rocksdb::Options options = SmallOptions();
    options.create_if_missing = true;
    options.compression = compression;
    options.disable_auto_compactions = true;
    const auto service = NewSluiceCompactionService({});
    service->AddTo(&options);
    rocksdb::DB* raw = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options, dir.File("db"), &raw).ok());
    std::unique_ptr<rocksdb::DB> db(raw);
    for (int version = 0; version < 2; ++version) {
      for (int i = 0; i < 2000; ++i) {
        ASSERT_TRUE(db->Put({}, "key" + std::to_string(i),
                            std::string(50, static_cast<char>('a' + version)))
                        .ok());
      }
      ASSERT_TRUE(db->Flush({}).ok());
    }
    std::vector<rocksdb::LiveFileMetaData> files;
    db->GetLiveFilesMetaData(&files);
    ASSERT_GE(files.size(), 2u);
    const std::string path = files.back().db_path + files.back().name;
    // Behind the block that is looked at before the merge, and in front of the index.
    const auto at = static_cast<std::streamoff>(std::filesystem::file_size(path) / 2 +
                                                Uniform(&random, 0, 300));
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    ASSERT_TRUE(file.good());
    EXPECT_TRUE(db->CompactRange({}, nullptr, nullptr).IsCorruption());
    EXPECT_GT(service->statistics().reasons.at("input: corrupt"), 0u);
    EXPECT_EQ(service->statistics().jobs, 0u);
    std::string value;
    EXPECT_TRUE(db->Get({}, "key0", &value).ok());
    db.reset();
    for (const auto& entry : std::filesystem::directory_iterator(dir.File("db"))) {
      EXPECT_FALSE(entry.is_directory()) << entry.path();
    }
  }
}

TEST(RocksService, CancelledJobsAreLeft) {
  TestRandom random(TestSeed());
  const auto service = NewSluiceCompactionService({});
  Twins twins(SmallOptions(), service);
  RunWorkload(&random, 2000, &twins);
  twins.Compact();
  ASSERT_NO_FATAL_FAILURE(twins.Check());
  const uint64_t jobs = service->statistics().jobs;
  service->Cancel();
  RunWorkload(&random, 2000, &twins);
  twins.Compact();
  ASSERT_NO_FATAL_FAILURE(twins.Check());
  EXPECT_EQ(service->statistics().jobs, jobs);
  EXPECT_GT(service->statistics().reasons.at("cancelled"), 0u);
}

// Why the compactions of a database with such options are left to RocksDB.
std::string WhyLeft(const rocksdb::Options& options,
                    const std::function<void(rocksdb::DB*)>& write = nullptr) {
  const auto service = NewSluiceCompactionService({});
  const TempDir dir;
  rocksdb::Options ours = options;
  // One that begins while another one is at work may be within level 0, which is a reason of its own.
  ours.disable_auto_compactions = true;
  service->AddTo(&ours);
  const std::unique_ptr<rocksdb::DB> db = Open(ours, dir.File("db"));
  for (int part = 0; part < 4; ++part) {
    for (int i = 0; i < 200; ++i) {
      EXPECT_TRUE(db->Put({}, "key" + std::to_string(i), std::string(100, 'a')).ok());
    }
    EXPECT_TRUE(db->Flush({}).ok());
    if (write) {
      write(db.get());
      EXPECT_TRUE(db->Flush({}).ok());
    }
  }
  rocksdb::CompactRangeOptions compact;
  compact.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  EXPECT_TRUE(db->CompactRange(compact, nullptr, nullptr).ok());
  EXPECT_TRUE(db->Put({}, "after", "all").ok());
  if (!write) {
    EXPECT_EQ(service->statistics().jobs, 0u);
  }
  const auto reasons = service->statistics().reasons;
  EXPECT_EQ(reasons.size(), 1u) << Reasons(service->statistics());
  return reasons.empty() ? "" : reasons.begin()->first;
}

class Append : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* old, const rocksdb::Slice& value,
             std::string* result, rocksdb::Logger*) const override {
    *result = (old != nullptr ? old->ToString() : "") + value.ToString();
    return true;
  }
  const char* Name() const override { return "Append"; }
};

class KeepAll : public rocksdb::CompactionFilter {
 public:
  const char* Name() const override { return "KeepAll"; }
};

TEST(RocksService, LeavesWhatItCannotDoExactly) {
  using Change = std::function<void(rocksdb::Options*, rocksdb::BlockBasedTableOptions*)>;
  using Table = rocksdb::BlockBasedTableOptions;
  static const KeepAll keep_all;
  const std::pair<const char*, Change> changes[] = {
      {"merge_operator", [](auto* o, Table*) { o->merge_operator = std::make_shared<Append>(); }},
      {"comparator", [](auto* o, Table*) { o->comparator = rocksdb::ReverseBytewiseComparator(); }},
      {"compaction_filter", [](auto* o, Table*) { o->compaction_filter = &keep_all; }},
      {"compaction_style",
       [](auto* o, Table*) { o->compaction_style = rocksdb::kCompactionStyleUniversal; }},
      {"prefix_extractor",
       [](auto* o, Table*) { o->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(2)); }},
      {"table_properties_collector_factories",
       [](auto* o, Table*) {
         o->table_properties_collector_factories.push_back(
             rocksdb::NewCompactOnDeletionCollectorFactory(100, 50));
       }},
      {"enable_blob_files", [](auto* o, Table*) { o->enable_blob_files = true; }},
      {"paranoid_file_checks", [](auto* o, Table*) { o->paranoid_file_checks = true; }},
      {"max_dict_bytes", [](auto* o, Table*) { o->compression_opts.max_dict_bytes = 1000; }},
      {"bottommost_compression_opts",
       [](auto* o, Table*) { o->bottommost_compression_opts.enabled = true; }},
      {"compression", [](auto* o, Table*) { o->compression = rocksdb::kZlibCompression; }},
      {"allow_ingest_behind", [](auto* o, Table*) { o->allow_ingest_behind = true; }},
      {"two_write_queues or unordered_write", [](auto* o, Table*) { o->unordered_write = true; }},
      {"sst_file_manager",
       [](auto* o, Table*) {
         o->sst_file_manager.reset(rocksdb::NewSstFileManager(rocksdb::Env::Default()));
       }},
      {"index_type", [](auto*, Table* t) { t->index_type = Table::kTwoLevelIndexSearch; }},
      {"data_block_index_type",
       [](auto*, Table* t) { t->data_block_index_type = Table::kDataBlockBinaryAndHash; }},
      {"filter_policy",
       [](auto*, Table* t) { t->filter_policy.reset(rocksdb::NewRibbonFilterPolicy(10)); }},
      {"filter_policy",
       [](auto*, Table* t) {
         t->format_version = 4;
         t->filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
       }},
      {"block_align", [](auto*, Table* t) { t->block_align = true; }}};
  for (const auto& [reason, change] : changes) {
    rocksdb::Options options = SmallOptions();
    options.compression = rocksdb::kNoCompression;
    rocksdb::BlockBasedTableOptions table;
    change(&options, &table);
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    EXPECT_EQ(WhyLeft(options), reason);
  }
  const rocksdb::Options options = SmallOptions();
  EXPECT_EQ(
      WhyLeft(options,
              [](rocksdb::DB* db) {
                EXPECT_TRUE(db->DeleteRange({}, db->DefaultColumnFamily(), "key1", "key2").ok());
              }),
      "input: not supported");
  EXPECT_EQ(
      WhyLeft(options, [](rocksdb::DB* db) { EXPECT_TRUE(db->SingleDelete({}, "key1").ok()); }),
      "input: not supported");
  EXPECT_EQ(WhyLeft(options,
                    [](rocksdb::DB* db) {
                      const std::string file = db->GetName() + "/../ingested";
                      rocksdb::SstFileWriter writer({}, SmallOptions());
                      EXPECT_TRUE(writer.Open(file).ok());
                      EXPECT_TRUE(writer.Put("key1", "ingested").ok());
                      EXPECT_TRUE(writer.Finish().ok());
                      EXPECT_TRUE(db->IngestExternalFile({file}, {}).ok());
                    }),
            "input: not supported");
}

// Blocks of one file must not be taken from a cache for those of another one, whoever reads them.
TEST(RocksService, FilesAreToldApart) {
  rocksdb::Options options = SmallOptions();
  options.compression = rocksdb::kNoCompression;
  options.target_file_size_base = 4 << 10;
  rocksdb::BlockBasedTableOptions table;
  table.cache_index_and_filter_blocks = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  const auto service = NewSluiceCompactionService({});
  service->AddTo(&options);
  const TempDir dir;
  const std::unique_ptr<rocksdb::DB> db = Open(options, dir.File("db"));
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(db->Put({}, "key" + std::to_string(i), std::string(i, 'v')).ok());
  }
  rocksdb::CompactRangeOptions compact;
  compact.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  ASSERT_TRUE(db->CompactRange(compact, nullptr, nullptr).ok());
  ASSERT_GT(service->statistics().jobs, 0u);
  const rocksdb::Status status = db->VerifyChecksum();
  EXPECT_TRUE(status.ok()) << status.ToString();
  rocksdb::TablePropertiesCollection files;
  ASSERT_TRUE(db->GetPropertiesOfAllTables(&files).ok());
  EXPECT_GT(files.size(), 10u);
  std::set<std::string> ids;
  for (const auto& [name, properties] : files) {
    std::string id;
    EXPECT_TRUE(rocksdb::GetUniqueIdFromTableProperties(*properties, &id).ok());
    EXPECT_TRUE(ids.insert(id).second) << name;
  }
}

// Options that change while the database is open.
TEST(RocksService, LeavesWhatItCannotDoAnyMore) {
  const auto service = NewSluiceCompactionService({});
  Twins twins(SmallOptions(), service);
  TestRandom random(TestSeed());
  RunWorkload(&random, 2000, &twins);
  twins.Compact();
  ASSERT_NO_FATAL_FAILURE(twins.Check());
  const uint64_t jobs = service->statistics().jobs;
  EXPECT_GT(jobs, 0u);
  ASSERT_TRUE(twins.ours()->SetOptions({{"paranoid_file_checks", "true"}}).ok());
  RunWorkload(&random, 2000, &twins);
  twins.Compact();
  ASSERT_NO_FATAL_FAILURE(twins.Check());
  EXPECT_EQ(service->statistics().jobs, jobs);
  EXPECT_GT(service->statistics().reasons.at("paranoid_file_checks"), 0u);
}

TEST(RocksService, ServesColumnFamilies) {
  const TempDir dir;
  const auto service = NewSluiceCompactionService({});
  rocksdb::Options options = SmallOptions();
  options.create_missing_column_families = true;
  rocksdb::Options merging = options;
  merging.merge_operator = std::make_shared<Append>();
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {"default", options}, {"two", options}, {"merging", merging}};
  rocksdb::DBOptions database(options);
  service->AddTo(&database);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(database, dir.File("db"), families, &handles, &opened).ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::ColumnFamilyHandle* later = nullptr;
  ASSERT_TRUE(db->CreateColumnFamily(options, "later", &later).ok());
  handles.push_back(later);
  for (int part = 0; part < 4; ++part) {
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      for (int i = 0; i < 500; ++i) {
        const std::string key = "key" + std::to_string(i);
        ASSERT_TRUE(db->Put({}, handle, key, handle->GetName() + std::to_string(part)).ok());
      }
      ASSERT_TRUE(db->Flush({}, handle).ok());
    }
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    ASSERT_TRUE(db->CompactRange({}, handle, nullptr, nullptr).ok());
    std::string value;
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(db->Get({}, handle, "key" + std::to_string(i), &value).ok());
      EXPECT_EQ(value, handle->GetName() + "3");
    }
    EXPECT_EQ(AllVersions(db.get(), handle).size(), 500u);
  }
  const SluiceCompactionStatistics statistics = service->statistics();
  EXPECT_GT(statistics.jobs, 2u);
  EXPECT_GT(statistics.reasons.at("merge_operator"), 0u);
  EXPECT_EQ(statistics.reasons.size(), 1u) << Reasons(statistics);
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
  }
}

void FlushHundredKeysTwice(rocksdb::DB* db) {
  for (int version = 0; version < 2; ++version) {
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(db->Put({}, "key" + std::to_string(i), "value").ok());
    }
    ASSERT_TRUE(db->Flush({}).ok());
  }
}

// What a program's own listener is told of Sluice's compactions.
TEST(RocksService, ListenersFindWhatRocksDbTells) {
  class Watcher : public rocksdb::EventListener {
   public:
    void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& info) override {
      for (const auto& [path, properties] : info.table_properties) {
        entries += properties->num_entries;
      }
    }
    void OnColumnFamilyHandleDeletionStarted(rocksdb::ColumnFamilyHandle*) override { ++ended; }

    uint64_t entries = 0;
    uint64_t ended = 0;
  };
  const TempDir dir;
  const auto service = NewSluiceCompactionService({});
  rocksdb::Options options = SmallOptions();
  options.disable_auto_compactions = true;
  const auto watcher = std::make_shared<Watcher>();
  options.listeners.push_back(watcher);
  service->AddTo(&options);
  const std::unique_ptr<rocksdb::DB> db = Open(options, dir.File("db"));
  ASSERT_NO_FATAL_FAILURE(FlushHundredKeysTwice(db.get()));
  const uint64_t ended = watcher->ended;  // by Open itself
  ASSERT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
  EXPECT_EQ(service->statistics().jobs, 1u) << Reasons(service->statistics());
  EXPECT_EQ(watcher->entries, 300u);  // of two inputs and the output
  EXPECT_EQ(watcher->ended, ended);
}

// Files are as large as RocksDB's, whatever their size is multiplied by, level by level.
TEST(RocksService, FilesAreAsLargeAsRocksDbs) {
  struct Sizes {
    uint64_t base;
    int multiplier;
    bool dynamic_levels;
  };
  constexpr Sizes kSizes[] = {{UINT64_MAX, 1, false},       {UINT64_MAX, 1, true},
                              {uint64_t{1} << 62, 8, true}, {uint64_t{64} << 20, 256, true},
                              {256 << 10, 10, true},        {256 << 10, 10, false}};
  for (const Sizes& sizes : kSizes) {
    size_t files[2];
    for (const bool ours : {false, true}) {
      const TempDir dir;
      const auto service = NewSluiceCompactionService({});
      rocksdb::Options options;
      options.create_if_missing = true;
      options.compression = rocksdb::kNoCompression;
      options.disable_auto_compactions = true;
      options.target_file_size_base = sizes.base;
      options.target_file_size_multiplier = sizes.multiplier;
      options.level_compaction_dynamic_level_bytes = sizes.dynamic_levels;
      if (ours) {
        service->AddTo(&options);
      }
      const std::unique_ptr<rocksdb::DB> db = Open(options, dir.File("db"));
      for (int i = 0; i < 2000; ++i) {
        ASSERT_TRUE(db->Put({}, "key" + std::to_string(i * 7 % 2000), std::string(1000, 'v')).ok());
        if (i == 1000) {
          ASSERT_TRUE(db->Flush({}).ok());
        }
      }
      const rocksdb::Status status = db->CompactRange({}, nullptr, nullptr);
      ASSERT_TRUE(status.ok()) << status.ToString();
      std::vector<rocksdb::LiveFileMetaData> live;
      db->GetLiveFilesMetaData(&live);
      files[ours ? 1 : 0] = live.size();
      EXPECT_EQ(service->statistics().jobs > 0, ours) << Reasons(service->statistics());
    }
    EXPECT_NEAR(static_cast<double>(files[1]), static_cast<double>(files[0]),
                static_cast<double>(files[0]) / 4)
        << sizes.base << " times " << sizes.multiplier << ", " << sizes.dynamic_levels;
  }
}

// RocksDB writes its options down for each job, which would stop a database that it otherwise serves.
TEST(RocksService, IsNotAddedToOptionsThatCannotBeWrittenDown) {
  const TempDir dir;
  const auto service = NewSluiceCompactionService({});
  rocksdb::Options options = SmallOptions();
  options.info_log_level = rocksdb::NUM_INFO_LOG_LEVELS;
  service->AddTo(&options);
  EXPECT_EQ(service->statistics().reasons.count("options that RocksDB cannot write down"), 1u);
  if (ROCKSDB_MAJOR >= 10) {
    return;  // does not open a database with them
  }
  const std::unique_ptr<rocksdb::DB> db = Open(options, dir.File("db"));
  ASSERT_NO_FATAL_FAILURE(FlushHundredKeysTwice(db.get()));
  EXPECT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
  EXPECT_TRUE(db->Put({}, "key", "value").ok());
}

// A program's own factory that wraps RocksDB's, and goes by its name.
TEST(RocksService, LeavesTablesOfAnUnknownFactory) {
  class Wrapping : public rocksdb::TableFactory {
   public:
    const char* Name() const override { return base_->Name(); }
    using rocksdb::TableFactory::NewTableReader;
    rocksdb::Status NewTableReader(const rocksdb::ReadOptions& read,
                                   const rocksdb::TableReaderOptions& options,
                                   std::unique_ptr<rocksdb::RandomAccessFileReader>&& file,
                                   uint64_t bytes, std::unique_ptr<rocksdb::TableReader>* reader,
                                   bool prefetch) const override {
      return base_->NewTableReader(read, options, std::move(file), bytes, reader, prefetch);
    }
    rocksdb::TableBuilder* NewTableBuilder(const rocksdb::TableBuilderOptions& options,
                                           rocksdb::WritableFileWriter* file) const override {
      return base_->NewTableBuilder(options, file);
    }
#if ROCKSDB_MAJOR >= 10
    std::unique_ptr<rocksdb::TableFactory> Clone() const override {
      return std::make_unique<Wrapping>();
    }
#endif

   private:
    const std::unique_ptr<rocksdb::TableFactory> base_{rocksdb::NewBlockBasedTableFactory()};
  };
  const TempDir dir;
  const auto service = NewSluiceCompactionService({});
  rocksdb::Options options = SmallOptions();
  options.disable_auto_compactions = true;
  options.table_factory = std::make_shared<Wrapping>();
  service->AddTo(&options);
  const std::unique_ptr<rocksdb::DB> db = Open(options, dir.File("db"));
  ASSERT_NO_FATAL_FAILURE(FlushHundredKeysTwice(db.get()));
  EXPECT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
  EXPECT_EQ(service->statistics().reasons.count("table_factory"), 1u)
      << Reasons(service->statistics());
}

// What outlives a killed process, in a file that both map.
struct Progress {
  std::atomic<uint64_t> puts;  // that returned
  std::atomic<uint64_t> jobs;  // that were done in all lives
};

Progress* MapProgress(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  EXPECT_EQ(::ftruncate(fd, sizeof(Progress)), 0);
  void* const mapped = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  EXPECT_NE(mapped, MAP_FAILED);
  ::close(fd);
  return static_cast<Progress*>(mapped);
}

constexpr uint64_t kKeys = 3000;
std::string KeyOfPut(uint64_t i) { return "key" + std::to_string(i * 7919 % kKeys); }
std::string ValueOfPut(uint64_t i) { return std::to_string(i) + std::string(i % 400, 'v'); }

[[noreturn]] void PutUntilKilled(const std::string& dir) {
  Progress* const progress = MapProgress(dir + "/progress");
  const auto service = NewSluiceCompactionService({});
  rocksdb::Options options = SmallOptions();
  service->AddTo(&options);
  const std::unique_ptr<rocksdb::DB> db = Open(options, dir + "/db");
  const uint64_t jobs_before = progress->jobs;
  for (uint64_t i = progress->puts;; ++i) {
    if (!db->Put({}, KeyOfPut(i), ValueOfPut(i)).ok()) {
      ::_exit(1);
    }
    progress->puts = i + 1;
    progress->jobs = jobs_before + service->statistics().jobs;
  }
}

constexpr char kDirOfWriter[] = "SLUICE_TEST_DIR_OF_WRITER";

// This program once more, as a process that runs nothing but PutUntilKilled. A fork alone would not
// have the threads that RocksDB has begun here, and so would do no compactions.
pid_t StartWriter(const std::string& dir) {
  std::string filter = "--gtest_filter=RocksService.SurvivesKills";
  std::string variable = std::string(kDirOfWriter) + "=" + dir;
  std::string name = "rocksdb_service_test";
  char* const arguments[] = {name.data(), filter.data(), nullptr};
  std::vector<char*> environment{variable.data()};
  for (char** at = environ; *at != nullptr; ++at) {
    environment.push_back(*at);
  }
  environment.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  ::posix_spawn_file_actions_init(&quiet);
  ::posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  EXPECT_EQ(::posix_spawn(&child, "/proc/self/exe", &quiet, nullptr, arguments, environment.data()),
            0);
  ::posix_spawn_file_actions_destroy(&quiet);
  return child;
}

// A process that is killed while jobs are at work: what was put is there, and the next one cleans up.
TEST(RocksService, SurvivesKills) {
  if (const char* const dir = std::getenv(kDirOfWriter)) {
    PutUntilKilled(dir);
  }
  TestRandom random(TestSeed());
  const TempDir dir;
  Progress* const progress = MapProgress(dir.File("progress"));
  const int rounds = TestRounds(12);
  uint64_t least = 0;  // so many puts have returned in all lives
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    // Some lives end while the database is opened.
    const uint64_t lasts = round % 4 == 3 ? 0 : Uniform(&random, 1, 2 * kKeys);
    const uint64_t before = progress->puts;
    const pid_t child = StartWriter(dir.path());
    ASSERT_GT(child, 0);
    ASSERT_TRUE(KillWhen(child, progress->puts, lasts == 0 ? 0 : before + lasts,
                         std::chrono::microseconds(SkewedSize(&random, 100'000))))
        << "the writer ended by itself";
    least += lasts;
    const uint64_t puts = progress->puts;
    ASSERT_GE(puts, least);
    rocksdb::Options quiet = SmallOptions();
    quiet.disable_auto_compactions = true;
    const std::unique_ptr<rocksdb::DB> db = Open(quiet, dir.File("db"));
    std::string value;
    for (uint64_t i = puts - std::min(puts, kKeys); i < puts; ++i) {
      ASSERT_TRUE(db->Get({}, KeyOfPut(i), &value).ok()) << i;
      // The put behind the last one counted may be there, too.
      ASSERT_TRUE(value == ValueOfPut(i) || (i + kKeys == puts && value == ValueOfPut(puts))) << i;
    }
    VerifyTables(db.get());
  }
  EXPECT_GT(progress->jobs, 0u);
  ::munmap(progress, sizeof(Progress));
}

}  // namespace
}  // namespace sluice::interop
