#include "table/codec.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <string>

#include "table/stored_block.h"
#include "table/testing.h"
#include "util/coding.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr Compression kCompressions[] = {Compression::kSnappy, Compression::kZstd,
                                         Compression::kLz4};

std::string RandomContents(TestRandom* random, size_t most_bytes) {
  std::string contents(SkewedSize(random, most_bytes), '\0');
  const uint64_t letters = Uniform(random, 0, 1) != 0 ? 255 : 2;
  for (size_t i = 0; i < contents.size();) {
    const char c = static_cast<char>(Uniform(random, 0, letters));
    for (size_t n = Uniform(random, 1, 20); n > 0 && i < contents.size(); --n) {
      contents[i++] = c;
    }
  }
  return contents;
}

TEST(Codec, WhatIsCompressedComesBack) {
  TestRandom random(TestSeed());
  std::string compressed;
  std::string back;
  for (int round = 0; round < 3000; ++round) {
    const std::string contents = RandomContents(&random, 100'000);
    for (const Compression type : kCompressions) {
      const int level = static_cast<int>(Uniform(&random, 1, 6));
      ASSERT_TRUE(Compress({.type = type, .zstd_level = level}, contents, &compressed));
      const Status status = Uncompress(type, compressed, &back);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(back, contents) << CompressionName(type);
    }
  }
}

// The densest contents there are: their length must not be taken for a lie.
TEST(Codec, ContentsOfOneByteComeBack) {
  const std::string contents(size_t{64} << 20, 'v');
  std::string compressed;
  std::string back;
  for (const Compression type : kCompressions) {
    ASSERT_TRUE(Compress({.type = type}, contents, &compressed));
    EXPECT_TRUE(Uncompress(type, compressed, &back).ok()) << CompressionName(type);
    EXPECT_TRUE(back == contents) << CompressionName(type);
  }
}

TEST(Codec, DamageIsAnErrorOrOtherBytes) {
  TestRandom random(TestSeed());
  std::string compressed;
  for (int round = 0; round < 20'000; ++round) {
    const std::string contents = RandomContents(&random, 3000);
    const Compression type = kCompressions[round % std::size(kCompressions)];
    ASSERT_TRUE(Compress({.type = type}, contents, &compressed));
    if (compressed.empty()) {
      continue;
    }
    for (uint64_t n = Uniform(&random, 1, 4); n > 0; --n) {
      compressed[Uniform(&random, 0, compressed.size() - 1)] = static_cast<char>(random());
    }
    if (Uniform(&random, 0, 3) == 0) {
      compressed.resize(Uniform(&random, 0, compressed.size()));
    }
    const std::string exact(compressed.data(), compressed.size());
    std::string back;
    const Status status = Uncompress(type, exact, &back);
    EXPECT_TRUE(status.ok() || status.IsCorruption()) << status.ToString();
  }
}

void ExpectImpossible(Compression type, const std::string& stored) {
  std::string out;
  const Status status = Uncompress(type, stored, &out);
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_EQ(status.message(), "compressed block claims an impossible length");
  EXPECT_LT(out.capacity(), 1000u);
}

TEST(Codec, LengthsThatAreLiesCostNoMemory) {
  for (const Compression type : kCompressions) {
    ExpectImpossible(type, "");
  }
  ExpectImpossible(Compression::kSnappy, "\xff\xff\xff\xff\x0f....");
  ExpectImpossible(Compression::kLz4, "\xff\xff\xff\xff\x07....");
  // A frame that says 2^40.
  ExpectImpossible(Compression::kZstd,
                   std::string("\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\x01\0\0....", 17));
  // And one that does not say.
  std::string frame(1000, '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), "abc", 3));
  ZSTD_freeCCtx(context);
  ExpectImpossible(Compression::kZstd, frame);
}

TEST(Codec, OtherTypesAreNotSupported) {
  std::string out;
  const Status status = Uncompress(Compression{9}, "abc", &out);
  EXPECT_EQ(status.code(), Status::Code::kNotSupported);
  EXPECT_EQ(status.message(), "block has unknown compression type 9");
}

TEST(Codec, StoredBlocksAreCompressedWhereThatSavesAnEighth) {
  TestRandom random(TestSeed());
  for (const Compression type : kCompressions) {
    std::string noise(4000, '\0');
    for (char& c : noise) {
      c = static_cast<char>(random());
    }
    for (const bool saves : {false, true}) {
      const std::string contents = saves ? noise + std::string(1000, 'v') : noise;
      std::string buffer;
      std::string out;
      const size_t bytes = AppendStoredBlock(contents, {type}, &buffer, &out);
      EXPECT_EQ(bytes + kBlockTrailerBytes, out.size());
      std::string_view read;
      Compression stored_as;
      ASSERT_TRUE(ReadStoredBlock(out, {0, bytes}, &buffer, &read, &stored_as).ok());
      EXPECT_EQ(read, contents);
      EXPECT_EQ(stored_as, saves ? type : Compression::kNone);
    }
  }
}

TEST(Codec, DictionariesServeThoseWhoHaveThem) {
  const Codec codec{.type = Compression::kZstd};
  const std::string contents = "what all samples have in common, 42, by and large";
  std::unique_ptr<const ZstdDictionary> read;
  ASSERT_TRUE(ZstdDictionary::Parse(TestDictionary().bytes(), &read).ok());
  EXPECT_GT(read->memory_bytes(), TestDictionary().bytes().size());
  std::string plain;
  std::string compressed;
  std::string back;
  ASSERT_TRUE(Compress(codec, contents, &plain));
  ASSERT_TRUE(Compress(codec, contents, &compressed, &TestDictionary()));
  EXPECT_LT(compressed.size(), plain.size());
  EXPECT_TRUE(Uncompress(codec.type, compressed, &back, read.get()).ok());
  EXPECT_EQ(back, contents);
  // A block compressed without a dictionary can be read with one, but not the reverse.
  EXPECT_TRUE(Uncompress(codec.type, plain, &back, read.get()).ok());
  EXPECT_EQ(back, contents);
  EXPECT_TRUE(Uncompress(codec.type, compressed, &back).IsCorruption());
}

TEST(Codec, WhatIsNoDictionaryIsFound) {
  TestRandom random(TestSeed());
  std::unique_ptr<const ZstdDictionary> read;
  EXPECT_TRUE(ZstdDictionary::Parse("", &read).IsCorruption());
  EXPECT_TRUE(ZstdDictionary::Parse("a text, and no dictionary", &read).IsCorruption());
  std::string large(TestDictionary().bytes());
  large.resize(kMostDictionaryBytes + 1);
  EXPECT_TRUE(ZstdDictionary::Parse(large, &read).IsCorruption());
  std::string compressed;
  std::string back;
  ASSERT_TRUE(Compress({.type = Compression::kZstd}, std::string(500, 'v'), &compressed,
                       &TestDictionary()));
  for (int round = 0; round < 5000; ++round) {
    std::string bad(TestDictionary().bytes());
    bad[Uniform(&random, 0, std::min<size_t>(bad.size(), 200) - 1)] = static_cast<char>(random());
    bad.resize(Uniform(&random, 0, 3) == 0 ? Uniform(&random, 0, bad.size()) : bad.size());
    const Status status = ZstdDictionary::Parse(bad, &read);
    EXPECT_TRUE(status.ok() || status.IsCorruption());
    if (status.ok()) {
      const Status read_with = Uncompress(Compression::kZstd, compressed, &back, read.get());
      EXPECT_TRUE(read_with.ok() || read_with.IsCorruption());
    }
  }
}

TEST(Codec, NamesAreReadBack) {
  for (const Compression type :
       {Compression::kNone, Compression::kSnappy, Compression::kZstd, Compression::kLz4}) {
    Compression read{9};
    EXPECT_TRUE(ParseCompression(CompressionName(type), &read));
    EXPECT_EQ(read, type);
  }
  Compression unread{9};
  EXPECT_FALSE(ParseCompression("unknown", &unread));
  EXPECT_FALSE(ParseCompression("", &unread));
  EXPECT_EQ(CompressionName(unread), "unknown");
}

}  // namespace
}  // namespace sluice
