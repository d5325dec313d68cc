#include "rocksdb/real_rocksdb.h"

#include <gtest/gtest.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/utilities/debug.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace sluice::interop {

namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What a reader of the newest state finds for each user key.
std::map<std::string, std::string> NewestState(const std::vector<TestEntry>& entries) {
  std::map<std::string, std::string> state;
  std::string_view last;
  bool first = true;
  for (const TestEntry& entry : entries) {
    const std::string_view user_key = UserKey(entry.key);
    if ((first || user_key != last) && TrailerType(Trailer(entry.key)) == 1) {
      state.emplace(user_key, entry.value);
    }
    first = false;
    last = user_key;
  }
  return state;
}

}  // namespace

RealTableOptions RandomRealOptions(TestRandom* random) {
  using Table = rocksdb::BlockBasedTableOptions;
  const auto one_in = [random](uint64_t n) { return Uniform(random, 0, n - 1) == 0; };
  RealTableOptions options;
  Table& table = options.table;
  table.format_version = static_cast<uint32_t>(Uniform(random, 2, 5));
  constexpr rocksdb::ChecksumType kChecksums[] = {
      rocksdb::kNoChecksum, rocksdb::kCRC32c, rocksdb::kxxHash, rocksdb::kxxHash64, rocksdb::kXXH3};
  table.checksum = kChecksums[Uniform(random, one_in(8) ? 0 : 1, 4)];
  table.block_size = uint64_t{256} << Uniform(random, 0, 8);
  table.block_restart_interval = 1 << Uniform(random, 0, 6);
  table.index_block_restart_interval = 1 << Uniform(random, 0, 4);
  table.metadata_block_size = uint64_t{64} << Uniform(random, 0, 4);
  table.enable_index_compression = !one_in(3);
  constexpr Table::IndexType kIndexes[] = {Table::kBinarySearch, Table::kTwoLevelIndexSearch,
                                           Table::kBinarySearchWithFirstKey};
  table.index_type = kIndexes[one_in(2) ? 0 : Uniform(random, 1, 2)];
  constexpr Table::IndexShorteningMode kShortenings[] = {
      Table::IndexShorteningMode::kNoShortening, Table::IndexShorteningMode::kShortenSeparators,
      Table::IndexShorteningMode::kShortenSeparatorsAndSuccessor};
  table.index_shortening = kShortenings[Uniform(random, 0, 2)];
  if (one_in(3)) {
    table.data_block_index_type = Table::kDataBlockBinaryAndHash;
  }
  if (!one_in(3)) {
    table.filter_policy.reset(
        rocksdb::NewBloomFilterPolicy(static_cast<double>(Uniform(random, 10, 300)) / 10));
    table.partition_filters = table.index_type == Table::kTwoLevelIndexSearch && one_in(2);
  }
  constexpr rocksdb::CompressionType kCompressions[] = {
      rocksdb::kNoCompression, rocksdb::kSnappyCompression, rocksdb::kLZ4Compression,
      rocksdb::kLZ4HCCompression, rocksdb::kZSTD};
  options.compression = kCompressions[Uniform(random, 0, 4)];
  return options;
}

std::string Describe(const RealTableOptions& options) {
  return "compression " + std::to_string(options.compression) + "\n" +
         std::unique_ptr<rocksdb::TableFactory>(rocksdb::NewBlockBasedTableFactory(options.table))
             ->GetPrintableOptions();
}

rocksdb::Options DatabaseOptions(const RealTableOptions& options) {
  rocksdb::Options database;
  database.create_if_missing = true;
  database.disable_auto_compactions = true;
  database.write_buffer_size = 256 << 20;
  database.compression = options.compression;
  database.paranoid_checks = true;
  database.paranoid_file_checks = true;
  database.table_factory.reset(rocksdb::NewBlockBasedTableFactory(options.table));
  return database;
}

std::vector<TestEntry> AllVersions(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) {
  std::vector<rocksdb::KeyVersion> versions;
  // The range takes in its end, and there is no last string: no key of tests begins like that.
  EXPECT_TRUE(
      rocksdb::GetAllKeyVersions(db, family, "", std::string(100, '\xff'), SIZE_MAX, &versions)
          .ok());
  std::vector<TestEntry> entries;
  for (const rocksdb::KeyVersion& version : versions) {
    entries.push_back({InternalKey(version.user_key, version.sequence,
                                   RecordType{static_cast<uint8_t>(version.type)}),
                       version.value});
  }
  return entries;
}

