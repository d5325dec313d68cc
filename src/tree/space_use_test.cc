#include "tree/space_use.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
    const SpaceUse use = estimate_.Update(metadata_.subtables.at(1));
    EXPECT_EQ(use, FromAllExtents(metadata_.subtables.at(1)));
    return use;
  }

  Metadata metadata_;
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

// Flushes, merges of runs and merges into the last level, of random ranges of keys, until there are
// some thousand extents; then the last level goes, a range after the other.
TEST_F(SpaceUseTest, FollowsRandomEdits) {
  std::mt19937_64 random(TestSeed());
  constexpr uint64_t kKeys = 10'000'000;
  constexpr int kEdits = 400;
  const auto below = [&](uint64_t end) { return random() % end; };
  const auto text = [](uint64_t key) { return fmt::format("{:08}", key); };
  const auto key_of = [](const std::string& internal_key) {
    return std::stoull(std::string(UserKey(internal_key)));
  };
  const Metadata::Subtable& subtable = metadata_.subtables.at(1);
  for (int edits = 0; edits < kEdits && !HasFailure(); ++edits) {
    MetadataEdit edit;
    const uint64_t begin = below(4) == 0 ? 0 : below(kKeys);
    const uint64_t end = below(4) == 0 ? kKeys : begin + 1 + below(kKeys - begin);
    // What lies within the range goes from some runs; of what reaches into it, slices stay.
    const auto take = [&](const RunId& id) {
      RunIndex::Iterator at(subtable.runs.at(id));
      for (at.SeekToFirst(); at.Valid(); at.Next()) {
        const Extent& extent = *at.extent();
        const uint64_t first = key_of(extent.smallest);
        const uint64_t last = key_of(extent.largest);
        if (last < begin || first >= end) {
          continue;
        }
        edit.removed.push_back({1, id, extent.number, extent.smallest});
        const auto keep = [&](uint64_t from, uint64_t to) {
          const auto part = static_cast<uint32_t>(1 + below(kTable / 2));
          Extent slice = Slice(extent, text(from), text(to), part);
          slice.entries = std::max<uint64_t>(1, slice.entries);
          slice.tombstones = std::min(slice.tombstones, slice.entries);
          edit.added.push_back({1, id, slice});
        };
        if (first < begin) {
          keep(first, begin - 1);
        }
        if (last >= end) {
          keep(end, last);
        }
      }
    };
    const auto add = [&](const RunId& id, uint64_t extents) {
      const uint64_t step = std::max<uint64_t>(2, (end - begin) / extents);
      for (uint64_t at = begin; at + step <= end; at += step) {
        Extent extent = Make(text(at), text(at + 1 + below(step - 1)), 1 + below(2000));
        extent.bytes = static_cast<uint32_t>(1 + below(kTable));
        extent.tombstones = below(3) == 0 ? below(extent.entries + 1) : 0;
        edit.added.push_back({1, id, extent});
      }
    };
    const auto some_runs = [&](uint32_t level) {
      std::vector<RunId> runs;
      for (const auto& [id, run] : subtable.runs) {
        if (id.level == level && below(2) == 0) {
          runs.push_back(id);
        }
      }
      return runs;
    };
    constexpr RunId kLast{kLastLevel, 0};
    const bool has_last = subtable.runs.contains(kLast);
    const uint64_t kind = below(4);
    if (edits >= kEdits * 3 / 4) {  // the last level goes
      if (has_last) {
        take(kLast);
      }
    } else if (kind == 0) {
      add({0, ++number_}, 1 + below(30));
    } else if (kind == 1) {
      for (const RunId& id : some_runs(0)) {
        take(id);
      }
      add({1, ++number_}, 1 + below(300));
    } else {
      for (const RunId& id : some_runs(1)) {
        take(id);
      }
      if (has_last) {
        take(kLast);
      }
      add(kLast, 1 + below(kind == 2 ? 1000 : 20));
    }
    ASSERT_TRUE(metadata_.Apply(edit).ok());
    if (below(4) > 0) {  // or several edits at once
      Updated();
    }
  }
}

}  // namespace
}  // namespace sluice
