// Runs of extents and slices of extents read like the records that the slices have, whatever their
// tables have beyond them.

#include "tree/slice.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tree/run_iterator.h"
#include "tree/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

class SliceTest : public testing::Test, protected ExtentFixture<> {
 protected:
  using Entries = std::vector<TestEntry>;

  Extent Make(const Entries& entries) {
    TestBlocks blocks;
    for (const TestEntry& entry : entries) {
      if (blocks.empty() || Uniform(&random_, 0, 4) == 0) {
        blocks.emplace_back();
      }
      blocks.back().push_back(entry);
    }
    return WriteTestExtent(blocks, space_.get(), &next_);
  }

  // The range of `entries`, which begin and end with whole keys, as a slice of a table with more.
  Extent MakeSliced(const Entries& entries) {
    const std::string begin(UserKey(entries.front().key));
    const std::string end = std::string(UserKey(entries.back().key)) + '\0';
    Entries more;
    for (uint64_t n = Uniform(&random_, 0, 9); n > 0 && !begin.empty(); --n) {
      more.push_back({InternalKey(begin.substr(0, begin.size() - 1), kMaxSequence - 10 + n), "x"});
    }
    more.insert(more.end(), entries.begin(), entries.end());
    for (uint64_t n = Uniform(&random_, 0, 9); n > 0; --n) {
      more.push_back({InternalKey(end + "x", kMaxSequence - 10 + n), "x"});
    }
    Extent slice;
    const Status status = MakeSlice(Make(more), begin, end, &reader_, &slice);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return slice;
  }

  TestRandom random_{TestSeed()};
};

// A slice has the counts that an extent of its records alone would have.
TEST_F(SliceTest, CountsWhatItHas) {
  for (int round = 0; round < 100; ++round) {
    const Entries entries =
        RandomEntries(&random_, {.count = Uniform(&random_, 1, 60), .alphabet = 3});
    const Extent slice = MakeSliced(entries);
    Extent whole = Make(entries);
    whole.number = slice.number;
    whole.address = slice.address;
    whole.bytes = slice.bytes;
    whole.sliced = true;
    whole.slice_bytes = slice.slice_bytes;
    whole.table_largest = slice.table_largest;
    EXPECT_LE(slice.slice_bytes, slice.bytes);
    EXPECT_EQ(slice, whole);
    Extent again;
    ASSERT_TRUE(MakeSlice(slice, {}, {}, &reader_, &again).ok());
    EXPECT_EQ(again, slice);
    ASSERT_TRUE(
        MakeSlice(slice, std::string(UserKey(slice.largest)) + '\0', {}, &reader_, &again).ok());
    EXPECT_EQ(again.entries, 0u);

    std::set<std::string> keys;
    for (uint64_t n = Uniform(&random_, 1, 3); n > 0; --n) {
      keys.emplace(UserKey(entries[Uniform(&random_, 0, entries.size() - 1)].key));
    }
    keys.erase("");
    std::vector<Extent> slices;
    ASSERT_TRUE(CutExtent(slice, {keys.begin(), keys.end()}, &reader_, &slices).ok());
    const bool first = Uniform(&random_, 0, 1) != 0;
    std::vector<Extent> left;
    ASSERT_TRUE(CutOutOfExtent(slice, {keys.begin(), keys.end()}, first, &reader_, &left).ok());
    size_t cut = 0;
    size_t stayed = 0;
    std::string begin;
    bool stays = !first;
    for (auto key = keys.begin();; begin = *key++, stays = !stays) {
      const std::string end = key == keys.end() ? "" : *key;
      ASSERT_TRUE(MakeSlice(slice, begin, end, &reader_, &again).ok());
      if (again.entries > 0) {
        ASSERT_LT(cut, slices.size());
        EXPECT_EQ(slices[cut++], again);
      }
      if (again.entries > 0 && stays) {
        ASSERT_LT(stayed, left.size());
        EXPECT_EQ(left[stayed++], again);
      }
      if (key == keys.end()) {
        break;
      }
    }
    EXPECT_EQ(cut, slices.size());
    EXPECT_EQ(stayed, left.size());
  }
}

