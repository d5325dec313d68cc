#include "util/coding.h"

#include <gtest/gtest.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "util/crc32c.h"

namespace sluice {
namespace {

TEST(Coding, VarintsRoundTripAtEveryLength) {
  for (unsigned bits = 0; bits <= 64; ++bits) {
    for (const uint64_t value : {bits == 64 ? ~0ull : (1ull << bits) - 1, 1ull << (bits % 64)}) {
      std::string encoded;
      PutVarint(&encoded, value);
      std::string_view in = encoded;
      uint64_t decoded;
      ASSERT_TRUE(GetVarint64(&in, &decoded));
      EXPECT_EQ(decoded, value);
      EXPECT_TRUE(in.empty());
      for (size_t cut = 0; cut < encoded.size(); ++cut) {
        std::string_view shortened = std::string_view(encoded).substr(0, cut);
        EXPECT_FALSE(GetVarint64(&shortened, &decoded));
      }
    }
  }
}

TEST(Coding, OverlongVarintsAreRefused) {
  uint32_t v32;
  uint64_t v64;
  std::string_view six = "\x80\x80\x80\x80\x80\x01";
  EXPECT_FALSE(GetVarint32(&six, &v32));
  const std::string eleven(10, '\x80');
  std::string_view in = eleven;
  EXPECT_FALSE(GetVarint64(&in, &v64));
}

TEST(Coding, LengthPrefixedStopsAtTheEnd) {
  std::string encoded;
  PutLengthPrefixed(&encoded, "hello");
  std::string_view in = encoded;
  std::string_view bytes;
  ASSERT_TRUE(GetLengthPrefixed(&in, &bytes));
  EXPECT_EQ(bytes, "hello");
  std::string_view cut = std::string_view(encoded).substr(0, 4);
  EXPECT_FALSE(GetLengthPrefixed(&cut, &bytes));
}

// RFC 3720, B.4.
#ifdef __x86_64__
// What XGETBV says is in use of the upper halves of vector registers: SSE instructions can be slow
// as long as anything is.
uint64_t UpperHalvesInUse() {
  constexpr uint64_t kAvx = 1 << 2;
  constexpr uint64_t kZmmHi256 = 1 << 6;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (uint64_t{high} << 32 | low) & (kAvx | kZmmHi256);
}

TEST(Crc32c, LeavesNothingInUpperHalves) {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t kXgetbvOfOne = 1 << 2;
  if (!__builtin_cpu_supports("avx") || __get_cpuid_count(0xd, 1, &a, &b, &c, &d) == 0 ||
      (a & kXgetbvOfOne) == 0) {
    GTEST_SKIP() << "this processor does not say";
  }
  const std::string bytes(4096, 'x');
  const uint32_t crc = Crc32c(bytes);
  EXPECT_EQ(UpperHalvesInUse(), 0u);
  EXPECT_NE(crc, 0u);
}
#endif

TEST(Crc32c, KnownAnswers) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(ExtendCrc32c(Crc32c("hello "), "world"), Crc32c("hello world"));
  EXPECT_EQ(UnmaskCrc(MaskCrc(0x12345678u)), 0x12345678u);
}

}  // namespace
}  // namespace sluice
