// The encoder's blocks, read by the library, and byte for byte what CompressAsUnits makes; raw ones
// where that is the rule; and how small and how fast they become.
//
// SLUICE_ROUNDS=N takes N times as many blocks.

#include "table/snappy_encoder.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include <iomanip>

#include "../write/streams.h"
#include "Vsnappy_encoder_16_1024_0.h"
#include "Vsnappy_encoder_16_1024_3.h"
#include "Vsnappy_encoder_16_8192_0.h"
#include "Vsnappy_encoder_16_8192_4.h"
#include "Vsnappy_encoder_64_65536_0.h"
#include "samples.h"
#include "util/crc32c.h"

namespace sluice::dv {
namespace {

template <typename M, size_t width, size_t block_bytes, bool stage = false>
struct Shape {
  using Model = M;
  static constexpr size_t kWidth = width;
  static constexpr size_t kBlockBytes = block_bytes;
  static constexpr bool kStage = stage;
};

struct Stored {
  std::string bytes;
  bool raw = false;
  uint8_t token = 0;
};

struct Word {
  Beat beat;
  bool raw;

  bool operator==(const Word&) const = default;
};

template <typename S>
class SnappyEncoder : public testing::Test, protected Randomised {
 protected:
  static constexpr size_t kWidth = S::kWidth;

  // Samples, what copies of all kinds decompress to, runs of one byte: of what pads the last row,
  // and as long as what is left of a copy that takes two.
  std::string AnyBlock() {
    const size_t most = rng_() % 8 == 0 ? 3 * S::kBlockBytes / 2 : rng_() % 4 == 0 ? 40 : 600;
    const size_t size = 1 + rng_() % most;
    switch (rng_() % 8) {
      case 0:
        return std::string(rng_() % 2 == 0 ? size : 60 + rng_() % 20,
                           rng_() % 2 == 0 ? '\0' : static_cast<char>(rng_()));
      case 1:
      case 2: {
        const std::string odd = OddBlock(1 + rng_() % 40, kWidth, S::kBlockBytes, &rng_);
        std::string block;
        EXPECT_TRUE(snappy::Uncompress(odd.data(), odd.size(), &block));
        return block;
      }
      case 3: {
        std::string block = Bytes(size);
        for (char& byte : block) byte = static_cast<char>(byte & 1);
        return block;
      }
      default:
        return Sample(kKinds[rng_() % 4], size, &rng_);
    }
  }

  void Compare(const std::string& block, const Stored& stored) {
    std::string expected;
    const bool pays = CompressAsUnits(block, &expected, S::kBlockBytes);
    EXPECT_NE(pays, stored.raw);
    EXPECT_TRUE(stored.raw || stored.bytes == expected);
    if (stored.raw) {
      EXPECT_TRUE(stored.bytes == block);
      // What is wrong with a match can also make a block long: a run is short.
      const bool run = block.size() >= 40 && block.find_first_not_of(block[0]) == std::string::npos;
      EXPECT_TRUE(!run || block.size() > S::kBlockBytes);
      return;
    }
    EXPECT_LE(block.size(), S::kBlockBytes);
    EXPECT_LT(stored.bytes.size(), block.size() - block.size() / 8);
    std::string bytes;
    EXPECT_TRUE(snappy::Uncompress(stored.bytes.data(), stored.bytes.size(), &bytes));
    EXPECT_TRUE(bytes == block);
  }

