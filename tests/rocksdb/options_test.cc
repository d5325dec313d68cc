// Options that a service is not given when the database is opened: they change, or the database adds
// them; and random small databases under random options.

#include <gtest/gtest.h>
#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/utilities/db_ttl.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksdb/utilities/transaction_db.h>

#include <chrono>
#include <set>
#include <thread>

#include "rocksdb/random_databases.h"
#include "rocksdb/twins.h"

namespace sluice::interop {
namespace {

// What can be told from a column family's tables of the options that they were written with.
struct Looks {
  std::set<std::string> compressions;
  bool filters = true;  // all have one
  uint64_t files = 0;
  uint64_t block_bytes = 0;  // on average
};

Looks LooksOf(rocksdb::DB* db) {
  rocksdb::TablePropertiesCollection tables;
  EXPECT_TRUE(db->GetPropertiesOfAllTables(&tables).ok());
  Looks looks;
  uint64_t bytes = 0;
  uint64_t blocks = 0;
  for (const auto& [name, table] : tables) {
    looks.compressions.insert(table->compression_name);
    looks.filters = looks.filters && table->filter_size > 0;
    ++looks.files;
    bytes += table->raw_key_size + table->raw_value_size;
    blocks += table->num_data_blocks;
  }
  looks.block_bytes = bytes / blocks;
  return looks;
}

// Twins with options changed in the same way: their tables look alike afterwards.
TEST(RocksOptions, ChangesAreSeen) {
  using Changes = std::unordered_map<std::string, std::string>;
  const Changes changes[] = {{{"compression", "kLZ4Compression"}},
                             {{"compression", "kNoCompression"}},
                             {{"block_based_table_factory", "{block_size=8192;}"}},
                             {{"block_based_table_factory", "{block_size=512;}"}},
                             {{"target_file_size_base", "200000"}},
                             {{"compression_per_level", "kNoCompression:kZSTD"}}};
  rocksdb::Options options = SmallOptions();
  options.disable_auto_compactions = true;
  options.write_buffer_size = 64 << 20;
  options.compression = rocksdb::kSnappyCompression;
  const auto service = NewSluiceCompactionService({});
  Twins twins(options, service);
  std::set<uint64_t> block_bytes;
  std::set<uint64_t> files;
  std::set<std::string> compressions;
  for (const Changes& change : changes) {
    SCOPED_TRACE(change.begin()->first + "=" + change.begin()->second);
    ASSERT_EQ(twins.ours()->SetOptions(change).ok(), twins.plain()->SetOptions(change).ok());
    for (int part = 0; part < 2; ++part) {
      for (int i = part; i < 6000; i += 1 + part) {
        twins.Put("key" + std::to_string(i), std::to_string(i) + std::string(100, 'v'));
      }
      ASSERT_TRUE(twins.ours()->Flush({}).ok());
      ASSERT_TRUE(twins.plain()->Flush({}).ok());
    }
    const uint64_t jobs = service->statistics().jobs;
    twins.Compact();
    EXPECT_GT(service->statistics().jobs, jobs);
    ASSERT_NO_FATAL_FAILURE(twins.Check());
    const Looks ours = LooksOf(twins.ours());
    const Looks plain = LooksOf(twins.plain());
    EXPECT_EQ(ours.compressions, plain.compressions);
    EXPECT_EQ(ours.filters, plain.filters);
    // Sluice ends a block behind the record with which it is full, and a file by how well the inputs
    // were compressed.
    EXPECT_NEAR(static_cast<double>(ours.block_bytes), static_cast<double>(plain.block_bytes),
                static_cast<double>(plain.block_bytes) * 0.3);
    EXPECT_LE(ours.files, plain.files * 4);
    EXPECT_GE(ours.files * 2 + 1, plain.files);
    block_bytes.insert(ours.block_bytes / 1000);
    files.insert(ours.files);
    compressions.insert(ours.compressions.begin(), ours.compressions.end());
  }
  EXPECT_EQ(Reasons(service->statistics()), "");
  EXPECT_GE(block_bytes.size(), 3u);
  EXPECT_LT(*files.begin() * 2, *files.rbegin());
  EXPECT_EQ(compressions.size(), 3u);
}

TEST(RocksOptions, ChangesThatRocksDbAloneCanDo) {
  const std::pair<const char*, std::unordered_map<std::string, std::string>> changes[] = {
      {"paranoid_file_checks", {{"paranoid_file_checks", "true"}}},
      {"enable_blob_files", {{"enable_blob_files", "true"}, {"min_blob_size", "10"}}},
      {"prefix_extractor", {{"prefix_extractor", "fixed:3"}}},
      {"compression", {{"compression", "kZlibCompression"}}}};
  for (const auto& [reason, change] : changes) {
    const auto service = NewSluiceCompactionService({});
    Twins twins(SmallOptions(), service);
    TestRandom random(7);
    RunWorkload(&random, 2000, &twins);
    twins.Compact();
    ASSERT_NO_FATAL_FAILURE(twins.Check());
    const uint64_t jobs = service->statistics().jobs;
    EXPECT_GT(jobs, 0u);
    ASSERT_TRUE(twins.ours()->SetOptions(change).ok());
    RunWorkload(&random, 2000, &twins);
    twins.Compact();
    WaitForCompactions(twins.ours());
    EXPECT_EQ(Contents(twins.ours(), nullptr), Contents(twins.plain(), nullptr));
    EXPECT_EQ(service->statistics().jobs, jobs);
    EXPECT_GT(service->statistics().reasons[reason], 0u) << Reasons(service->statistics());
  }
}

// DBWithTTL appends a time to each value, and drops by a filter those whose time has passed.
TEST(RocksOptions, TimeToLiveIsRocksDbs) {
  const auto service = NewSluiceCompactionService({});
  const TempDir dir;
  rocksdb::Options options = SmallOptions();
  service->AddTo(&options);
  rocksdb::DBWithTTL* opened = nullptr;
  ASSERT_TRUE(rocksdb::DBWithTTL::Open(options, dir.File("db"), &opened, 1).ok());
  const std::unique_ptr<rocksdb::DBWithTTL> db(opened);
  rocksdb::ColumnFamilyHandle* later = nullptr;
  ASSERT_TRUE(db->CreateColumnFamilyWithTtl(SmallOptions(), "later", &later, 1).ok());
  for (rocksdb::ColumnFamilyHandle* family : {db->DefaultColumnFamily(), later}) {
    for (int part = 0; part < 2; ++part) {
      for (int i = 0; i < 500; ++i) {
        ASSERT_TRUE(db->Put({}, family, "key" + std::to_string(i), "value").ok());
      }
      ASSERT_TRUE(db->Flush({}, family).ok());
    }
  }
  std::this_thread::sleep_for(std::chrono::seconds(3));
  rocksdb::CompactRangeOptions all;
  all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  for (rocksdb::ColumnFamilyHandle* family : {db->DefaultColumnFamily(), later}) {
    ASSERT_TRUE(db->CompactRange(all, family, nullptr, nullptr).ok());
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, family));
    it->SeekToFirst();
    EXPECT_FALSE(it->Valid());
  }
  EXPECT_EQ(service->statistics().jobs, 0u);
  EXPECT_GE(service->statistics().reasons["compaction_filter"], 2u);
  EXPECT_TRUE(db->DestroyColumnFamilyHandle(later).ok());
}

