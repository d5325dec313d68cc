// Parts of the plugin that decide: which Bloom filter a policy makes, and where outputs end.

#include <gtest/gtest.h>
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <memory>

#include "bloom_bits.h"
#include "job.h"
#include "table/internal_key.h"
#include "util/coding.h"

namespace sluice {

namespace {

// As LevelDB's InternalFilterPolicy: takes the trailers off.
class Internal : public leveldb::FilterPolicy {
 public:
  explicit Internal(const leveldb::FilterPolicy* user) : user_(user) {}
  const char* Name() const override { return user_->Name(); }
  void CreateFilter(const leveldb::Slice* keys, int n, std::string* filter) const override {
    auto* const changed = const_cast<leveldb::Slice*>(keys);
    for (int i = 0; i < n; ++i) {
      changed[i] = leveldb::Slice(keys[i].data(), keys[i].size() - 8);
    }
    user_->CreateFilter(keys, n, filter);
  }
  bool KeyMayMatch(const leveldb::Slice&, const leveldb::Slice&) const override { return true; }

 private:
  const leveldb::FilterPolicy* const user_;
};

TEST(BloomBitsTest, AreThoseOfThePolicy) {
  const std::unique_ptr<const leveldb::FilterPolicy> own(leveldb::NewBloomFilterPolicy(5));
  const leveldb::FilterPolicy* const owns[] = {own.get()};
  EXPECT_EQ(ldb::BloomBitsPerKey(nullptr, owns), 0);
  for (int bits = 1; bits <= 100; ++bits) {
    const std::unique_ptr<const leveldb::FilterPolicy> user(leveldb::NewBloomFilterPolicy(bits));
    const Internal policy(user.get());
    EXPECT_EQ(ldb::BloomBitsPerKey(&policy, owns), bits);
  }
  for (const int bits : {0, -1}) {
    const std::unique_ptr<const leveldb::FilterPolicy> user(leveldb::NewBloomFilterPolicy(bits));
    const Internal policy(user.get());
    if (bits == 0) {
      EXPECT_EQ(ldb::BloomBitsPerKey(&policy, owns), std::nullopt);
    }
  }
}

LevelDbTable Table(const std::string& first, const std::string& last, uint64_t bytes) {
  LevelDbTable table;
  table.bytes = bytes;
  char trailer[8];
  EncodeFixed64(trailer, MakeTrailer(7, RecordType::kValue));
  table.smallest = first + std::string(trailer, 8);
  table.largest = last + std::string(trailer, 8);
  return table;
}

TEST(SplitJobTest, OneRangeWithoutOverlap) {
  LevelDbCompaction compaction;
  compaction.file_bytes = 100;
  compaction.inputs[0] = {Table("b", "m", 10)};
  compaction.inputs[1] = {Table("a", "d", 10), Table("e", "p", 10)};
  std::vector<ldb::JobRange> ranges = ldb::SplitJob(compaction);
  ASSERT_EQ(ranges.size(), 1);
  EXPECT_FALSE(ranges[0].has_begin);
  EXPECT_FALSE(ranges[0].has_end);
  EXPECT_TRUE(ranges[0].bottommost);
  compaction.below = {{}, {Table("p", "q", 10)}};
  EXPECT_FALSE(ldb::SplitJob(compaction)[0].bottommost);
  compaction.below = {{}, {Table("pa", "q", 10)}};
  EXPECT_TRUE(ldb::SplitJob(compaction)[0].bottommost);
}

TEST(SplitJobTest, EndsWhereTooMuchIsOverlapped) {
  LevelDbCompaction compaction;
  compaction.file_bytes = 100;
  compaction.inputs[0] = {Table("a", "z", 10)};
  compaction.below.emplace_back();
  for (char c = 'b'; c <= 'f'; ++c) {
    compaction.below[0].push_back(Table(std::string(1, c), std::string(1, c) + "5", 501));
  }
  // Each of the two borders is behind two files: 1002 bytes, more than 10 outputs have.
  const std::vector<ldb::JobRange> ranges = ldb::SplitJob(compaction);
  ASSERT_EQ(ranges.size(), 3);
  EXPECT_EQ(ranges[0].end, std::string("c5\0", 3));
  EXPECT_EQ(ranges[1].begin, ranges[0].end);
  EXPECT_EQ(ranges[1].end, std::string("e5\0", 3));
  EXPECT_EQ(ranges[2].begin, ranges[1].end);
  EXPECT_FALSE(ranges[2].has_end);
  EXPECT_FALSE(ranges[0].bottommost);
  EXPECT_FALSE(ranges[2].bottommost);  // "f" to "f5"
  compaction.below[0].pop_back();
  EXPECT_TRUE(ldb::SplitJob(compaction)[2].bottommost);
}

}  // namespace

}  // namespace sluice
