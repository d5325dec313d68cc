#include "rocksdb/twins.h"

#include <rocksdb/filter_policy.h>

#include "rocksdb_table/verify.h"

namespace sluice::interop {

rocksdb::Options SmallOptions() {
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 1024;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 10;
  options.target_file_size_base = 32 << 10;
  options.max_bytes_for_level_base = 128 << 10;
  options.max_bytes_for_level_multiplier = 4;
  options.level0_file_num_compaction_trigger = 3;
  options.max_background_jobs = 4;
  options.paranoid_checks = true;
  options.force_consistency_checks = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

std::unique_ptr<rocksdb::DB> Open(const rocksdb::Options& options, const std::string& path) {
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, path, &db);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return std::unique_ptr<rocksdb::DB>(db);
}

Model Contents(rocksdb::DB* db, const rocksdb::Snapshot* snapshot) {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  options.verify_checksums = true;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(options));
  Model contents;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    contents.emplace(it->key().ToString(), it->value().ToString());
  }
  EXPECT_TRUE(it->status().ok()) << it->status().ToString();
  return contents;
}

void WaitForCompactions(rocksdb::DB* db) {
  ASSERT_TRUE(db->Flush({}).ok());
  if (db->GetOptions().disable_auto_compactions) {
    return;  // what is pending stays so
  }
  // While RocksDB pauses nothing runs and nothing begins, so what is pending then is all there is.
  // Read without a pause, one figure would be of before the end of a compaction and another one of
  // after it, and what that has made necessary would be in neither.
  uint64_t pending = 1;
  for (int i = 0; pending != 0; ++i) {
    ASSERT_LT(i, 10'000) << "compactions without end";
    ASSERT_TRUE(db->PauseBackgroundWork().ok());
    ASSERT_TRUE(db->GetIntProperty("rocksdb.compaction-pending", &pending));
    ASSERT_TRUE(db->ContinueBackgroundWork().ok());
  }
}

void VerifyTables(rocksdb::DB* db) {
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  for (const rocksdb::LiveFileMetaData& file : files) {
    const Status status = VerifyRocksTable(Env::Posix(), file.db_path + file.name, nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  EXPECT_TRUE(db->VerifyChecksum().ok());
}

std::string Reasons(const SluiceCompactionStatistics& statistics) {
  std::string text;
  for (const auto& [reason, count] : statistics.reasons) {
    text += reason + ": " + std::to_string(count) + "\n";
  }
  return text;
}

std::string OtherReasons(SluiceCompactionStatistics statistics) {
  statistics.reasons.erase("a compaction within level 0");
  statistics.reasons.erase(
      "cancelled");  // RocksDB 10 has a database's jobs cancelled that is closed
  return Reasons(statistics);
}

namespace {

std::string RandomKey(TestRandom* random, uint64_t keys) {
  // Clustered: few keys are written over and over.
  return "key" + std::to_string(Uniform(random, 0, keys >> Uniform(random, 0, 6)));
}

}  // namespace

void RunWorkload(TestRandom* random, int operations, Twins* twins) {
  const uint64_t keys = uint64_t{64} << Uniform(random, 0, 7);
  for (int i = 0; i < operations; ++i) {
    const uint64_t kind = Uniform(random, 0, 99);
    if (kind < 70) {
      std::string value(SkewedSize(random, 1000), 'v');
      for (size_t j = 0; j < value.size() / 2; ++j) {
        value[j] = static_cast<char>((*random)());
      }
      twins->Put(RandomKey(random, keys), value);
    } else if (kind < 95) {
      twins->Delete(RandomKey(random, keys));
    } else if (kind < 97 && twins->snapshots() < 12) {
      twins->Snapshot();
    } else if (twins->snapshots() > 0) {
      twins->Release(Uniform(random, 0, twins->snapshots() - 1));
    }
  }
}

}  // namespace sluice::interop
