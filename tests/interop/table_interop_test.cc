// Tables written by the real LevelDB are read by ours, and the reverse, over LevelDB's options.

#include <gtest/gtest.h>

#include "interop/real_table.h"
#include "table/recode.h"
#include "table/table_reader.h"
#include "table/verify.h"
#include "util/testing.h"

namespace sluice::interop {
namespace {

// Covers every option; entries up to the sizes that LevelDB users have.
std::vector<TestEntry> ManyEntries(TestRandom* random) {
  const bool large = Uniform(random, 0, 7) == 0;
  return RandomEntries(
      random, {.count = Uniform(random, 0, 2) == 0 ? SkewedSize(random, 300)
                                                   : Uniform(random, 1, large ? 200 : 4000),
               .most_key_bytes = large ? 1024u : 60u,
               .most_value_bytes = large ? 65536u : 500u,
               .alphabet = Uniform(random, 0, 1) != 0 ? 256u : 3u});
}

// All table options whose output LevelDB 1.23 reads.
TableOptions LevelDbOptions(TestRandom* random) {
  TableOptions options = RandomTableOptions(random);
  options.compression = Uniform(random, 0, 1) != 0 ? Compression::kSnappy : Compression::kNone;
  return options;
}

// User keys that may or may not be in a table of `entries`.
std::vector<TestEntry> Probes(TestRandom* random, const std::vector<TestEntry>& entries) {
  std::vector<TestEntry> probes = RandomEntries(random, {.count = 50, .alphabet = 256});
  for (int i = 0; i < 100 && !entries.empty(); ++i) {
    std::string key = entries[Uniform(random, 0, entries.size() - 1)].key;
    if (Uniform(random, 0, 1) != 0) {
      key[Uniform(random, 0, key.size() - 1)] = static_cast<char>((*random)());
    }
    probes.push_back({key, ""});
  }
  return probes;
}

size_t LowerBound(const std::vector<TestEntry>& entries, std::string_view key) {
  return std::lower_bound(entries.begin(), entries.end(), key,
                          [](const TestEntry& entry, std::string_view k) {
                            return InternalKeyLess(entry.key, k);
                          }) -
         entries.begin();
}

std::string WriteWithLevelDb(const std::vector<TestEntry>& entries, const RealOptions& real) {
  MemoryWritable file;
  leveldb::TableBuilder builder(real.options(), &file);
  for (const TestEntry& entry : entries) {
    builder.Add(entry.key, entry.value);
  }
  EXPECT_TRUE(builder.Finish().ok());
  return file.contents;
}

// The entry that a lookup by LevelDB of `target` came to, if any.
std::optional<TestEntry> RealGet(leveldb::Table* table, std::string_view target) {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  std::optional<TestEntry> result;
  const leveldb::Status status = leveldb::TableCache::Get(
      table, options, ToSlice(target), &result,
      [](void* arg, const leveldb::Slice& key, const leveldb::Slice& value) {
        *static_cast<std::optional<TestEntry>*>(arg) = {key.ToString(), value.ToString()};
      });
  EXPECT_TRUE(status.ok()) << status.ToString();
  return result;
}

// Has real LevelDB, at its most suspicious, read `image` every way.
void ExpectLevelDbReads(const std::string& image, const std::vector<TestEntry>& entries,
                        const RealOptions& real, TestRandom* random) {
  const MemoryReadable file(image);
  leveldb::Table* opened = nullptr;
  const leveldb::Status status = leveldb::Table::Open(
      real.options(), const_cast<MemoryReadable*>(&file), image.size(), &opened);
  ASSERT_TRUE(status.ok()) << status.ToString();
  const std::unique_ptr<leveldb::Table> table(opened);
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> it(table->NewIterator(options));
  it->SeekToFirst();
  for (const TestEntry& entry : entries) {
    ASSERT_TRUE(it->Valid());
    ASSERT_EQ(ToView(it->key()), entry.key);
    ASSERT_EQ(ToView(it->value()), entry.value);
    it->Next();
  }
  EXPECT_FALSE(it->Valid());
  it->SeekToLast();
  for (size_t i = entries.size(); i-- > 0;) {
    ASSERT_TRUE(it->Valid());
    ASSERT_EQ(ToView(it->key()), entries[i].key);
    ASSERT_EQ(ToView(it->value()), entries[i].value);
    it->Prev();
  }
  EXPECT_FALSE(it->Valid());
  for (const TestEntry& probe : Probes(random, entries)) {
    const size_t i = LowerBound(entries, probe.key);
    it->Seek(probe.key);
    ASSERT_EQ(it->Valid(), i < entries.size());
    if (it->Valid()) {
      EXPECT_EQ(ToView(it->key()), entries[i].key);
    }
  }
  EXPECT_TRUE(it->status().ok()) << it->status().ToString();
  for (const TestEntry& entry : entries) {
    const std::optional<TestEntry> got = RealGet(table.get(), entry.key);
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(*got, entry);
  }
  if (real.filter() != nullptr && !entries.empty()) {
    EXPECT_GE(real.filter()->asked(), entries.size());
    EXPECT_EQ(real.filter()->turned_away(), 0u);
  }
}

void ExpectWeRead(const std::string& image, const std::vector<TestEntry>& entries,
                  const TableOptions& options, TestRandom* random) {
  TableReport report;
  const Status verified = VerifyTableImage(image, "t", &report);
  ASSERT_TRUE(verified.ok()) << verified.ToString();
  EXPECT_EQ(report.entries, entries.size());
  std::unique_ptr<TableReader> table;
  ASSERT_TRUE(TableReader::OpenImage(image, "t", &table).ok());
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
  for (const TestEntry& probe : Probes(random, entries)) {
    const size_t i = LowerBound(entries, probe.key);
    it.Seek(probe.key);
    ASSERT_EQ(it.Valid(), i < entries.size());
    if (it.Valid()) {
      EXPECT_EQ(it.key(), entries[i].key);
    }
  }
  EXPECT_TRUE(it.status().ok()) << it.status().ToString();
  for (const TestEntry& entry : entries) {
    uint64_t trailer;
    std::string value;
    const uint64_t sequence = TrailerSequence(Trailer(entry.key));
    ASSERT_TRUE(table->Get(UserKey(entry.key), sequence, &trailer, &value).ok());
    EXPECT_EQ(TrailerSequence(trailer), sequence);
  }
  int bits;
  ASSERT_TRUE(FindBloomBitsPerKey(*table, &bits).ok());
  if (entries.size() > 500) {
    EXPECT_EQ(bits, options.bloom_bits_per_key);
  } else {
    EXPECT_GE(bits, options.bloom_bits_per_key);
  }
}

// The filter block of `image` is what our builder makes of the table's keys and block boundaries.
void ExpectSameFilterBlock(const std::string& image, int bits_per_key) {
  std::unique_ptr<TableReader> table;
  ASSERT_TRUE(TableReader::OpenImage(image, "t", &table).ok());
  FilterBlockBuilder builder(bits_per_key);
  builder.StartBlock(0);
  BlockIterator index(table->index());
  for (index.SeekToFirst(); index.Valid(); index.Next()) {
    BlockHandle handle;
    std::string buffer;
    Block block;
    ASSERT_TRUE(table->ReadHandle(index, &handle).ok());
    ASSERT_TRUE(table->ReadDataBlock(handle, &buffer, &block).ok());
    builder.StartBlock(handle.offset);
    BlockIterator entry(block);
    for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
      builder.AddKey(UserKey(entry.key()));
    }
    builder.StartBlock(handle.offset + handle.size + kBlockTrailerBytes);
  }
  BlockIterator meta(table->metaindex(), KeyKind::kPlain);
  meta.SeekToFirst();
  ASSERT_TRUE(meta.Valid());
  ASSERT_EQ(meta.key(), kBloomFilterName);
  BlockHandle handle;
  std::string_view encoded = meta.value();
  ASSERT_TRUE(handle.ReadFrom(&encoded));
  EXPECT_EQ(builder.Finish(), image.substr(handle.offset, handle.size));
}

TEST(TableInterop, WeReadWhatLevelDbWrites) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 80; ++round) {
    const TableOptions options = LevelDbOptions(&random);
    const RealOptions real(options);
    const auto entries = ManyEntries(&random);
    const std::string image = WriteWithLevelDb(entries, real);
    ASSERT_NO_FATAL_FAILURE(ExpectWeRead(image, entries, options, &random));
    if (options.bloom_bits_per_key > 0) {
      ASSERT_NO_FATAL_FAILURE(ExpectSameFilterBlock(image, options.bloom_bits_per_key));
    }
  }
}

