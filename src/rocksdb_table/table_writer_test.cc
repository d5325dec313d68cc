#include "rocksdb_table/table_writer.h"

#include <gtest/gtest.h>

#include "rocksdb_table/table.h"
#include "rocksdb_table/testing.h"
#include "rocksdb_table/verify.h"
#include "table/table_text.h"

namespace sluice {
namespace {

// Blocks as executors write them.
struct Parts {
  explicit Parts(const std::vector<TestEntry>& entries) {
    image = WriteTable(entries, {.block_bytes = 512});
    EXPECT_TRUE(Footer::Parse(std::string_view(image).substr(image.size() - kFooterBytes),
                              image.size(), &footer)
                    .ok());
  }
  RocksTableParts parts() const {
    const std::string_view view(image);
    return {
        .data = view.substr(0, footer.metaindex.offset),
        .index_block = view.substr(footer.index.offset, footer.index.size + kBlockTrailerBytes)};
  }

  std::string image;
  Footer footer;
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
    RocksTableSummary summary;
    ASSERT_TRUE(FinishRocksTable(parts.parts(), options, &file, &summary).ok());
    EXPECT_EQ(summary.properties.Text("rocksdb.creating.db.identity"), "db");
    SequenceNumber smallest = kMaxSequence;
    SequenceNumber largest = 0;
    for (const TestEntry& entry : entries) {
      smallest = std::min(smallest, TrailerSequence(Trailer(entry.key)));
      largest = std::max(largest, TrailerSequence(Trailer(entry.key)));
    }
    EXPECT_EQ(summary.smallest_sequence, smallest);
    EXPECT_EQ(summary.largest_sequence, largest);
    TableReport report;
    const Status verified = VerifyRocksTableImage(file, "t", &report);
    ASSERT_TRUE(verified.ok()) << verified.ToString();
    EXPECT_EQ(report.entries, entries.size());
    EXPECT_EQ(report.filter_name.empty(), options.bloom_millibits_per_key == 0 || entries.empty());
    std::unique_ptr<RocksTable> table;
    ASSERT_TRUE(RocksTable::OpenImage(file, "t", &table).ok());
    EXPECT_EQ(table->properties().values(), summary.properties.values());
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

TEST(FinishRocksTable, ZeroesSequenceNumbersOfOldValues) {
  TestRandom random(TestSeed());
  for (int round = 0; round < TestRounds(50); ++round) {
    // Each user key has one version up to the limit, as in a last level.
    const SequenceNumber limit = Uniform(&random, 1, kMaxSequence);
    std::vector<TestEntry> entries;
    std::vector<TestEntry> expected;
    std::string last_old;
    for (const TestEntry& entry : RandomEntries(&random, {.count = 300})) {
      const std::string user_key(UserKey(entry.key));
      const uint64_t trailer = Trailer(entry.key);
      const bool old = TrailerSequence(trailer) <= limit;
      if (old && (user_key == last_old || TrailerType(trailer) == 0)) {
        continue;
      }
      last_old = old ? user_key : last_old;
      entries.push_back(entry);
      expected.push_back({old ? InternalKey(user_key, 0) : entry.key, entry.value});
      EXPECT_EQ(ZeroSequence(entry.key, limit), expected.back().key);
    }
    const Parts parts(entries);
    RocksTableOptions options = RandomOptions(&random);
    options.zero_up_to = limit;
    std::string file;
    ASSERT_TRUE(FinishRocksTable(parts.parts(), options, &file).ok());
    const Status verified = VerifyRocksTableImage(file, "t", nullptr);
    ASSERT_TRUE(verified.ok()) << verified.ToString();
    std::vector<std::string> lines;
    ASSERT_TRUE(DumpRocksTableImage(file, "t", [&](std::string_view line) {
                  if (line.starts_with("  ")) {
                    lines.emplace_back(line.substr(2, line.rfind(" value") - 2));
                  }
                }).ok());
    ASSERT_EQ(lines.size(), expected.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string key = KeyText(expected[i].key);
      EXPECT_TRUE(lines[i].starts_with(key.substr(0, key.rfind(' '))));
    }
  }
}

// What a key shares with the one before cannot become 0 in one of them only.
TEST(RocksTableWriter, RefusesToZeroTrailersThatAreShared) {
  const std::string first = InternalKey("a", 2);
  const std::string second = InternalKey("a", 1);
  const size_t shared = CommonPrefix(first, second);
  ASSERT_GT(shared, 1u);  // the type is in front
  std::string block;
  const auto add = [&block](size_t shared_bytes, std::string_view key) {
    PutVarint(&block, shared_bytes);
    PutVarint(&block, key.size() - shared_bytes);
    PutVarint(&block, 1);
    block.append(key.substr(shared_bytes)).push_back('v');
  };
  add(0, first);
  add(shared, second);
  PutFixed32(&block, 0);
  PutFixed32(&block, 1);
  for (const SequenceNumber zero_up_to : {0, 2}) {
    RocksTableWriter writer({.zero_up_to = zero_up_to}, [](std::string_view) { return Status(); });
    EXPECT_EQ(writer.AddBlock(block, second).IsCorruption(), zero_up_to != 0);
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
