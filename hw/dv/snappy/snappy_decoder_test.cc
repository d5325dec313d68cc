// The decoder against the library: what it compressed, blocks in every form that the format allows,
// and damaged ones, of which the library says whether they are valid. And how fast it is.
//
// SLUICE_ROUNDS=N takes N times as many blocks.

#include <gtest/gtest.h>
#include <snappy.h>

#include <bit>
#include <iomanip>

#include "../write/streams.h"
#include "Vsnappy_decoder_16_1024.h"
#include "Vsnappy_decoder_16_65536.h"
#include "Vsnappy_decoder_64_512.h"
#include "Vsnappy_decoder_8_64.h"
#include "reference.h"
#include "samples.h"

namespace sluice::dv {
namespace {

template <typename M, size_t width, size_t history>
struct Shape {
  using Model = M;
  static constexpr size_t kWidth = width;
  static constexpr size_t kHistory = history;
};

struct Block {
  std::string bytes;
  bool raw = false;
};

struct Chunk {
  std::string data;
  bool first;
  bool last;
  uint8_t lane;
};

struct Out {
  std::string data;
  bool last;
  Verdict verdict;

  bool operator==(const Out&) const = default;
};

// The chunks of a block that begins in any lane and has bytes behind it, as a trailer is.
std::vector<Chunk> Chunks(const Block& block, size_t lane, const std::string& behind,
                          size_t width) {
  std::string bytes = std::string(lane, '\x5a') + block.bytes + behind;
  bytes.resize((std::max<size_t>(bytes.size(), 1) + width - 1) / width * width, '\xa5');
  std::vector<Chunk> chunks;
  for (size_t at = 0; at < bytes.size(); at += width) {
    chunks.push_back(
        {bytes.substr(at, width), at == 0, at + width == bytes.size(), static_cast<uint8_t>(lane)});
  }
  return chunks;
}

template <typename S>
class SnappyDecoder : public testing::Test, protected Randomised {
 protected:
  static constexpr size_t kWidth = S::kWidth;

  static Decoded Expected(const Block& block) {
    if (block.raw) {
      return {Verdict::kWhole, block.bytes};
    }
    const Decoded reference = SnappyDecode(block.bytes, S::kHistory);
    const Decoded unbounded = SnappyDecode(block.bytes, SIZE_MAX);
    const bool valid = snappy::IsValidCompressedBuffer(block.bytes.data(), block.bytes.size());
    EXPECT_EQ(valid, unbounded.verdict == Verdict::kWhole);
    if (valid) {
      std::string bytes;
      EXPECT_TRUE(snappy::Uncompress(block.bytes.data(), block.bytes.size(), &bytes));
      EXPECT_TRUE(bytes == unbounded.bytes);
    }
    return reference;
  }

  // Compressed by the library, raw, or made up; half of the blocks are damaged if `damage`.
  Block AnyBlock(bool damage) {
    const size_t most = rng_() % 200 == 0 ? 200'000 : rng_() % 8 == 0 ? 5000 : 400;
    Block block;
    switch (rng_() % 8) {
      case 0:
        block.raw = true;
        block.bytes = Bytes(rng_() % most);
        return block;
      case 1:
      case 2:
      case 3: {
        const std::string sample = Sample(kKinds[rng_() % 4], rng_() % most, &rng_);
        snappy::Compress(sample.data(), sample.size(), &block.bytes);
        break;
      }
      default:
        block.bytes = OddBlock(rng_() % (most / 10), kWidth, S::kHistory, &rng_);
    }
    if (damage && rng_() % 2 == 0) Damage(&block.bytes, &rng_);
    return block;
  }

  void Compare(const Block& block, const std::vector<Out>& beats, uint32_t length) {
    const Decoded expected = Expected(block);
    std::string bytes;
    for (const Out& beat : beats) {
      EXPECT_TRUE(beat.last || beat.data.size() == kWidth);
      bytes += beat.data;
    }
    EXPECT_EQ(beats.back().verdict, expected.verdict);
    if (expected.verdict == Verdict::kWhole) {
      EXPECT_TRUE(bytes == expected.bytes);
      EXPECT_EQ(length, expected.bytes.size());
      EXPECT_TRUE(bytes.empty() || !beats.back().data.empty());
    } else {
      EXPECT_TRUE(expected.bytes.compare(0, bytes.size(), bytes) == 0);
    }
  }