  // Passes `blocks` through, empty ones as tokens, and appends them as they are stored to `all`.
  // The cycles that it takes.
  uint64_t Run(const std::vector<std::string>& blocks, unsigned in_percent, unsigned out_percent,
               std::vector<Stored>* all) {
    Testbench<typename S::Model> dut(1 + static_cast<int>(rng_() % 1000));
    dut->in_valid_i = dut->out_ready_i = 0;
    dut.Reset();
    // Tables are cleared once, which is no part of a block's time.
    for (int i = 0; i < 600; ++i) {
      dut.Settle();
      dut.Tick();
    }
    Source<Beat> source;
    for (const std::string& block : blocks) {
      const std::vector<std::string> beats = Beats(block, kWidth);
      for (size_t i = 0; i < beats.size(); ++i) {
        const bool last = i + 1 == beats.size();
        source.Push({beats[i], last, block.empty() ? kTableEnd : uint8_t{0}});
      }
    }
    Sink<Word> sink;
    Stored stored;
    size_t seen = 0, idle = 0;
    const size_t first = all->size();
    const uint64_t start = dut.cycle();
    for (; all->size() < first + blocks.size() && idle < 100'000; ++idle) {
      DriveBeat(dut, source, rng_, in_percent);
      dut->out_ready_i = sink.Drive(rng_, out_percent);
      dut.Settle();
      sink.Sample(dut->out_valid_o, {OutBeat<kWidth>(dut), dut->out_raw_o != 0});
      if (dut->in_valid_i && dut->in_ready_o) {
        source.Taken();
        idle = 0;
      }
      for (; seen < sink.items().size(); ++seen) {
        const Word& word = sink.items()[seen];
        EXPECT_TRUE(word.beat.last || word.beat.data.size() == kWidth);
        EXPECT_TRUE(stored.bytes.empty() || stored.raw == word.raw);
        stored.raw = word.raw;
        stored.bytes += word.beat.data;
        stored.token = word.beat.token;
        idle = 0;
        if (word.beat.last) {
          const std::string& block = blocks[all->size() - first];
          SCOPED_TRACE("block " + std::to_string(all->size() - first));
          Compare(block, stored);
          EXPECT_EQ(stored.token, block.empty() ? kTableEnd : 0);
          all->push_back(std::move(stored));
          stored = {};
        }
      }
      dut.Tick();
    }
    EXPECT_EQ(all->size(), first + blocks.size());
    EXPECT_TRUE(sink.stable());
    const uint64_t cycles = dut.cycle() - start;
    // The CRC of a last block of a few bytes comes after that block.
    dut->in_valid_i = 0;
    for (int i = 0; i < 16; ++i) {
      dut.Settle();
      dut.Tick();
    }
    uint64_t sum = 0;
    for (const std::string& block : blocks) {
      if (S::kStage && !block.empty()) sum += Crc32c(block + '\0');
    }
    EXPECT_EQ(dut->content_sum_o, sum);
    return cycles;
  }
};

// Encoders alone, and stages of several.
using Shapes = testing::Types<
    Shape<Vsnappy_encoder_16_1024_0, 16, 1024>, Shape<Vsnappy_encoder_16_8192_0, 16, 8192>,
    Shape<Vsnappy_encoder_64_65536_0, 64, 65536>, Shape<Vsnappy_encoder_16_1024_3, 16, 1024, true>,
    Shape<Vsnappy_encoder_16_8192_4, 16, 8192, true>>;
TYPED_TEST_SUITE(SnappyEncoder, Shapes);

TYPED_TEST(SnappyEncoder, AnyBlocks) {
  for (int round = 0; round < TestRounds(10); ++round) {
    SCOPED_TRACE(this->Trace(round));
    std::vector<std::string> blocks(20);
    for (std::string& block : blocks) {
      if (this->rng_() % 8 != 0) block = this->AnyBlock();
    }
    std::vector<Stored> stored;
    this->Run(blocks, this->Pressure(), this->Pressure(), &stored);
    if (this->HasFailure()) return;
  }
}

// Whatever came before, even as many blocks as there are epochs: a block is always stored in the
// same way.
TYPED_TEST(SnappyEncoder, ABlockDecides) {
  std::vector<std::string> blocks(600);
  for (std::string& block : blocks) {
    block = Sample(kKinds[this->rng_() % 2], 50 + this->rng_() % 100, &this->rng_);
  }
  for (size_t i = 1; i < blocks.size(); i += 20) blocks[i] = blocks[1];
  std::vector<Stored> stored;
  this->Run(blocks, 100, 100, &stored);
  ASSERT_EQ(stored.size(), blocks.size());
  for (size_t i = 1; i < blocks.size(); i += 20) {
    EXPECT_TRUE(stored[i].bytes == stored[1].bytes) << i << ", " << this->Trace(0);
  }
}

// Within a tenth of what the library makes of it, and close to the four bytes per cycle of a matcher.
template <typename S>
class SnappyEncoderRate : public SnappyEncoder<S> {
 protected:
  void ExpectRate(double least) {
    this->rng_.seed(1);
    std::cout << "| data | block | stored / raw | of the library's | in B/cycle |\n"
              << std::setprecision(3);
    for (const size_t size : {4096, 8192}) {
      for (const Kind kind : kKinds) {
        std::vector<std::string> blocks((1 << 19) / size);
        size_t library = 0, ours = 0;
        for (std::string& block : blocks) {
          block = Sample(kind, size, &this->rng_);
          std::string bytes;
          snappy::Compress(block.data(), block.size(), &bytes);
          library += bytes.size() < size - size / 8 ? bytes.size() : size;
        }
        std::vector<Stored> stored;
        const auto cycles = static_cast<double>(this->Run(blocks, 100, 100, &stored));
        for (const Stored& each : stored) ours += each.bytes.size();
        const auto in = static_cast<double>(size * blocks.size());
        const double ratio = static_cast<double>(ours) / static_cast<double>(library);
        std::cout << "| " << KindName(kind) << " | " << size << " | "
                  << static_cast<double>(ours) / in << " | " << ratio << " | " << in / cycles
                  << " |\n";
        EXPECT_LE(ratio, 1.1) << KindName(kind);
        EXPECT_GE(in / cycles, least) << KindName(kind);
      }
    }
  }
};

using OneEncoder = SnappyEncoderRate<Shape<Vsnappy_encoder_16_8192_0, 16, 8192>>;
TEST_F(OneEncoder, OfBlocks) { ExpectRate(3.6); }

// The first block leaves when all of it has been compressed: 1 % of the time.
using FourEncoders = SnappyEncoderRate<Shape<Vsnappy_encoder_16_8192_4, 16, 8192, true>>;
TEST_F(FourEncoders, OfBlocks) { ExpectRate(14); }

}  // namespace
}  // namespace sluice::dv
