#include "leveldb_dir/logged_batch.h"

#include <gtest/gtest.h>

#include "util/coding.h"

namespace sluice {
namespace {

std::string Batch(SequenceNumber sequence, uint32_t count, std::string_view records) {
  std::string batch;
  PutFixed64(&batch, sequence);
  PutFixed32(&batch, count);
  batch += records;
  return batch;
}

constexpr std::string_view kPutAndDelete("\x01\x03key\x05value\x00\x03yek", 16);

TEST(LoggedBatch, Parses) {
  const std::string batch = Batch(100, 2, kPutAndDelete);
  std::vector<LoggedRecord> records;
  const Status status = ParseWriteBatch(batch, &records);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].user_key, "key");
  EXPECT_EQ(records[0].value, "value");
  EXPECT_EQ(records[0].trailer, MakeTrailer(100, RecordType::kValue));
  EXPECT_EQ(records[1].user_key, "yek");
  EXPECT_EQ(records[1].value, "");
  EXPECT_EQ(records[1].trailer, MakeTrailer(101, RecordType::kDeletion));
}

TEST(LoggedBatch, RejectsMalformed) {
  std::vector<LoggedRecord> records;
  EXPECT_TRUE(ParseWriteBatch("short", &records).IsCorruption());
  EXPECT_TRUE(ParseWriteBatch(Batch(1, 3, kPutAndDelete), &records).IsCorruption());
  EXPECT_TRUE(ParseWriteBatch(Batch(1, 1, kPutAndDelete), &records).IsCorruption());
  EXPECT_TRUE(ParseWriteBatch(Batch(kMaxSequence, 2, kPutAndDelete), &records).IsCorruption());
  EXPECT_TRUE(ParseWriteBatch(Batch(1, 1, "\x02\x01k"), &records).IsCorruption());
  for (size_t n = 1; n < kPutAndDelete.size(); ++n) {
    EXPECT_TRUE(ParseWriteBatch(Batch(1, 2, kPutAndDelete.substr(0, n)), &records).IsCorruption())
        << n;
  }
}

}  // namespace
}  // namespace sluice
