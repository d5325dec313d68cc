// What is held, however snapshots come and go, against a set of their numbers.

#include "db/snapshots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <vector>

#include "util/testing.h"

namespace sluice {
namespace {

TEST(Snapshots, AreThoseThatAreHeld) {
  std::mt19937_64 random(TestSeed());
  std::atomic<SequenceNumber> visible{7};
  Snapshots snapshots(&visible);
  std::vector<const Snapshot*> held;
  std::multiset<SequenceNumber> numbers;
  for (int i = 0; i < 3000; ++i) {
    // More come than go, or fewer, in turn.
    if (held.empty() || random() % 8 < (i / 300 % 2 == 0 ? 5 : 3)) {
      held.push_back(snapshots.Take());
      EXPECT_EQ(held.back()->sequence(), visible);
      numbers.insert(visible);
    } else {
      const size_t any = random() % held.size();
      numbers.erase(numbers.find(held[any]->sequence()));
      snapshots.Release(held[any]);
      held[any] = held.back();
      held.pop_back();
    }
    visible += random() % 3;
    std::set<SequenceNumber> expected(numbers.begin(), numbers.end());
    EXPECT_EQ(snapshots.Oldest(), expected.empty() ? visible.load() : *expected.begin());
    expected.insert(visible);
    EXPECT_EQ(snapshots.All(), std::vector<SequenceNumber>(expected.begin(), expected.end()));
  }
  for (const Snapshot* const snapshot : held) {
    snapshots.Release(snapshot);
  }
  EXPECT_EQ(snapshots.All(), std::vector<SequenceNumber>{visible});
}

}  // namespace
}  // namespace sluice
