#include "tree/space_use.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tree/random_edits.h"
#include "tree/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr uint32_t kTable = 100 * kPageBytes;

uint64_t PageBytes(uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

// The estimate from all extents, as space_use.h says it.
SpaceUse FromAllExtents(const Metadata::Subtable& subtable) {
  struct Stretch {
    std::string begin;
    uint64_t weight;
    uint64_t entries;
    double above_weight = 0;
    double above_records = 0;
    double above_tombstones = 0;
  };
  std::vector<Stretch> stretches;
  SpaceUse use;
  for (const auto& [id, run] : subtable.runs) {
    if (id.level == kAsideLevel) {
      continue;
    }
    std::set<uint64_t> sliced;
    RunIndex::Iterator at(run);
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      if (!at.extent()->sliced || sliced.insert(at.extent()->number).second) {
        use.used_bytes += PageBytes(at.extent()->bytes);
      }
    }
    if (id.level == kLastLevel) {
      run.VisitLeaves([&](const Extent& first, const RunIndex::Summary& summary) {
        stretches.push_back(
            {std::string(UserKey(first.smallest)), summary.weight, summary.entries});
      });
    }
  }
  for (const auto& [id, run] : subtable.runs) {
    if (id.level >= kLastLevel || stretches.empty()) {
      continue;
    }
    RunIndex::Iterator at(run);
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      const Extent& extent = *at.extent();
      const auto of = [&](std::string_view user_key) {
        size_t i = 0;
        while (i + 1 < stretches.size() && stretches[i + 1].begin <= user_key) {
          ++i;
        }
        return i;
      };
      const size_t first = of(UserKey(extent.smallest));
      const size_t last = of(UserKey(extent.largest));
      const auto share = [&](uint64_t all) {
        return std::round(static_cast<double>(all) / static_cast<double>(last - first + 1) * 4096) /
               4096;
      };
      for (size_t i = first; i <= last; ++i) {
        stretches[i].above_weight += share(extent.weight());
        stretches[i].above_records += share(extent.entries - extent.tombstones);
        stretches[i].above_tombstones += share(extent.tombstones);
      }
    }
  }
  for (const Stretch& stretch : stretches) {
    const double record =
        static_cast<double>(stretch.weight) / static_cast<double>(stretch.entries);
    const double lost = stretch.above_tombstones * record +
                        std::max(0.0, stretch.above_records * record - stretch.above_weight);
    use.live_bytes += stretch.weight - std::min(stretch.weight, static_cast<uint64_t>(lost));
  }
  return use;
}

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
    return Updated();
  }
  SpaceUse Updated() {
    stretches_.Update(metadata_.subtables.at(1).runs, {&estimate_});
    const SpaceUse use = estimate_.Use(metadata_.subtables.at(1));
    EXPECT_EQ(use, FromAllExtents(metadata_.subtables.at(1)));
    return use;
  }

  Metadata metadata_;
  Stretches stretches_;
  SpaceEstimate estimate_;
  uint64_t number_ = 0;
};

TEST_F(SpaceUseTest, CountsPages) {
  EXPECT_EQ(Updated(), SpaceUse{});
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

TEST_F(SpaceUseTest, FollowsRandomEdits) {
  RandomEdits edits(TestSeed());
  for (size_t i = 0; i < RandomEdits::kEdits && !HasFailure(); ++i) {
    ASSERT_TRUE(metadata_.Apply(edits.Next(1, metadata_.subtables.at(1))).ok());
    if (i % 3 > 0) {  // or several edits at once
      Updated();
    }
  }
}

}  // namespace
}  // namespace sluice
