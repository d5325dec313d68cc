// DB::ApproximateSize against what iterators find: exact where metadata tells, else within the bounds
// that sluice/db.h states.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "db/fixture.h"

namespace sluice {
namespace {

constexpr uint64_t kBlockRecords = 40;  // at most, of those below

class RangeSizeTest : public DbFixture {
 protected:
  RangeSizeTest() { options_.compression = Compression::kNone; }

  static std::string Dense(uint64_t i) { return fmt::format("{:016}", i); }
  // All over the key space, of unequal lengths.
  static std::string Scattered(uint64_t i) {
    return fmt::format("{:016x}", i * 0x9e3779b97f4a7c15) + std::string(i % 7, 'x');
  }
  void Put(const std::string& key) {
    ASSERT_TRUE(db_->Put({}, key, std::string(100, 'v')).ok());
    keys_.insert(key);
  }
  uint64_t CountIn(const std::string& begin, const std::string& end) const {
    const auto last = end.empty() ? keys_.end() : keys_.lower_bound(end);
    return static_cast<uint64_t>(std::distance(keys_.lower_bound(begin), last));
  }
  size_t Runs() const {
    size_t runs = 0;
    const Statistics statistics = db_->GetStatistics();
    for (const LevelStatistics& level : statistics.subtables[0].levels) {
      runs += level.runs;
    }
    return runs;
  }
  uint64_t HeadReads() const { return db_->GetStatistics().table_cache.misses; }
  // Two of the keys, or the bounds of all.
  std::pair<std::string, std::string> RandomRange(TestRandom* random) const {
    std::string bounds[2];
    for (std::string& bound : bounds) {
      bound =
          *std::next(keys_.begin(), static_cast<ptrdiff_t>(Uniform(random, 0, keys_.size() - 1)));
    }
    if (Uniform(random, 0, 2) == 0) {  // a short range
      auto last = keys_.find(bounds[0]);
      for (uint64_t i = Uniform(random, 0, 200); i > 0 && last != keys_.end(); --i) {
        ++last;
      }
      bounds[1] = last == keys_.end() ? std::string() : *last;
    } else if (bounds[1] < bounds[0]) {
      std::swap(bounds[0], bounds[1]);
    }
    return {bounds[0], bounds[1]};
  }
  void ExpectClose(TestRandom* random, double in_memtables) {
    const auto [begin, end] = RandomRange(random);
    const uint64_t there = begin == end ? 0 : CountIn(begin, end);
    const RangeSize size = db_->ApproximateSize(begin, end);
    const double error = std::max(static_cast<double>(2 * kBlockRecords * Runs()),
                                  0.1 * static_cast<double>(size.records));
    EXPECT_NEAR(static_cast<double>(size.records), static_cast<double>(there), error + in_memtables)
        << begin << " to " << end;
  }

