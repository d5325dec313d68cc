// What writers may use: memory, log, and the patience of others.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "sluice/listener.h"
#include "table/testing.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr std::chrono::minutes kWatchdog{10};

// Holds flushes, and tells of stalls.
class Gatekeeper final : public EventListener {
 public:
  void OnFlush(const FlushEvent&) override {
    std::unique_lock lock(mutex_);
    holds_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void OnStall(const StallEvent& event) override {
    const std::lock_guard lock(mutex_);
    stopped_ = stopped_ || event.stopped;
    changed_.notify_all();
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Waits until a flush is held and writers are stopped.
  bool WaitForStop() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kWatchdog, [&] { return holds_ && stopped_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  bool holds_ = false;
  bool stopped_ = false;
};

class WriteBudget : public DbFixture {
 protected:
  uint64_t MemtableBytes() {
    uint64_t bytes = 0;
    for (const SubtableStatistics& subtable : db_->GetStatistics().subtables) {
      bytes += subtable.memtable_bytes;
    }
    return bytes;
  }
};

TEST_F(WriteBudget, NobodyWaitsForCompactionsThatNobodyMakes) {
  options_.l0_slowdown_runs = 2;
  options_.l0_stop_runs = 4;
  for (const bool automatic : {false, true}) {
    options_.automatic_compactions = automatic;
    options_.compaction_order = {CompactionKind::kMajor};  // and that is not due
    Open(automatic ? "automatic" : "manual");
    auto writes = std::async(std::launch::async, [&] {
      for (int i = 0; i < 12; ++i) {
        ASSERT_TRUE(db_->Put({}, std::to_string(i), "value").ok());
        ASSERT_TRUE(db_->Flush(nullptr).ok());
      }
    });
    if (writes.wait_for(kWatchdog) != std::future_status::ready) {
      FAIL() << "held for ever";
    }
    EXPECT_EQ(db_->GetStatistics().subtables.front().levels[0].runs, 12u);
    ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
    EXPECT_EQ(db_->GetStatistics().subtables.front().levels[0].runs, 0u);
  }
}

// However few runs are allowed, a compaction is due where they stop writers.
TEST_F(WriteBudget, RunsThatStopWritersAreMerged) {
  options_.l0_compaction_runs = 8;
  options_.l0_slowdown_runs = 1;
  for (const size_t stop : {1, 3, 12}) {
    options_.l0_stop_runs = stop;
    Open();
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(db_->Put({}, std::to_string(i), "value").ok());
      ASSERT_TRUE(db_->Flush(nullptr).ok());
      ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
      ASSERT_LT(db_->GetStatistics().subtables.front().levels[0].runs, stop);
    }
    db_.reset();
  }
  options_.l0_slowdown_runs = options_.l0_stop_runs = 0;
  EXPECT_FALSE(DB::Open(options_, dir_.File("db"), &db_).ok());
}

// While nothing waits for its flush, sleeping gains nothing.
TEST_F(WriteBudget, NobodyWaitsForAFlushThatHasNotBegun) {
  options_.max_waiting_memtables = 1;
  options_.memtable_bytes = 8 << 20;
  Open();
  const std::string value(64 << 10, 'v');
  for (int i = 0; MemtableBytes() + 2 * value.size() < options_.memtable_bytes; ++i) {
    ASSERT_TRUE(db_->Put({}, std::to_string(i), value).ok());
  }
  EXPECT_GT(MemtableBytes(), options_.memtable_bytes / 10 * 9);
  EXPECT_EQ(db_->GetStatistics().flushes, 0u);
  EXPECT_EQ(db_->GetStatistics().stall_microseconds, 0u);
}

// Writers that wait hold nothing that others need.
TEST_F(WriteBudget, OthersGetThroughWhileWritersWait) {
  const auto gate = std::make_shared<Gatekeeper>();
  options_.listeners.push_back(gate);
  Open();
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        ASSERT_TRUE(db_->Put({}, fmt::format("{}/{}", t, i), std::string(1000, 'v')).ok());
      }
    });
  }
  EXPECT_TRUE(gate->WaitForStop());
  auto others = std::async(std::launch::async, [&] {
    Subtable* made;
    EXPECT_TRUE(db_->CreateSubtable("made", &made).ok());
    EXPECT_TRUE(db_->Flush(other).ok());  // nothing to flush
    EXPECT_TRUE(db_->CompactRange(other, "", "").ok());
    EXPECT_TRUE(db_->DropSubtable(made).ok());
  });
  EXPECT_EQ(others.wait_for(kWatchdog), std::future_status::ready);
  gate->Open();
  others.wait();
  EXPECT_TRUE(db_->Flush(nullptr).ok());
  EXPECT_TRUE(db_->CompactRange(nullptr, "", "").ok());
  stop = true;
  for (std::thread& writer : writers) {
    writer.join();
  }
}

