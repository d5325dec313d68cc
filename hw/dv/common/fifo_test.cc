// cu_fifo and cu_ram_fifo against a queue.

#include <gtest/gtest.h>

#include <deque>

#include "Vcu_fifo_test_model.h"
#include "Vcu_ram_fifo_test_model.h"
#include "testbench.h"

namespace sluice::dv {
namespace {

constexpr size_t kDepth = 12;

template <typename Model>
class Fifo : public ::testing::Test {};
using Models = ::testing::Types<Vcu_fifo_test_model, Vcu_ram_fifo_test_model>;
TYPED_TEST_SUITE(Fifo, Models);

TYPED_TEST(Fifo, KeepsOrderAtEveryFillAndRate) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  Testbench<TypeParam> tb;
  tb->wvalid_i = tb->rready_i = 0;
  tb.Reset();
  std::deque<uint64_t> queue;
  uint64_t moved = 0;
  bool filled = false;
  for (int phase = 0; phase < 60; ++phase) {
    const unsigned in = phase % 5 == 0 ? 100 : rng() % 101;
    const unsigned out = phase % 7 == 0 ? 100 : rng() % 101;
    for (int i = 0; i < 200; ++i) {
      tb->wvalid_i = Chance(rng, in);
      tb->wdata_i = rng() & 0xff'ffff'ffff;
      tb->rready_i = Chance(rng, out);
      tb.Settle();
      ASSERT_EQ(tb->count_o, queue.size());
      ASSERT_EQ(tb->wready_o, queue.size() < kDepth);
      if (tb->rvalid_o) {
        ASSERT_FALSE(queue.empty());
        ASSERT_EQ(tb->rdata_o, queue.front());
      }
      const bool push = tb->wvalid_i && tb->wready_o;
      if (tb->rvalid_o && tb->rready_i) {
        queue.pop_front();
        ++moved;
      }
      if (push) {
        queue.push_back(tb->wdata_i);
      }
      filled |= queue.size() == kDepth;
      tb.Tick();
    }
  }
  EXPECT_GT(moved, 1000u);
  EXPECT_TRUE(filled);
}

TYPED_TEST(Fifo, OneWordPerCycle) {
  Testbench<TypeParam> tb;
  tb->wvalid_i = tb->rready_i = 0;
  tb.Reset();
  uint64_t read = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    tb->wvalid_i = 1;
    tb->wdata_i = i;
    tb->rready_i = 1;
    tb.Settle();
    ASSERT_TRUE(tb->wready_o);
    if (tb->rvalid_o) {
      ASSERT_EQ(tb->rdata_o, read++);
    }
    tb.Tick();
  }
  EXPECT_GE(read, 998u) << "one word per cycle after two cycles at most";
}

}  // namespace
}  // namespace sluice::dv
