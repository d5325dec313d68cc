#include "tree/space_use.h"

#include <gtest/gtest.h>

#include <string>

#include "tree/testing.h"

namespace sluice {
namespace {

constexpr uint32_t kTable = 100 * kPageBytes;

class SpaceUseTest : public testing::Test {
 protected:
  SpaceUseTest() { metadata_.subtables[1]; }

  // An extent of 100 pages and so many records.
  Extent Make(const std::string& first, const std::string& last, uint64_t records) {
    return {.number = ++number_,
            .bytes = kTable,
            .smallest = InternalKey(first, 9),
            .largest = InternalKey(last, 8),
            .entries = records};
  }
  static Extent Slice(Extent extent, const std::string& first, const std::string& last,
                      uint32_t bytes) {
    extent.table_largest = extent.largest;
    extent.smallest = InternalKey(first, 9);
    extent.largest = InternalKey(last, 8);
    extent.sliced = true;
    extent.slice_bytes = bytes;
    extent.entries = extent.entries * bytes / kTable;
    return extent;
  }
  SpaceUse With(uint32_t level, const Extent& extent) {
    MetadataEdit edit;
    edit.added.push_back({1, {level, level == kLastLevel ? 0 : ++number_}, extent});
    EXPECT_TRUE(metadata_.Apply(edit).ok());
    return EstimateSpace(metadata_.subtables.at(1));
  }

  Metadata metadata_;
  uint64_t number_ = 0;
};

TEST_F(SpaceUseTest, CountsPages) {
  EXPECT_EQ(EstimateSpace(metadata_.subtables.at(1)), SpaceUse{});
  Extent extent = Make("a", "c", 100);
  extent.bytes = 10 * kPageBytes + 1;
  EXPECT_EQ(With(0, extent), (SpaceUse{.used_bytes = 11 * kPageBytes}));
  EXPECT_EQ(With(2, Make("a", "c", 1000)),
            (SpaceUse{.used_bytes = 111 * kPageBytes, .live_bytes = kTable}));
  // Set aside: no compaction can free it.
  EXPECT_EQ(With(kAsideLevel, Make("a", "c", 1000)).used_bytes, 111 * kPageBytes);
}

// Slices keep all pages of their table, which are there once.
TEST_F(SpaceUseTest, CountsTablesOfSlicesOnce) {
  const Extent table = Make("a", "k", 1000);
  EXPECT_EQ(With(2, Slice(table, "a", "b", kTable / 10)).used_bytes, kTable);
  const SpaceUse two = With(2, Slice(table, "f", "h", kTable / 5));
  EXPECT_EQ(two.used_bytes, kTable);
  EXPECT_EQ(two.live_bytes, kTable / 10 + kTable / 5);
}

TEST_F(SpaceUseTest, TakesRecordsAboveToReplaceOthers) {
  (void)With(2, Make("a", "m", 1000));
  EXPECT_EQ(With(2, Make("n", "z", 1000)).live_bytes, 2 * kTable);
  // As large as those below, or larger: nothing is lost, and nothing gained.
  EXPECT_EQ(With(1, Make("a", "z", 1000)).live_bytes, 2 * kTable);
  EXPECT_EQ(With(0, Make("a", "m", 100)).live_bytes, 2 * kTable);
  // Half as large.
  EXPECT_LE(With(0, Make("a", "m", 3900)).live_bytes, 2u);
}

TEST_F(SpaceUseTest, TakesTombstonesToDeleteOthers) {
  (void)With(2, Make("a", "z", 1000));
  Extent extent = Make("a", "z", 300);
  extent.tombstones = 200;  // beside a hundred records that are larger than those below
  EXPECT_NEAR(static_cast<double>(With(1, extent).live_bytes), 0.8 * kTable, 2);
  extent = Make("a", "z", 10'000);
  extent.tombstones = 10'000;
  EXPECT_EQ(With(0, extent).live_bytes, 0u);
}

}  // namespace
}  // namespace sluice
