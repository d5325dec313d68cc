// Options::background_bytes_per_second in a database; what it does is in util/rate_limiter_test.cc.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "db/fixture.h"
#include "util/thread_watch.h"

namespace sluice {
namespace {

class BackgroundRateTest : public DbFixture {
 protected:
  static constexpr int kRecords = 3000;

  // What the limit holds up wrongly, it holds up for hours, and nothing could end that but the end of
  // the process. Far longer than what is not held up takes on any machine.
  void SetUp() override { ::alarm(600); }
  void TearDown() override {
    db_.reset();
    ::alarm(0);
  }
  void Fill() {
    for (int i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(db_->Put({}, fmt::format("{:05}", i), std::string(100, 'v')).ok());
    }
  }
  void CheckAll() {
    std::string value;
    for (int i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(db_->Get({}, fmt::format("{:05}", i), &value).ok()) << i;
    }
  }
};

// After its first piece a flush waits for hours, and an end of the database does not wait for it.
TEST_F(BackgroundRateTest, HoldsFlushesUp) {
  options_.memtable_bytes = 400 << 10;  // one is full, and none has to wait for its flush
  options_.background_bytes_per_second = 1;
  Open();
  Fill();
  const auto flushes = [&] { return db_->GetStatistics().flushes; };
  EXPECT_TRUE(AwaitSleep("slc-flush", options_.flush_threads, [&] { return flushes() > 0; }));
  EXPECT_EQ(flushes(), 0u);
  CheckAll();
  options_.background_bytes_per_second = 0;
  Open();
  CheckAll();
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  CheckAll();
}

// What recovery has to flush is not held up: nobody could use the database meanwhile.
TEST_F(BackgroundRateTest, DoesNotHoldUpOpening) {
  options_.memtable_bytes = 4 << 20;
  Open();
  Fill();
  ASSERT_TRUE(db_->Close().ok());
  options_.memtable_bytes = options_.write_buffer_bytes = 200 << 10;
  options_.background_bytes_per_second = 1;
  Open();
  EXPECT_GT(db_->GetStatistics().flushes, 0u);
  CheckAll();
}

TEST_F(BackgroundRateTest, HoldsCompactionsUp) {
  options_.l0_compaction_runs = 3;
  for (const uint64_t rate : {0, 1}) {
    const std::string name = fmt::format("db{}", rate);
    options_.automatic_compactions = false;
    options_.background_bytes_per_second = 0;
    Open(name);
    for (int run = 0; run < 3; ++run) {
      Fill();
      ASSERT_TRUE(db_->Flush(nullptr).ok());
    }
    options_.automatic_compactions = true;
    options_.background_bytes_per_second = rate;
    Open(name);
    const auto written = [&] { return db_->GetStatistics().compaction_bytes_written; };
    if (rate == 0) {
      ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    } else {
      EXPECT_TRUE(
          AwaitSleep("slc-compact", options_.compaction_threads, [&] { return written() > 0; }));
    }
    EXPECT_EQ(written() > 0, rate == 0);
    CheckAll();
  }
}

}  // namespace
}  // namespace sluice
