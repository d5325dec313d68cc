// Filters as units leave them behind: only whole ones, of the keys of their blocks, are taken.

#include "device/filter_area.h"

#include <gtest/gtest.h>

#include "table/filter.h"
#include "table/stored_block.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr int kBits = 10;

using Blocks = std::vector<OutputChecker::BlockKeys>;

class FilterAreaTest : public testing::Test {
 protected:
  // Appends the filter of a new block of so many keys.
  OutputChecker::BlockKeys Add(uint64_t records) {
    std::vector<uint32_t> hashes(records);
    for (uint32_t& hash : hashes) {
      hash = static_cast<uint32_t>(random_());
    }
    std::string filter;
    AppendBloomFilter(hashes, kBits, &filter);
    bytes_ += filter;
    AppendBlockTrailer(filter, Compression::kNone, &bytes_);
    return {records, hashes.back()};
  }
  void Pad() { bytes_.resize((bytes_.size() + 7) / 8 * 8, '\0'); }

  // Ok if the area has the filters of two tables with these blocks.
  static Status TakeAll(std::string_view bytes, const Blocks& first, const Blocks& second) {
    FilterArea area(bytes, kBits);
    std::vector<std::string_view> filters;
    SLUICE_RETURN_IF_ERROR(area.Take(first, &filters));
    EXPECT_EQ(filters.size(), first.size());
    SLUICE_RETURN_IF_ERROR(area.Take(second, &filters));
    return area.Finish();
  }

  TestRandom random_{TestSeed()};
  std::string bytes_;
};

TEST_F(FilterAreaTest, GivesEachBlockItsOwn) {
  const Blocks blocks = {Add(1), Add(30), Add(7), Add(100)};
  Pad();
  FilterArea area(bytes_, kBits);
  std::vector<std::string_view> filters;
  ASSERT_TRUE(area.Take(blocks, &filters).ok());
  ASSERT_TRUE(area.Finish().ok());
  ASSERT_EQ(filters.size(), blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_TRUE(IsBloomFilterOf(filters[i], blocks[i].records, kBits));
  }
  EXPECT_EQ(filters[1].data(), filters[0].data() + filters[0].size() + kBlockTrailerBytes);
}

TEST_F(FilterAreaTest, SeesBitsThatWereFlipped) {
  const Blocks first = {Add(1), Add(30)};
  const Blocks second = {Add(7)};
  const size_t used = bytes_.size();  // the rest fills the last word
  Pad();
  ASSERT_TRUE(TakeAll(bytes_, first, second).ok());
  for (size_t bit = 0; bit < 8 * used; ++bit) {
    const auto mask = static_cast<char>(1 << bit % 8);
    bytes_[bit / 8] = static_cast<char>(bytes_[bit / 8] ^ mask);
    EXPECT_FALSE(TakeAll(bytes_, first, second).ok()) << "bit " << bit;
    bytes_[bit / 8] = static_cast<char>(bytes_[bit / 8] ^ mask);
  }
}

TEST_F(FilterAreaTest, SeesFiltersOfOtherBlocks) {
  const auto a = Add(40);
  const auto b = Add(30);
  const auto c = Add(70);
  Pad();
  EXPECT_TRUE(TakeAll(bytes_, {a, b}, {c}).ok());
  EXPECT_FALSE(TakeAll(bytes_, {b, a}, {c}).ok());
  EXPECT_FALSE(TakeAll(bytes_, {a, b}, {{71, c.last_hash}}).ok());
  EXPECT_FALSE(TakeAll(bytes_, {a, b}, {}).ok()) << "one more than blocks";
  EXPECT_FALSE(TakeAll(bytes_, {a, b}, {c, {1, 0}}).ok()) << "one less";
  EXPECT_FALSE(TakeAll(bytes_, {a, b}, {{UINT64_MAX / kBits, 0}}).ok());
  EXPECT_FALSE(TakeAll(bytes_.substr(0, bytes_.size() - 8), {a, b}, {c}).ok());
  EXPECT_FALSE(TakeAll(bytes_ + std::string(8, '\0'), {a, b}, {c}).ok());
}

// Keys of another block of the same size: one in a hundred passes.
TEST_F(FilterAreaTest, AsksForAKey) {
  size_t passed = 0;
  for (int round = 0; round < 1000; ++round) {
    bytes_.clear();
    OutputChecker::BlockKeys block = Add(50);
    block.last_hash = static_cast<uint32_t>(random_());
    FilterArea area(bytes_, kBits);
    std::vector<std::string_view> filters;
    passed += area.Take({block}, &filters).ok() ? 1 : 0;
  }
  EXPECT_LT(passed, 50u);
}

// Whatever the outputs are like, their filters fit.
TEST_F(FilterAreaTest, HasRoomForAll) {
  for (int round = 0; round < 1000; ++round) {
    MergeTask task;
    task.block_bytes = static_cast<uint32_t>(Uniform(&random_, 1, 5000));
    task.table_bytes = Uniform(&random_, 1, 50'000);
    task.bloom_bits_per_key = static_cast<uint32_t>(Uniform(&random_, 1, kMaxMergeBloomBits));
    uint64_t data_bytes = 0;
    uint64_t filter_bytes = 0;
    // The smallest entries that there are, in the smallest blocks and tables that may be.
    for (uint64_t table = Uniform(&random_, 0, 20); table > 0; --table) {
      uint64_t table_bytes = 0;
      while (table_bytes < task.table_bytes) {
        const uint64_t entries = (uint64_t{task.block_bytes} + 10) / 11;
        table_bytes += std::max<uint64_t>(task.block_bytes, 11 * entries + 8) + kBlockTrailerBytes;
        filter_bytes += BloomFilterBytes(entries, static_cast<int>(task.bloom_bits_per_key)) +
                        kBlockTrailerBytes;
      }
      data_bytes += table_bytes;
    }
    EXPECT_GE(FilterRoom(task, data_bytes), filter_bytes);
  }
}

}  // namespace
}  // namespace sluice