TEST_F(SliceTest, IteratorsSeeNothingBeyond) {
  for (int round = 0; round < 60; ++round) {
    const Entries all =
        RandomEntries(&random_, {.count = Uniform(&random_, 1, 400), .alphabet = 3});
    const SequenceNumber snapshot =
        Uniform(&random_, 0, 1) != 0 ? kMaxSequence : Uniform(&random_, 0, kMaxSequence);
    std::vector<ExtentPtr> extents;
    Entries entries;
    std::map<std::string, const TestEntry*> visible;
    for (size_t i = 0; i < all.size(); ++i) {
      entries.push_back(all[i]);
      const std::string key(UserKey(all[i].key));
      if (TrailerSequence(Trailer(all[i].key)) <= snapshot) {
        visible.emplace(key, &all[i]);  // the newest comes first
      }
      if (i + 1 == all.size() ||
          (UserKey(all[i + 1].key) != key && Uniform(&random_, 0, 30) == 0)) {
        extents.push_back(std::make_shared<const Extent>(
            Uniform(&random_, 0, 2) != 0 ? MakeSliced(entries) : Make(entries)));
        entries.clear();
      }
    }
    RunIndex run;
    ASSERT_TRUE(RunIndex().Edit({}, extents, &run).ok());

    RunIterator at(&reader_, run, snapshot, true);
    auto expected = visible.end();
    for (int step = 0; step < 400; ++step) {
      std::string key = std::string(UserKey(all[Uniform(&random_, 0, all.size() - 1)].key));
      if (Uniform(&random_, 0, 2) == 0) {
        key += "x";  // beyond some slices
      }
      switch (Uniform(&random_, 0, 9)) {
        case 0:
          at.SeekToFirst();
          expected = visible.begin();
          break;
        case 1:
          at.SeekToLast();
          expected = visible.empty() ? visible.end() : std::prev(visible.end());
          break;
        case 2:
          at.Seek(key);
          expected = visible.lower_bound(key);
          break;
        case 3:
          at.SeekForPrev(key);
          expected = visible.upper_bound(key);
          expected = expected == visible.begin() ? visible.end() : std::prev(expected);
          break;
        case 4:
        case 5:
        case 6:
          if (at.Valid()) {
            at.Next();
            ++expected;
          }
          break;
        default:
          if (at.Valid()) {
            at.Prev();
            expected = expected == visible.begin() ? visible.end() : std::prev(expected);
          }
      }
      ASSERT_TRUE(at.status().ok()) << at.status().ToString();
      ASSERT_EQ(at.Valid(), expected != visible.end());
      if (at.Valid()) {
        ASSERT_EQ(at.user_key(), expected->first);
        ASSERT_EQ(at.trailer(), Trailer(expected->second->key));
        ASSERT_EQ(at.value(), expected->second->value);
      }
    }
  }
}

// `db verify` does not take what lies beyond a slice for newer versions below older ones.
TEST_F(SliceTest, OrderIsCheckedWithin) {
  const Entries upper{{InternalKey("b", 10), "v"}, {InternalKey("f", 9), "v"}};
  const Entries lower{{InternalKey("a", 20), "v"},
                      {InternalKey("b", 5), "v"},
                      {InternalKey("d", 5), "v"},
                      {InternalKey("f", 30), "v"}};
  const auto check = [&](std::string_view begin, std::string_view end) {
    Extent slice;
    EXPECT_TRUE(MakeSlice(Make(lower), begin, end, &reader_, &slice).ok());
    return CheckOrder({std::make_shared<const Extent>(Make(upper))},
                      {std::make_shared<const Extent>(slice)});
  };
  EXPECT_TRUE(check("b", "f").ok());
  EXPECT_TRUE(check("b", "").IsCorruption());
}

}  // namespace
}  // namespace sluice