// Much more than the limits goes to sub-tables none of which is ever full.
TEST_F(WriteBudget, ManySubtablesStayWithinTheLimits) {
  const uint64_t seed = TestSeed();
  constexpr int kSubtables = 100;
  constexpr uint64_t kBytes = uint64_t{24} << 20;
  struct Case {
    uint64_t memory;
    uint64_t log;
  };
  for (const Case& limits : {Case{1 << 20, 64 << 20}, Case{64 << 20, 1 << 20}, Case{2 << 20, 0}}) {
    options_.memtable_bytes = 64 << 20;
    options_.write_buffer_bytes = limits.memory;
    options_.max_log_bytes = limits.log;
    FaultEnv memory(FileImage{{dir_.File("x"), ""}});  // which costs no time to sync
    options_.env = &memory;
    const uint64_t log_limit = limits.log != 0 ? limits.log : 4 * limits.memory;
    Open();
    std::vector<Subtable*> subtables(kSubtables);
    for (int i = 0; i < kSubtables; ++i) {
      ASSERT_TRUE(db_->CreateSubtable(fmt::format("t{}", i), &subtables[i]).ok());
    }
    TestRandom random(seed);
    uint64_t most_memory = 0;
    uint64_t most_log = 0;
    uint64_t written = 0;
    for (int i = 0; written < kBytes; ++i) {
      const std::string value(Uniform(&random, 0, 1000), 'v');
      Subtable* const subtable = subtables[Uniform(&random, 0, kSubtables - 1)];
      ASSERT_TRUE(db_->Put({}, subtable, fmt::format("{:08}", i), value).ok());
      written += value.size();
      if (i % 50 == 0) {
        most_memory = std::max(most_memory, MemtableBytes());
        most_log = std::max(most_log, db_->GetStatistics().log_file_bytes);
      }
    }
    EXPECT_GT(db_->GetStatistics().flushes, 0u);
    // One block of an arena may come on top, and spare segments of the log, and the one just begun.
    EXPECT_LE(most_memory, limits.memory + (256 << 10));
    EXPECT_LE(most_log, log_limit + 3 * options_.log_segment_bytes);
    ASSERT_TRUE(db_->Close().ok());
    db_.reset();
  }
}

// Each record has a segment of its own, larger than the log's are to be, and one sub-table needs the
// oldest of them.
TEST_F(WriteBudget, LargeRecordsCountWithTheirSize) {
  constexpr uint64_t kBytes = uint64_t{1} << 20;
  options_.memtable_bytes = 4 * kBytes;
  options_.write_buffer_bytes = 256 * kBytes;
  options_.log_segment_bytes = 64 << 10;
  options_.max_log_bytes = 16 * kBytes;
  FaultEnv memory(FileImage{{dir_.File("x"), ""}});  // which costs no time to sync
  options_.env = &memory;
  Open();
  Subtable* small;
  ASSERT_TRUE(db_->CreateSubtable("small", &small).ok());
  ASSERT_TRUE(db_->Put({}, small, "key", "value").ok());
  uint64_t most_log = 0;
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(db_->Put({}, fmt::format("{:02}", i), std::string(kBytes, 'v')).ok());
    most_log = std::max(most_log, db_->GetStatistics().log_file_bytes);
  }
  EXPECT_LE(most_log, options_.max_log_bytes + 3 * kBytes);
  ASSERT_TRUE(db_->Close().ok());
  db_.reset();
}

