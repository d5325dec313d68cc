#include "table/verify.h"

#include <gtest/gtest.h>

#include "table/block_builder.h"
#include "table/filter.h"
#include "table/table_reader.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

TEST(Verify, SoundTablesPassAndAreDescribed) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 50; ++round) {
    const TableOptions options = RandomTableOptions(&random);
    const auto entries =
        RandomEntries(&random, {.count = SkewedSize(&random, 2000), .references = true});
    const std::string image = WriteTable(entries, options);
    TableReport report;
    const Status status = VerifyTableImage(image, "t", &report);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(report.file_bytes, image.size());
    EXPECT_EQ(report.entries, entries.size());
    uint64_t tombstones = 0;
    uint64_t references = 0;
    uint64_t key_bytes = 0;
    uint64_t value_bytes = 0;
    for (const TestEntry& entry : entries) {
      tombstones += TrailerType(Trailer(entry.key)) == 0;
      references += TrailerType(Trailer(entry.key)) == 2;
      key_bytes += entry.key.size();
      value_bytes += entry.value.size();
    }
    EXPECT_EQ(report.tombstones, tombstones);
    EXPECT_EQ(report.references, references);
    EXPECT_EQ(report.key_bytes, key_bytes);
    EXPECT_EQ(report.value_bytes, value_bytes);
    EXPECT_EQ(report.smallest, entries.empty() ? "" : entries.front().key);
    EXPECT_EQ(report.largest, entries.empty() ? "" : entries.back().key);
    EXPECT_EQ(report.filter_name, options.bloom_bits_per_key > 0 ? kBloomFilterName : "");
    EXPECT_EQ(options.compression == Compression::kNone && report.compressed_blocks > 0, false);
  }
}

// There is not one bit in a table that may change unseen.
TEST(Verify, EveryFlippedBitIsFound) {
  TestRandom random(TestSeed());
  for (const Compression compression :
       {Compression::kNone, Compression::kSnappy, Compression::kZstd, Compression::kLz4}) {
    const auto entries = RandomEntries(&random, {.count = 40, .most_value_bytes = 100});
    std::string image = WriteTable(entries, {.block_bytes = 512,
                                             .restart_interval = 4,
                                             .compression = compression,
                                             .bloom_bits_per_key = 10});
    ASSERT_TRUE(VerifyTableImage(image, "t", nullptr).ok());
    for (size_t i = 0; i < image.size(); ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        image[i] = static_cast<char>(image[i] ^ 1 << bit);
        const Status status = VerifyTableImage(image, "t", nullptr);
        ASSERT_FALSE(status.ok()) << "bit " << bit << " of byte " << i;
        EXPECT_TRUE(status.message().starts_with("t: ")) << status.ToString();
        EXPECT_NE(status.message().find("offset"), std::string::npos) << status.ToString();
        image[i] = static_cast<char>(image[i] ^ 1 << bit);
      }
    }
  }
}

// Builds tables whose checksums hold and whose contents need not.
class TableForger {
 public:
  BlockHandle AppendBlock(std::string_view contents, Compression type = Compression::kNone) {
    const BlockHandle handle{file_.size(), contents.size()};
    file_.append(contents);
    AppendBlockTrailer(contents, type, &file_);
    return handle;
  }

  void AddToIndex(const std::string& key, const BlockHandle& handle) {
    std::string encoded;
    handle.AppendTo(&encoded);
    index_.Add(key, encoded);
  }

  void AddToMetaindex(std::string_view name, const BlockHandle& handle) {
    std::string encoded;
    handle.AppendTo(&encoded);
    metaindex_.Add(name, encoded);
  }

  std::string Finish() {
    Footer footer;
    footer.metaindex = AppendBlock(metaindex_.Finish());
    footer.index = AppendBlock(index_.Finish());
    footer.AppendTo(&file_);
    return file_;
  }

 private:
  std::string file_;
  BlockBuilder index_{1};
  BlockBuilder metaindex_{1};
};

std::string BlockOf(const std::vector<std::string>& keys, uint32_t restart_interval = 1) {
  BlockBuilder builder(restart_interval);
  for (const std::string& key : keys) {
    builder.Add(key, "v");
  }
  return std::string(builder.Finish());
}

void ExpectFault(const std::string& image, const std::string& fault) {
  const Status status = VerifyTableImage(image, "t", nullptr);
  EXPECT_TRUE(status.IsCorruption() || status.IsNotSupported());
  EXPECT_EQ(status.message(), fault);
}

// One table of two blocks, made to the taste of each test.
struct Forgery {
  std::string first = BlockOf({InternalKey("a", 2), InternalKey("b", 2)});
  std::string second = BlockOf({InternalKey("c", 2), InternalKey("d", 2)});
  std::string first_index_key = InternalKey("b", 2);
  std::string second_index_key = InternalKey("d", 2);

  std::string Build() const {
    TableForger forger;
    const BlockHandle a = forger.AppendBlock(first);
    const BlockHandle b = forger.AppendBlock(second);
    forger.AddToIndex(first_index_key, a);
    forger.AddToIndex(second_index_key, b);
    return forger.Finish();
  }
};

TEST(Verify, ForgeryIsSoundUnlessBroken) {
  ASSERT_TRUE(VerifyTableImage(Forgery().Build(), "t", nullptr).ok());
  // LevelDB's separators lie between the blocks.
  Forgery separated;
  separated.first_index_key = InternalKey("bb", kMaxSequence);
  separated.second_index_key = InternalKey("e", kMaxSequence);
  EXPECT_TRUE(VerifyTableImage(separated.Build(), "t", nullptr).ok());
}

