// A real LevelDB database, compacted by the simulated Compaction Unit.

#include <gtest/gtest.h>

#include "device/executors.h"
#include "leveldb_dir/compact.h"
#include "real_leveldb.h"
#include "sluice/env.h"
#include "util/testing.h"

namespace sluice {
namespace {

class RtlCompactTest : public testing::Test {
 protected:
  void Compact(std::string_view kind, const CompactOptions& options) {
    std::shared_ptr<Executor> executor;
    ASSERT_TRUE(MakeExecutor(kind, kDefaultConfiguration, {}, &executor).ok());
    const Status status =
        CompactDatabase(Env::Posix(), dir_.path(), executor.get(), options, nullptr, &report_);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_GT(report_.merge.cycles, 0u);
    EXPECT_EQ(report_.merge.output_records, contents_.size());
    ExpectHolds(dir_.path(), real_, contents_);
  }

  const uint64_t seed_ = TestSeed();
  const RealOptions real_{.bloom_bits = 10};
  TempDir dir_;
  Contents contents_;
  CompactReport report_;
};

// More runs than the unit has ways, several tasks; each task's tables are the CPU executor's.
TEST_F(RtlCompactTest, ComparedWithTheCpu) {
  contents_ = MakeRealDatabase(dir_.path(), {.leveldb = real_, .seed = seed_});
  Compact("check", {.table_bytes = 100000, .task_bytes = 200000, .retry_on_cpu = false});
  EXPECT_GT(report_.tasks, 1u);
  EXPECT_GT(report_.passes, report_.tasks);
}

TEST_F(RtlCompactTest, KeysOverTheLimitGoToTheCpu) {
  contents_ = MakeRealDatabase(dir_.path(), {.leveldb = real_, .seed = seed_});
  {
    RealLevelDb db(dir_.path(), real_);
    db.Put("0050/" + std::string(5000, 'k'), "value", &contents_);
  }
  Compact("rtl", {.task_bytes = 100000});
  ASSERT_GE(report_.retries.size(), 1u);
  EXPECT_LT(report_.retries.size(), report_.tasks);
  // It can be the border between two tasks, too.
  const MergeStatus status = report_.retries[0].status;
  EXPECT_TRUE(status == MergeStatus::kKeyTooLong || status == MergeStatus::kBadDescriptor)
      << report_.retries[0].reason;
}

}  // namespace
}  // namespace sluice
