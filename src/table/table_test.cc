// TableWriter and TableReader.

#include <gtest/gtest.h>

#include "table/recode.h"
#include "table/table_reader.h"
#include "table/table_writer.h"
#include "table/testing.h"
#include "table/verify.h"
#include "util/files.h"
#include "util/testing.h"

namespace sluice {
namespace {

TEST(Table, EveryEntryIsFoundEveryWay) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 60; ++round) {
    const auto entries =
        RandomEntries(&random, {.count = SkewedSize(&random, 3000), .most_value_bytes = 500});
    const std::string image = WriteTable(entries, RandomTableOptions(&random));
    const auto table = OpenTable(image);
    TableIterator it(table.get());
    it.SeekToFirst();
    for (const TestEntry& entry : entries) {
      ASSERT_TRUE(it.Valid());
      ASSERT_EQ(it.key(), entry.key);
      ASSERT_EQ(it.value(), entry.value);
      it.Next();
    }
    EXPECT_FALSE(it.Valid());
    it.SeekToLast();
    for (size_t i = entries.size(); i-- > 0;) {
      ASSERT_TRUE(it.Valid());
      ASSERT_EQ(it.key(), entries[i].key);
      it.Prev();
    }
    EXPECT_FALSE(it.Valid());
    for (const TestEntry& probe : RandomEntries(&random, {.count = 100})) {
      it.Seek(probe.key);
      const auto expected = std::lower_bound(
          entries.begin(), entries.end(), probe.key,
          [](const TestEntry& e, const std::string& key) { return InternalKeyLess(e.key, key); });
      ASSERT_EQ(it.Valid(), expected != entries.end());
      if (it.Valid()) {
        EXPECT_EQ(it.key(), expected->key);
      }
    }
    EXPECT_TRUE(it.status().ok());
    for (const TestEntry& entry : entries) {
      uint64_t trailer;
      std::string value;
      const uint64_t sequence = TrailerSequence(Trailer(entry.key));
      ASSERT_TRUE(table->Get(UserKey(entry.key), sequence, &trailer, &value).ok());
      EXPECT_EQ(TrailerSequence(trailer), sequence);
    }
  }
}

TEST(Table, GetFindsEveryTypeAtItsOwnSequenceNumber) {
  for (const RecordType type : {RecordType::kDeletion, RecordType::kValue, kTypeValueReference}) {
    const std::string image = WriteTable({{InternalKey("a", 5, type), "v"}}, {});
    const auto table = OpenTable(image);
    uint64_t trailer;
    std::string value;
    ASSERT_TRUE(table->Get("a", 5, &trailer, &value).ok());
    EXPECT_EQ(trailer, MakeTrailer(5, type));
  }
}

TEST(Table, GetHonoursSnapshotsAndSaysWhatIsMissing) {
  const std::vector<TestEntry> entries = {{InternalKey("a", 9), "new"},
                                          {InternalKey("a", 5, RecordType::kDeletion), ""},
                                          {InternalKey("a", 2), "old"},
                                          {InternalKey("c", 1), "c"}};
  for (const int bits : {0, 10}) {
    for (const uint32_t block_bytes : {1, 4096}) {
      const std::string image =
          WriteTable(entries, {.block_bytes = block_bytes, .bloom_bits_per_key = bits});
      const auto table = OpenTable(image);
      uint64_t trailer;
      std::string value;
      ASSERT_TRUE(table->Get("a", kMaxSequence, &trailer, &value).ok());
      EXPECT_EQ(value, "new");
      ASSERT_TRUE(table->Get("a", 8, &trailer, &value).ok());
      EXPECT_EQ(trailer, MakeTrailer(5, RecordType::kDeletion));
      ASSERT_TRUE(table->Get("a", 4, &trailer, &value).ok());
      EXPECT_EQ(value, "old");
      EXPECT_TRUE(table->Get("a", 1, &trailer, &value).IsNotFound());
      EXPECT_TRUE(table->Get("", kMaxSequence, &trailer, &value).IsNotFound());
      EXPECT_TRUE(table->Get("b", kMaxSequence, &trailer, &value).IsNotFound());
      EXPECT_TRUE(table->Get("d", kMaxSequence, &trailer, &value).IsNotFound());
    }
  }
}

