// The packer against plain concatenation, and one chunk per cycle.

#include <gtest/gtest.h>

#include "Vbyte_packer_16.h"
#include "Vbyte_packer_64.h"
#include "Vbyte_packer_8.h"
#include "streams.h"

namespace sluice::dv {
namespace {

template <typename M, size_t bytes>
struct Shape {
  using Model = M;
  static constexpr size_t kBytes = bytes;
};

template <typename S>
class BytePacker : public testing::Test, protected Randomised {
 protected:
  // Chunks of blocks, some followed by tokens, some ended by a token alone.
  std::vector<Beat> Chunks(int blocks) {
    std::vector<Beat> chunks;
    for (int block = 0; block < blocks; ++block) {
      const size_t longest = rng_() % (S::kBytes + 1);
      for (size_t n = rng_() % 20; n > 0; --n) {
        const size_t length = rng_() % 3 == 0 ? S::kBytes : rng_() % (longest + 1);
        chunks.push_back({Bytes(length), false, 0});
      }
      if (rng_() % 3 != 0) {
        chunks.push_back({Bytes(1 + rng_() % S::kBytes), true, 0});
      }
      if (rng_() % 3 == 0) {
        chunks.push_back({"", true, static_cast<uint8_t>(1 + rng_() % 2)});
      }
    }
    chunks.push_back({"", true, kTaskEnd});
    return chunks;
  }

  static std::vector<Beat> Packed(const std::vector<Beat>& chunks) {
    std::vector<Beat> words;
    std::string held;
    for (const Beat& chunk : chunks) {
      held += chunk.data;
      while (held.size() > S::kBytes || (held.size() == S::kBytes && !chunk.last)) {
        words.push_back({held.substr(0, S::kBytes), false, 0});
        held.erase(0, S::kBytes);
      }
      if (chunk.last) {
        words.push_back({held, true, chunk.token});
        held.clear();
      }
    }
    return words;
  }

  // Passes `chunks` through; the cycles from the first taken to the last word taken.
  uint64_t Run(const std::vector<Beat>& chunks, unsigned in_percent, unsigned out_percent) {
    Testbench<typename S::Model> dut;
    dut->in_valid_i = dut->out_ready_i = 0;
    dut.Reset();
    Source<Beat> source;
    for (const Beat& chunk : chunks) source.Push(chunk);
    Sink<Beat> sink;
    const std::vector<Beat> expected = Packed(chunks);
    const uint64_t start = dut.cycle();
    for (size_t n = 0; n < 100 * chunks.size() && sink.items().size() < expected.size(); ++n) {
      DriveBeat(dut, source, rng_, in_percent);
      dut->out_ready_i = sink.Drive(rng_, out_percent);
      dut.Settle();
      sink.Sample(dut->out_valid_o, OutBeat<S::kBytes>(dut));
      if (dut->in_valid_i && dut->in_ready_o) source.Taken();
      dut.Tick();
    }
    EXPECT_TRUE(sink.items() == expected);
    EXPECT_TRUE(sink.stable());
    EXPECT_TRUE(source.empty());
    return dut.cycle() - start;
  }
};

using Shapes = testing::Types<Shape<Vbyte_packer_8, 8>, Shape<Vbyte_packer_16, 16>,
                              Shape<Vbyte_packer_64, 64>>;
TYPED_TEST_SUITE(BytePacker, Shapes);

TYPED_TEST(BytePacker, RandomChunks) {
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(this->Trace(round));
    this->Run(this->Chunks(20), this->Pressure(), this->Pressure());
    if (this->HasFailure()) return;
  }
}

// A chunk per cycle; another cycle only where a last chunk needs two words and no short chunk can
// be taken beside the second.
TYPED_TEST(BytePacker, OneChunkPerCycle) {
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(this->Trace(round));
    const std::vector<Beat> chunks = this->Chunks(50);
    uint64_t extra = 0;
    size_t held = 0;
    for (size_t i = 0; i < chunks.size(); ++i) {
      held += chunks[i].data.size();
      const bool spills = chunks[i].last && held > TypeParam::kBytes;
      held = chunks[i].last ? 0 : held % TypeParam::kBytes;
      extra += spills && i + 1 < chunks.size() &&
               (chunks[i + 1].last || chunks[i + 1].data.size() == TypeParam::kBytes);
    }
    EXPECT_EQ(this->Run(chunks, 100, 100), chunks.size() + extra + 1);
    if (this->HasFailure()) return;
  }
}

}  // namespace
}  // namespace sluice::dv
