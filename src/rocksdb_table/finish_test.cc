#include "rocksdb_table/finish.h"

#include <gtest/gtest.h>

#include "rocksdb_table/table.h"
#include "rocksdb_table/testing.h"
#include "rocksdb_table/verify.h"

namespace sluice {
namespace {

// Blocks as executors write them.
struct Parts {
  explicit Parts(const std::vector<TestEntry>& entries) {
    image = WriteTable(entries, {.block_bytes = 512});
    EXPECT_TRUE(Footer::Parse(std::string_view(image).substr(image.size() - kFooterBytes),
                              image.size(), &footer)
                    .ok());
    for (const TestEntry& entry : entries) {
      tombstones += TrailerType(Trailer(entry.key)) == 0;
    }
  }
  RocksTableParts parts() const {
    const std::string_view view(image);
    return {.data = view.substr(0, footer.metaindex.offset),
            .index_block = view.substr(footer.index.offset, footer.index.size + kBlockTrailerBytes),
            .tombstones = tombstones};
  }

  std::string image;
  Footer footer;
  uint64_t tombstones = 0;
};

RocksTableOptions RandomOptions(TestRandom* random) {
  RocksTableOptions options;
  options.format_version = static_cast<uint32_t>(Uniform(random, 2, 6));
  options.checksum = RocksChecksum{static_cast<uint8_t>(Uniform(random, 0, 4))};
  options.checksum_base = static_cast<uint32_t>(Uniform(random, 1, UINT32_MAX));
  options.codec.type = RandomCompression(random);
  options.compress_index = Uniform(random, 0, 1) != 0;
  options.index_restart_interval = static_cast<uint32_t>(Uniform(random, 1, 20));
  options.bloom_millibits_per_key =
      Uniform(random, 0, 1) != 0 ? static_cast<uint32_t>(Uniform(random, 1000, 30000)) : 0;
  return options;
}

TEST(FinishRocksTable, MakesSoundTables) {
  TestRandom random(TestSeed());
  for (int round = 0; round < TestRounds(300); ++round) {
    const std::vector<TestEntry> entries = RandomEntries(
        &random,
        {.count = Uniform(&random, 0, 500), .alphabet = Uniform(&random, 0, 1) != 0 ? 256u : 3u});
    const Parts parts(entries);
    RocksTableOptions options = RandomOptions(&random);
    options.properties.SetText("rocksdb.creating.db.identity", "db");
    std::string file;
    RocksProperties properties;
    ASSERT_TRUE(FinishRocksTable(parts.parts(), options, &file, &properties).ok());
    EXPECT_EQ(properties.Text("rocksdb.creating.db.identity"), "db");
    TableReport report;
    const Status verified = VerifyRocksTableImage(file, "t", &report);
    ASSERT_TRUE(verified.ok()) << verified.ToString();
    EXPECT_EQ(report.entries, entries.size());
    EXPECT_EQ(report.filter_name.empty(), options.bloom_millibits_per_key == 0 || entries.empty());
    std::unique_ptr<RocksTable> table;
    ASSERT_TRUE(RocksTable::OpenImage(file, "t", &table).ok());
    EXPECT_EQ(table->properties().values(), properties.values());
    EXPECT_EQ(table->footer().format_version, options.format_version);
    EXPECT_EQ(table->footer().checksum, options.checksum);
  }
}

// Blocks are checked on their way: a bit that flipped since the executor made them is found.
TEST(FinishRocksTable, FindsEveryFlippedBit) {
  TestRandom random(TestSeed());
  Parts parts(RandomEntries(&random, {.count = 300}));
  const uint64_t index_end = parts.footer.index.offset + parts.footer.index.size;
  for (int round = 0; round < 500; ++round) {
    const bool in_index = Uniform(&random, 0, 3) == 0;
    const uint64_t byte = in_index ? Uniform(&random, parts.footer.index.offset, index_end + 4)
                                   : Uniform(&random, 0, parts.footer.metaindex.offset - 1);
    const char before = parts.image[byte];
    parts.image[byte] = static_cast<char>(before ^ 1 << Uniform(&random, 0, 7));
    std::string file;
    EXPECT_TRUE(FinishRocksTable(parts.parts(), {}, &file).IsCorruption()) << byte;
    parts.image[byte] = before;
  }
}

TEST(FinishRocksTable, RefusesFormatsThatAreNone) {
  const Parts parts({{InternalKey("a", 1), "b"}});
  std::string file;
  for (const RocksTableOptions& options :
       {RocksTableOptions{.format_version = 1}, RocksTableOptions{.format_version = 7},
        RocksTableOptions{.format_version = 6}, RocksTableOptions{.index_restart_interval = 0}}) {
    EXPECT_EQ(FinishRocksTable(parts.parts(), options, &file).code(),
              Status::Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace sluice
