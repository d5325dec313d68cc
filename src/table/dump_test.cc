#include "table/dump.h"

#include <gtest/gtest.h>

#include "table/testing.h"

namespace sluice {
namespace {

std::vector<std::string> Dump(const std::string& image, Status* status) {
  std::vector<std::string> lines;
  *status = DumpTableImage(image, "t", [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

const std::vector<TestEntry>& Entries() {
  static const std::vector<TestEntry> entries = {{InternalKey("a\"\n", 7), std::string("v\0", 2)},
                                                 {InternalKey("b", 3, RecordType::kDeletion), ""},
                                                 {InternalKey("c", 9, kTypeValueReference), ""}};
  return entries;
}

TEST(Dump, PrintsEveryEntry) {
  Status status;
  const auto lines =
      Dump(WriteTable(Entries(), {.block_bytes = 32, .bloom_bits_per_key = 10}), &status);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "footer at 186: metaindex at 89 (47 bytes), index at 141 (40 bytes)",
                       "metaindex: \"filter.leveldb.BuiltinBloomFilter2\" at 66 (18 bytes)",
                       "filter: 1 filters, 10 bits per key",
                       "data block at 0: 36 bytes, raw, 1 restarts, index key \"b\" @ 3 deletion",
                       "  \"a\\\"\\x0a\" @ 7 value \"v\\x00\"",
                       "  \"b\" @ 3 deletion",
                       "data block at 41: 20 bytes, raw, 1 restarts, index key \"c\" @ 9 reference",
                       "  \"c\" @ 9 reference \"\"",
                   }));
}

TEST(Dump, GoesOnBehindABrokenBlock) {
  std::string image = WriteTable(Entries(), {.block_bytes = 1});
  image[5] ^= 1;
  Status status;
  const auto lines = Dump(image, &status);
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_TRUE(status.message().starts_with("t: offset 0: block of 24 bytes has checksum"))
      << status.ToString();
  EXPECT_TRUE(lines.at(2).starts_with("  !! offset 0: block of")) << lines.at(2);
  EXPECT_EQ(lines.back(), "  \"c\" @ 9 reference \"\"");
}

}  // namespace
}  // namespace sluice
