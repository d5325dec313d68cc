#include "ordered_bytes.h"

#include <gtest/gtest.h>

#include <string>

#include "util/testing.h"

namespace sluice::mariadb {
namespace {

int Sign(int value) { return (value > 0) - (value < 0); }

// Strings that are often equal, or one the beginning of the other, over an alphabet with extremes.
std::string RandomString(TestRandom* random, std::string_view alphabet, size_t unit) {
  std::string result;
  const size_t units = (*random)() % 24;
  for (size_t i = 0; i < units; ++i) {
    result += alphabet.substr(((*random)() % (alphabet.size() / unit)) * unit, unit);
  }
  return result;
}

std::string Bytes(std::string_view value) {
  std::string key;
  AppendBytes(value, &key);
  return key;
}

std::string Padded(std::string_view value, std::string_view pad) {
  std::string key;
  AppendPadded(value, pad, &key);
  return key;
}

// How two strings compare when the shorter is filled up with pads.
int ComparePadded(std::string a, std::string b, std::string_view pad) {
  while (a.size() < b.size()) {
    a += pad[a.size() % pad.size()];
  }
  while (b.size() < a.size()) {
    b += pad[b.size() % pad.size()];
  }
  return Sign(a.compare(b));
}

TEST(OrderedBytes, BytesAreAsDocumented) {
  EXPECT_EQ(Bytes(""), std::string("\0\x01", 2));
  EXPECT_EQ(Bytes(std::string_view("a\0b", 3)), std::string("a\0\xff"
                                                            "b\0\x01",
                                                            6));
}

TEST(OrderedBytes, BytesKeepTheOrder) {
  TestRandom random(TestSeed());
  const std::string_view alphabet("\0\x01\x02\xfe\xff", 5);
  for (int i = 0; i < 20000; ++i) {
    const std::string a = RandomString(&random, alphabet, 1);
    const std::string b = RandomString(&random, alphabet, 1);
    ASSERT_EQ(Sign(Bytes(a).compare(Bytes(b))), Sign(a.compare(b)));
    // What follows must not matter, unless they are equal.
    if (a != b) {
      ASSERT_EQ(Sign((Bytes(a) + '\xff').compare(Bytes(b) + '\0')), Sign(a.compare(b)));
    }
  }
}

TEST(OrderedBytes, PaddedCompareAsIfFilledUp) {
  TestRandom random(TestSeed());
  // Alphabets of units, with what is below and above the pad.
  const struct {
    std::string_view pad;
    std::string_view alphabet;
  } cases[] = {
      {" ", std::string_view("\0\x1f   !\xff", 7)},
      {std::string_view("\0 ", 2), std::string_view("\0\0\0\x1f\0 \0 \0!\xff\xff", 12)},
      {std::string_view("\0\0 ", 3), std::string_view("\0\0\0\0\0 \0\0 \0\0!\xff\xff\xff", 15)},
  };
  for (const auto& [pad, alphabet] : cases) {
    for (int i = 0; i < 20000; ++i) {
      const std::string a = RandomString(&random, alphabet, pad.size());
      const std::string b = RandomString(&random, alphabet, pad.size());
      const int expected = ComparePadded(a, b, pad);
      ASSERT_EQ(Sign(Padded(a, pad).compare(Padded(b, pad))), expected);
      if (expected != 0) {
        ASSERT_EQ(Sign((Padded(a, pad) + '\xff').compare(Padded(b, pad) + '\0')), expected);
      }
    }
  }
}

TEST(OrderedBytes, PadsAtTheEndDoNotMatter) {
  EXPECT_EQ(Padded("a", " "), Padded("a         ", " "));
  EXPECT_LT(Padded("a\t", " "), Padded("a", " "));
  EXPECT_LT(Padded("a", " "), Padded("a!", " "));
  EXPECT_EQ(Padded("", " "), Padded("   ", " "));
}

TEST(OrderedBytes, ReverseReverses) {
  TestRandom random(TestSeed());
  for (int i = 0; i < 10000; ++i) {
    const std::string a = RandomString(&random, "ab", 1);
    const std::string b = RandomString(&random, "ab", 1);
    std::string ra = Bytes(a).insert(0, 1, 'x');
    std::string rb = Bytes(b).insert(0, 1, 'x');
    Reverse(1, &ra);
    Reverse(1, &rb);
    ASSERT_EQ(Sign(ra.compare(rb)), -Sign(a.compare(b)));
  }
}

TEST(OrderedBytes, EndsAreFound) {
  TestRandom random(TestSeed());
  for (int i = 0; i < 20000; ++i) {
    const std::string_view pad = std::string_view("\0\0 ", 3).substr(Uniform(&random, 0, 2));
    const std::string a = RandomString(&random, std::string_view("\0\x01\x02 \xff", 5), 1);
    const std::string padded =
        Padded(RandomString(&random, std::string_view("\0\0\0\0\0 \x02\x02\x02", 9), 3), pad);
    for (const bool reversed : {false, true}) {
      std::string key = Bytes(a);
      const size_t middle = key.size();
      key += padded;
      if (reversed) {
        Reverse(0, &key);
      }
      const size_t end = key.size();
      EXPECT_GT(EndOfBytes(std::string_view(key).substr(0, middle - 1), 0, reversed), middle - 1);
      EXPECT_GT(EndOfPadded(std::string_view(key).substr(0, end - 1), middle, pad.size(), reversed),
                end - 1);
      key += a;
      EXPECT_EQ(EndOfBytes(key, 0, reversed), middle);
      EXPECT_EQ(EndOfPadded(key, middle, pad.size(), reversed), end);
    }
  }
}

TEST(OrderedBytes, SuccessorIsBehindAllWithThePrefix) {
  EXPECT_EQ(Successor("ab"), "ac");
  EXPECT_EQ(Successor("a\xff\xff"), "b");
  EXPECT_EQ(Successor("\xff\xff"), "");
  EXPECT_EQ(Successor(""), "");
  EXPECT_EQ(Successor("\x7f"), "\x80");
}

}  // namespace
}  // namespace sluice::mariadb
