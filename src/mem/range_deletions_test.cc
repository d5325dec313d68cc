#include "mem/range_deletions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

std::string Key(uint64_t i) { return fmt::format("{:03}", i); }

SequenceNumber Covering(const std::vector<RangeDeletion>& all, const std::string& key,
                        SequenceNumber snapshot) {
  SequenceNumber newest = 0;
  for (const RangeDeletion& deletion : all) {
    if (deletion.sequence <= snapshot && deletion.Covers(key)) {
      newest = std::max(newest, deletion.sequence);
    }
  }
  return newest;
}

TEST(RangeDeletionsTest, EverySnapshotSeesItsNewestDeletion) {
  TestRandom random(TestSeed());
  for (int round = 0; round < TestRounds(20); ++round) {
    const uint64_t keys = Uniform(&random, 1, 60);
    RangeDeletions deletions;
    std::vector<RangeDeletion> model;
    RangeDeletions copy;
    std::vector<RangeDeletion> copied;
    const uint64_t count = SkewedSize(&random, 1000);
    std::vector<SequenceNumber> sequences;
    for (uint64_t i = 0; i < count; ++i) {
      sequences.push_back(10 * i + 10);
      // Writers of several groups come a little out of order.
      if (i > 0 && Uniform(&random, 0, 3) == 0) {
        std::swap(sequences[i], sequences[i - 1]);
      }
    }
    for (const SequenceNumber sequence : sequences) {
      RangeDeletion deletion{Key(Uniform(&random, 0, keys)), Key(Uniform(&random, 0, keys)),
                             sequence};
      if (Uniform(&random, 0, 9) == 0) {
        deletion.end.clear();
      }
      if (Uniform(&random, 0, 9) == 0) {
        deletion.begin.clear();
      }
      deletions.Add(deletion);
      model.push_back(deletion);
      if (Uniform(&random, 0, 99) == 0) {
        copy = deletions;
        copied = model;
      }
    }
    RangeDeletions both = copy;
    both.Add(deletions);
    for (int look = 0; look < 300; ++look) {
      const std::string key = Uniform(&random, 0, 30) == 0 ? "" : Key(Uniform(&random, 0, keys));
      const SequenceNumber snapshot = Uniform(&random, 0, 10 * count + 20);
      const RangeDeletions::Span span = deletions.At(key, snapshot);
      ASSERT_EQ(span.sequence, Covering(model, key, snapshot));
      ASSERT_EQ(copy.Covering(key, snapshot), Covering(copied, key, snapshot));
      ASSERT_EQ(both.Covering(key, snapshot), Covering(model, key, snapshot));
      ASSERT_TRUE(span.Contains(key));
      for (uint64_t other = 0; other <= keys; ++other) {
        if (span.Contains(Key(other))) {
          ASSERT_EQ(span.sequence, Covering(model, Key(other), snapshot));
        }
      }
    }
    std::vector<RangeDeletion> visited;
    deletions.ForEach([&](const RangeDeletion& deletion) { visited.push_back(deletion); });
    std::erase_if(model, [](const RangeDeletion& deletion) {
      return !deletion.end.empty() && deletion.begin >= deletion.end;
    });
    EXPECT_TRUE(visited == model);
    EXPECT_EQ(deletions.empty(), model.empty());
  }
}

// Each within the one before: the stretches of the newest few hide none of the older ones.
TEST(RangeDeletionsTest, TakeMemoryInProportionHoweverTheyOverlap) {
  constexpr uint64_t kCount = 100000;
  RangeDeletions deletions;
  for (uint64_t i = 0; i < kCount; ++i) {
    deletions.Add({fmt::format("a{:06}", i), fmt::format("b{:06}", kCount - i), i + 1});
  }
  EXPECT_EQ(deletions.Covering("b", kMaxSequence), kCount);
  EXPECT_EQ(deletions.Covering("b", 777), 777u);
  EXPECT_EQ(deletions.Covering("a000500", kMaxSequence), 501u);
  EXPECT_LT(deletions.bytes(), kCount * 1024);
}

}  // namespace
}  // namespace sluice