TEST(TableInterop, LevelDbReadsWhatWeWrite) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 80; ++round) {
    const TableOptions options = LevelDbOptions(&random);
    const RealOptions real(options);
    const auto entries = ManyEntries(&random);
    const std::string image = WriteTable(entries, options);
    ASSERT_NO_FATAL_FAILURE(ExpectLevelDbReads(image, entries, real, &random));
  }
}

// Not as what they are not: a user who turns to LevelDB with such a table must learn it.
TEST(TableInterop, LevelDbRefusesOtherCompressions) {
  std::vector<TestEntry> entries;
  for (int i = 0; i < 1000; ++i) {
    entries.push_back({InternalKey(std::to_string(10000 + i), i), "value"});
  }
  for (const Compression compression : {Compression::kZstd, Compression::kLz4}) {
    const TableOptions options = {.compression = compression};
    const std::string image = WriteTable(entries, options);
    MemoryReadable file(image);
    leveldb::Table* opened = nullptr;
    const leveldb::Status status =
        leveldb::Table::Open(RealOptions(options).options(), &file, image.size(), &opened);
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_EQ(opened, nullptr);
  }
}

TEST(TableInterop, LevelDbTurnsAwayAbsentKeysByOurFilters) {
  TestRandom random(TestSeed());
  const TableOptions options = {.bloom_bits_per_key = 10};
  const RealOptions real(options);
  std::vector<TestEntry> entries;
  for (int i = 0; i < 20000; ++i) {
    char key[16];
    std::snprintf(key, sizeof(key), "%08d", 2 * i);
    entries.push_back({InternalKey(key, i), "value"});
  }
  const std::string image = WriteTable(entries, options);
  MemoryReadable file(image);
  leveldb::Table* opened = nullptr;
  ASSERT_TRUE(leveldb::Table::Open(real.options(), &file, image.size(), &opened).ok());
  const std::unique_ptr<leveldb::Table> table(opened);
  constexpr int kProbes = 10000;
  for (int i = 0; i < kProbes; ++i) {
    char key[16];
    std::snprintf(key, sizeof(key), "%08d", 2 * static_cast<int>(Uniform(&random, 0, 19998)) + 1);
    RealGet(table.get(), InternalKey(key, kMaxSequence));
  }
  EXPECT_EQ(real.filter()->asked(), kProbes);
  EXPECT_GE(real.filter()->turned_away(), kProbes * 97 / 100);
}