  std::set<std::string> keys_;
};

TEST_F(RangeSizeTest, NothingIsThere) {
  Open();
  EXPECT_EQ(db_->ApproximateSize({}, {}).records, 0u);
  EXPECT_EQ(db_->ApproximateSize({}, {}).bytes, 0u);
  Put("a");
  EXPECT_EQ(db_->ApproximateSize("b", {}).records, 0u);
  EXPECT_EQ(db_->ApproximateSize({}, "a").records, 0u);
  EXPECT_EQ(db_->ApproximateSize("b", "a").records, 0u);
  EXPECT_EQ(db_->ApproximateSize("a", "a").records, 0u);
}

TEST_F(RangeSizeTest, MetadataIsExactWithoutBounds) {
  Open();
  for (uint64_t i = 0; i < 20'000; ++i) {
    Put(Scattered(i));
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  Open();
  const RangeSize all = db_->ApproximateSize({}, {});
  EXPECT_EQ(all.records, 20'000u);
  EXPECT_EQ(all.bytes, db_->GetStatistics().subtables[0].levels[2].bytes);
  EXPECT_EQ(db_->ApproximateSize({}, "g").records, 20'000u);
  EXPECT_EQ(db_->ApproximateSize("0", {}).records, 20'000u);
  // Nor are heads read where they would tell little.
  EXPECT_NEAR(static_cast<double>(db_->ApproximateSize("08", "f8").records),
              static_cast<double>(CountIn("08", "f8")), 0.1 * 20'000);
  EXPECT_EQ(HeadReads(), 0u);
}

TEST_F(RangeSizeTest, HeadsTellTheRest) {
  Open();
  for (uint64_t i = 0; i < 20'000; ++i) {
    Put(Dense(i));
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  options_.automatic_compactions = false;  // which read heads, too
  Open();
  for (const uint64_t begin : {1000u, 7777u, 19'000u}) {
    for (const uint64_t records : {1u, 10u, 100u, 400u}) {
      const uint64_t estimate = db_->ApproximateSize(Dense(begin), Dense(begin + records)).records;
      EXPECT_NEAR(static_cast<double>(estimate), static_cast<double>(records),
                  2 + 0.1 * static_cast<double>(records))
          << begin;
    }
  }
  // For each of the places at most two tops, and two parts of each: where extents end depends on when
  // memtables were flushed.
  EXPECT_GT(HeadReads(), 0u);
  EXPECT_LE(HeadReads(), 3u * (2 + 4));
}

TEST_F(RangeSizeTest, MemtablesAreSampled) {
  options_.memtable_bytes = 16 << 20;
  Open();
  for (uint64_t i = 0; i < 20'000; ++i) {
    Put(Dense(i * 7919 % 20'000));
  }
  EXPECT_EQ(db_->ApproximateSize(Dense(500), Dense(530)).records, 30u);
  EXPECT_NEAR(static_cast<double>(db_->ApproximateSize(Dense(500), Dense(530)).bytes), 30 * 116, 1);
  for (const uint64_t records : {300u, 3000u, 15'000u}) {
    const uint64_t estimate = db_->ApproximateSize(Dense(1000), Dense(1000 + records)).records;
    EXPECT_GT(estimate, records / 2);
    EXPECT_LT(estimate, records * 2);
  }
  for (uint64_t i = 500; i < 515; ++i) {
    ASSERT_TRUE(db_->Delete({}, Dense(i)).ok());
  }
  EXPECT_EQ(db_->ApproximateSize(Dense(510), Dense(540)).records, 20u);  // five tombstones
}

TEST_F(RangeSizeTest, DeletionsCountAsRecordsLess) {
  Open();
  for (uint64_t i = 0; i < 10'000; ++i) {
    Put(Dense(i));
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  options_.automatic_compactions = false;
  Open();
  for (uint64_t i = 0; i < 10'000; i += 2) {
    ASSERT_TRUE(db_->Delete({}, Dense(i)).ok());
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  EXPECT_EQ(db_->ApproximateSize({}, {}).records, 5000u);
  EXPECT_NEAR(static_cast<double>(db_->ApproximateSize(Dense(2000), Dense(4000)).records), 1000,
              100);
}

// Levels, runs, slices and values apart as they come.
TEST_F(RangeSizeTest, AnyTree) {
  TestRandom random(TestSeed());
  options_.l1_bytes = 256 << 10;
  options_.compaction_bytes = 128 << 10;
  Open();
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  for (int round = 0; round < 12; ++round) {
    for (uint64_t i = Uniform(&random, 1, 3000); i > 0; --i) {
      Put(Uniform(&random, 0, 1) == 0 ? Scattered(random()) : Dense(Uniform(&random, 0, 30'000)));
    }
    ASSERT_TRUE(db_->Put({}, other, Dense(round), {}).ok());
    ASSERT_TRUE(db_->Flush(nullptr).ok());
    if (round % 3 == 0) {
      const auto [begin, end] = RandomRange(&random);
      ASSERT_TRUE(db_->CompactRange(nullptr, begin, end).ok());
    }
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    // Some keys were written twice; here the estimate is compared as long as they are few.
    const double twice = static_cast<double>(db_->ApproximateSize({}, {}).records) -
                         static_cast<double>(keys_.size());
    EXPECT_GE(twice, 0);
    for (int i = 0; i < 40; ++i) {
      ExpectClose(&random, twice);
    }
  }
  EXPECT_EQ(db_->ApproximateSize(other, {}, {}).records, 12u);
  ASSERT_TRUE(db_->DropSubtable(other).ok());
  EXPECT_EQ(db_->ApproximateSize(other, {}, {}).records, 0u);
}

TEST_F(RangeSizeTest, ValuesApartCountWithTheirKeys) {
  options_.separate_value_bytes = 1000;
  Open();
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(db_->Put({}, Dense(i), std::string(2000, static_cast<char>(i))).ok());
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  const RangeSize half = db_->ApproximateSize(Dense(250), Dense(750));
  EXPECT_NEAR(static_cast<double>(half.bytes), 500 * 2060, 100'000);
}

TEST_F(RangeSizeTest, DamagedHeadsAreNoError) {
  Open();
  for (uint64_t i = 0; i < 20'000; ++i) {
    Put(Dense(i));
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  Open();
  for (const auto& file : std::filesystem::directory_iterator(dir_.File("db"))) {
    if (file.path().extension() == ".data") {
      const auto bytes = std::filesystem::file_size(file.path());
      std::fstream out(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      out << std::string(bytes, '\0');
    }
  }
  EXPECT_NEAR(static_cast<double>(db_->ApproximateSize(Dense(1000), Dense(1100)).records), 100,
              600);  // the records of an extent
}

}  // namespace
}  // namespace sluice
