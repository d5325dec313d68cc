#include "table/xxh3.h"

#include <gtest/gtest.h>

#include <string>

#include "util/testing.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice {
namespace {

TEST(Xxh3, IsTheLibrarys) {
  TestRandom random(TestSeed());
  std::string bytes(20000, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(Uniform(&random, 0, 255));
  }
  const auto check = [&](size_t offset, size_t n) {
    // Memory of its own, so that sanitizers see a read beyond it.
    const std::string part = bytes.substr(offset, n);
    ASSERT_EQ(Xxh3(part), XXH3_64bits(part.data(), n)) << n << " bytes from " << offset;
  };
  for (size_t n = 0; n <= 4200; ++n) {
    check(n % 61, n);
  }
  for (int round = 0; round < TestRounds(1000); ++round) {
    const size_t n = Uniform(&random, 0, 16000);
    check(Uniform(&random, 0, bytes.size() - n), n);
  }
}

}  // namespace
}  // namespace sluice