TEST(Verify, KeysOutOfOrderAreFound) {
  Forgery within;
  within.first = BlockOf({InternalKey("b", 2), InternalKey("a", 2)});
  ExpectFault(within.Build(),
              "t: offset 0: entry at byte 13 of the block: key does not come after the one before");
  Forgery across;
  across.second = BlockOf({InternalKey("b", 2)});
  ExpectFault(across.Build(),
              "t: offset 43: entry at byte 0 of the block: key does not come after the one before");
  Forgery index_low;
  index_low.first_index_key = InternalKey("a", 2);
  ExpectFault(index_low.Build(),
              "t: offset 99: index block: key in the entry at byte 0 comes before the last of its "
              "block");
  Forgery index_high;
  index_high.first_index_key = InternalKey("c", 2);
  ExpectFault(
      index_high.Build(),
      "t: offset 43: entry at byte 0 of the block: key does not come after the index key of "
      "the block before");
}

TEST(Verify, OddEntriesAreFound) {
  Forgery type;
  type.first = BlockOf({InternalKey("a", 2, static_cast<RecordType>(3))});
  ExpectFault(type.Build(), "t: offset 0: entry at byte 0 of the block: unknown record type 3");
  Forgery empty;
  empty.second = BlockOf({});
  ExpectFault(empty.Build(), "t: offset 43: data block without entries");
  Forgery short_key;
  short_key.second = BlockOf({"c"});
  ExpectFault(short_key.Build(),
              "t: offset 43: entry at byte 0 of the block: key too short for an internal key");
}

TEST(Verify, WrongRestartsAreFound) {
  const std::string block =
      BlockOf({InternalKey("a", 2), InternalKey("ab", 2), InternalKey("b", 2)}, 2);
  const size_t array = block.size() - 12;
  Forgery forgery;
  forgery.first = block;
  ASSERT_TRUE(VerifyTableImage(forgery.Build(), "t", nullptr).ok());
  // Between entries; at an entry that shares; twice the same; past the end.
  for (const uint32_t restart : {1, 13, 0, static_cast<int>(array)}) {
    EncodeFixed32(forgery.first.data() + array + 4, restart);
    const Status status = VerifyTableImage(forgery.Build(), "t", nullptr);
    EXPECT_TRUE(status.IsCorruption());
    EXPECT_TRUE(status.message().starts_with("t: offset 0: restart 1 points to byte"))
        << status.ToString();
  }
}

TEST(Verify, BadHandlesAreFound) {
  TableForger overlapping;
  const BlockHandle handle = overlapping.AppendBlock(BlockOf({InternalKey("a", 2)}));
  overlapping.AddToIndex(InternalKey("a", 2), handle);
  overlapping.AddToMetaindex("other", handle);
  const std::string image = overlapping.Finish();
  const Status status = VerifyTableImage(image, "t", nullptr);
  EXPECT_NE(status.message().find("overlaps the"), std::string::npos) << status.ToString();

  TableForger outside;
  outside.AddToIndex(InternalKey("a", 2), {40, 1000});
  ExpectFault(outside.Finish(), "t: offset 40: block of 1000 bytes reaches past the end at 41");
  TableForger huge;
  huge.AddToIndex(InternalKey("a", 2), {~0ull - 2, 1});
  EXPECT_TRUE(VerifyTableImage(huge.Finish(), "t", nullptr).IsCorruption());
}

TEST(Verify, CompressionThatLiesIsFound) {
  TableForger unknown;
  unknown.AddToIndex(InternalKey("a", 2),
                     unknown.AppendBlock(BlockOf({InternalKey("a", 2)}), Compression{9}));
  ExpectFault(unknown.Finish(), "t: offset 0: block has unknown compression type 9");
  TableForger garbage;
  garbage.AddToIndex(InternalKey("a", 2), garbage.AppendBlock("\x10garbage", Compression::kSnappy));
  ExpectFault(garbage.Finish(), "t: offset 0: malformed Snappy data");
  TableForger bomb;
  bomb.AddToIndex(InternalKey("a", 2),
                  bomb.AppendBlock("\xff\xff\xff\xff\x0f....", Compression::kSnappy));
  ExpectFault(bomb.Finish(), "t: offset 0: compressed block claims an impossible length");
  TableForger lz4;
  lz4.AddToIndex(InternalKey("a", 2), lz4.AppendBlock("\x10garbage", Compression::kLz4));
  ExpectFault(lz4.Finish(), "t: offset 0: malformed LZ4 data");
  TableForger zstd;
  zstd.AddToIndex(InternalKey("a", 2),
                  zstd.AppendBlock("\x28\xb5\x2f\xfd\x20\x10garbage", Compression::kZstd));
  ExpectFault(zstd.Finish(), "t: offset 0: malformed Zstandard data: Data corruption detected");
}

TEST(Verify, AFilterThatMissesAKeyIsFound) {
  FilterBlockBuilder builder(10);
  builder.StartBlock(0);
  builder.AddKey("b");
  TableForger forger;
  const BlockHandle block = forger.AppendBlock(BlockOf({InternalKey("a", 2)}));
  forger.AddToIndex(InternalKey("a", 2), block);
  forger.AddToMetaindex(kBloomFilterName, forger.AppendBlock(builder.Finish()));
  ExpectFault(forger.Finish(),
              "t: offset 0: entry at byte 0 of the block: key is not in the filter");
}

}  // namespace
}  // namespace sluice
