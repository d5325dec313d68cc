#include "table/snappy_encoder.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include <string>

#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Passages of earlier bytes, from any place on, between others of their own.
std::string Repetitive(TestRandom* random, size_t bytes) {
  const uint64_t letters = Uniform(random, 0, 2) == 0 ? 1 : 255;
  std::string block;
  while (block.size() < bytes) {
    for (size_t n = SkewedSize(random, 700); n > 0; --n) {
      block += static_cast<char>(Uniform(random, 0, letters));
    }
    if (!block.empty()) {
      const size_t from = Uniform(random, 0, block.size() - 1);
      for (size_t i = from, n = SkewedSize(random, 300); i < from + n; ++i) {
        block += block[i];
      }
    }
  }
  block.resize(bytes);
  return block;
}

TEST(SnappyEncoder, TheLibraryReadsIt) {
  TestRandom random(TestSeed());
  std::string stored;
  std::string back;
  size_t compressed = 0;
  for (int round = 0; round < 3000; ++round) {
    const size_t most = size_t{1} << Uniform(&random, 7, 16);
    const std::string block = Repetitive(&random, 1 + SkewedSize(&random, most - 1));
    if (CompressAsUnits(block, &stored, most)) {
      ++compressed;
      ASSERT_LT(stored.size(), block.size() - block.size() / 8);
    }
    // What does not pay is Snappy's, too.
    ASSERT_TRUE(snappy::Uncompress(stored.data(), stored.size(), &back)) << "round " << round;
    ASSERT_TRUE(back == block) << "round " << round;
  }
  EXPECT_GT(compressed, 300u);
}

TEST(SnappyEncoder, LeavesWhatIsTooLongOrDoesNotPay) {
  std::string stored;
  EXPECT_FALSE(CompressAsUnits({}, &stored));
  EXPECT_TRUE(CompressAsUnits(std::string(kMaxUnitSnappyBytes, 'a'), &stored));
  EXPECT_FALSE(CompressAsUnits(std::string(kMaxUnitSnappyBytes + 1, 'a'), &stored));
  TestRandom random(TestSeed());
  std::string noise(4096, '\0');
  for (char& byte : noise) {
    byte = static_cast<char>(Uniform(&random, 0, 255));
  }
  EXPECT_FALSE(CompressAsUnits(noise, &stored));
  const std::string run(64, '\0');
  ASSERT_TRUE(CompressAsUnits(run, &stored));
  const size_t saved = run.size() - stored.size();
  // An eighth of 8 n bytes is n of them, and literals have a header.
  EXPECT_FALSE(CompressAsUnits(run + noise.substr(0, 7 * saved), &stored));
  EXPECT_TRUE(CompressAsUnits(run + noise.substr(0, 6 * saved - 30), &stored));
}

TEST(SnappyEncoder, IsAsSmallAsTheLibrary) {
  // Half of it repeated, as db_bench's values; and records of text.
  TestRandom random(TestSeed());
  size_t ours = 0;
  size_t theirs = 0;
  for (int round = 0; round < 200; ++round) {
    std::string block;
    while (block.size() < 4096) {
      if (round % 2 == 0) {
        std::string half(50, '\0');
        for (char& byte : half) {
          byte = static_cast<char>(Uniform(&random, 32, 126));
        }
        block += half + half;
      } else {
        const std::string id = std::to_string(Uniform(&random, 0, 1'000'000));
        block += "{\"id\":" + id + ",\"email\":\"user" + id +
                 "@example.com\",\"score\":" + std::to_string(Uniform(&random, 0, 10'000)) + "}\n";
      }
    }
    std::string stored;
    ASSERT_TRUE(CompressAsUnits(block, &stored));
    ours += stored.size();
    snappy::Compress(block.data(), block.size(), &stored);
    theirs += stored.size();
  }
  EXPECT_LE(static_cast<double>(ours), 1.1 * static_cast<double>(theirs));
}

}  // namespace
}  // namespace sluice
