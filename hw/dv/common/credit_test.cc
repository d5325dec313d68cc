// cu_credit against a counter.

#include <gtest/gtest.h>

#include "Vcu_credit_test_model.h"
#include "testbench.h"

namespace sluice::dv {
namespace {

TEST(Credit, CountsFreePlaces) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  constexpr unsigned kDepth = 5;
  Testbench<Vcu_credit_test_model> tb;
  tb->take_i = tb->give_i = 0;
  tb.Reset();
  unsigned available = kDepth;
  unsigned empty = 0;
  for (int i = 0; i < 5000; ++i) {
    const unsigned take_percent = i / 500 % 2 == 0 ? 80 : 20;
    tb->take_i = available > 0 && Chance(rng, take_percent);
    tb->give_i = available < kDepth && Chance(rng, 50);
    tb.Settle();
    ASSERT_EQ(tb->avail_o, available > 0);
    ASSERT_EQ(tb->all_o, available == kDepth);
    available += tb->give_i;
    available -= tb->take_i;
    empty += available == 0;
    tb.Tick();
  }
  EXPECT_GT(empty, 0u);
}

}  // namespace
}  // namespace sluice::dv
