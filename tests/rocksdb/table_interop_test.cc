// Tables that the real RocksDB wrote are read by us, and the reverse, over RocksDB's options.

#include <gtest/gtest.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/version.h>

#include "rocksdb/real_rocksdb.h"
#include "rocksdb_table/bloom.h"
#include "rocksdb_table/testing.h"
#include "rocksdb_table/verify.h"
#include "rocksdb_table/view.h"
#include "table/table_reader.h"
#include "table/table_text.h"

namespace sluice::interop {
namespace {

// The entries of a view, by our own reader.
std::vector<TestEntry> EntriesOf(const RecodedTable& view) {
  std::vector<TestEntry> entries;
  StringFile file;
  EXPECT_TRUE(FinishTable(view.data(), view.index_block(), {}, &file).ok());
  TableReport report;
  const Status verified = VerifyTableImage(file.contents(), "view", &report);
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  std::unique_ptr<TableReader> table;
  EXPECT_TRUE(TableReader::OpenImage(file.contents(), "view", &table).ok());
  TableIterator it(table.get());
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    entries.push_back({std::string(it.key()), std::string(it.value())});
  }
  EXPECT_TRUE(it.status().ok()) << it.status().ToString();
  return entries;
}

// Any options that we write, and how RocksDB is to read such a table.
RocksTableOptions RandomOurOptions(TestRandom* random, RealTableOptions* real) {
  RocksTableOptions options;
  options.format_version = static_cast<uint32_t>(Uniform(random, 2, 5));
  options.checksum = RocksChecksum{static_cast<uint8_t>(Uniform(random, 0, 4))};
  options.codec.type = RandomCompression(random);
  options.compress_index = Uniform(random, 0, 1) != 0;
  options.index_restart_interval = 1u << Uniform(random, 0, 4);
  options.properties.SetText("rocksdb.creating.db.identity", "ours");
  if (Uniform(random, 0, 2) != 0) {
    options.bloom_millibits_per_key = static_cast<uint32_t>(Uniform(random, 1000, 60000));
    real->table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  }
  return options;
}

// What an executor's output of these entries would be.
struct Parts {
  Parts(const std::vector<TestEntry>& entries, uint32_t block_bytes, uint32_t restart_interval) {
    image = WriteTable(entries, {.block_bytes = block_bytes, .restart_interval = restart_interval});
    Footer footer;
    EXPECT_TRUE(Footer::Parse(std::string_view(image).substr(image.size() - kFooterBytes),
                              image.size(), &footer)
                    .ok());
    const std::string_view view(image);
    parts = {
        .data = view.substr(0, footer.metaindex.offset),
        .index_block = view.substr(footer.index.offset, footer.index.size + kBlockTrailerBytes)};
  }

