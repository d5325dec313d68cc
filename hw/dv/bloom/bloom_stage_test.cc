// The stage against the library: keys of all lengths, blocks of all sizes, all numbers of bits per
// key; what is too much for it; and how fast it is.
//
// SLUICE_ROUNDS=N takes N times as many blocks.

#include <gtest/gtest.h>

#include <iomanip>

#include "Vbloom_stage_16_2048_4096_6.h"
#include "Vbloom_stage_64_256_1024_9.h"
#include "Vbloom_stage_8_64_256_2.h"
#include "filters.h"

namespace sluice::dv {
namespace {

constexpr size_t kMaxKeyBytes = 1024;

template <typename M, size_t width, size_t keys, size_t bytes>
struct Shape {
  using Model = M;
  static constexpr size_t kWidth = width;
  static constexpr size_t kKeys = keys;
  static constexpr size_t kBytes = bytes;
};

template <typename S>
class Bloom : public testing::Test, protected Randomised {
 protected:
  using Stage = BloomStage<typename S::Model, S::kWidth>;

  static size_t MostKeys(unsigned bits_per_key) {
    return std::min(S::kKeys, 8 * S::kBytes / bits_per_key);
  }

  // Short ones mostly, of lengths around words and beats, or any; some are the same.
  Keys AnyKeys(size_t n) {
    Keys keys;
    const uint64_t kind = rng_() % 4;
    const size_t same = rng_() % 100;
    while (keys.size() < n) {
      size_t size = kind == 0 ? same : rng_() % 40;
      if (kind == 1 || rng_() % 32 == 0) size = rng_() % (kMaxKeyBytes + 1);
      if (kind == 2) size = rng_() % 8 * S::kWidth + rng_() % 3;
      keys.push_back(keys.empty() || rng_() % 16 != 0 ? Bytes(size) : keys.back());
    }
    return keys;
  }

  void Compare(const std::vector<Keys>& blocks, unsigned bits_per_key, Stage& stage) {
    EXPECT_TRUE(stage.sound());
    EXPECT_FALSE(stage->stray_o);
    EXPECT_FALSE(stage->overflow_o);
    ASSERT_EQ(stage.filters().size(), blocks.size());
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_TRUE(stage.filters()[i] == SealedFilter(blocks[i], bits_per_key))
          << "block " << i << " of " << blocks[i].size() << " keys, " << bits_per_key
          << " bits per key";
    }
  }

  void Check(const std::vector<Keys>& blocks, unsigned bits_per_key, unsigned in_percent,
             unsigned out_percent) {
    Stage stage(bits_per_key);
    for (const Keys& keys : blocks) stage.Push(keys);
    stage.PushEnd();
    stage.Run(blocks.size(), rng_, in_percent, out_percent);
    // Nothing follows but the end.
    for (int i = 0; i < 2000; ++i) stage.Cycle(rng_, 100, 100);
    Compare(blocks, bits_per_key, stage);
    EXPECT_TRUE(stage.ended());
  }
};

using Shapes = testing::Types<Shape<Vbloom_stage_16_2048_4096_6, 16, 2048, 4096>,
                              Shape<Vbloom_stage_8_64_256_2, 8, 64, 256>,
                              Shape<Vbloom_stage_64_256_1024_9, 64, 256, 1024>>;
TYPED_TEST_SUITE(Bloom, Shapes);

TYPED_TEST(Bloom, AnyBlocks) {
  for (int round = 0; round < TestRounds(10); ++round) {
    SCOPED_TRACE(this->Trace(round));
    const unsigned bits = 1 + this->rng_() % (this->rng_() % 4 == 0 ? 255 : 40);
    std::vector<Keys> blocks(1 + this->rng_() % 40);
    for (Keys& keys : blocks) {
      const size_t most = this->rng_() % 8 == 0 ? this->MostKeys(bits) : 20;
      keys = this->AnyKeys(1 + this->rng_() % std::min(most, this->MostKeys(bits)));
    }
    this->Check(blocks, bits, this->Pressure(), this->Pressure());
    if (this->HasFailure()) return;
  }
}

TYPED_TEST(Bloom, EveryLength) {
  std::vector<Keys> blocks(1);
  for (size_t size = 0; size <= kMaxKeyBytes; ++size) {
    if (blocks.back().size() == this->MostKeys(10)) blocks.emplace_back();
    blocks.back().push_back(this->Bytes(size));
  }
  this->Check(blocks, 10, 100, 100);
}

// Up to the most of keys and of bytes, and without any.
TYPED_TEST(Bloom, EveryCount) {
  std::vector<Keys> blocks;
  for (size_t n = 0; n <= 70; ++n) {
    blocks.push_back(this->AnyKeys(std::min(n, this->MostKeys(10))));
  }
  blocks.push_back(this->AnyKeys(this->MostKeys(10)));
  blocks.push_back(this->AnyKeys(1));
  this->Check(blocks, 10, 100, 100);
}

TYPED_TEST(Bloom, EveryNumberOfBits) {
  for (unsigned bits = 1; bits <= 255; ++bits) {
    std::vector<Keys> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(this->AnyKeys(1 + this->rng_() % 12));
    if (bits % 16 == 0) blocks.push_back(this->AnyKeys(this->MostKeys(bits)));
    for (Keys& keys : blocks) keys.resize(std::min(keys.size(), this->MostKeys(bits)));
    this->Check(blocks, bits, 100, 100);
    if (this->HasFailure()) return;
  }
}

// One key more, of the number or of the filter's bytes, than there is room for: the filters before
// leave, and then no more.
TYPED_TEST(Bloom, Overflow) {
  for (const unsigned bits : {1U, 10U, 40U, 255U}) {
    for (const bool ends : {false, true}) {
      typename TestFixture::Stage stage(bits);
      const std::vector<Keys> blocks = {this->AnyKeys(3), this->AnyKeys(this->MostKeys(bits))};
      for (const Keys& keys : blocks) stage.Push(keys);
      const Keys more = this->AnyKeys(this->MostKeys(bits) + 1);
      if (ends) {
        stage.Push(more);
      } else {
        stage.PushOpen(more);
      }
      stage.Push(this->AnyKeys(1));
      stage.PushEnd();
      stage.Run(3, this->rng_);
      EXPECT_TRUE(stage->overflow_o) << bits;
      EXPECT_FALSE(stage->stray_o);
      ASSERT_EQ(stage.filters().size(), 2U) << bits;
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_TRUE(stage.filters()[i] == SealedFilter(blocks[i], bits));
      }
      EXPECT_GT(stage.left(), 0U);
      EXPECT_FALSE(stage.ended());
      EXPECT_TRUE(stage.sound());
    }
  }
}

