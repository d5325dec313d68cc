// A MergedIterator over memtables beside a map, with keys whose first bytes do not tell them apart.

#include "tree/merged_iterator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/iterator_walk.h"
#include "mem/memtable.h"
#include "mem/memtable_iterator.h"
#include "mem/range_deletions.h"
#include "tree/dead_stretches.h"
#include "tree/version_iterator.h"
#include "util/epoch.h"
#include "util/testing.h"

namespace sluice {
namespace {

class MergedIteratorTest : public testing::Test {
 protected:
  // Short and long keys of bytes that are the least, the greatest, or neither: of many the first
  // eight bytes are the same, be it because a shorter one is filled up with zeros.
  std::string AnyKey() {
    constexpr std::array<char, 3> kBytes = {'\0', 'k', '\xff'};
    std::string key(Uniform(&random_, 0, 1) * 7, kBytes[Uniform(&random_, 0, 2)]);
    for (size_t more = Uniform(&random_, 0, 3); more > 0; --more) {
      key += kBytes[Uniform(&random_, 0, 2)];
    }
    return key;
  }

  std::unique_ptr<Iterator> NewIterator(const KeyBounds& bounds) const {
    IteratorParts parts;
    for (const auto& memtable : memtables_) {
      parts.Add(std::make_unique<MemtableIterator>(memtable.get(), kMaxSequence));
    }
    return std::make_unique<MergedIterator>(std::move(parts), kMaxSequence, DeadKeys(), bounds,
                                            nullptr);
  }

  TestRandom random_{TestSeed()};
  std::vector<std::unique_ptr<Memtable>> memtables_;
};

TEST_F(MergedIteratorTest, ShowsTheNewestVersionsInOrder) {
  for (int round = TestRounds(200); round > 0; --round) {
    memtables_.clear();
    IteratorModel model;
    SequenceNumber sequence = 0;
    for (size_t parts = Uniform(&random_, 0, 6); parts > 0; --parts) {
      memtables_.push_back(std::make_unique<Memtable>(size_t{1} << 16));
      for (size_t records = Uniform(&random_, 0, 20); records > 0; --records) {
        const std::string key = AnyKey();
        const std::string value = std::to_string(++sequence);
        if (Uniform(&random_, 0, 4) == 0) {
          memtables_.back()->Add(sequence, RecordType::kDeletion, key, "");
          model.erase(key);
        } else {
          memtables_.back()->Add(sequence, RecordType::kValue, key, value);
          model[key] = value;
        }
      }
    }
    // Newer memtables first, last or anywhere.
    std::shuffle(memtables_.begin(), memtables_.end(), random_);
    const std::string lower = AnyKey();
    const std::string upper = AnyKey();
    KeyBounds bounds;
    if (Uniform(&random_, 0, 1) != 0 && lower < upper) {
      bounds = {.lower = &lower, .upper = &upper};
      model.erase(model.begin(), model.lower_bound(lower));
      model.erase(model.lower_bound(upper), model.end());
    }
    {
      const std::unique_ptr<Iterator> it = NewIterator(bounds);
      auto at = model.begin();
      for (it->SeekToFirst(); it->Valid(); it->Next(), ++at) {
        ASSERT_NE(at, model.end());
        ASSERT_EQ(it->key(), at->first);
        ASSERT_EQ(it->value(), at->second);
      }
      ASSERT_EQ(at, model.end());
    }
    for (int walk = 0; walk < 4; ++walk) {
      WalkAtRandom(
          NewIterator(bounds).get(), model, [&] { return AnyKey(); }, &random_);
    }
  }
}

// Counts how often it is moved.
class CountingIterator final : public RecordIterator {
 public:
  CountingIterator(std::unique_ptr<RecordIterator> of, uint64_t* moves)
      : at_(std::move(of)), moves_(moves) {}

  void SeekToFirst() override {
    at_->SeekToFirst();
    Show();
  }
  void SeekToLast() override {
    at_->SeekToLast();
    Show();
  }
  void Seek(std::string_view user_key) override {
    at_->Seek(user_key);
    Show();
  }
  void SeekForPrev(std::string_view user_key) override {
    at_->SeekForPrev(user_key);
    Show();
  }
  void Next() override {
    at_->Next();
    Show();
  }
  void Prev() override {
    at_->Prev();
    Show();
  }

 private:
  void Show() {
    ++*moves_;
    if (at_->Valid()) {
      Set(at_->user_key(), at_->trailer(), at_->stored_value());
    } else {
      SetNone();
    }
  }

  const std::unique_ptr<RecordIterator> at_;
  uint64_t* const moves_;
};

// Two memtables: the older one has a record of every even key, the newer one of all others, and range
// deletions of this many keys each, but for a few at both ends.
class CoveredKeysTest : public testing::TestWithParam<uint64_t> {
 protected:
  static constexpr uint64_t kKeys = 6000;
  static constexpr uint64_t kEnds = 100;

  static std::string KeyOf(uint64_t i) { return std::to_string(1'000'000 + i); }