  std::string image;
  RocksTableParts parts;
};

// Entries with sequence numbers that leave RocksDB room above them.
std::vector<TestEntry> EntriesForImport(TestRandom* random) {
  const bool large = Uniform(random, 0, 7) == 0;
  std::vector<TestEntry> entries =
      RandomEntries(random, {.count = Uniform(random, 1, large ? 200 : 3000),
                             .most_key_bytes = large ? 1024u : 60u,
                             .most_value_bytes = large ? 65536u : 300u,
                             .alphabet = Uniform(random, 0, 1) != 0 ? 256u : 3u});
  for (TestEntry& entry : entries) {
    const uint64_t trailer = Trailer(entry.key);
    entry.key = InternalKey(UserKey(entry.key), (TrailerSequence(trailer) >> 8) + 1,
                            RecordType{TrailerType(trailer)});
  }
  return entries;
}

TEST(RocksTableInterop, WeReadWhatRocksDbWrites) {
  TestRandom random(TestSeed());
  for (int round = 0; round < TestRounds(60); ++round) {
    const RealTableOptions options = RandomRealOptions(&random);
    SCOPED_TRACE(Describe(options));
    const RealTable real = WriteWithRocksDb(options, &random);
    TableReport report;
    const Status verified = VerifyRocksTableImage(real.image, "t", &report);
    ASSERT_TRUE(verified.ok()) << verified.ToString();
    EXPECT_EQ(report.entries, real.entries.size());
    std::unique_ptr<RocksTable> table;
    ASSERT_TRUE(RocksTable::OpenImage(real.image, "t", &table).ok());
    RocksView view;
    ASSERT_TRUE(ViewRocksTable(*table, {}, &view).ok());
    ASSERT_EQ(EntriesOf(view.table), real.entries);
    EXPECT_TRUE(DumpRocksTableImage(real.image, "t", [](std::string_view) {}).ok());
  }
}

#if ROCKSDB_MAJOR < 10  // later versions do not write them
// They end as LevelDB's do.
TEST(RocksTableInterop, TablesOfVersion0AreDeclinedByName) {
  TestRandom random(TestSeed());
  RealTableOptions options = RandomRealOptions(&random);
  options.table.format_version = 0;
  options.table.checksum = rocksdb::kCRC32c;
  options.table.filter_policy.reset();
  const RealTable real = WriteWithRocksDb(options, &random);
  EXPECT_TRUE(IsRocksTable(real.image));
  TableReport report;
  const Status verified = VerifyRocksTableImage(real.image, "t", &report);
  EXPECT_TRUE(verified.IsNotSupported()) << verified.ToString();
  EXPECT_FALSE(IsRocksTable(WriteTable(EntriesForImport(&random), {})));
}
#endif

TEST(RocksTableInterop, RocksDbReadsWhatWeWrite) {
  TestRandom random(TestSeed());
  for (int round = 0; round < TestRounds(60); ++round) {
    RealTableOptions real;
    const RocksTableOptions options = RandomOurOptions(&random, &real);
    const std::vector<TestEntry> entries = EntriesForImport(&random);
    const Parts parts(entries, 256u << Uniform(&random, 0, 8), 1u << Uniform(&random, 0, 5));
    std::string image;
    ASSERT_TRUE(FinishRocksTable(parts.parts, options, &image).ok());
    TableReport report;
    const Status verified = VerifyRocksTableImage(image, "t", &report);
    ASSERT_TRUE(verified.ok()) << verified.ToString();
    EXPECT_EQ(report.entries, entries.size());
    ASSERT_NO_FATAL_FAILURE(ExpectRocksDbReads(image, entries, real));
  }
}

#if ROCKSDB_MAJOR < 8  // later versions give separators other types, and filters more probes
// The blocks of a view under the indexes that executors write: of full last keys.
std::string ReindexByLastKeys(const RocksView& view) {
  BlockBuilder index(1);
  for (size_t i = 0; i + 1 < view.offsets.size(); ++i) {
    const uint64_t begin = view.offsets[i].first;
    const BlockHandle handle{begin, view.offsets[i + 1].first - begin - kBlockTrailerBytes};
    Block block;
    EXPECT_TRUE(
        Block::Parse(std::string_view(view.table.image).substr(begin, handle.size), &block).ok());
    BlockIterator entry(block);
    entry.SeekToLast();
    std::string encoded;
    handle.AppendTo(&encoded);
    index.Add(entry.key(), encoded);
  }
  std::string stored(index.Finish());
  AppendBlockTrailer(std::string(stored), Compression::kNone, &stored);
  return stored;
}

// Data blocks, filter and index: byte for byte, if the options are ours, too.
TEST(RocksTableInterop, OurBlocksFilterAndIndexAreRocksDbs) {
  TestRandom random(TestSeed());
  for (int round = 0; round < TestRounds(40); ++round) {
    RealTableOptions options = RandomRealOptions(&random);
    rocksdb::BlockBasedTableOptions& table_options = options.table;
    table_options.index_type = rocksdb::BlockBasedTableOptions::kBinarySearch;
    table_options.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinarySearch;
    table_options.partition_filters = false;
    const uint32_t millibits = static_cast<uint32_t>(Uniform(&random, 10, 600)) * 100;
    table_options.filter_policy.reset(table_options.format_version < 5
                                          ? nullptr
                                          : rocksdb::NewBloomFilterPolicy(millibits / 1000.0));
    RocksTableOptions ours;
    ours.format_version = table_options.format_version;
    ours.checksum = RocksChecksum{static_cast<uint8_t>(table_options.checksum)};
    ours.compress_index = table_options.enable_index_compression;
    ours.index_shortening =
        RocksIndexShortening{static_cast<uint8_t>(table_options.index_shortening)};
    ours.index_restart_interval = static_cast<uint32_t>(table_options.index_block_restart_interval);
    ours.bloom_millibits_per_key = table_options.format_version < 5 ? 0 : millibits;
    switch (options.compression) {
      case rocksdb::kSnappyCompression:
        ours.codec.type = Compression::kSnappy;
        break;
      case rocksdb::kZSTD:
        ours.codec.type = Compression::kZstd;
        break;
      default:  // RocksDB has LZ4 compress a stream, which finds other matches
        options.compression = rocksdb::kNoCompression;
    }
    SCOPED_TRACE(Describe(options));
    const RealTable real = WriteWithRocksDb(options, &random);
    std::unique_ptr<RocksTable> table;
    ASSERT_TRUE(RocksTable::OpenImage(real.image, "t", &table).ok());
    RocksView view;
    ASSERT_TRUE(ViewRocksTable(*table, {}, &view).ok());
    const std::string index_block = ReindexByLastKeys(view);
    std::string image;
    RocksTableSummary summary;
    ASSERT_TRUE(FinishRocksTable({.data = view.table.data(), .index_block = index_block}, ours,
                                 &image, &summary)
                    .ok());
    const uint64_t end = table->index().offset + table->index().size + kBlockTrailerBytes;
    ASSERT_EQ(image.substr(0, end), real.image.substr(0, end));
    for (const auto& [name, value] : summary.properties.values()) {
      EXPECT_EQ(Quoted(value), Quoted(table->properties().Text(name))) << name;
    }
  }
}

#endif

}  // namespace
}  // namespace sluice::interop
