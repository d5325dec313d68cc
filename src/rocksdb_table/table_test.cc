#include "rocksdb_table/table.h"

#include <gtest/gtest.h>

#include "rocksdb_table/table_writer.h"
#include "rocksdb_table/testing.h"
#include "rocksdb_table/verify.h"
#include "rocksdb_table/view.h"
#include "table/table_reader.h"
#include "util/testing.h"

namespace sluice {
namespace {

std::vector<TestEntry> SomeEntries() {
  std::vector<TestEntry> entries;
  for (int i = 0; i < 200; ++i) {
    entries.push_back({InternalKey("key" + std::to_string(1000 + i), 7), "value"});
  }
  return entries;
}

// The records of a view, by the reader of LevelDB's tables.
std::vector<TestEntry> EntriesOf(const RocksView& view) {
  StringFile file;
  EXPECT_TRUE(FinishTable(view.table.data(), view.table.index_block(), {}, &file).ok());
  std::unique_ptr<TableReader> table;
  EXPECT_TRUE(TableReader::OpenImage(file.contents(), "view", &table).ok());
  std::vector<TestEntry> entries;
  TableIterator it(table.get());
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    entries.push_back({std::string(it.key()), std::string(it.value())});
  }
  EXPECT_TRUE(it.status().ok());
  return entries;
}

TEST(RocksTable, ReadsEveryForm) {
  TestRandom random(TestSeed());
  for (int round = 0; round < TestRounds(300); ++round) {
    const std::vector<TestEntry> entries = RandomEntries(
        &random,
        {.count = Uniform(&random, 0, 300), .alphabet = Uniform(&random, 0, 1) != 0 ? 256u : 3u});
    const std::string image = WriteRocksTable(entries, RandomRocksOptions(&random));
    ASSERT_TRUE(IsRocksTable(image));
    TableReport report;
    const Status verified = VerifyRocksTableImage(image, "t", &report);
    ASSERT_TRUE(verified.ok()) << verified.ToString();
    EXPECT_EQ(report.entries, entries.size());
    std::unique_ptr<RocksTable> table;
    ASSERT_TRUE(RocksTable::OpenImage(image, "t", &table).ok());
    RocksView view;
    ASSERT_TRUE(ViewRocksTable(*table, {}, &view).ok());
    ASSERT_EQ(EntriesOf(view), entries);
    size_t lines = 0;
    EXPECT_TRUE(DumpRocksTableImage(image, "t", [&](std::string_view) { ++lines; }).ok());
    EXPECT_GT(lines, entries.size());
  }
}

TEST(RocksTable, ViewsOfRangesHaveAllOfTheRange) {
  TestRandom random(TestSeed());
  for (int round = 0; round < TestRounds(100); ++round) {
    const std::vector<TestEntry> entries = RandomEntries(&random, {.count = 300});
    const std::string image = WriteRocksTable(entries, RandomRocksOptions(&random));
    std::unique_ptr<RocksTable> table;
    ASSERT_TRUE(RocksTable::OpenImage(image, "t", &table).ok());
    const std::string a(UserKey(entries[Uniform(&random, 0, entries.size() - 1)].key));
    const std::string b(UserKey(entries[Uniform(&random, 0, entries.size() - 1)].key));
    const RocksViewRange range{.has_begin = Uniform(&random, 0, 3) != 0,
                               .has_end = Uniform(&random, 0, 3) != 0,
                               .begin = std::min(a, b),
                               .end = std::max(a, b)};
    RocksView view;
    ASSERT_TRUE(ViewRocksTable(*table, range, &view).ok());
    const auto outside = [&range](const TestEntry& entry) {
      return (range.has_begin && UserKey(entry.key) < range.begin) ||
             (range.has_end && UserKey(entry.key) >= range.end);
    };
    std::vector<TestEntry> expected = entries;
    std::erase_if(expected, outside);
    std::vector<TestEntry> found = EntriesOf(view);
    EXPECT_LE(found.size(), entries.size());
    std::erase_if(found, outside);
    ASSERT_EQ(found, expected);
  }
}

TEST(RocksTable, ViewsTellWhereTheirBlocksStood) {
  const std::string image = WriteRocksTable(SomeEntries(), {.codec = {Compression::kSnappy}});
  std::unique_ptr<RocksTable> table;
  ASSERT_TRUE(RocksTable::OpenImage(image, "t", &table).ok());
  RocksView view;
  ASSERT_TRUE(ViewRocksTable(*table, {}, &view).ok());
  std::vector<uint64_t> offsets;
  ASSERT_TRUE(table
                  ->ForEachDataBlock([&](const std::string&, const BlockHandle& handle) {
                    offsets.push_back(handle.offset);
                    return Status();
                  })
                  .ok());
  ASSERT_EQ(view.offsets.size(), offsets.size() + 1);
  for (size_t i = 0; i < offsets.size(); ++i) {
    EXPECT_EQ(view.OffsetInTable(view.offsets[i].first), offsets[i]);
    EXPECT_EQ(view.OffsetInTable(view.offsets[i].first + 1), offsets[i]);
  }
}

// Executors take type 2 for a reference; RocksDB's records of it are merge operands.
TEST(RocksView, DeclinesOtherRecords) {
  for (const int type : {2, 7}) {
    std::vector<TestEntry> entries = SomeEntries();
    entries.back().key.assign(
        InternalKey(UserKey(entries.back().key), 1, static_cast<RecordType>(type)));
    std::unique_ptr<RocksTable> table;
    const std::string image = WriteRocksTable(entries, {});
    ASSERT_TRUE(RocksTable::OpenImage(image, "t", &table).ok());
    RocksView view;
    const Status status = ViewRocksTable(*table, {}, &view);
    EXPECT_TRUE(status.IsNotSupported()) << status.ToString();
    EXPECT_NE(status.message().find(std::to_string(type)), std::string::npos) << status.message();
    const Status verified = VerifyRocksTableImage(image, "t", nullptr);
    EXPECT_TRUE(verified.IsNotSupported()) << verified.ToString();
    EXPECT_TRUE(verified.message().ends_with(
        ": record of type " + std::string(type == 2 ? "2 (merge operand)" : "7 (single deletion)") +
        ", neither a value nor a deletion"))
        << verified.message();
  }
}

// What opening `image` is declined with.
std::string Declined(const std::string& image) {
  std::unique_ptr<RocksTable> table;
  const Status status = RocksTable::OpenImage(image, "t", &table);
  EXPECT_TRUE(status.IsNotSupported()) << status.ToString();
  return status.message();
}

std::string DeclinedWith(const TestRocksOptions& options) {
  return Declined(WriteRocksTable(SomeEntries(), options));
}

TEST(RocksTable, DeclinesByName) {
  EXPECT_EQ(DeclinedWith({.properties = {{"rocksdb.comparator", "reverse"}}}),
            "t: table with the comparator \"reverse\"");
  EXPECT_EQ(DeclinedWith({.properties = {{"rocksdb.merge.operands", "\x01"}}}),
            "t: table with merge operands");
  EXPECT_EQ(DeclinedWith({.properties = {{"rocksdb.num.range-deletions", "\x01"}}}),
            "t: table with range deletions");
  EXPECT_EQ(DeclinedWith({.blocks = {{"rocksdb.range_del", "x"}}}),
            "t: table with range deletions");
  EXPECT_EQ(DeclinedWith({.properties = {{"rocksdb.external_sst_file.version", "\x02"}}}),
            "t: table with records of an ingested file");
  EXPECT_EQ(DeclinedWith({.blocks = {{"rocksdb.compression_dict", "x"}}}),
            "t: table with a dictionary for its compression");
  EXPECT_EQ(DeclinedWith({.properties = {{"rocksdb.udi.is.primary.index", "\x01"}}}),
            "t: table with an index of a user's own");
  EXPECT_EQ(DeclinedWith({.properties = {{"rocksdb.separate.key.value.in.data.block", "\x01"}}}),
            "t: table with keys and values apart in its blocks");
  EXPECT_EQ(DeclinedWith({.properties = {{"rocksdb.block.based.table.index.type",
                                          std::string("\x04\0\0\0", 4)}}}),
            "t: table with an index of type 4");
}

// RocksDB writes the sequence number into the properties, and leaves their checksum.
TEST(RocksTable, DeclinesIngestedFiles) {
  for (const uint32_t version : {5, 6}) {
    std::string image = WriteRocksTable(
        SomeEntries(),
        {.format_version = version,
         .properties = {{std::string(kRocksExternalVersion), "\x02"},
                        {std::string(kRocksExternalSequence), std::string(8, '\0')}}});
    const size_t at = image.find(std::string("global_seqno") + std::string(8, '\0'));
    ASSERT_NE(at, std::string::npos);
    image[at + 12] = 7;
    EXPECT_EQ(Declined(image), "t: table with records of an ingested file");
    image[at - 1] ^= 1;
    std::unique_ptr<RocksTable> table;
    EXPECT_TRUE(RocksTable::OpenImage(image, "t", &table).IsCorruption());
  }
}

TEST(RocksTable, DeclinesOtherTables) {
  std::string image = WriteRocksTable(SomeEntries(), {});
  const auto with_magic = [&image](uint64_t magic) {
    EncodeFixed64(image.data() + image.size() - 8, magic);
    EXPECT_EQ(IsRocksTable(image), magic != kTableMagic);
    return Declined(image);
  };
  EXPECT_EQ(
      with_magic(kTableMagic),
      "t: a LevelDB table, or one of RocksDB's format_version 0 or 1, not a block-based table "
      "of RocksDB");
  EXPECT_EQ(with_magic(0x8242229663bf9564),
            "t: a plain table of RocksDB, not a block-based table of RocksDB");
  EXPECT_EQ(with_magic(0x926789d0c5f17873),
            "t: a cuckoo table of RocksDB, not a block-based table of RocksDB");
  EncodeFixed64(image.data() + image.size() - 8, kRocksTableMagic);
  EncodeFixed32(image.data() + image.size() - 12, 7);
  EXPECT_EQ(Declined(image).substr(0, 9), "t: offset");
  EXPECT_TRUE(Declined(image).ends_with("format_version 7, known are 2 to 6"));
  EncodeFixed32(image.data() + image.size() - 12, 5);
  image[image.size() - kRocksFooterBytes] = 5;
  EXPECT_TRUE(Declined(image).ends_with("checksum type 5"));
}

TEST(RocksTable, DeclinesCompressionsByName) {
  for (const auto& [type, name] :
       {std::pair(2, "zlib"), std::pair(3, "bzip2"), std::pair(6, "xpress"),
        std::pair(64, "an unknown compression")}) {
    // Without checksums nothing else has to change.
    std::string image = WriteRocksTable(SomeEntries(), {.checksum = RocksChecksum::kNone});
    std::unique_ptr<RocksTable> table;
    ASSERT_TRUE(RocksTable::OpenImage(image, "t", &table).ok());
    BlockHandle first;
    EXPECT_FALSE(table
                     ->ForEachDataBlock([&](const std::string&, const BlockHandle& handle) {
                       first = handle;
                       return Status::Busy("enough");
                     })
                     .ok());
    image[first.offset + first.size] = static_cast<char>(type);
    const Status status = VerifyRocksTableImage(image, "t", nullptr);
    EXPECT_TRUE(status.IsNotSupported());
    EXPECT_EQ(status.message(), std::string("t: offset 0: block is compressed by ") + name);
  }
}

// Every byte counts: the footer's, too, if there is a checksum of it.
TEST(RocksTable, FindsEveryFlippedBit) {
  for (const uint32_t version : {5u, 6u}) {
    const std::string image =
        WriteRocksTable(SomeEntries(), {.format_version = version, .codec = {Compression::kLz4}});
    const size_t covered = image.size() - (version == 6 ? 0 : kRocksFooterBytes);
    for (size_t bit = 0; bit < 8 * covered; ++bit) {
      std::string damaged = image;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
      EXPECT_FALSE(VerifyRocksTableImage(damaged, "t", nullptr).ok()) << bit;
    }
  }
}

// A whole block in the place of another is found out by what version 6 adds to checksums.
TEST(RocksTable, FindsBlocksInTheWrongPlace) {
  for (const uint32_t version : {5u, 6u}) {
    std::vector<TestEntry> entries = SomeEntries();
    std::string image = WriteRocksTable(entries, {.format_version = version});
    std::unique_ptr<RocksTable> table;
    ASSERT_TRUE(RocksTable::OpenImage(image, "t", &table).ok());
    std::vector<BlockHandle> handles;
    ASSERT_TRUE(table
                    ->ForEachDataBlock([&](const std::string&, const BlockHandle& handle) {
                      handles.push_back(handle);
                      return Status();
                    })
                    .ok());
    ASSERT_EQ(handles[1].size, handles[2].size);
    image.replace(handles[1].offset, handles[1].size + kBlockTrailerBytes,
                  image.substr(handles[2].offset, handles[2].size + kBlockTrailerBytes));
    std::string buffer;
    std::string_view contents;
    EXPECT_EQ(table->ReadBlock(handles[1], &buffer, &contents).ok(), version == 5);
  }
}

TEST(RocksTable, SaysWhereThePropertiesAreWrong) {
  const Status status = VerifyRocksTableImage(
      WriteRocksTable(SomeEntries(), {.properties = {{"rocksdb.num.entries", "\x05"}}}), "t",
      nullptr);
  EXPECT_EQ(status.message(), "t: properties say rocksdb.num.entries is 5, but it is 200");
}

TEST(RocksTable, FiltersMissNoKey) {
  const std::vector<TestEntry> entries = SomeEntries();
  RocksBloomBuilder of_others(10000);
  of_others.Add("another");
  const std::string name = std::string(kRocksFullFilterPrefix) + std::string(kRocksBloomName);
  const Status status = VerifyRocksTableImage(
      WriteRocksTable(entries, {.blocks = {{name, of_others.Finish()}}}), "t", nullptr);
  EXPECT_TRUE(status.message().ends_with("key is not in the filter")) << status.ToString();
}

TEST(RocksBloom, TurnsMostOthersAway) {
  for (const uint32_t millibits : {1000u, 5000u, 10000u, 20000u, 100000u}) {
    RocksBloomBuilder builder(millibits);
    for (int i = 0; i < 10000; ++i) {
      builder.Add("key" + std::to_string(2 * i));
    }
    const std::string filter = builder.Finish();
    ASSERT_TRUE(IsRocksBloom(filter));
    int passed = 0;
    for (int i = 0; i < 10000; ++i) {
      EXPECT_TRUE(RocksBloomMayMatch(filter, "key" + std::to_string(2 * i)));
      passed += RocksBloomMayMatch(filter, "key" + std::to_string(2 * i + 1));
    }
    const int most = millibits == 1000 ? 7000 : millibits == 5000 ? 1300 : 150;
    EXPECT_LT(passed, most) << millibits;
  }
}

// What RocksDB's own function answers, which filters of tests/rocksdb are compared with byte for
// byte.
TEST(RocksHash, KnownValues) {
  std::string bytes;
  uint64_t sum = 0;
  for (int i = 0; i < 2000; ++i) {
    sum = sum * 31 + RocksHash64(bytes);
    bytes.push_back(static_cast<char>(i * 7));
  }
  EXPECT_EQ(sum, 3974071307078825131u);
}

}  // namespace
}  // namespace sluice
