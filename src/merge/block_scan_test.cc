#include "merge/block_scan.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "merge/table_image.h"
#include "merge/x86_vectors.h"
#include "sluice/executor.h"
#include "table/block.h"
#include "util/testing.h"

namespace sluice {
namespace {

using std::string_view_literals::operator""sv;

#ifdef __x86_64__

struct Form {
  const char* name;
  bool (*has)();
  decltype(ScanAscending)* scan;
  uint64_t most_user_bytes;
};

// What the checker makes of any block, whichever way it reads it, is output_checker_test's; this is
// for when it is read fast.
class BlockScanTest : public testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    if (!GetParam().has()) {
      GTEST_SKIP() << "this processor has no " << GetParam().name;
    }
  }
  void Add(std::string_view user_key, std::string_view value,
           RecordType type = RecordType::kValue) {
    const uint64_t trailer = MakeTrailer(1 + Uniform(&random_, 0, 1000), type);
    block_.Add(MakeInternalKey(user_key, TrailerSequence(trailer), type), value);
    ++expected_.entries;
    expected_.tombstones += type == RecordType::kDeletion;
    expected_.checksum += RecordChecksum(user_key, trailer, value);
    last_trailer_ = trailer;
  }
  // The block, after a record with `previous` as its key.
  bool Scan(std::string_view previous) {
    const std::string contents = block_.Finish();
    Block block;
    EXPECT_TRUE(Block::Parse(contents, &block).ok());
    previous.copy(bytes_.data(), bytes_.size());
    key_ = {.bytes = bytes_.data(), .user_bytes = previous.size(), .trailer = 7};
    records_ = {};
    // 64 bytes can be read behind them.
    const std::string entries = std::string(block.entries()) + std::string(64, 'z');
    return GetParam().scan(entries.data(), entries.data() + block.entries().size(), &key_,
                           &records_);
  }

  TestRandom random_{TestSeed()};
  BlockImageBuilder block_{static_cast<uint32_t>(Uniform(&random_, 1, 20)),
                           /*share_trailers=*/false};
  ScannedRecords expected_;
  uint64_t last_trailer_ = 0;
  std::array<char, 128> bytes_{};
  ScannedKey key_{};
  ScannedRecords records_;
};

TEST_P(BlockScanTest, ReadsKeysThatAscend) {
  for (int i = 0; i < 1000; ++i) {
    std::map<std::string, std::string> records;
    const uint64_t most_key = Uniform(&random_, 1, GetParam().most_user_bytes);
    const uint64_t most_value = uint64_t{1} << Uniform(&random_, 0, i % 50 == 0 ? 17 : 9);
    for (uint64_t n = Uniform(&random_, 1, 60); n > 0; --n) {
      std::string key(Uniform(&random_, 1, most_key), '\0');
      for (char& c : key) {  // zeros too are left to others where a key ends with them
        c = static_cast<char>(Uniform(&random_, 1, 3) * 85);
      }
      records[key] = std::string(Uniform(&random_, 0, most_value), static_cast<char>(random_()));
    }
    expected_ = {};
    for (const auto& [key, value] : records) {
      Add(key, value, value.empty() ? RecordType::kDeletion : RecordType::kValue);
    }
    ASSERT_TRUE(Scan(i % 2 == 0 ? "" : "UU"sv.substr(0, records.begin()->first > "UU" ? 2 : 0)));
    EXPECT_EQ(records_.entries, expected_.entries);
    EXPECT_EQ(records_.tombstones, expected_.tombstones);
    EXPECT_EQ(records_.checksum, expected_.checksum);
    EXPECT_EQ(std::string_view(key_.bytes, key_.user_bytes), records.rbegin()->first);
    EXPECT_EQ(key_.trailer, last_trailer_);
  }
}

TEST_P(BlockScanTest, LeavesTheRest) {
  const std::string longest(GetParam().most_user_bytes, 'x');
  const std::array<std::array<std::string, 3>, 7> cases = {{
      {"", "a", "a"},  // versions
      {"", "b", "a"},  // descending
      {"", "ab", "a"},
      {"b", "a", "c"},  // not after the one before
      {"a", "a", "c"},
      {"", "a", std::string("a\0"sv)},  // in order, but not to vectors
      {"", longest, longest + "x"},     // too long
  }};
  for (const auto& [previous, first, second] : cases) {
    for (const int before : {0, 7, 8, 20}) {
      for (int n = 1; n <= before && previous.empty(); ++n) {
        Add(std::string(n, 'A'), "");
      }
      Add(first, "v");
      Add(second, "v");
      EXPECT_FALSE(Scan(previous)) << previous << ", " << first << ", " << second;
      EXPECT_EQ(std::string_view(key_.bytes, key_.user_bytes), previous);
      EXPECT_EQ(key_.trailer, 7u);
      EXPECT_EQ(records_.entries, 0u);
    }
  }
  Add(longest, "v");
  EXPECT_TRUE(Scan(""));
}

INSTANTIATE_TEST_SUITE_P(Vectors, BlockScanTest,
                         testing::Values(Form{"AVX2", internal::HasAvx2, internal::ScanAvx2, 32},
                                         Form{"AVX512", internal::HasAvx512, internal::ScanAvx512,
                                              64}),
                         [](const auto& info) { return info.param.name; });

#endif

}  // namespace
}  // namespace sluice
