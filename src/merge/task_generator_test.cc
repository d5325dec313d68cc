#include "merge/task_generator.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include <set>

#include "util/crc32c.h"

namespace sluice {
namespace {

struct Record {
  std::string key;
  std::string value;
};

// The records of one block, checked as strictly as a test can.
void ReadBlock(std::string_view file, BlockHandle handle, std::vector<Record>* records) {
  ASSERT_TRUE(HandleFits(handle, file.size()));
  const std::string_view covered = file.substr(handle.offset, handle.size + 1);
  ASSERT_EQ(UnmaskCrc(DecodeFixed32(covered.data() + covered.size())), Crc32c(covered));
  std::string block(covered.substr(0, handle.size));
  if (covered.back() == 1) {
    std::string plain;
    ASSERT_TRUE(snappy::Uncompress(block.data(), block.size(), &plain));
    block = plain;
  }
  const uint32_t restarts = DecodeFixed32(block.data() + block.size() - 4);
  std::string_view in(block.data(), block.size() - 4 - 4 * restarts);
  std::string key;
  while (!in.empty()) {
    uint32_t shared, unshared, value_bytes;
    ASSERT_TRUE(GetVarint32(&in, &shared) && GetVarint32(&in, &unshared) &&
                GetVarint32(&in, &value_bytes));
    ASSERT_LE(shared, key.size());
    key.resize(shared);
    key.append(in.substr(0, unshared));
    in.remove_prefix(unshared);
    records->push_back({key, std::string(in.substr(0, value_bytes))});
    in.remove_prefix(value_bytes);
  }
}

std::vector<Record> ReadRun(const std::vector<TableImage>& run) {
  std::vector<Record> records;
  for (const TableImage& table : run) {
    std::vector<Record> index;
    ReadBlock(table.file, table.index, &index);
    EXPECT_EQ(index.size(), table.blocks.size());
    for (const Record& entry : index) {
      std::string_view value = entry.value;
      BlockHandle handle;
      EXPECT_TRUE(handle.ReadFrom(&value));
      if (!records.empty()) {
        EXPECT_LT(CompareInternalKeys(records.back().key, entry.key), 0);
      }
      ReadBlock(table.file, handle, &records);
      EXPECT_LE(CompareInternalKeys(records.back().key, entry.key), 0);
    }
  }
  return records;
}

TEST(TaskGenerator, MakesSortedRunsOfTheAskedSizes) {
  GeneratorOptions options;
  options.runs = 3;
  options.records = 5000;
  options.user_key_bytes = {4, 40};
  options.value_bytes = {0, 300};
  options.key_shape = KeyShape::kTree;
  options.delete_percent = 20;
  options.table.compression = Compression::kSnappy;
  options.table_bytes = 30000;
  const GeneratedTask generated = GenerateTask(options);
  size_t records = 0;
  size_t deletions = 0;
  uint64_t raw_bytes = 0;
  for (const auto& run : generated.images) {
    EXPECT_GT(run.size(), 1u);
    const std::vector<Record> read = ReadRun(run);
    records += read.size();
    for (size_t i = 0; i < read.size(); ++i) {
      raw_bytes += read[i].key.size() + read[i].value.size();
      deletions += TrailerType(Trailer(read[i].key)) == 0 ? 1 : 0;
      ASSERT_TRUE(i == 0 || CompareInternalKeys(read[i - 1].key, read[i].key) < 0);
    }
  }
  EXPECT_EQ(records, 5000u);
  EXPECT_EQ(raw_bytes, generated.raw_bytes);
  EXPECT_NEAR(static_cast<double>(deletions), 1000, 200);
}

TEST(TaskGenerator, SameSeedSameBytes) {
  GeneratorOptions options;
  options.records = 300;
  options.key_shape = KeyShape::kRandom;
  const GeneratedTask a = GenerateTask(options);
  const GeneratedTask b = GenerateTask(options);
  options.seed = 2;
  const GeneratedTask c = GenerateTask(options);
  EXPECT_EQ(a.images[0][0].file, b.images[0][0].file);
  EXPECT_NE(a.images[0][0].file, c.images[0][0].file);
}

TEST(TaskGenerator, OneRunFirstSplitsByKey) {
  GeneratorOptions options;
  options.records = 999;
  options.runs = 4;
  options.interleave = Interleave::kOneRunFirst;
  const GeneratedTask generated = GenerateTask(options);
  std::string last;
  size_t records = 0;
  for (const auto& run : generated.images) {
    for (const Record& record : ReadRun(run)) {
      ASSERT_TRUE(last.empty() || CompareInternalKeys(last, record.key) < 0);
      last = record.key;
      ++records;
    }
  }
  EXPECT_EQ(records, 999u);
}

TEST(TaskGenerator, DuplicatesAndClones) {
  GeneratorOptions options;
  options.records = 2000;
  options.runs = 3;
  options.duplicate_percent = 50;
  options.clone_percent = 10;
  const GeneratedTask generated = GenerateTask(options);
  std::set<std::string> user_keys;
  std::set<std::string> keys;
  size_t records = 0;
  for (const auto& run : generated.images) {
    for (const Record& record : ReadRun(run)) {
      user_keys.emplace(UserKey(record.key));
      keys.insert(record.key);
      ++records;
    }
  }
  EXPECT_NEAR(static_cast<double>(user_keys.size()), 900, 100);
  EXPECT_GT(records, keys.size() + 30);
}

TEST(TableImage, SeparatorsAreLevelDbs) {
  const auto key = [](std::string_view user) {
    return MakeInternalKey(user, 7, RecordType::kValue);
  };
  const auto top = [](std::string_view user) {
    return MakeInternalKey(user, kMaxSequence, RecordType::kValue);
  };
  EXPECT_EQ(ShortestSeparator(key("abcd"), key("abzz")), top("abd"));
  EXPECT_EQ(ShortestSeparator(key("abc"), key("abd")), key("abc"));
  EXPECT_EQ(ShortestSeparator(key("ab"), key("abcd")), key("ab"));
  EXPECT_EQ(ShortSuccessor(key("ab")), top("b"));
  EXPECT_EQ(ShortSuccessor(key("\xff\xff")), key("\xff\xff"));
}

}  // namespace
}  // namespace sluice
