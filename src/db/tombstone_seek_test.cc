// Seeks into stretches of tombstones: what iterators find there, and what it costs.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "db/fixture.h"
#include "db/iterator_walk.h"
#include "db/subtable_impl.h"

namespace sluice {
namespace {

using Model = IteratorModel;

class TombstoneSeekTest : public DbFixture {
 protected:
  static std::string KeyOf(uint64_t i) { return fmt::format("{:08}", i); }
  void Put(uint64_t i) { ASSERT_TRUE(db_->Put({}, KeyOf(i), "value").ok()); }
  void Delete(uint64_t i) { ASSERT_TRUE(db_->Delete({}, KeyOf(i)).ok()); }
  uint64_t BlocksLookedUp() const {
    const CacheStatistics blocks = db_->GetStatistics().block_cache;
    return blocks.hits + blocks.misses;
  }
};

// Counts blocks, not time: two runs, and some thousand records in each that are not worth a look.
TEST_F(TombstoneSeekTest, LaterSeeksPassOverWhatIsDead) {
  constexpr uint64_t kKeys = 20'000;
  options_.automatic_compactions = false;
  options_.memtable_bytes = 16 << 20;  // two runs, of records and of tombstones
  Open();
  for (uint64_t i = 0; i < kKeys; ++i) {
    Put(i);
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  for (uint64_t i = 100; i < kKeys - 100; ++i) {
    Delete(i);
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  const auto cost = [&](const auto& seek) {
    const uint64_t before = BlocksLookedUp();
    const std::unique_ptr<Iterator> it = db_->NewIterator({});
    seek(it.get());
    EXPECT_TRUE(it->status().ok());
    return BlocksLookedUp() - before;
  };
  const auto first_behind = [](uint64_t i) {
    return [i](Iterator* it) {
      it->Seek(KeyOf(i));
      ASSERT_TRUE(it->Valid());
      EXPECT_EQ(it->key(), KeyOf(kKeys - 100));
    };
  };
  const auto last_before = [](uint64_t i) {
    return [i](Iterator* it) {
      it->SeekForPrev(KeyOf(i));
      ASSERT_TRUE(it->Valid());
      EXPECT_EQ(it->key(), KeyOf(99));
    };
  };
  EXPECT_GT(cost(first_behind(100)), 100u);
  const auto cheap = [&](const auto& seek) { EXPECT_LT(cost(seek), 20u); };
  for (const uint64_t i : {100, 101, 5000, 19'000, 19'899}) {
    cheap(first_behind(i));
    cheap(last_before(i));
  }
  cheap([](Iterator* it) {
    it->Seek(KeyOf(99));
    it->Next();
    EXPECT_EQ(it->key(), KeyOf(kKeys - 100));
    it->Prev();
    EXPECT_EQ(it->key(), KeyOf(99));
  });
  // What comes to life there is found, and the rest passed over as before.
  Put(5000);
  cheap([](Iterator* it) {
    it->Seek(KeyOf(100));
    EXPECT_EQ(it->key(), KeyOf(5000));
    it->Next();
    EXPECT_EQ(it->key(), KeyOf(kKeys - 100));
    it->Prev();
    EXPECT_EQ(it->key(), KeyOf(5000));
    it->Prev();
    EXPECT_EQ(it->key(), KeyOf(99));
  });
}

// Few keys, so that they are often deleted side by side, and written again; readers of all ages.
TEST_F(TombstoneSeekTest, IteratorsShowWhatMapsHave) {
  constexpr uint64_t kKeys = 300;
  TestRandom random(TestSeed());
  options_.memtable_bytes = 16 << 10;
  options_.extent_bytes = 16 << 10;
  Open();
  struct Held {
    const Snapshot* snapshot;
    Model model;
  };
  std::vector<Held> held;
  Model model;
  const auto any_key = [&] { return Uniform(&random, 0, kKeys - 1); };
  const auto check = [&](const ReadOptions& options, const Model& all) {
    std::optional<std::string> lower;
    std::optional<std::string> upper;
    ReadOptions with = options;
    if (Uniform(&random, 0, 3) == 0) {
      with.lower_bound = &lower.emplace(KeyOf(any_key()));
    }
    if (Uniform(&random, 0, 3) == 0) {
      with.upper_bound = &upper.emplace(KeyOf(any_key()));
    }
    Model in_bounds;
    for (const auto& [key, value] : all) {
      if ((!lower || key >= *lower) && (!upper || key < *upper)) {
        in_bounds.emplace(key, value);
      }
    }
    WalkAtRandom(
        db_->NewIterator(with).get(), in_bounds, [&] { return KeyOf(any_key()); }, &random);
  };
  for (int round = 0; round < TestRounds(4000) && !HasFatalFailure(); ++round) {
    switch (Uniform(&random, 0, 11)) {
      case 0:
      case 1: {  // a stretch, often a long one
        const uint64_t first = any_key();
        const uint64_t end = std::min(kKeys, first + Uniform(&random, 1, 150));
        if (Uniform(&random, 0, 2) == 0) {
          ASSERT_TRUE(db_->DeleteRange({}, nullptr, KeyOf(first), KeyOf(end)).ok());
          model.erase(model.lower_bound(KeyOf(first)), model.lower_bound(KeyOf(end)));
        } else {
          for (uint64_t i = first; i < end; ++i) {
            Delete(i);
            model.erase(KeyOf(i));
          }
        }
        break;
      }
      case 2:
      case 3:
      case 4: {
        const uint64_t i = any_key();
        const std::string value = fmt::format("{}", round);
        ASSERT_TRUE(db_->Put({}, KeyOf(i), value).ok());
        model[KeyOf(i)] = value;
        break;
      }
      case 5:
        if (Uniform(&random, 0, 20) == 0) {
          ASSERT_TRUE(db_->Flush(nullptr).ok());
        } else if (Uniform(&random, 0, 40) == 0) {
          ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
        }
        break;
      case 6:
        if (held.size() > 4) {
          db_->ReleaseSnapshot(held.front().snapshot);
          held.erase(held.begin());
        }
        held.push_back({db_->GetSnapshot(), model});
        break;
      case 7:
        if (!held.empty()) {
          const Held& one = held[Uniform(&random, 0, held.size() - 1)];
          check({.snapshot = one.snapshot}, one.model);
        }
        break;
      default:
        check({}, model);
    }
  }
  for (const Held& one : held) {
    db_->ReleaseSnapshot(one.snapshot);
  }
}

// Otherwise an iterator would take for dead what was written since, and note it, or pass over what is
// dead by now and not in its state.
TEST(SubtableStateTest, TheVersionHasAllThatIsVisible) {
  StateMutex mutex;
  MemtableMemory memory;
  SubtableImpl subtable(nullptr, 1, "one");
  const auto switch_memtable = [&] {
    const StateLock lock(mutex);
    auto* const version = new Version;
    version->active = std::make_shared<MemtableInfo>(size_t{1} << 16, &memory);
    subtable.Install(lock, version);
  };
  switch_memtable();
  SequenceNumber visible = 1;
  const SubtableImpl::State state = subtable.PinState([&] {
    if (visible < 4) {
      switch_memtable();
      ++visible;
    }
    return visible;
  });
  EXPECT_EQ(state.snapshot, 4u);
  EXPECT_EQ(state.version->active, subtable.PinVersion()->active);
}

// A queue that one thread pushes to and pops from, and in its dead part a record that comes and
// goes with a note of it elsewhere; each write is one batch, so each reader knows what it must find.
TEST_F(TombstoneSeekTest, QueuesAreSeenWholeWhileTheyMove) {
  constexpr uint64_t kLength = 20;
  constexpr int kReaders = 3;
  const uint64_t seed = TestSeed();
  const int pops = TestRounds(20'000);
  Open();
  for (uint64_t i = 0; i < kLength; ++i) {
    Put(i);
  }
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    TestRandom random(seed);
    std::string risen;
    for (uint64_t head = 0; head < static_cast<uint64_t>(pops); ++head) {
      WriteBatch batch;
      batch.Delete(KeyOf(head));
      batch.Put(KeyOf(head + kLength), "value");
      if (!risen.empty()) {
        batch.Delete(risen);
        batch.Delete("risen");
        risen.clear();
      } else if (head > 100 && Uniform(&random, 0, 20) == 0) {
        risen = KeyOf(Uniform(&random, 0, head - 1));
        batch.Put(risen, "value");
        batch.Put("risen", risen);
      }
      ASSERT_TRUE(db_->Write({}, batch).ok());
    }
    stop = true;
  });
  for (int reader = 0; reader < kReaders; ++reader) {
    threads.emplace_back([&, reader] {
      TestRandom random(seed + 1 + reader);
      uint64_t last_head = 0;
      while (!stop && !testing::Test::HasFatalFailure()) {
        const std::unique_ptr<Iterator> it = db_->NewIterator({});
        std::string risen;
        it->Seek("risen");
        if (it->Valid()) {
          risen = it->value();
        }
        std::vector<std::string> keys;
        if (Uniform(&random, 0, 1) != 0) {
          for (it->SeekToFirst(); it->Valid() && it->key() < "risen"; it->Next()) {
            keys.emplace_back(it->key());
          }
        } else {
          it->SeekForPrev("r");
          for (; it->Valid(); it->Prev()) {
            keys.emplace(keys.begin(), it->key());
          }
        }
        ASSERT_TRUE(it->status().ok());
        if (!risen.empty()) {
          ASSERT_FALSE(keys.empty());
          ASSERT_EQ(keys.front(), risen);
          keys.erase(keys.begin());
        }
        ASSERT_EQ(keys.size(), kLength);
        const uint64_t head = std::stoull(keys.front());
        ASSERT_EQ(keys.back(), KeyOf(head + kLength - 1));
        ASSERT_GE(head, last_head);
        last_head = head;
      }
    });
  }
  // A reader may find that the memtable it reads has been replaced while it began.
  threads.emplace_back([&] {
    while (!stop) {
      ASSERT_TRUE(db_->Flush(nullptr).ok());
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace sluice
