// Run indexes against a map, and each against what it was before the edits after it.

#include "tree/run_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "util/coding.h"
#include "util/testing.h"

namespace sluice {
namespace {

std::string Key(uint64_t number) {
  std::string key(8, '\0');
  for (int i = 0; i < 8; ++i) {
    key[7 - i] = static_cast<char>(number >> 8 * i);
  }
  PutFixed64(&key, MakeTrailer(1, RecordType::kValue));
  return key;
}

ExtentPtr MakeExtent(uint64_t number, uint64_t begin, uint64_t end) {
  return std::make_shared<const Extent>(
      Extent{.number = number,
             .bytes = static_cast<uint32_t>(10 + number * 7 % 11),
             .smallest = Key(begin),
             .largest = Key(end),
             .tombstones = number % 3,
             .sliced = number % 7 == 0,
             .slice_bytes = static_cast<uint32_t>(1 + number % 10),
             .full = number % 5 > 0});
}

using Model = std::map<uint64_t, ExtentPtr>;  // by the number in the smallest key

void ExpectSame(const RunIndex& index, const Model& model) {
  ASSERT_EQ(index.extents(), model.size());
  RunIndex::Iterator at(index);
  EXPECT_FALSE(at.Valid());
  at.SeekToFirst();
  for (const auto& [begin, extent] : model) {
    ASSERT_TRUE(at.Valid());
    ASSERT_EQ(at.extent(), extent);
    at.Next();
  }
  EXPECT_FALSE(at.Valid());
  at.SeekToLast();
  for (auto it = model.rbegin(); it != model.rend(); ++it) {
    ASSERT_TRUE(at.Valid());
    ASSERT_EQ(at.extent(), it->second);
    at.Prev();
  }
  EXPECT_FALSE(at.Valid());
  // Each summary is that of the extents up to the next one.
  auto it = model.begin();
  for (at.SeekToFirst(); at.Valid(); at.NextSummary()) {
    RunIndex::Summary expected;
    const RunIndex::Summary* const summary = at.summary();
    ASSERT_NE(summary, nullptr);
    const RunIndex::Summary* const next = at.next_summary();
    std::vector<uint32_t> sizes;
    RunIndex::Iterator in = at;
    do {
      const Extent& extent = *(it++)->second;
      ASSERT_EQ(in.extent()->number, extent.number);
      expected.weight += extent.live_bytes();
      expected.tombstones += extent.tombstones;
      expected.sliced = expected.sliced || extent.sliced;
      expected.thin_slices += extent.sliced && extent.slice_bytes < extent.bytes / 2 ? 1 : 0;
      sizes.push_back(extent.full ? ~uint32_t{0} : extent.bytes);
      in.Next();
    } while (in.Valid() && in.summary() == nullptr);
    expected.first_bytes = sizes.front();
    expected.last_bytes = sizes.back();
    for (size_t i = 1; i < sizes.size(); ++i) {
      expected.least_pair_bytes =
          std::min(expected.least_pair_bytes, std::max(sizes[i - 1], sizes[i]));
    }
    EXPECT_EQ(*summary, expected);
    EXPECT_EQ(next, in.Valid() ? in.summary() : nullptr);
  }
  // A large one is that of those that it consists of.
  for (at.SeekToFirst(); at.Valid();) {
    const RunIndex::Summary* const large = at.large_summary();
    ASSERT_NE(large, nullptr);
    const RunIndex::Summary* const next = at.next_large_summary();
    RunIndex::Summary expected = *at.summary();
    for (at.NextSummary(); at.Valid() && at.large_summary() == nullptr; at.NextSummary()) {
      expected.Append(*at.summary());
    }
    EXPECT_EQ(*large, expected);
    EXPECT_EQ(next, at.Valid() ? at.large_summary() : nullptr);
  }
  EXPECT_EQ(it, model.end());
}

// What an index does not share with the one that it was made of.
void ExpectChanges(const RunIndex& before, const Model& model_before, const RunIndex& after,
                   const Model& model_after) {
  const auto only_in = [](const Model& model, const Model& other) {
    std::vector<ExtentPtr> extents;
    for (const auto& [begin, extent] : model) {
      const auto same = other.find(begin);
      if (same == other.end() || same->second != extent) {
        extents.push_back(extent);
      }
    }
    return extents;
  };
  std::vector<ExtentPtr> gone;
  std::vector<ExtentPtr> come;
  RunIndex::VisitChanges(
      before, after, [&](const ExtentPtr& extent) { gone.push_back(extent); },
      [&](const ExtentPtr& extent) { come.push_back(extent); });
  EXPECT_EQ(gone, only_in(model_before, model_after));
  EXPECT_EQ(come, only_in(model_after, model_before));

  using Leaves = std::vector<std::pair<uint64_t, RunIndex::Summary>>;
  const auto leaves_of = [](const RunIndex& index) {
    Leaves leaves;
    index.VisitLeaves([&](const Extent& first, const RunIndex::Summary& summary) {
      leaves.emplace_back(first.number, summary);
    });
    return leaves;
  };
  const Leaves a = leaves_of(before);
  const Leaves b = leaves_of(after);
  const RunIndex::LeafChange change = RunIndex::ChangedLeaves(before, after);
  ASSERT_LE(change.first, std::min(change.before_end, change.after_end));
  ASSERT_LE(change.before_end, a.size());
  ASSERT_LE(change.after_end, b.size());
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + change.first, b.begin()));
  EXPECT_TRUE(
      std::equal(a.begin() + change.before_end, a.end(), b.begin() + change.after_end, b.end()));
  if (gone.empty() && come.empty()) {
    EXPECT_EQ(change.first, change.before_end);
  }
}

