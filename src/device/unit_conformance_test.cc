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

TEST_P(UnitConformanceTest, Tiny) {
  MergeUnits units;
  ASSERT_TRUE(MakeUnits(GetParam(), "tiny", {}, &units).ok());
  ASSERT_EQ(units.size(), 1u);
  const Status status = CheckExecutor(units[0].get(), {.seed = TestSeed(), .tasks = 30});
  EXPECT_TRUE(status.ok()) << status.ToString();
}

}  // namespace
}  // namespace sluice
