// Units without a driver keep the rules of executors, too.

#include <gtest/gtest.h>

#include "device/executors.h"
#include "sluice/conformance.h"
#include "util/testing.h"

namespace sluice {
namespace {

class UnitConformanceTest : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Kinds, UnitConformanceTest, testing::Values("rtl", "model"),
                         [](const auto& info) { return std::string(info.param); });

void Check(std::string_view kind, std::string_view config, bool makes_filters = false,
           bool compresses = false, bool takes_xxh3 = false) {
  MergeUnits units;
  ASSERT_TRUE(MakeUnits(kind, config, {}, &units).ok());
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units[0]->makes_filters(), makes_filters);
  EXPECT_EQ(units[0]->compresses(), compresses);
  EXPECT_EQ(units[0]->takes_xxh3(), takes_xxh3);
  const Status status = CheckExecutor(units[0].get(), {.seed = TestSeed(), .tasks = 30});
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_P(UnitConformanceTest, Tiny) { Check(GetParam(), "tiny"); }
TEST_P(UnitConformanceTest, WithFilters) { Check(GetParam(), "bloom2", true); }
TEST_P(UnitConformanceTest, Compressing) { Check(GetParam(), "compress2", false, true); }
TEST_P(UnitConformanceTest, WithXxh3) { Check(GetParam(), "rocks4", false, false, true); }

}  // namespace
}  // namespace sluice