// At V = 16 and 10 bits per key: a key of 16 bytes in two cycles, and no record slower than the
// unit's contract, which leaves 2 cycles and those of user key and trailer to one without a value.
class BloomRate : public Bloom<Shape<Vbloom_stage_16_2048_4096_6, 16, 2048, 4096>> {
 protected:
  // Cycles for these blocks.
  double Cycles(const std::vector<Keys>& blocks) {
    Stage stage(10);
    for (const Keys& keys : blocks) stage.Push(keys);
    stage.Run(blocks.size(), rng_);
    Compare(blocks, 10, stage);
    return static_cast<double>(stage.cycle());
  }
  // From one block to the next, in the long run.
  double CyclesPerBlock(const std::vector<Keys>& some, const std::vector<Keys>& more) {
    return (Cycles(more) - Cycles(some)) / static_cast<double>(more.size() - some.size());
  }
  static double Contract(const Keys& keys) {
    double cycles = 0;
    for (const std::string& key : keys)
      cycles += 2.0 + static_cast<double>((key.size() + 8 + 15) / 16);
    return cycles;
  }
};

TEST_F(BloomRate, OfBlocks) {
  std::cout << "| key, bytes | keys of a block | cycles/key | contract |\n" << std::setprecision(3);
  for (const size_t size : {0, 8, 16, 24, 32, 64, 100, 256, 1000, 1024}) {
    for (const size_t block : {1024, 4096, 32768}) {
      const size_t n = std::max<size_t>(block / (size + 8 + 3), 1);
      if (n > 2048) continue;
      const Keys keys(n, Bytes(size));
      const size_t few = std::max<size_t>(600 / n, 2);
      const double cycles =
          CyclesPerBlock(std::vector<Keys>(few, keys), std::vector<Keys>(3 * few, keys)) /
          static_cast<double>(n);
      const double contract = Contract(keys) / static_cast<double>(n);
      std::cout << "| " << size << " | " << n << " | " << cycles << " | " << contract << " |\n";
      EXPECT_LE(cycles, contract) << size << " bytes, " << n << " keys";
      if (size == 16 && n > 30) {
        EXPECT_LE(cycles, 2.0) << n << " keys";
      }
    }
  }
}

// Lengths side by side: long keys must not hold up short ones.
TEST_F(BloomRate, OfMixedKeys) {
  for (const size_t percent : {2, 10, 50, 100}) {
    std::vector<Keys> blocks(60);
    double contract = 0;
    for (Keys& keys : blocks) {
      for (size_t bytes = 0; bytes < 4096; bytes += keys.back().size() + 11) {
        keys.push_back(Bytes(Chance(rng_, percent) ? rng_() % (kMaxKeyBytes + 1) : 16));
      }
      contract += Contract(keys);
    }
    const double cycles = Cycles(blocks);
    std::cout << percent << " % of any length: " << cycles / contract << " of the contract, "
              << Trace(0) << "\n";
    EXPECT_LE(cycles, contract + 2500) << percent;
  }
}

}  // namespace
}  // namespace sluice::dv
