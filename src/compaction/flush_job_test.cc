// Flushes account for every record of their memtables.

#include "compaction/flush_job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tree/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

class FlushJobTest : public testing::Test, protected ExtentFixture<WatchedEnv> {
 protected:
  MemtablePtr NewMemtable() { return std::make_shared<MemtableInfo>(1 << 20, nullptr); }
  Status Flush(const std::vector<MemtablePtr>& memtables,
               const std::vector<SequenceNumber>& snapshots) {
    ExtentWriter writer(space_.get(), 0, &next_);
    result_ = {};
    return FlushMemtables(memtables, snapshots, nullptr, {.extent = {.extent_bytes = 64 << 10}},
                          &writer, &result_);
  }

  FlushResult result_;
};

TEST_F(FlushJobTest, CountsWhatNoSnapshotSees) {
  const MemtablePtr older = NewMemtable();
  const MemtablePtr newer = NewMemtable();
  older->table.Add(1, RecordType::kValue, "a", "1");
  older->table.Add(2, RecordType::kValue, "a", "2");
  older->table.Add(3, RecordType::kDeletion, "a", "");
  older->table.Add(4, RecordType::kValue, "b", "4");
  newer->table.Add(5, RecordType::kValue, "a", "5");
  newer->table.Add(6, RecordType::kValue, "a", "6");
  ASSERT_TRUE(Flush({newer, older}, {6}).ok());
  EXPECT_EQ(result_.input_records, 6u);
  EXPECT_EQ(result_.output_records, 2u);
  EXPECT_EQ(result_.shadowed, 4u);
  ASSERT_TRUE(Flush({newer, older}, {2, 5, 6}).ok());
  EXPECT_EQ(result_.output_records, 4u);
  EXPECT_EQ(result_.shadowed, 2u);
}

TEST_F(FlushJobTest, KeepsOneVersionPerSnapshot) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  TestRandom random(seed);
  for (int round = 0; round < 100; ++round) {
    std::vector<MemtablePtr> memtables;  // newest first
    std::map<std::string, std::set<SequenceNumber>> versions;
    SequenceNumber last = 0;
    uint64_t records = 0;
    for (uint64_t n = Uniform(&random, 1, 3); n > 0; --n) {
      const MemtablePtr memtable = NewMemtable();
      for (uint64_t i = Uniform(&random, 1, 200); i > 0; --i, ++records) {
        const std::string key(1, static_cast<char>('a' + Uniform(&random, 0, 3)));
        memtable->table.Add(++last, RecordType::kValue, key, "v");
        versions[key].insert(last);
      }
      memtables.insert(memtables.begin(), memtable);
    }
    std::set<SequenceNumber> snapshots;
    for (uint64_t n = Uniform(&random, 1, 5); n > 0; --n) {
      snapshots.insert(Uniform(&random, 0, last + 10));
    }
    std::set<std::pair<std::string, SequenceNumber>> kept;
    for (const auto& [key, sequences] : versions) {
      for (const SequenceNumber snapshot : snapshots) {
        if (const auto after = sequences.upper_bound(snapshot); after != sequences.begin()) {
          kept.emplace(key, *std::prev(after));
        }
      }
      for (const SequenceNumber sequence : sequences) {
        if (sequence > *snapshots.rbegin()) {
          kept.emplace(key, sequence);
        }
      }
    }
    ASSERT_TRUE(Flush(memtables, {snapshots.begin(), snapshots.end()}).ok());
    ASSERT_EQ(result_.input_records, records);
    ASSERT_EQ(result_.output_records, kept.size());
    ASSERT_EQ(result_.shadowed, records - kept.size());
  }
}

TEST_F(FlushJobTest, IsRefusedIfItMeetsOtherRecordsThanWereAdded) {
  const MemtablePtr memtable = NewMemtable();
  for (int i = 0; i < 1000; ++i) {
    memtable->table.Add(i + 1, RecordType::kValue, fmt::format("{:04}", i), std::string(1000, 'v'));
  }
  ASSERT_TRUE(Flush({memtable}, {1000}).ok());
  EXPECT_GT(result_.extents.size(), 2u);
  SequenceNumber sequence = 1000;
  env_.on_write = [&] { memtable->table.Add(++sequence, RecordType::kValue, "zzzz", ""); };
  const Status status = Flush({memtable}, {1000});
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_TRUE(result_.extents.empty());
}

}  // namespace
}  // namespace sluice
