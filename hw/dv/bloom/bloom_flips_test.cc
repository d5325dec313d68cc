// Bit flips in cu_bloom_stage: in each of many runs a random bit of a random register or memory is
// inverted in a random cycle. A filter that is not LevelDB's must come with stray_o, or not at all.

#include <gtest/gtest.h>

#include <map>

#include "../flip/registers.h"
#include "Vbloom_flips.h"
#include "filters.h"

namespace sluice::dv {
namespace {

class BloomFlips : public testing::Test, protected Randomised {
 protected:
  using Stage = BloomStage<Vbloom_flips, 8>;
  static constexpr unsigned kBits = 10;
  // Waiting comes before the job's end; an error may be two cycles late.
  static constexpr uint64_t kWait = 3000, kLate = 4;

  enum Outcome { kHarmless, kDetected, kStopped, kSilent, kOutcomes };

  BloomFlips() {
    std::mt19937_64 rng(7);
    for (const size_t n : {20, 64, 1, 33, 5, 40}) {
      Keys& keys = blocks_.emplace_back();
      while (keys.size() < n) keys.push_back(Bytes(rng() % (rng() % 8 == 0 ? 200 : 24)));
      filters_.push_back(SealedFilter(keys, kBits));
    }
  }

  // What becomes of a flip of `bit` of `reg` in a cycle; of none if that never comes.
  Outcome Run(size_t reg, size_t bit, uint64_t cycle) {
    Stage& stage = stage_;
    stage.Reset();
    for (const Keys& keys : blocks_) stage.Push(keys);
    stage.PushEnd();
    const uint64_t most = cycles_ == 0 ? UINT64_MAX : cycles_ + kWait;
    std::mt19937_64 rng(1);
    while (!stage.ended() && stage.cycle() < most) {
      if (stage.cycle() == cycle) registers_[reg].Flip(bit);
      stage.Cycle(rng, 80, 80);
    }
    if (cycles_ == 0) cycles_ = stage.cycle();
    const uint64_t end = stage.cycle() + kLate;
    while (stage.cycle() < end) stage.Cycle(rng, 100, 100);
    if (stage->stray_o || stage->overflow_o) return kDetected;
    if (stage.ended() && stage.sound() && stage.filters() == filters_) return kHarmless;
    return !stage.ended() && stage.filters().size() <= filters_.size() &&
                   std::equal(stage.filters().begin(), stage.filters().end(), filters_.begin())
               ? kStopped
               : kSilent;
  }

  Stage stage_{kBits};
  std::vector<Register> registers_ = Registers(stage_.context());
  std::vector<Keys> blocks_;
  std::vector<std::string> filters_;
  uint64_t cycles_ = 0;  // that a run takes
};

TEST_F(BloomFlips, AreNotSilent) {
  ASSERT_EQ(Run(0, 0, UINT64_MAX), kHarmless);
  ASSERT_GT(registers_.size(), 200U);
  std::map<Outcome, int> count;
  for (int i = 0; i < TestRounds(600); ++i) {
    const size_t reg = rng_() % registers_.size();
    const size_t bit = rng_() % registers_[reg].bits();
    const uint64_t cycle = rng_() % cycles_;
    const Outcome outcome = Run(reg, bit, cycle);
    ++count[outcome];
    EXPECT_NE(outcome, kSilent) << Trace(i) << ": " << registers_[reg].path << " bit " << bit
                                << ", cycle " << cycle;
  }
  std::cout << registers_.size() << " registers, " << cycles_ << " cycles: " << count[kHarmless]
            << " harmless, " << count[kDetected] << " detected, " << count[kStopped] << " stopped, "
            << count[kSilent] << " silent\n";
  EXPECT_GT(count[kDetected], 0);
}

}  // namespace
}  // namespace sluice::dv