// Reads of more than the caches hold free what these evict while they run, and in the end what
// their threads used.
TEST_F(WriteBudget, ReadsKeepNoMemory) {
  constexpr int kKeys = 4000;
  constexpr uint64_t kValueBytes = 16'000;
  constexpr uint64_t kMost = uint64_t{32} << 20;  // of what the caches hold, and the rest of it all
  // Otherwise malloc itself would keep a large value or two, at the ends of its threads' arenas.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  options_.memtable_bytes = 4 << 20;
  options_.extent_bytes = 1 << 20;
  options_.block_cache_bytes = options_.row_cache_bytes = options_.table_cache_bytes = 1 << 20;
  Open();
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; ++i) {
    keys.push_back(fmt::format("{:08}", i));
    ASSERT_TRUE(db_->Put({}, keys.back(), std::string(kValueBytes, 'v')).ok());
  }
  const std::string large(size_t{24} << 20, 'l');
  ASSERT_TRUE(db_->Put({}, "large", large).ok());
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  ::malloc_trim(0);
  const uint64_t before = ResidentBytes();
  {
    std::vector<std::string> values;
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    for (const Status& status : db_->MultiGet({}, nullptr, views, &values)) {
      ASSERT_TRUE(status.ok());
    }
    EXPECT_LE(ResidentBytes(), before + kKeys * kValueBytes + kMost);
  }
  std::atomic<int> reading{4};
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&] {
      {
        std::string value;
        EXPECT_TRUE(db_->Get({}, "large", &value).ok());
        EXPECT_EQ(value, large);
      }
      --reading;
      stop.wait(false);  // and is idle
    });
  }
  while (reading > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::malloc_trim(0);
  EXPECT_LE(ResidentBytes(), before + kMost);
  stop = true;
  stop.notify_all();
  for (std::thread& reader : readers) {
    reader.join();
  }
}

// Batches and transactions that come too late for a sub-table are refused, and do no harm.
TEST_F(WriteBudget, DroppedSubtablesAreGone) {
  Open();
  Subtable* dropped;
  ASSERT_TRUE(db_->CreateSubtable("t", &dropped).ok());
  ASSERT_TRUE(db_->Put({}, dropped, "key", "value").ok());
  ASSERT_TRUE(db_->Put({}, dropped, "row", "value").ok());
  ASSERT_TRUE(db_->Flush(dropped).ok());
  std::string value;
  ASSERT_TRUE(db_->Get({}, dropped, "row", &value).ok());  // the row cache has it now
  const auto transaction = db_->BeginTransaction({}, {});
  ASSERT_TRUE(transaction->Put(dropped, "key", "other").ok());
  ASSERT_TRUE(db_->DropSubtable(dropped).ok());
  EXPECT_EQ(dropped->name(), "t");
  EXPECT_EQ(db_->FindSubtable("t"), nullptr);
  WriteBatch batch;
  batch.Put(dropped, "key", "value");
  EXPECT_EQ(db_->Write({}, batch).code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(db_->Put({}, dropped, "key", "value").code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(transaction->Commit().code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(db_->Flush(dropped).code(), Status::Code::kInvalidArgument);
  EXPECT_TRUE(db_->Get({}, dropped, "key", &value).IsNotFound());
  EXPECT_TRUE(db_->Get({}, dropped, "row", &value).IsNotFound());
  std::vector<std::string> values;
  EXPECT_TRUE(db_->MultiGet({}, dropped, {"row"}, &values)[0].IsNotFound());
  EXPECT_FALSE(db_->NewIterator({}, dropped)->Valid());
  Subtable* again;
  ASSERT_TRUE(db_->CreateSubtable("t", &again).ok());
  EXPECT_EQ(db_->FindSubtable("t"), again);
  EXPECT_TRUE(db_->Get({}, again, "key", &value).IsNotFound());
}

// Drops come between the check of a batch and its place in the memtables.
TEST_F(WriteBudget, DropsWhileOthersWrite) {
  Open();
  std::atomic<Subtable*> current{nullptr};
  std::atomic<bool> stop{false};
  Subtable* first;
  ASSERT_TRUE(db_->CreateSubtable("t", &first).ok());
  current = first;
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&] {
      while (!stop) {
        WriteBatch batch;
        batch.Put(current.load(), "key", "value");
        batch.Put("key", "value");
        const Status status = db_->Write({}, batch);
        EXPECT_TRUE(status.ok() || status.code() == Status::Code::kInvalidArgument);
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(db_->DropSubtable(current).ok());
    Subtable* made;
    ASSERT_TRUE(db_->CreateSubtable("t", &made).ok());
    current = made;
  }
  stop = true;
  for (std::thread& writer : writers) {
    writer.join();
  }
  ASSERT_TRUE(db_->Close().ok());
  db_.reset();
  Open();
  EXPECT_EQ(db_->ListSubtables().size(), 2u);
}

}  // namespace
}  // namespace sluice
