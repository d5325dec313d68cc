// Remainders by every divisor that there can be, of numbers where the estimated quotient could go
// wrong: around multiples of the divisor, small ones and the largest, and at both ends.

#include <gtest/gtest.h>

#include <deque>

#include "../write/streams.h"
#include "Vbloom_remainder.h"

namespace sluice::dv {
namespace {

constexpr uint32_t kNumbers = 1u << 29;
constexpr size_t kSteps = 6;

class BloomRemainder : public testing::Test, protected Randomised {
 protected:
  std::vector<uint32_t> Numbers(uint32_t divisor) {
    std::vector<uint32_t> numbers = {0, 1, kNumbers - 1, kNumbers / 2};
    const uint32_t most = (kNumbers - 1) / divisor;
    for (const uint32_t factor : {uint32_t{1}, uint32_t{2}, most / 2, most - 1, most,
                                  static_cast<uint32_t>(rng_() % most)}) {
      for (const uint32_t around : {divisor * factor - 1, divisor * factor, divisor * factor + 1}) {
        numbers.push_back(around % kNumbers);
      }
    }
    for (int i = 0; i < 8; ++i) numbers.push_back(static_cast<uint32_t>(rng_() % kNumbers));
    return numbers;
  }
};

TEST_F(BloomRemainder, IsExact) {
  Testbench<Vbloom_remainder> dut;
  dut->start_i = dut->step_i = 0;
  dut.Reset();
  const auto tick = [&] {
    dut.Settle();
    dut.Tick();
  };
  for (uint32_t divisor = 8; divisor <= 4096; ++divisor) {
    dut->divisor_i = divisor;
    dut->start_i = 1;
    tick();
    dut->start_i = 0;
    dut.Settle();
    for (int i = 0; dut->busy_o && i < 100; ++i) {
      tick();
      dut.Settle();
    }
    ASSERT_EQ(dut->rest_o, kNumbers % divisor) << divisor;
    std::deque<uint32_t> under_way;
    std::vector<uint32_t> numbers = Numbers(divisor);
    numbers.resize(numbers.size() + kSteps);
    for (size_t i = 0; i < numbers.size();) {
      dut->step_i = Chance(rng_, 80);
      dut->number_i = numbers[i];
      if (dut->step_i) {
        if (under_way.size() == kSteps) {
          dut.Settle();
          ASSERT_EQ(dut->remainder_o, under_way.front() % divisor)
              << under_way.front() << " by " << divisor << ", " << Trace(0);
          under_way.pop_front();
        }
        under_way.push_back(numbers[i++]);
      }
      tick();
    }
  }
}

}  // namespace
}  // namespace sluice::dv