TEST(RocksOptions, TransactionsNeedAPromise) {
  for (const bool promised : {false, true}) {
    const auto service = NewSluiceCompactionService({.write_committed_only = promised});
    const TempDir dir;
    rocksdb::Options options = SmallOptions();
    options.disable_auto_compactions = true;
    service->AddTo(&options);
    rocksdb::TransactionDB* opened = nullptr;
    ASSERT_TRUE(rocksdb::TransactionDB::Open(options, {}, dir.File("db"), &opened).ok());
    const std::unique_ptr<rocksdb::TransactionDB> db(opened);
    for (int part = 0; part < 2; ++part) {
      for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(db->Put({}, "key" + std::to_string(i), "value").ok());
      }
      ASSERT_TRUE(db->Flush({}).ok());
    }
    ASSERT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
    EXPECT_EQ(service->statistics().jobs, promised ? 1u : 0u);
    EXPECT_EQ(service->statistics().reasons["allow_2pc"], promised ? 0u : 1u);
  }
}

// The options file names the listener; whoever reads it need not know it.
TEST(RocksOptions, OptionsFilesAreRocksDbs) {
  const auto service = NewSluiceCompactionService({});
  const TempDir dir;
  rocksdb::Options options = SmallOptions();
  service->AddTo(&options);
  Open(options, dir.File("db")).reset();
  rocksdb::DBOptions database;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  const rocksdb::Status status =
      rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), dir.File("db"), &database, &families);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(database.compaction_service, nullptr);
  EXPECT_TRUE(database.listeners.empty());
  EXPECT_EQ(families.size(), 1u);
}

// A service that outlives its databases keeps nothing of them.
TEST(RocksOptions, NothingIsKept) {
  const auto service = NewSluiceCompactionService({});
  std::weak_ptr<rocksdb::Cache> cache;
  std::weak_ptr<rocksdb::TableFactory> factory;
  {
    rocksdb::Options options = SmallOptions();
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(1 << 20);
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    cache = table.block_cache;
    factory = options.table_factory;
    table.block_cache.reset();
    Twins twins(options, service);
    TestRandom random(7);
    RunWorkload(&random, 3000, &twins);
    twins.Compact();
  }
  EXPECT_GT(service->statistics().jobs, 0u);
  EXPECT_TRUE(cache.expired());
  EXPECT_TRUE(factory.expired());
}

TEST(RocksOptions, ClosingADatabaseDoesNotConcernOthers) {
  const auto service = NewSluiceCompactionService({});
  Twins one(SmallOptions(), service);
  TestRandom random(7);
  {
    Twins other(SmallOptions(), service);
    RunWorkload(&random, 2000, &other);
    other.Compact();
  }
  const uint64_t jobs = service->statistics().jobs;
  RunWorkload(&random, 2000, &one);
  one.Compact();
  ASSERT_NO_FATAL_FAILURE(one.Check());
  EXPECT_GT(service->statistics().jobs, jobs);
  EXPECT_EQ(service->statistics().reasons["cancelled"], 0u);
}

TEST(RocksOptions, RandomSmallDatabases) {
  const auto service = NewSluiceCompactionService({});
  const int rounds = TestRounds(300);
  CompareRandomDatabases(service, TestSeed(), rounds);
  EXPECT_GT(service->statistics().jobs, static_cast<uint64_t>(rounds));
}

}  // namespace
}  // namespace sluice::interop
