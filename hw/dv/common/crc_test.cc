// The CRC matrices against the software CRC32C: messages of every length, starting at every lane.

#include <gtest/gtest.h>

#include <memory>

#include "Vcrc_bench_16.h"
#include "Vcrc_bench_64.h"
#include "Vcrc_bench_8.h"
#include "testbench.h"
#include "util/crc32c.h"

namespace sluice::dv {
namespace {

// At most: cu_crc_pkg::unwind_cycles(64).
constexpr int kUnwindCycles = 3;

// As the unit computes it: from state zero, the first four bytes inverted, zeros around the
// message.
template <typename Model>
uint32_t HardwareCrc(Model& model, std::string message, size_t lane, size_t width) {
  for (size_t i = 0; i < 4; ++i) {
    message[i] = static_cast<char>(~message[i]);
  }
  std::string padded = std::string(lane, '\0') + message;
  const size_t zeros = (width - padded.size() % width) % width;
  padded.resize(padded.size() + zeros);
  model.state_i = 0;
  for (size_t at = 0; at < padded.size(); at += width) {
    SetBytes(model.word_i, std::string_view(padded).substr(at, width));
    model.zeros_i = at + width == padded.size() ? static_cast<uint8_t>(zeros) : 0;
    model.eval();
    if (at + width < padded.size()) model.state_i = model.step_o;
  }
  for (int cycle = 0; cycle < kUnwindCycles; ++cycle) {
    for (const int clock : {0, 1}) {
      model.clk_i = clock;
      model.eval();
    }
  }
  return model.crc_o;
}

template <typename Model>
void CompareAll(size_t width) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  Model model;
  for (size_t lane = 0; lane < width; ++lane) {
    for (size_t bytes = 4; bytes < 3 * width + 5; ++bytes) {
      std::string message(bytes, '\0');
      for (char& c : message) {
        c = static_cast<char>(rng());
      }
      ASSERT_EQ(HardwareCrc(model, message, lane, width), Crc32c(message))
          << bytes << " bytes from lane " << lane;
    }
  }
}

TEST(Crc, Width8) { CompareAll<Vcrc_bench_8>(8); }
TEST(Crc, Width16) { CompareAll<Vcrc_bench_16>(16); }
TEST(Crc, Width64) { CompareAll<Vcrc_bench_64>(64); }

}  // namespace
}  // namespace sluice::dv
