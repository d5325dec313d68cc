// A real RocksDB, compacted by the simulated Compaction Unit.

#include <gtest/gtest.h>

#include <map>

#include "device/executors.h"
#include "rocksdb/random_databases.h"
#include "rocksdb/real_rocksdb.h"
#include "sluice_rocksdb.h"

namespace sluice::interop {
namespace {

// Each table that the unit makes is the CPU executor's.
TEST(RocksRtl, ComparedWithTheCpu) {
  TestRandom random(TestSeed());
  std::shared_ptr<Executor> executor;
  ASSERT_TRUE(MakeExecutor("check", kDefaultConfiguration, {}, &executor).ok());
  const auto service = NewSluiceCompactionService({.executor = executor});
  const TempDir dir;
  rocksdb::Options options = DatabaseOptions({});
  options.paranoid_file_checks = false;
  options.compression = rocksdb::kLZ4Compression;
  service->AddTo(&options);
  rocksdb::DB* opened = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, dir.File("db"), &opened).ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  std::map<std::string, std::string> model;
  for (int part = 0; part < 3; ++part) {
    for (int i = 0; i < 500; ++i) {
      const std::string key = "key" + std::to_string(Uniform(&random, 0, 700));
      if (Uniform(&random, 0, 3) == 0) {
        ASSERT_TRUE(db->Delete({}, key).ok());
        model.erase(key);
      } else {
        model[key] = std::string(SkewedSize(&random, 300), 'v');
        ASSERT_TRUE(db->Put({}, key, model[key]).ok());
      }
    }
    ASSERT_TRUE(db->Flush({}).ok());
  }
  ASSERT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
  EXPECT_EQ(service->statistics().jobs, 1u);
  EXPECT_EQ(service->statistics().cpu_retries, 0u);
  const std::vector<TestEntry> versions = AllVersions(db.get(), db->DefaultColumnFamily());
  ASSERT_EQ(versions.size(), model.size());
  auto expected = model.begin();
  for (const TestEntry& version : versions) {
    EXPECT_EQ(UserKey(version.key), expected->first);
    EXPECT_EQ(version.value, expected->second);
    ++expected;
  }
}

// Each table that a unit makes is the CPU executor's. The CPU does the jobs of more than four snapshots.
TEST(RocksRtl, RandomSmallDatabases) {
  uint64_t seed = TestSeed();
  const int rounds = TestRounds(5);
  uint64_t on_units = 0;
  for (const char* const configuration : {"tiny", "fcae2", "fast20", "snappy4"}) {
    SCOPED_TRACE(configuration);
    std::shared_ptr<Executor> executor;
    ASSERT_TRUE(MakeExecutor("check", configuration, {}, &executor).ok());
    const auto service = NewSluiceCompactionService({.executor = executor});
    ASSERT_NO_FATAL_FAILURE(CompareRandomDatabases(service, seed, rounds));
    on_units += service->statistics().jobs - service->statistics().cpu_retries;
    seed += static_cast<uint64_t>(rounds);
  }
  EXPECT_GT(on_units, 0u);
  RecordProperty("jobs_on_units", std::to_string(on_units));
}

}  // namespace
}  // namespace sluice::interop