  void SetUp() override {
    for (uint64_t i = 0; i < kKeys; i += 2) {
      older_.Add(++given_, RecordType::kValue, KeyOf(i), "value");
    }
    last_of_older_ = given_;
    for (uint64_t i = 1; i < kKeys; i += 2) {
      newer_.Add(++given_, RecordType::kValue, KeyOf(i), "value");
    }
    before_ = given_;
    for (uint64_t i = kEnds; i < kKeys - kEnds; i += GetParam()) {
      newer_.DeleteRange(++given_, KeyOf(i), KeyOf(std::min(i + GetParam(), kKeys - kEnds)));
    }
  }
  void Put(uint64_t i) {
    ++given_;
    const EpochGuard guard;
    stretches_.Cut(KeyOf(i));
    newer_.Add(given_, RecordType::kValue, KeyOf(i), "value");
  }
  std::unique_ptr<Iterator> NewIterator(SequenceNumber snapshot) {
    const auto deletions = std::make_shared<const RangeDeletions>(newer_.range_deletions());
    IteratorParts parts;
    const auto add = [&](const Memtable& memtable, SequenceNumber newest) {
      auto at = std::make_unique<MemtableIterator>(&memtable, snapshot);
      parts.Add(Covered(std::make_unique<CountingIterator>(std::move(at), &moves_), deletions,
                        snapshot, newest));
    };
    add(newer_, kMaxSequence);
    add(older_, last_of_older_);
    return std::make_unique<MergedIterator>(std::move(parts), snapshot,
                                            DeadKeys{.stretches = &stretches_, .given = &given_},
                                            KeyBounds(), nullptr);
  }
  // How often parts are moved for it.
  template <typename Walk>
  uint64_t Cost(const Walk& walk) {
    const std::unique_ptr<Iterator> it = NewIterator(given_);
    moves_ = 0;
    walk(it.get());
    EXPECT_TRUE(it->status().ok());
    return moves_;
  }
  uint64_t CostOfSeek(uint64_t from, uint64_t to) {
    return Cost([&](Iterator* it) {
      it->Seek(KeyOf(from));
      ASSERT_TRUE(it->Valid());
      EXPECT_EQ(it->key(), KeyOf(to));
    });
  }
  uint64_t CostOfSeekForPrev(uint64_t from, uint64_t to) {
    return Cost([&](Iterator* it) {
      it->SeekForPrev(KeyOf(from));
      ASSERT_TRUE(it->Valid());
      EXPECT_EQ(it->key(), KeyOf(to));
    });
  }

  Memtable newer_{size_t{1} << 20};
  Memtable older_{size_t{1} << 20};
  std::atomic<SequenceNumber> given_{0};
  SequenceNumber last_of_older_ = 0;
  SequenceNumber before_ = 0;  // the range deletions
  DeadStretches stretches_;
  uint64_t moves_ = 0;
};

constexpr uint64_t kFewMoves = 12;

TEST_P(CoveredKeysTest, LaterSeeksPassOverThem) {
  EXPECT_GT(CostOfSeek(kEnds, kKeys - kEnds), kKeys / 3);
  for (const uint64_t i : {kEnds, kEnds + 1, kKeys / 2, kKeys - kEnds - 1}) {
    EXPECT_LE(CostOfSeek(i, kKeys - kEnds), kFewMoves);
    EXPECT_LE(CostOfSeekForPrev(i, kEnds - 1), kFewMoves);
  }
  EXPECT_LE(Cost([](Iterator* it) {
              it->Seek(KeyOf(kEnds - 1));
              it->Next();
              EXPECT_EQ(it->key(), KeyOf(kKeys - kEnds));
              it->Prev();
              EXPECT_EQ(it->key(), KeyOf(kEnds - 1));
            }),
            2 * kFewMoves);
  // What comes to life there is found.
  Put(kKeys / 2);
  EXPECT_LE(CostOfSeek(kEnds, kKeys / 2), kFewMoves);
  EXPECT_LE(CostOfSeek(kKeys / 2 + 1, kKeys - kEnds), kFewMoves);
  EXPECT_LE(CostOfSeekForPrev(kKeys - kEnds - 1, kKeys / 2), kFewMoves);
  EXPECT_LE(CostOfSeekForPrev(kKeys / 2 - 1, kEnds - 1), kFewMoves);
}

TEST_P(CoveredKeysTest, LaterSeeksBackwardPassOverThem) {
  EXPECT_GT(CostOfSeekForPrev(kKeys - kEnds - 1, kEnds - 1), kKeys / 3);
  EXPECT_LE(CostOfSeekForPrev(kKeys - kEnds - 1, kEnds - 1), kFewMoves);
  EXPECT_LE(CostOfSeek(kEnds, kKeys - kEnds), kFewMoves);
}

TEST_P(CoveredKeysTest, SnapshotsSeeWhatWasThere) {
  EXPECT_GT(CostOfSeek(kEnds, kKeys - kEnds), kKeys / 3);
  const std::unique_ptr<Iterator> it = NewIterator(before_);
  uint64_t i = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    ASSERT_EQ(it->key(), KeyOf(i++));
    ASSERT_EQ(it->value(), "value");
  }
  EXPECT_EQ(i, kKeys);
  for (it->SeekToLast(); it->Valid(); it->Prev()) {
    ASSERT_EQ(it->key(), KeyOf(--i));
  }
  EXPECT_EQ(i, 0u);
}

INSTANTIATE_TEST_SUITE_P(KeysOfARange, CoveredKeysTest, testing::Values(1, 10, 10'000));

}  // namespace
}  // namespace sluice