// The way of a compaction: LevelDB's table to a device that knows no compression, and back.
TEST(TableInterop, LevelDbReadsRecodedAndFinishedTables) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 40; ++round) {
    const TableOptions written = LevelDbOptions(&random);
    const auto entries = ManyEntries(&random);
    const std::string image = WriteWithLevelDb(entries, RealOptions(written));
    std::unique_ptr<TableReader> table;
    ASSERT_TRUE(TableReader::OpenImage(image, "t", &table).ok());
    RecodedTable raw;
    ASSERT_TRUE(RecodeTable(image, table->footer().index, Compression::kNone, &raw).ok());
    TableOptions options = written;
    options.compression = Uniform(&random, 0, 1) != 0 ? Compression::kSnappy : Compression::kNone;
    options.bloom_bits_per_key = static_cast<int>(Uniform(&random, 0, 20));
    RecodedTable out;
    ASSERT_TRUE(RecodeBlocks(raw.data(), raw.index_block(), options.compression, &out).ok());
    StringFile file;
    ASSERT_TRUE(FinishTable(out.data(), out.index_block(),
                            {.bloom_bits_per_key = options.bloom_bits_per_key,
                             .compression = options.compression},
                            &file)
                    .ok());
    ASSERT_NO_FATAL_FAILURE(
        ExpectLevelDbReads(file.contents(), entries, RealOptions(options), &random));
    ASSERT_NO_FATAL_FAILURE(ExpectWeRead(file.contents(), entries, options, &random));
  }
}

}  // namespace
}  // namespace sluice::interop
