#include "table/recode.h"

#include <gtest/gtest.h>

#include "table/table_reader.h"
#include "table/testing.h"
#include "table/verify.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Data blocks and index of a table as an executor hands them over.
RecodedTable Take(const std::string& image, Compression to) {
  const auto table = OpenTable(image);
  RecodedTable taken;
  const Status status = RecodeTable(image, table->footer().index, to, &taken);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return taken;
}

TEST(Recode, RawTablesComeBackAsTheyWere) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 30; ++round) {
    TableOptions options = RandomTableOptions(&random);
    const auto entries = RandomEntries(&random, {.count = SkewedSize(&random, 2000)});
    options.compression = Compression::kNone;
    const std::string raw = WriteTable(entries, options);
    const Compression to = RandomCompression(&random);
    options.compression = to;
    const std::string compressed = WriteTable(entries, options);

    const RecodedTable expanded = Take(compressed, Compression::kNone);
    EXPECT_EQ(expanded.image, Take(raw, Compression::kNone).image);
    EXPECT_EQ(expanded.data(), raw.substr(0, expanded.data().size()));

    RecodedTable shrunk;
    ASSERT_TRUE(RecodeBlocks(expanded.data(), expanded.index_block(), to, &shrunk).ok());
    EXPECT_EQ(shrunk.data(), compressed.substr(0, shrunk.data().size()));
    EXPECT_EQ(shrunk.image, Take(compressed, to).image);
  }
}

TEST(Recode, FinishedTablesAreAsTheWriterWouldHaveThem) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 30; ++round) {
    const TableOptions options = RandomTableOptions(&random);
    const auto entries = RandomEntries(&random, {.count = SkewedSize(&random, 2000)});
    const std::string image = WriteTable(entries, options);
    const RecodedTable table = Take(image, options.compression);
    StringFile file;
    ASSERT_TRUE(FinishTable(table.data(), table.index_block(),
                            {.bloom_bits_per_key = options.bloom_bits_per_key,
                             .compression = options.compression},
                            &file)
                    .ok());
    EXPECT_EQ(file.contents(), image);
    TableReport report;
    const Status status = VerifyTableImage(file.contents(), "t", &report);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(report.entries, entries.size());
  }
}

TEST(Recode, IncompressibleBlocksStayRaw) {
  TestRandom random(TestSeed());
  std::string noise(4000, '\0');
  for (char& c : noise) {
    c = static_cast<char>(random());
  }
  const std::string raw = WriteTable({{InternalKey("k", 1), noise}}, {});
  const RecodedTable kept = Take(raw, Compression::kSnappy);
  EXPECT_EQ(kept.data(), raw.substr(0, kept.data().size()));
}

TEST(Recode, FaultsAreFoundAndPlaced) {
  TestRandom random(TestSeed());
  const auto entries = RandomEntries(&random, {.count = 500});
  const std::string image = WriteTable(entries, {.block_bytes = 512});
  const BlockHandle index = OpenTable(image)->footer().index;
  const RecodedTable good = Take(image, Compression::kNone);
  for (const Compression to : {Compression::kNone, Compression::kSnappy}) {
    for (int round = 0; round < 200; ++round) {
      std::string bad = image;
      const size_t bytes = good.data().size();
      const size_t at = Uniform(&random, 0, bytes - 1);
      bad[at] = static_cast<char>(bad[at] ^ 1 << Uniform(&random, 0, 7));
      RecodedTable out;
      const Status status = RecodeTable(bad, index, to, &out);
      EXPECT_TRUE(status.IsCorruption());
      EXPECT_TRUE(status.message().starts_with("offset ")) << status.ToString();
      EXPECT_NE(status.message().find("checksum"), std::string::npos) << status.ToString();
    }
  }
  RecodedTable out;
  EXPECT_TRUE(RecodeBlocks(good.data(), "", Compression::kNone, &out).IsCorruption());
  EXPECT_TRUE(RecodeBlocks(good.data().substr(1), good.index_block(), Compression::kNone, &out)
                  .IsCorruption());
  std::string bad_index(good.index_block());
  bad_index[0] ^= 1;
  StringFile file;
  EXPECT_TRUE(FinishTable(good.data(), bad_index, {}, &file).IsCorruption());
  EXPECT_TRUE(file.contents().empty());
}

// A small index can name a large block as often as it likes.
TEST(Recode, BlocksNamedTwiceDoNotMultiply) {
  const std::string image = WriteTable({{InternalKey("k", 1), std::string(10000, 'v')}}, {});
  const RecodedTable table = Take(image, Compression::kNone);
  BlockBuilder index(1);
  std::string handle;
  BlockHandle{0, table.data().size() - kBlockTrailerBytes}.AppendTo(&handle);
  index.Add(InternalKey("k", 1), handle);
  index.Add(InternalKey("l", 1), handle);
  std::string index_block(index.Finish());
  AppendBlockTrailer(index_block, Compression::kNone, &index_block);
  RecodedTable out;
  const Status status = RecodeBlocks(table.data(), index_block, Compression::kSnappy, &out);
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_NE(status.message().find("starts before"), std::string::npos) << status.ToString();
  StringFile file;
  EXPECT_TRUE(
      FinishTable(table.data(), index_block, {.bloom_bits_per_key = 10}, &file).IsCorruption());
}

}  // namespace
}  // namespace sluice