TEST(Table, TheFilterSparesBlocks) {
  TestRandom random(TestSeed());
  const auto entries = RandomEntries(&random, {.count = 2000});
  std::string image = WriteTable(entries, {.block_bytes = 1024, .bloom_bits_per_key = 10});
  const auto table = OpenTable(image);
  ASSERT_NE(table->filter(), nullptr);
  EXPECT_EQ(table->filter_name(), kBloomFilterName);
  // Break every data block: only keys that pass the filter can notice.
  std::fill(image.begin(), image.begin() + static_cast<long>(table->footer().metaindex.offset / 2),
            'x');
  int noticed = 0;
  int absent = 0;
  uint64_t trailer;
  std::string value;
  for (size_t i = 0; i < entries.size() / 4; ++i) {
    const std::string key = std::string(UserKey(entries[i].key)) + "!";
    absent += 1;
    noticed += table->Get(key, kMaxSequence, &trailer, &value).IsCorruption();
    EXPECT_TRUE(table->Get(UserKey(entries[i].key), kMaxSequence, &trailer, &value).IsCorruption());
  }
  EXPECT_LE(noticed, absent / 10);
}

TEST(Table, FindsTheBloomBitsOfATable) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 30; ++round) {
    TableOptions options = RandomTableOptions(&random);
    const auto entries = RandomEntries(&random, {.count = 4000, .most_value_bytes = 60});
    const std::string image = WriteTable(entries, options);
    const auto table = OpenTable(image);
    int bits;
    ASSERT_TRUE(FindBloomBitsPerKey(*table, &bits).ok());
    EXPECT_EQ(bits, options.bloom_bits_per_key);
  }
}

TEST(Table, WriterRefusesKeysOutOfOrder) {
  StringFile file;
  TableWriter writer({}, &file);
  ASSERT_TRUE(writer.Add(InternalKey("b", 5), "").ok());
  ASSERT_TRUE(writer.Add(InternalKey("b", 4), "").ok());
  EXPECT_EQ(writer.Add(InternalKey("b", 4), "").code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(writer.Finish().code(), Status::Code::kInvalidArgument);
  TableWriter other({}, &file);
  EXPECT_EQ(other.Add("short", "").code(), Status::Code::kInvalidArgument);
}

TEST(Table, OpensFilesAndNamesThemInErrors) {
  const TempDir dir;
  const std::string path = dir.File("000005.ldb");
  const std::string image = WriteTable({{InternalKey("a", 1), "v"}}, {});
  ASSERT_TRUE(WriteFileSynced(Env::Posix(), path, image).ok());
  std::unique_ptr<TableReader> table;
  ASSERT_TRUE(TableReader::Open(Env::Posix(), path, &table).ok());
  TableIterator it(table.get());
  it.SeekToFirst();
  ASSERT_TRUE(it.Valid());
  EXPECT_EQ(it.value(), "v");

  std::string broken = image;
  broken[3] ^= 1;
  ASSERT_TRUE(WriteFileSynced(Env::Posix(), path + "2", broken).ok());
  ASSERT_TRUE(TableReader::Open(Env::Posix(), path + "2", &table).ok());
  TableIterator broken_it(table.get());
  broken_it.SeekToFirst();
  EXPECT_FALSE(broken_it.Valid());
  EXPECT_TRUE(broken_it.status().IsCorruption());
  EXPECT_TRUE(broken_it.status().message().starts_with(path + "2: offset 0: block of 21 bytes has "
                                                              "checksum"))
      << broken_it.status().ToString();

  for (size_t n = 0; n < image.size(); ++n) {
    const Status status = TableReader::OpenImage(image.substr(0, n), "cut", &table);
    EXPECT_TRUE(status.IsCorruption()) << n;
    EXPECT_TRUE(status.message().starts_with("cut: ")) << status.ToString();
  }
}

TEST(Table, DictionariesAreReadWithTheTable) {
  TestRandom random(TestSeed());
  const auto entries = RandomEntries(&random, {.count = 500});
  const std::string image = WriteTableWithDictionary(entries, 1000);
  TableReport report;
  const Status verified = VerifyTableImage(image, "t", &report);
  ASSERT_TRUE(verified.ok()) << verified.ToString();
  EXPECT_EQ(report.entries, entries.size());
  EXPECT_GT(report.compressed_blocks, 0u);
  std::unique_ptr<TableReader> table;
  ASSERT_TRUE(TableReader::OpenImage(image, "t", &table).ok());
  TableIterator at(table.get());
  at.SeekToFirst();
  for (const TestEntry& entry : entries) {
    ASSERT_TRUE(at.Valid()) << at.status().ToString();
    EXPECT_EQ(at.key(), entry.key);
    EXPECT_EQ(at.value(), entry.value);
    at.Next();
  }
  // Recoded, it needs none.
  for (const Compression to : {Compression::kNone, Compression::kZstd}) {
    RecodedTable recoded;
    ASSERT_TRUE(RecodeTable(image, table->footer().index, to, &recoded, table->dictionary()).ok());
    StringFile file;
    ASSERT_TRUE(FinishTable(recoded.data(), recoded.index_block(), {}, &file).ok());
    EXPECT_TRUE(VerifyTableImage(file.contents(), "t", &report).ok());
    EXPECT_EQ(report.entries, entries.size());
  }
}

}  // namespace
}  // namespace sluice