TEST(RunIndex, LikeTheModel) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  constexpr uint64_t kKeys = 200'000;
  for (int round = 0; round < 5 && !HasFailure(); ++round) {
    RunIndex index;
    Model model;
    std::vector<std::pair<RunIndex, Model>> before;
    uint64_t number = 0;
    for (int step = 0; step < 200 && !HasFailure(); ++step) {
      if (step % 40 == 0) {
        before.emplace_back(index, model);
      }
      const Model model_before = model;
      // What lies in a range of keys goes, something else comes: as a compaction does it.
      const uint64_t begin = rng() % kKeys;
      const uint64_t end = begin + rng() % (kKeys / 10);
      std::vector<ExtentPtr> removed;
      std::vector<ExtentPtr> added;
      uint64_t from = begin;
      for (auto it = model.lower_bound(begin); it != model.end() && it->first <= end;) {
        removed.push_back(it->second);
        it = model.erase(it);
      }
      if (!model.empty() && model.lower_bound(begin) != model.begin()) {
        // The one before reaches at most 9 keys further.
        from = begin + 10;
      }
      while (rng() % 20 != 0 && from < end) {
        added.push_back(MakeExtent(++number, from, std::min(from + rng() % 10, end)));
        model[from] = added.back();
        from += 10 + rng() % 100;
      }
      RunIndex next;
      const Status status = index.Edit(removed, added, &next);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ExpectChanges(index, model_before, next, model);
      index = next;
      ExpectSame(index, model);
      RunIndex::Iterator at(index);
      for (int i = 0; i < 20; ++i) {
        const std::string key = Key(rng() % kKeys);
        const auto found = std::find_if(model.begin(), model.end(), [&](const auto& entry) {
          return CompareInternalKeys(entry.second->largest, key) >= 0;
        });
        at.Seek(key);
        ASSERT_EQ(at.Valid(), found != model.end());
        if (at.Valid()) {
          EXPECT_EQ(at.extent(), found->second);
        }
      }
    }
    for (const auto& [old, content] : before) {
      ExpectSame(old, content);
    }
  }
}

