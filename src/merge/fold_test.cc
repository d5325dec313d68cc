#include "merge/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sluice/executor.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Against RecordChecksum, which folds word by word.
class FoldTest : public testing::TestWithParam<internal::FoldForm> {
 protected:
  void SetUp() override {
    if (!GetParam().has()) {
      GTEST_SKIP() << "this processor has no " << GetParam().name;
    }
  }
  // `bytes` random ones, and something else behind them.
  std::string Value(size_t bytes) {
    std::string value(bytes + kSlackBytes, '\0');
    std::generate(value.begin(), value.end(), [this] { return static_cast<char>(random_()); });
    return value;
  }
  static uint64_t Expected(std::string_view value) {
    return std::rotr(RecordChecksum("", 0, value) ^ (uint64_t{8} << 32 | value.size()), 5);
  }

  TestRandom random_{TestSeed()};
};

TEST_P(FoldTest, OfAnyLength) {
  for (size_t n = 0; n < 400; ++n) {
    const std::string value = Value(n);
    const std::string_view bytes = std::string_view(value).substr(0, n);
    EXPECT_EQ(GetParam().fold(value.data(), n, nullptr, 100), Expected(bytes)) << n;
    std::string copy(n + kSlackBytes, '\0');
    EXPECT_EQ(GetParam().copy(value.data(), n, copy.data(), 0), Expected(bytes)) << n;
    EXPECT_EQ(copy.substr(0, n), bytes);
  }
}

TEST_P(FoldTest, SumsOfUpToABatch) {
  for (size_t n = 0; n <= kFoldBatch; ++n) {
    for (int round = 0; round < 50; ++round) {
      std::array<std::string, kFoldBatch> values;
      std::array<UnfoldedRecord, kFoldBatch> records{};
      uint64_t expected = 0;
      for (size_t i = 0; i < n; ++i) {
        const size_t bytes = Uniform(&random_, 0, 200);
        values[i] = Value(bytes);
        records[i] = {.value = values[i].data(), .value_bytes = bytes, .hash = random_()};
        const std::string_view value = std::string_view(values[i]).substr(0, bytes);
        expected += records[i].hash ^ std::rotl(Expected(value), 5);
      }
      EXPECT_EQ(GetParam().sum(&records, n), expected) << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, FoldTest, testing::ValuesIn(internal::FoldForms()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sluice
