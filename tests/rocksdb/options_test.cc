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

rocksdb::Options RandomOptions(TestRandom* random) {
  const auto one_in = [random](uint64_t n) { return Uniform(random, 0, n - 1) == 0; };
  using Table = rocksdb::BlockBasedTableOptions;
  Table table;
  table.format_version = static_cast<uint32_t>(Uniform(random, 2, 5));
  table.block_size = uint64_t{64} << Uniform(random, 0, 7);
  table.block_restart_interval = 1 << Uniform(random, 0, 5);
  table.index_block_restart_interval = 1 << Uniform(random, 0, 3);
  table.enable_index_compression = !one_in(3);
  table.index_shortening = static_cast<Table::IndexShorteningMode>(Uniform(random, 0, 2));
  constexpr rocksdb::ChecksumType kChecksums[] = {rocksdb::kCRC32c, rocksdb::kxxHash,
                                                  rocksdb::kxxHash64, rocksdb::kXXH3};
  table.checksum = kChecksums[Uniform(random, 0, 3)];
  if (table.format_version == 5 && !one_in(3)) {
    table.filter_policy.reset(
        rocksdb::NewBloomFilterPolicy(static_cast<double>(Uniform(random, 10, 200)) / 10));
  }
  rocksdb::Options options = SmallOptions();
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  constexpr rocksdb::CompressionType kCompressions[] = {rocksdb::kNoCompression,
                                                        rocksdb::kSnappyCompression,
                                                        rocksdb::kLZ4Compression, rocksdb::kZSTD};
  options.compression = kCompressions[Uniform(random, 0, 3)];
  if (one_in(2)) {
    options.bottommost_compression = kCompressions[Uniform(random, 0, 3)];
  }
  options.num_levels = static_cast<int>(Uniform(random, 2, 7));
  options.level_compaction_dynamic_level_bytes = one_in(2);
  options.optimize_filters_for_hits = one_in(4);
  options.max_subcompactions = one_in(2) ? 3 : 1;
  options.disable_auto_compactions = one_in(2);
  options.target_file_size_base = uint64_t{1} << Uniform(random, 10, 16);
  options.target_file_size_multiplier = one_in(3) ? 2 : 1;
  options.max_bytes_for_level_base = options.target_file_size_base * 4;
  options.write_buffer_size = 64 << 10;
  return options;
}

std::string RandomKey(TestRandom* random) {
  constexpr std::string_view kBytes("\0ab\xff", 4);
  std::string key;
  for (uint64_t i = Uniform(random, 0, 6); i-- > 0;) {
    key.push_back(kBytes[Uniform(random, 0, 3)]);
  }
  return key;
}

// What the service and RocksDB itself leave of small random databases is the same to every reader: at
// each snapshot that is held, and after the databases were opened again.
TEST(RocksOptions, RandomSmallDatabases) {
  const uint64_t seed = TestSeed();
  const auto service = NewSluiceCompactionService({});
  const int rounds = TestRounds(300);
  std::string left;  // when a database was closed, of whose last compactions RocksDB does not tell
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    TestRandom random(seed + static_cast<uint64_t>(round));
    const rocksdb::Options options = RandomOptions(&random);
    Twins twins(options, service);
    const uint64_t parts = Uniform(&random, 1, 6);
    for (uint64_t part = 0; part < parts; ++part) {
      for (uint64_t i = Uniform(&random, 1, 200); i-- > 0;) {
        const uint64_t kind = Uniform(&random, 0, 99);
        if (kind < 60) {
          twins.Put(RandomKey(&random),
                    std::string(SkewedSize(&random, 300), 'v') + std::to_string(random() % 1000));
        } else if (kind < 90) {
          twins.Delete(RandomKey(&random));
        } else if (kind < 95 && twins.snapshots() < 8) {
          twins.Snapshot();
        } else if (twins.snapshots() > 0 && Uniform(&random, 0, 2) == 0) {
          twins.Release(Uniform(&random, 0, twins.snapshots() - 1));
        }
      }
      ASSERT_TRUE(twins.ours()->Flush({}).ok());
      ASSERT_TRUE(twins.plain()->Flush({}).ok());
      switch (Uniform(&random, 0, 3)) {
        case 0:
          twins.Compact();
          break;
        case 1: {
          const std::string from = RandomKey(&random);
          const std::string to = RandomKey(&random);
          twins.CompactPart(std::min(from, to), std::max(from, to));
          break;
        }
        default:
          break;
      }
      ASSERT_NO_FATAL_FAILURE(twins.Check());
    }
    EXPECT_EQ(OtherReasons(service->statistics()), left);
    twins.ReopenWithout(options);
    left = OtherReasons(service->statistics());
    ASSERT_NO_FATAL_FAILURE(twins.Check());
  }
  EXPECT_GT(service->statistics().jobs, static_cast<uint64_t>(rounds));
}

}  // namespace
}  // namespace sluice::interop