  // Passes `blocks` through; the cycles from the first chunk to the last.
  uint64_t Run(const std::vector<Block>& blocks, unsigned block_percent, unsigned in_percent,
               unsigned out_percent) {
    Testbench<typename S::Model> dut(1 + static_cast<int>(rng_() % 1000));
    dut->block_valid_i = dut->chunk_valid_i = dut->out_ready_i = 0;
    dut.Reset();
    Source<Block> descriptors;
    Source<Chunk> chunks;
    Sink<Out> sink;
    for (const Block& block : blocks) {
      descriptors.Push(block);
      for (Chunk& chunk : Chunks(block, rng_() % kWidth, Bytes(rng_() % 10), kWidth)) {
        chunks.Push(std::move(chunk));
      }
    }
    std::vector<Out> beats;
    std::vector<uint32_t> lengths;
    size_t done = 0, idle = 0, seen = 0;
    const uint64_t start = dut.cycle();
    for (; done < blocks.size() && idle < 10'000; ++idle) {
      dut->block_valid_i = descriptors.Offer(rng_, block_percent);
      if (dut->block_valid_i) {
        dut->block_bytes_i = descriptors.front().bytes.size();
        dut->block_raw_i = descriptors.front().raw;
      }
      dut->chunk_valid_i = chunks.Offer(rng_, in_percent);
      if (dut->chunk_valid_i) {
        const Chunk& chunk = chunks.front();
        SetBytes(dut->chunk_data_i, chunk.data);
        dut->chunk_first_i = chunk.first;
        dut->chunk_last_i = chunk.last;
        dut->chunk_lane_i = chunk.lane;
      }
      dut->out_ready_i = sink.Drive(rng_, out_percent);
      dut.Settle();
      sink.Sample(dut->out_valid_o, OutOf(dut));
      EXPECT_FALSE(dut->parity_error_o);
      if (dut->length_valid_o) lengths.push_back(dut->length_o);
      if (dut->block_valid_i && dut->block_ready_o) descriptors.Taken();
      if (dut->chunk_valid_i && dut->chunk_ready_o) {
        chunks.Taken();
        idle = 0;
      }
      for (; seen < sink.items().size(); ++seen) {
        idle = 0;
        beats.push_back(sink.items()[seen]);
        if (beats.back().last) {
          SCOPED_TRACE("block " + std::to_string(done));
          // The length comes first: one of each block.
          EXPECT_GT(lengths.size(), done);
          Compare(blocks[done], beats, done < lengths.size() ? lengths[done] : 0);
          ++done;
          beats.clear();
        }
      }
      dut.Tick();
    }
    EXPECT_EQ(done, blocks.size());
    EXPECT_EQ(lengths.size(), blocks.size());
    EXPECT_TRUE(sink.stable());
    EXPECT_TRUE(descriptors.empty());
    return dut.cycle() - start;
  }

  static unsigned Parity(const std::string& bytes) {
    int ones = 0;
    for (const char byte : bytes) ones += std::popcount(static_cast<uint8_t>(byte));
    return static_cast<unsigned>(ones % 2);
  }

  template <typename Dut>
  static Out OutOf(Dut& dut) {
    const size_t bytes = std::min<size_t>(dut->out_bytes_o, kWidth);
    const std::string all = GetBytes(dut->out_data_o, kWidth);
    if (dut->out_valid_o) {
      EXPECT_EQ(all.find_first_not_of('\0', bytes), std::string::npos);
      EXPECT_EQ(dut->out_parity_o, Parity(all));
    }
    return {all.substr(0, bytes), dut->out_last_o != 0,
            !dut->out_last_o     ? Verdict::kWhole
            : dut->out_far_o     ? Verdict::kFar
            : dut->out_corrupt_o ? Verdict::kCorrupt
                                 : Verdict::kWhole};
  }
};

using Shapes =
    testing::Types<Shape<Vsnappy_decoder_8_64, 8, 64>, Shape<Vsnappy_decoder_16_1024, 16, 1024>,
                   Shape<Vsnappy_decoder_16_65536, 16, 65536>,
                   Shape<Vsnappy_decoder_64_512, 64, 512>>;
TYPED_TEST_SUITE(SnappyDecoder, Shapes);

TYPED_TEST(SnappyDecoder, AnyBlocks) {
  for (int round = 0; round < TestRounds(50); ++round) {
    SCOPED_TRACE(this->Trace(round));
    const bool damage = round % 4 != 0;
    std::vector<Block> blocks(50);
    for (Block& block : blocks) block = this->AnyBlock(damage);
    this->Run(blocks, this->Pressure(), this->Pressure(), this->Pressure());
    if (this->HasFailure()) return;
  }
}

// At least 6.6 bytes per cycle come out at V = 16, with the time between blocks (docs/hardware.md);
// from longer blocks of text, whose copies are shorter, a little less.
class SnappyDecoderRate : public SnappyDecoder<Shape<Vsnappy_decoder_16_65536, 16, 65536>> {};

TEST_F(SnappyDecoderRate, OfBlocks) {
  rng_.seed(1);
  std::cout << "| data | block | ratio | in B/cycle | out B/cycle |\n" << std::setprecision(3);
  for (const size_t size : {4096, 65536}) {
    for (const Kind kind : kKinds) {
      std::vector<Block> blocks(1 + (1 << 19) / size);
      size_t in = 0;
      for (Block& block : blocks) {
        const std::string sample = Sample(kind, size, &rng_);
        snappy::Compress(sample.data(), sample.size(), &block.bytes);
        in += block.bytes.size();
      }
      const auto out = static_cast<double>(size * blocks.size());
      const auto cycles = static_cast<double>(Run(blocks, 100, 100, 100));
      std::cout << "| " << KindName(kind) << " | " << size << " | " << static_cast<double>(in) / out
                << " | " << static_cast<double>(in) / cycles << " | " << out / cycles << " |\n";
      const double least = size == 4096 ? 6.6 : 6.0;
      EXPECT_GE(out / cycles, least) << KindName(kind) << ", " << Trace(0);
    }
  }
}

}  // namespace
}  // namespace sluice::dv
