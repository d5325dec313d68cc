#include "tree/metadata_edit.h"

#include <gtest/gtest.h>

#include "tree/metadata.h"

namespace sluice {
namespace {

MetadataEdit Example() {
  MetadataEdit edit;
  edit.dropped = {7, 8};
  edit.created = {{3, "orders"}, {4, ""}};
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
  EXPECT_EQ(accepted, 12u);  // between two fields
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
