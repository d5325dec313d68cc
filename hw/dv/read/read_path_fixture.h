// Random runs for the read path, and what must come out of it.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "read_path_driver.h"

namespace sluice::dv {

struct Shape {
  size_t min_key = 0;
  size_t max_key = 40;
  size_t max_value = 200;
  size_t block_bytes = 4096;
  unsigned restart_interval = 16;
  size_t records = 200;
  size_t tables = 1;
  unsigned padded_percent = 0;  // headers with longer varints than need be
};

std::string RandomBytes(std::mt19937_64& rng, size_t n, unsigned alphabet);
// Distinct and in order. Neighbours share prefixes that end anywhere in the internal key.
std::vector<Record> RandomRecords(std::mt19937_64& rng, const Shape& shape);
std::vector<TableImage> MakeTables(std::mt19937_64& rng, const std::vector<Record>& records,
                                   const Shape& shape);

rtlsim::MemoryOptions RandomTiming(std::mt19937_64& rng);
Rates RandomRates(std::mt19937_64& rng);

// What the reference decoder makes of it.
Expectation Expect(const ReadPath& path, const RunImage& run);
void Check(const WayResult& got, const Expectation& want);

class ReadPathTest : public ::testing::Test {
 protected:
  ReadPathTest() : seed_(TestSeed()), path_(seed_) {}
  std::string Seed() const { return "SLUICE_SEED=" + std::to_string(seed_); }

  // Tables of `n` records in all.
  std::vector<TableImage> Small(size_t n, size_t block_bytes, size_t tables = 1);

  uint64_t seed_;
  ReadPath path_;
};

}  // namespace sluice::dv
