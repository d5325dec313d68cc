// A MergedIterator over memtables beside a map, with keys whose first bytes do not tell them apart.

#include "tree/merged_iterator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/iterator_walk.h"
#include "mem/memtable.h"
#include "mem/memtable_iterator.h"
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

}  // namespace
}  // namespace sluice
