// Filters of prefixes: what iterators with bounds save by them, and that they lose nothing.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "db/fixture.h"
#include "db/iterator_walk.h"

namespace sluice {
namespace {

class PrefixFilterTest : public DbFixture {
 protected:
  uint64_t BlocksLookedUp() const {
    const CacheStatistics blocks = db_->GetStatistics().block_cache;
    return blocks.hits + blocks.misses;
  }
};

// Counts blocks, not time: of eight runs that lie over each other, one has what begins with a prefix.
TEST_F(PrefixFilterTest, RunsWithoutThePrefixAreNotRead) {
  constexpr int kRuns = 8;
  constexpr int kPrefixes = 400;
  constexpr int kRecords = 20;
  options_.automatic_compactions = false;
  options_.memtable_bytes = 4 << 20;
  const auto prefix_of = [](int i) { return fmt::format("{:06}", i); };
  std::vector<uint64_t> costs;
  for (const uint32_t prefix_bytes : {6, 0}) {
    options_.prefix_bytes = prefix_bytes;
    Open(fmt::format("db{}", prefix_bytes));
    for (int run = 0; run < kRuns; ++run) {
      for (int i = run; i < kPrefixes; i += kRuns) {
        for (int record = 0; record < kRecords; ++record) {
          const std::string key = prefix_of(i) + fmt::format("{:03}", record);
          ASSERT_TRUE(db_->Put({}, key, "value").ok());
        }
      }
      ASSERT_TRUE(db_->Flush(nullptr).ok());
    }
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    for (const bool forward : {true, false}) {
      const uint64_t before = BlocksLookedUp();
      for (int i = kRuns; i < kPrefixes - kRuns; ++i) {
        const std::string lower = prefix_of(i);
        const std::string upper = prefix_of(i + 1);
        const std::unique_ptr<Iterator> it =
            db_->NewIterator({.lower_bound = &lower, .upper_bound = &upper});
        int records = 0;
        forward ? it->SeekToFirst() : it->SeekToLast();
        for (; it->Valid(); forward ? it->Next() : it->Prev()) {
          ++records;
        }
        ASSERT_EQ(records, kRecords);
      }
      costs.push_back((BlocksLookedUp() - before) / (kPrefixes - 2 * kRuns));
    }
  }
  EXPECT_LE(costs[0], 2u);
  EXPECT_LE(costs[1], 2u);
  EXPECT_GE(costs[2], 8u);
  EXPECT_GE(costs[3], 8u);
}

// Short keys of few letters, written with filters of all kinds; bounds that share prefixes or do
// not, or almost.
TEST_F(PrefixFilterTest, IteratorsShowWhatMapsHave) {
  TestRandom random(TestSeed());
  options_.memtable_bytes = 16 << 10;
  options_.extent_bytes = 16 << 10;
  struct Held {
    const Snapshot* snapshot;
    IteratorModel model;
  };
  std::vector<Held> held;
  IteratorModel model;
  const auto any_key = [&] {
    std::string key;
    for (uint64_t bytes = Uniform(&random, 0, 5); key.size() < bytes;) {
      key.push_back("ab\xfe\xff"[Uniform(&random, 0, 3)]);
    }
    return key;
  };
  const auto release = [&] {
    db_->ReleaseSnapshot(held.front().snapshot);
    held.erase(held.begin());
  };
  const auto reopen = [&] {
    while (!held.empty()) {
      release();
    }
    options_.prefix_bytes = static_cast<uint32_t>(Uniform(&random, 0, 4));
    options_.bloom_bits_per_key = Uniform(&random, 0, 4) != 0 ? 10 : 0;
    options_.block_bytes = 128 << Uniform(&random, 0, 3);
    options_.automatic_compactions = Uniform(&random, 0, 2) == 0;
    Open();
  };
  // The first key behind all that begin with `prefix`; empty if there is none.
  const auto successor = [](std::string prefix) {
    while (!prefix.empty() && prefix.back() == '\xff') {
      prefix.pop_back();
    }
    if (!prefix.empty()) {
      ++prefix.back();
    }
    return prefix;
  };
  const auto check = [&](const Snapshot* snapshot, const IteratorModel& all) {
    const std::string lower = any_key();
    std::string upper = Uniform(&random, 0, 5) == 0
                            ? any_key()
                            : successor(lower.substr(0, Uniform(&random, 0, lower.size())));
    if (Uniform(&random, 0, 5) == 0) {
      upper += any_key();
    }
    ReadOptions options = {.snapshot = snapshot, .lower_bound = &lower};
    if (!upper.empty()) {
      options.upper_bound = &upper;
    }
    IteratorModel in_bounds;
    for (const auto& [key, value] : all) {
      if (key >= lower && (upper.empty() || key < upper)) {
        in_bounds.emplace(key, value);
      }
    }
    const auto near = [&] { return Uniform(&random, 0, 1) != 0 ? lower + any_key() : any_key(); };
    WalkAtRandom(db_->NewIterator(options).get(), in_bounds, near, &random);
  };
  reopen();
  for (int round = 0; round < TestRounds(8000) && !HasFatalFailure(); ++round) {
    const std::string key = any_key();
    switch (Uniform(&random, 0, 15)) {
      case 0:
      case 1:
      case 2: {
        const std::string value = fmt::format("{}", round);
        ASSERT_TRUE(db_->Put({}, key, value).ok());
        model[key] = value;
        break;
      }
      case 3:
        ASSERT_TRUE(db_->Delete({}, key).ok());
        model.erase(key);
        break;
      case 4:
        if (const std::string end = key + any_key(); Uniform(&random, 0, 19) == 0 && key < end) {
          ASSERT_TRUE(db_->DeleteRange({}, nullptr, key, end).ok());
          model.erase(model.lower_bound(key), model.lower_bound(end));
        }
        break;
      case 5:
        if (const uint64_t what = Uniform(&random, 0, 99); what < 15) {
          ASSERT_TRUE(db_->Flush(nullptr).ok());
        } else if (what < 20) {
          reopen();
        } else if (what < 21) {
          ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
        }
        break;
      case 6:
        if (held.size() > 4) {
          release();
        }
        held.push_back({db_->GetSnapshot(), model});
        break;
      case 7:
        if (!held.empty()) {
          const Held& one = held[Uniform(&random, 0, held.size() - 1)];
          check(one.snapshot, one.model);
        }
        break;
      default:
        check(nullptr, model);
    }
  }
  while (!held.empty()) {
    release();
  }
  ASSERT_TRUE(db_->Verify({}).ok());
}

}  // namespace
}  // namespace sluice
