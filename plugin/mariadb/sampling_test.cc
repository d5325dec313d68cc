#include "sampling.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "util/testing.h"

namespace sluice::mariadb {
namespace {

// Keys of three columns of two, two and four bytes.
std::string Key(uint64_t a, uint64_t b, uint64_t c) {
  std::string key;
  for (const int shift : {8, 0}) {
    key.push_back(static_cast<char>(a >> shift));
  }
  for (const int shift : {8, 0}) {
    key.push_back(static_cast<char>(b >> shift));
  }
  for (const int shift : {24, 16, 8, 0}) {
    key.push_back(static_cast<char>(c >> shift));
  }
  return key;
}

bool Ends(std::string_view key, std::vector<size_t>* ends) {
  *ends = {2, 4, 8};
  return key.size() == 8;
}

class SamplingTest : public testing::Test {
 protected:
  SamplingTest() {
    Options options;
    options.create_if_missing = true;
    EXPECT_TRUE(DB::Open(options, directory_.File("db"), &db_).ok());
  }
  void Write(uint64_t count, uint64_t kinds, uint64_t more) {
    WriteBatch batch;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t spread = i * 7919 % count;
      batch.Put(Key(spread % kinds, spread / kinds % more, i), "");
    }
    ASSERT_TRUE(db_->Write({}, batch).ok());
  }
  std::vector<uint64_t> Sampled() {
    std::vector<uint64_t> same;
    const Status status = SampleIndex(db_.get(), nullptr, 200000, 3, Ends, &same);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return same;
  }

  TempDir directory_;
  std::unique_ptr<DB> db_;
};

TEST_F(SamplingTest, SmallOnesAreReadAsAWhole) {
  EXPECT_EQ(Sampled(), (std::vector<uint64_t>{1, 1, 1}));
  ASSERT_TRUE(db_->Put({}, Key(1, 1, 1), "").ok());
  EXPECT_EQ(Sampled(), (std::vector<uint64_t>{1, 1, 1}));
  Write(6000, 20, 10);
  EXPECT_EQ(Sampled(), (std::vector<uint64_t>{300, 30, 1}));
}

TEST_F(SamplingTest, LargeOnesInPlaces) {
  for (const bool flushed : {false, true}) {
    for (const auto& [kinds, more] :
         {std::pair<uint64_t, uint64_t>{10, 4000}, {300, 20}, {5000, 3}}) {
      ASSERT_TRUE(db_->DeleteRange({}, nullptr, "", std::string(9, '\xff')).ok());
      Write(200000, kinds, more);
      if (flushed) {
        ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
      }
      const std::vector<uint64_t> same = Sampled();
      const auto near = [](uint64_t found, uint64_t expected) {
        return found <= 3 * expected && expected <= 3 * found;
      };
      EXPECT_TRUE(near(same[0], 200000 / kinds)) << same[0] << ' ' << kinds;
      EXPECT_TRUE(near(same[1], 200000 / kinds / more + 1)) << same[1] << ' ' << more;
      EXPECT_EQ(same[2], 1U);
    }
  }
}

TEST_F(SamplingTest, PlacesAreAllOver) {
  // One half of all has one value, the other one many: what is dense does not hide what is not.
  WriteBatch batch;
  for (uint64_t i = 0; i < 100000; ++i) {
    batch.Put(Key(7, i % 2, i), "");
    batch.Put(Key(1000 + i / 10, 0, i), "");
  }
  ASSERT_TRUE(db_->Write({}, batch).ok());
  const std::vector<uint64_t> same = Sampled();
  EXPECT_GT(same[0], 10U);
  EXPECT_LT(same[0], 40U);
}

TEST_F(SamplingTest, PlacesAreAllOverAKind) {
  // Of each kind a few entries have other second columns than the rest: places that are drawn to
  // where kinds begin, or to where they end, find these alone. Each total is another seed.
  constexpr uint64_t kOfAKind = 640;
  for (const uint64_t few : {0, 1000}) {
    ASSERT_TRUE(db_->DeleteRange({}, nullptr, "", std::string(9, '\xff')).ok());
    for (uint64_t kinds = 0; kinds < 320;) {
      WriteBatch batch;
      for (const uint64_t end = kinds + 16; kinds < end; ++kinds) {
        for (uint64_t i = 0; i < kOfAKind; ++i) {
          batch.Put(Key(kinds, i < 40 ? few + i : 500, i), "");
        }
      }
      ASSERT_TRUE(db_->Write({}, batch).ok());
      for (const bool flushed : {false, true}) {
        if (flushed) {
          ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
        }
        std::vector<uint64_t> same;
        ASSERT_TRUE(SampleIndex(db_.get(), nullptr, kinds * kOfAKind, 3, Ends, &same).ok());
        EXPECT_GT(same[0], kOfAKind / 3) << few << ' ' << kinds << ' ' << flushed;
        EXPECT_LT(same[0], kOfAKind * 3) << few << ' ' << kinds << ' ' << flushed;
        EXPECT_GT(same[1], kOfAKind / 41 / 3) << few << ' ' << kinds << ' ' << flushed;
        EXPECT_LT(same[1], kOfAKind / 41 * 3) << few << ' ' << kinds << ' ' << flushed;
      }
    }
  }
}

TEST(Halfway, IsBetween) {
  TestRandom random(TestSeed());
  for (int i = 0; i < 20000; ++i) {
    std::string low;
    std::string high;
    for (std::string* const key : {&low, &high}) {
      for (uint64_t n = Uniform(&random, 0, 40); n > 0; --n) {
        key->push_back("\x00\x00\x01\x7f\xff"[Uniform(&random, 0, 4)]);
      }
    }
    if (low == high) {
      continue;
    }
    if (high < low) {
      std::swap(low, high);
    }
    const std::string middle = mariadb::Halfway(low, high);
    EXPECT_GE(middle, low);
    EXPECT_LT(middle, high);
  }
  EXPECT_EQ(mariadb::Halfway("a", "c").substr(0, 2), std::string("b\0", 2));
}

}  // namespace
}  // namespace sluice::mariadb
