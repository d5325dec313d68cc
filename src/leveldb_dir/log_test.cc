#include <gtest/gtest.h>

#include <random>

#include "leveldb_dir/log_format.h"
#include "leveldb_dir/log_reader.h"
#include "leveldb_dir/log_writer.h"

namespace sluice {
namespace {

std::string MakeLog(const std::vector<std::string>& records, std::vector<size_t>* ends = nullptr) {
  std::string log;
  for (const std::string& record : records) {
    AppendLogRecord(record, &log);
    if (ends != nullptr) {
      ends->push_back(log.size());
    }
  }
  return log;
}

std::vector<std::string> ReadLog(std::string_view log, Status* status) {
  LogReader reader(log);
  std::vector<std::string> records;
  std::string_view record;
  while (reader.Next(&record)) {
    records.emplace_back(record);
  }
  *status = reader.status();
  return records;
}

// Sizes around every boundary there is: empty, block ends, several blocks.
std::vector<std::string> BoundaryRecords() {
  std::vector<std::string> records = {"", "a", std::string(1000, 'b')};
  const size_t used = 3 * kLogHeaderBytes + 1001;
  // Leaves 6 bytes of the block, too few for a header.
  records.emplace_back(kLogBlockBytes - used - kLogHeaderBytes - 6, 'c');
  // Leaves exactly a header: the next record gets an empty first fragment.
  records.emplace_back(kLogBlockBytes - 2 * kLogHeaderBytes, 'd');
  records.emplace_back(3 * kLogBlockBytes, 'e');
  records.emplace_back("f");
  return records;
}

TEST(Log, RoundTrip) {
  const std::vector<std::string> records = BoundaryRecords();
  Status status;
  EXPECT_EQ(ReadLog(MakeLog(records), &status), records);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST(Log, EmptyHasNoRecords) {
  Status status;
  EXPECT_TRUE(ReadLog("", &status).empty());
  EXPECT_TRUE(status.ok());
}

// However much of the tail is missing, what was complete is read and nothing is an error. (Cut at
// a block's end, a record's start may be all there is.)
TEST(Log, TornTailIsNoError) {
  const std::vector<std::string> records = BoundaryRecords();
  std::vector<size_t> ends;
  const std::string log = MakeLog(records, &ends);
  for (size_t cut = 0; cut < log.size(); cut += cut % 1000 < 20 || cut % 32768 < 40 ? 1 : 17) {
    Status status;
    const auto read = ReadLog(std::string_view(log).substr(0, cut), &status);
    const size_t complete = std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin();
    ASSERT_TRUE(status.ok()) << "cut at " << cut << ": " << status.ToString();
    ASSERT_EQ(read.size(), complete) << "cut at " << cut;
  }
}

TEST(Log, ZeroTailIsNoError) {
  std::string log = MakeLog({"one", "two"});
  for (const size_t zeros : {1u, 7u, 100u, 40000u, 100000u}) {
    Status status;
    EXPECT_EQ(ReadLog(log + std::string(zeros, '\0'), &status).size(), 2u);
    EXPECT_TRUE(status.ok()) << zeros << ": " << status.ToString();
  }
  // The same within a record: its second half was never written.
  log = MakeLog({"one", std::string(50000, 'x')});
  std::fill(log.begin() + kLogBlockBytes, log.end(), '\0');
  Status status;
  EXPECT_EQ(ReadLog(log, &status).size(), 1u);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

// The file had got its length when the power went, and not all of its bytes.
TEST(Log, ALastRecordThatEndsInZerosIsNoError) {
  const std::string log = MakeLog({"one", std::string(300, 'x')});
  for (size_t zeros = 1; zeros <= 307; ++zeros) {
    std::string torn = log;
    std::fill(torn.end() - static_cast<ptrdiff_t>(zeros), torn.end(), '\0');
    for (const size_t more : {0u, 1u, 40000u}) {
      Status status;
      ASSERT_EQ(ReadLog(torn + std::string(more, '\0'), &status).size(), 1u) << zeros;
      ASSERT_TRUE(status.ok()) << zeros << ": " << status.ToString();
    }
  }
}

TEST(Log, ZerosInsideRecordAreCorruption) {
  std::string log = MakeLog({std::string(100000, 'x'), "next"});
  std::fill(log.begin() + kLogBlockBytes, log.begin() + 2 * kLogBlockBytes, '\0');
  Status status;
  EXPECT_TRUE(ReadLog(log, &status).empty());
  EXPECT_EQ(status.ToString(), "corruption: offset 32768: zeros in the middle of a log record");
}

// Every flipped bit before the last record is found, and named with its fragment's offset.
TEST(Log, FlippedBitsAreCorruption) {
  const std::vector<std::string> records = {"first", "second one", "third"};
  std::vector<size_t> ends;
  const std::string log = MakeLog(records, &ends);
  for (size_t byte = 0; byte < ends[1]; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = log;
      bad[byte] = static_cast<char>(bad[byte] ^ (1 << bit));
      Status status;
      const auto read = ReadLog(bad, &status);
      ASSERT_LT(read.size(), records.size());
      for (size_t i = 0; i < read.size(); ++i) {
        ASSERT_EQ(read[i], records[i]);
      }
      ASSERT_TRUE(status.IsCorruption()) << "byte " << byte << " bit " << bit;
      const size_t start = byte < ends[0] ? 0 : ends[0];
      ASSERT_TRUE(status.message().starts_with("offset " + std::to_string(start) + ":"))
          << status.ToString();
    }
  }
}

TEST(Log, FragmentsOutOfOrderAreCorruption) {
  const std::string two_blocks = MakeLog({std::string(40000, 'x')});
  Status status;
  EXPECT_TRUE(ReadLog(std::string_view(two_blocks).substr(kLogBlockBytes), &status).empty());
  EXPECT_EQ(status.message(), "offset 0: log record without start");

  const std::string first = two_blocks.substr(0, kLogBlockBytes);
  EXPECT_TRUE(ReadLog(first + MakeLog({"y"}), &status).empty());
  EXPECT_EQ(status.message(), "offset 0: log record without end");
}

TEST(Log, RandomBytesNeverCrash) {
  std::mt19937_64 random(301);
  for (int i = 0; i < 2000; ++i) {
    std::string log = MakeLog({std::string(random() % 70000, 'r'), "s"});
    for (int flips = 0; flips < 3; ++flips) {
      log[random() % log.size()] = static_cast<char>(random());
    }
    log.resize(random() % (log.size() + 1));
    Status status;
    EXPECT_LE(ReadLog(log, &status).size(), 2u);
  }
}

}  // namespace
}  // namespace sluice