RealTable WriteWithRocksDb(const RealTableOptions& options, TestRandom* random) {
  const TempDir dir;
  rocksdb::DB* opened = nullptr;
  EXPECT_TRUE(rocksdb::DB::Open(DatabaseOptions(options), dir.path(), &opened).ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  const bool large = Uniform(random, 0, 7) == 0;
  std::vector<TestEntry> wanted =
      RandomEntries(random, {.count = Uniform(random, 1, large ? 200 : 3000),
                             .most_key_bytes = large ? 1024u : 60u,
                             .most_value_bytes = large ? 65536u : 300u,
                             .alphabet = Uniform(random, 0, 1) != 0 ? 256u : 3u});
  std::shuffle(wanted.begin(), wanted.end(), *random);
  std::vector<const rocksdb::Snapshot*> snapshots;
  for (const TestEntry& entry : wanted) {
    const rocksdb::Slice key = ToSlice(UserKey(entry.key));
    const bool deletion = TrailerType(Trailer(entry.key)) == 0;
    EXPECT_TRUE((deletion ? db->Delete({}, key) : db->Put({}, key, entry.value)).ok());
    if (snapshots.size() < 100 && Uniform(random, 0, 9) == 0) {
      snapshots.push_back(db->GetSnapshot());
    }
  }
  EXPECT_TRUE(db->Flush({}).ok());
  RealTable table;
  table.entries = AllVersions(db.get(), db->DefaultColumnFamily());
  for (const rocksdb::Snapshot* snapshot : snapshots) {
    db->ReleaseSnapshot(snapshot);
  }
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  EXPECT_EQ(files.size(), 1u);
  if (!files.empty()) {
    table.image = ReadFile(files[0].db_path + files[0].name);
  }
  return table;
}

void ExpectRocksDbReads(const std::string& image, const std::vector<TestEntry>& entries,
                        const RealTableOptions& options) {
  const TempDir dir;
  std::filesystem::create_directory(dir.File("tables"));
  std::ofstream(dir.File("tables/000007.sst"), std::ios::binary) << image;
  const rocksdb::Options database = DatabaseOptions(options);

  rocksdb::SstFileReader reader(database);
  ASSERT_TRUE(reader.Open(dir.File("tables/000007.sst")).ok());
  const rocksdb::Status verified = reader.VerifyChecksum();
  ASSERT_TRUE(verified.ok()) << verified.ToString();
  EXPECT_EQ(reader.GetTableProperties()->num_entries, entries.size());

  // As a column family, which keeps the sequence numbers.
  rocksdb::DB* opened = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(database, dir.File("db"), &opened).ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::ExportImportFilesMetaData metadata;
  metadata.db_comparator_name = "leveldb.BytewiseComparator";
  rocksdb::LiveFileMetaData& file = metadata.files.emplace_back();
  file.db_path = dir.File("tables");
  file.name = "/000007.sst";
  file.level = 1;
  file.smallestkey = UserKey(entries.front().key);
  file.largestkey = UserKey(entries.back().key);
  file.smallest_seqno = kMaxSequence;
  for (const TestEntry& entry : entries) {
    const SequenceNumber sequence = TrailerSequence(Trailer(entry.key));
    file.smallest_seqno = std::min(file.smallest_seqno, sequence);
    file.largest_seqno = std::max(file.largest_seqno, sequence);
  }
  rocksdb::ColumnFamilyHandle* made = nullptr;
  const rocksdb::Status imported =
      db->CreateColumnFamilyWithImport(database, "imported", {}, metadata, &made);
  ASSERT_TRUE(imported.ok()) << imported.ToString();
  const std::unique_ptr<rocksdb::ColumnFamilyHandle> family(made);
  EXPECT_EQ(AllVersions(db.get(), made), entries);

  const std::map<std::string, std::string> state = NewestState(entries);
  rocksdb::ReadOptions careful;
  careful.verify_checksums = true;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(careful, made));
  it->SeekToLast();
  for (auto expected = state.rbegin(); expected != state.rend(); ++expected, it->Prev()) {
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(ToView(it->key()), expected->first);
    EXPECT_EQ(ToView(it->value()), expected->second);
  }
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().ok()) << it->status().ToString();
  std::string value;
  for (const TestEntry& entry : entries) {
    const std::string user_key(UserKey(entry.key));
    const rocksdb::Status got = db->Get(careful, made, user_key, &value);
    const auto expected = state.find(user_key);
    ASSERT_EQ(got.ok(), expected != state.end()) << got.ToString();
    EXPECT_TRUE(!got.ok() || value == expected->second);
    it->Seek(user_key);
    const auto next = state.lower_bound(user_key);
    ASSERT_EQ(it->Valid(), next != state.end());
    EXPECT_TRUE(!it->Valid() || ToView(it->key()) == next->first);
  }
  EXPECT_TRUE(db->VerifyChecksum().ok());
}

}  // namespace sluice::interop
