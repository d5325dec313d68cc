#include "tree/metadata_edit.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tree/metadata.h"
#include "tree/value_extent.h"

namespace sluice {
namespace {

MetadataEdit Example() {
  MetadataEdit edit;
  edit.dropped = {7, 8};
  edit.created = {{3, "orders"}, {4, ""}};
  edit.options = {{3,
                   {.block_bytes = 64 << 10,
                    .compression = Compression::kZstd,
                    .compression_per_level = std::vector<Compression>{Compression::kLz4},
                    .zstd_level = 22,
                    .zstd_dictionary_bytes = 256,
                    .bloom_bits_per_key = 0,
                    .prefix_bytes = 255,
                    .separate_value_bytes = UINT64_MAX,
                    .offload = false,
                    .level_tiers = std::vector<uint32_t>{0, 2}}},
                  {4, {}}};
  edit.flushed = {{3, kMaxSequence}};
  edit.cuts_done = {{3, 17}};
  edit.cuts = {{3, {"from", "to", kMaxSequence}}, {3, {"", "", 1}}};
  edit.removed = {{3, {0, 1ull << 40}, 99, "aaaaaaaa"}};
  edit.added = {{3,
                 {2, 0},
                 {.number = 100,
                  .address = {1, 511},
                  .bytes = 2 << 20,
                  .smallest = std::string("a\0\0\0\0\0\0\0\1", 9),
                  .largest = "zzzzzzzz",
                  .entries = 1u << 31,
                  .tombstones = 5,
                  .shadowed = 1}}};
  edit.log_start = 0;
  edit.next_number = 101;
  return edit;
}

TEST(MetadataEdit, ReadsWhatItWrote) {
  for (const MetadataEdit& edit : {MetadataEdit(), Example()}) {
    std::string bytes;
    edit.AppendTo(&bytes);
    MetadataEdit read;
    ASSERT_TRUE(read.ReadFrom(bytes).ok());
    EXPECT_EQ(read, edit);
  }
}

TEST(MetadataEdit, RefusesWhatIsCutOffOrUnknown) {
  std::string bytes;
  Example().AppendTo(&bytes);
  MetadataEdit read;
  size_t accepted = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    accepted += read.ReadFrom(bytes.substr(0, n)).ok();
  }
  EXPECT_EQ(accepted, 14u);  // between two fields
  EXPECT_TRUE(read.ReadFrom("\x63").IsCorruption());
}

TEST(Metadata, RefusesEditsThatDoNotFit) {
  const Extent extent{.number = 5, .smallest = "keytrailer", .largest = "keytrailer"};
  const auto apply = [&](const MetadataEdit& edit) {
    Metadata metadata;
    EXPECT_TRUE(metadata.Apply({.created = {{3, "t"}}}).ok());
    EXPECT_TRUE(metadata.Apply({.added = {{3, {1, 0}, extent}}}).ok());
    return metadata.Apply(edit);
  };
  EXPECT_TRUE(
      apply({.removed = {{3, {1, 0}, 5, extent.smallest}}, .added = {{3, {2, 0}, extent}}}).ok());
  EXPECT_TRUE(apply({.dropped = {3}, .created = {{3, "again"}}}).ok());
  EXPECT_FALSE(apply({.dropped = {4}}).ok());
  EXPECT_FALSE(apply({.created = {{3, "again"}}}).ok());
  EXPECT_FALSE(apply({.flushed = {{4, 1}}}).ok());
  EXPECT_TRUE(apply({.cuts_done = {{3, 1}}, .cuts = {{3, {"a", "b", 2}}}}).ok());
  EXPECT_FALSE(apply({.cuts_done = {{4, 1}}}).ok());
  EXPECT_FALSE(apply({.cuts = {{4, {"a", "b", 2}}}}).ok());
  EXPECT_FALSE(apply({.removed = {{3, {1, 0}, 6, extent.smallest}}}).ok());
  EXPECT_FALSE(apply({.removed = {{3, {2, 0}, 5, extent.smallest}}}).ok());
  EXPECT_FALSE(apply({.added = {{3, {1, 0}, extent}}}).ok());
  EXPECT_FALSE(apply({.added = {{4, {1, 0}, extent}}}).ok());
  EXPECT_TRUE(apply({.added = {{3, {kAsideLevel, 0}, extent}}}).ok());
  EXPECT_TRUE(apply({.added = {{3, {kAsideLevel + 1, 0}, extent}}}).IsCorruption());
}

// Its bytes are on disk: they never change, and what has none of them is read as before.
TEST(MetadataEdit, WritesOptionsOfSubtablesAsEver) {
  MetadataEdit edit;
  edit.created = {{3, "t"}};
  std::string before;
  edit.AppendTo(&before);
  edit.options = {{3, {.block_bytes = 16384, .compression = Compression::kZstd}}};
  edit.options.push_back({3, {.compression_per_level = std::vector<Compression>(2)}});
  edit.options.push_back({3, {.level_tiers = std::vector<uint32_t>{0, 0, 2}}});
  std::string bytes;
  edit.AppendTo(&bytes);
  using std::string_literals::operator""s;
  const std::string options =
      "\x10\x03\x06\x01\x80\x80\x01\x02\x02\x10\x03\x04\x03\x02\0\0"
      "\x10\x03\x05\x0a\x03\0\0\x02"s;
  EXPECT_EQ(bytes, before + options);
  MetadataEdit read;
  ASSERT_TRUE(read.ReadFrom(before).ok());
  EXPECT_TRUE(read.options.empty());
  // Out of its range, or there twice, or unknown.
  for (const std::string& bad :
       {"\x10\x03\x02\x06\x41"s, "\x10\x03\x02\x02\x03"s, "\x10\x03\x02\x04\x00"s,
        "\x10\x03\x04\x07\x01\x07\x02"s, "\x10\x03\x02\x09\x02"s, "\x10\x03\x02\x0b\x01"s,
        "\x10\x03\x03\x01\x01\x01"s, "\x10\x03\x03\x0a\x01\x03"s}) {
    EXPECT_TRUE(read.ReadFrom(bad).IsCorruption()) << testing::PrintToString(bad);
  }
}

TEST(Metadata, KeepsOptionsUntilTheyAreReplaced) {
  Metadata metadata;
  const SubtableOptions own{.zstd_level = 4};
  ASSERT_TRUE(metadata.Apply({.created = {{3, "t"}, {4, "u"}}, .options = {{3, own}}}).ok());
  ASSERT_TRUE(metadata.Apply({.flushed = {{3, 1}}}).ok());
  Metadata copy;
  ASSERT_TRUE(copy.Apply(metadata.ToEdit()).ok());
  EXPECT_EQ(copy.ToEdit(), metadata.ToEdit());
  EXPECT_EQ(copy.subtables.at(3).options, own);
  EXPECT_EQ(copy.subtables.at(4).options, SubtableOptions());
  ASSERT_TRUE(copy.Apply({.options = {{3, {}}, {4, own}}}).ok());
  EXPECT_EQ(copy.subtables.at(3).options, SubtableOptions());
  EXPECT_EQ(copy.subtables.at(4).options, own);
  EXPECT_TRUE(copy.Apply({.options = {{5, own}}}).IsCorruption());
}

TEST(Metadata, CountsWhatExtentsReferTo) {
  const auto values = [](uint64_t number) {
    Extent pages{.number = number, .address = {1, number * 10}, .bytes = 1000, .entries = 9};
    return std::make_shared<const ValueExtent>(pages);
  };
  const auto extent = [&](uint64_t number, std::vector<std::pair<uint64_t, uint64_t>> refers) {
    const std::string key = "key" + std::to_string(number) + "trailer_";
    Extent made{.number = number, .smallest = key, .largest = key};
    auto shares = std::make_shared<ValueShares>();
    for (const auto& [of, bytes] : refers) {
      shares->shares.push_back({values(of), bytes});
      made.value_bytes += bytes;
    }
    made.values = std::move(shares);
    return made;
  };
  const auto live = [](const Metadata& metadata) {
    std::map<uint64_t, uint64_t> bytes;
    for (const auto& [number, use] : metadata.subtables.at(3).values) {
      bytes[number] = use.live_bytes;
    }
    return bytes;
  };
  using Live = std::map<uint64_t, uint64_t>;
  Metadata metadata;
  const Extent first = extent(5, {{70, 300}, {72, 100}});
  const Extent second = extent(6, {{70, 600}, {71, 1000}});
  ASSERT_TRUE(metadata.Apply({.created = {{3, "t"}}}).ok());
  ASSERT_TRUE(metadata.Apply({.added = {{3, {0, 1}, first}, {3, {0, 2}, second}}}).ok());
  EXPECT_EQ(live(metadata), (Live{{70, 900}, {71, 1000}, {72, 100}}));
  // As it is written and read again, with one object for each value extent.
  std::string bytes;
  metadata.ToEdit().AppendTo(&bytes);
  MetadataEdit read;
  ASSERT_TRUE(read.ReadFrom(bytes).ok());
  EXPECT_EQ(read, metadata.ToEdit());
  Metadata copy;
  ASSERT_TRUE(copy.Apply(read).ok());
  EXPECT_EQ(live(copy), live(metadata));
  const auto& runs = copy.subtables.at(3).runs;
  EXPECT_EQ(runs.at({0, 1}).Find(first.smallest)->values->shares[0].extent,
            runs.at({0, 2}).Find(second.smallest)->values->shares[0].extent);
  // One that moves, one that goes.
  ASSERT_TRUE(
      copy.Apply({.removed = {{3, {0, 1}, 5, first.smallest}, {3, {0, 2}, 6, second.smallest}},
                  .added = {{3, {1, 1}, first}}})
          .ok());
  EXPECT_EQ(live(copy), (Live{{70, 300}, {72, 100}}));
  // More than there is, or elsewhere.
  EXPECT_TRUE(
      Metadata(copy).Apply({.added = {{3, {0, 7}, extent(8, {{70, 701}})}}}).IsCorruption());
  Extent elsewhere = extent(9, {});
  auto shares = std::make_shared<ValueShares>();
  shares->shares.push_back({std::make_shared<const ValueExtent>(Extent{.number = 70}), 1});
  elsewhere.values = shares;
  EXPECT_TRUE(Metadata(copy).Apply({.added = {{3, {0, 7}, elsewhere}}}).IsCorruption());
  // A list that names what the edit does not say.
  bytes.clear();
  MetadataEdit({.added = {{3, {0, 7}, first}}}).AppendTo(&bytes);
  for (size_t n = 0; n < bytes.size(); ++n) {
    (void)read.ReadFrom(bytes.substr(n));
    (void)read.ReadFrom(bytes.substr(0, n));
  }
}

TEST(Metadata, KeepsCutsUntilTheyAreDone) {
  Metadata metadata;
  ASSERT_TRUE(metadata.Apply({.created = {{3, "t"}}}).ok());
  ASSERT_TRUE(metadata.Apply({.cuts = {{3, {"a", "m", 5}}, {3, {"x", "", 5}}}}).ok());
  ASSERT_TRUE(metadata.Apply({.cuts = {{3, {"k", "p", 9}}}}).ok());
  Metadata copy;
  ASSERT_TRUE(copy.Apply(metadata.ToEdit()).ok());
  EXPECT_EQ(copy.ToEdit(), metadata.ToEdit());
  // What is done and added at once stays.
  ASSERT_TRUE(copy.Apply({.cuts_done = {{3, 5}}, .cuts = {{3, {"a", "b", 5}}}}).ok());
  const RangeDeletions& cuts = copy.subtables.at(3).cuts;
  EXPECT_EQ(cuts.Covering("a", kMaxSequence), 5u);
  EXPECT_EQ(cuts.Covering("b", kMaxSequence), 0u);
  EXPECT_EQ(cuts.Covering("k", kMaxSequence), 9u);
  EXPECT_EQ(cuts.Covering("y", kMaxSequence), 0u);
}

}  // namespace
}  // namespace sluice