// So many extents that there are several nodes of leaves, which are split and become empty.
TEST(RunIndex, OfManyNodes) {
  std::mt19937_64 rng(TestSeed());
  constexpr uint64_t kExtents = 40'000;
  RunIndex index;
  Model model;
  uint64_t number = 0;
  for (int step = 0; step < 16 && !HasFailure(); ++step) {
    const RunIndex before = index;
    const Model model_before = model;
    const uint64_t begin = step % 8 == 0 ? 0 : rng() % kExtents;
    const uint64_t end = step % 8 == 0 ? kExtents : begin + rng() % (kExtents - begin);
    std::vector<ExtentPtr> removed;
    std::vector<ExtentPtr> added;
    for (uint64_t i = begin; i < end; ++i) {
      if (const auto found = model.find(10 * i); found != model.end()) {
        removed.push_back(found->second);
        model.erase(found);
      }
      if (step % 2 == 0) {
        added.push_back(MakeExtent(++number, 10 * i, 10 * i + 5));
        model[10 * i] = added.back();
      }
    }
    ASSERT_TRUE(index.Edit(removed, added, &index).ok());
    ExpectSame(index, model);
    ExpectChanges(before, model_before, index, model);
    const uint64_t at = rng() % (10 * kExtents);
    size_t leaves = 0;
    index.VisitLeaves([&](const Extent& first, const RunIndex::Summary&) {
      leaves += UserKey(first.smallest) < UserKey(Key(at)) ? 1 : 0;
    });
    EXPECT_EQ(index.LeavesBefore(UserKey(Key(at))), leaves);
    size_t thirds = 0;
    index.VisitLeaves([&](const Extent&, const RunIndex::Summary&) { ++thirds; }, 1, leaves, 3);
    EXPECT_EQ(thirds, (std::max<size_t>(leaves, 1) - 1 + 2) / 3);
  }
}

TEST(RunIndex, RefusesWhatDoesNotFit) {
  const ExtentPtr first = MakeExtent(1, 10, 20);
  const ExtentPtr second = MakeExtent(2, 30, 40);
  RunIndex index;
  ASSERT_TRUE(index.Edit({}, {second, first}, &index).ok());
  RunIndex unused;
  EXPECT_FALSE(index.Edit({MakeExtent(3, 10, 20)}, {}, &unused).ok());
  EXPECT_FALSE(index.Edit({MakeExtent(1, 11, 20)}, {}, &unused).ok());
  EXPECT_FALSE(index.Edit({first, first}, {}, &unused).ok());
  for (const auto& [begin, end] : {std::pair{20, 25}, {5, 10}, {10, 20}, {15, 35}, {25, 30}}) {
    EXPECT_FALSE(index.Edit({}, {MakeExtent(3, begin, end)}, &unused).ok()) << begin;
  }
  EXPECT_TRUE(index.Edit({first}, {MakeExtent(3, 15, 29)}, &unused).ok());
  EXPECT_TRUE(index.Edit({first, second}, {}, &unused).ok());
  EXPECT_TRUE(unused.empty());
}

TEST(RunIndex, RefusesWhatReachesIntoTheNextLeaf) {
  constexpr uint64_t kExtents = 300;
  std::vector<ExtentPtr> extents;
  for (uint64_t i = 0; i < kExtents; ++i) {
    extents.push_back(MakeExtent(i, 10 * i, 10 * i + 5));
  }
  RunIndex index;
  ASSERT_TRUE(index.Edit({}, extents, &index).ok());
  RunIndex unused;
  for (uint64_t i = 0; i + 1 < kExtents; ++i) {
    const uint64_t begin = 10 * i + 6;
    EXPECT_TRUE(index.Edit({}, {MakeExtent(kExtents, begin, begin + 3)}, &unused).ok()) << i;
    EXPECT_FALSE(index.Edit({}, {MakeExtent(kExtents, begin, begin + 4)}, &unused).ok()) << i;
    EXPECT_FALSE(index.Edit({}, {MakeExtent(kExtents, begin - 1, begin)}, &unused).ok()) << i;
  }
}

}  // namespace
}  // namespace sluice
