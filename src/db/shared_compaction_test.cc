// Compactions that threads share, and CompactRange beside writers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Long enough for any machine: a wait that takes longer is in vain.
constexpr std::chrono::seconds kInVain{60};

class SharedCompactionTest : public DbFixture {
 protected:
  SharedCompactionTest() {
    options_.memtable_bytes = 512 << 10;  // few runs, or too much would be cut to share them
    options_.extent_bytes = 16 << 10;
    options_.compaction_bytes = 256 << 10;
    options_.log_segment_bytes = 64 << 20;
  }
  void Fill(TestRandom* random, std::map<std::string, std::string>* model, int keys) {
    for (int i = 0; i < keys; ++i) {
      const std::string key = fmt::format("{:05}", Uniform(random, 0, 20000));
      const std::string value(Uniform(random, 0, 300), static_cast<char>('a' + i % 26));
      ASSERT_TRUE(db_->Put({}, key, value).ok());
      (*model)[key] = value;
    }
  }
  void Compare(const std::map<std::string, std::string>& model) {
    const std::unique_ptr<Iterator> at = db_->NewIterator({}, nullptr);
    auto expected = model.begin();
    for (at->SeekToFirst(); at->Valid(); at->Next(), ++expected) {
      ASSERT_NE(expected, model.end());
      ASSERT_EQ(at->key(), expected->first);
      ASSERT_EQ(at->value(), expected->second);
    }
    EXPECT_TRUE(at->status().ok());
    EXPECT_EQ(expected, model.end());
  }
};

// The thread that begins a compaction shares it with idle ones: three parts are under way at the
// same time, each in another thread.
TEST_F(SharedCompactionTest, ThreadsShareACompaction) {
  class Meeting final : public EventListener {
   public:
    void OnCompaction(const CompactionEvent&) override {
      std::unique_lock lock(mutex_);
      here_.insert(std::this_thread::get_id());
      met_ = met_ || here_.size() == 3;
      changed_.notify_all();
      failed_ = failed_ || !changed_.wait_for(lock, kInVain, [&] { return met_ || failed_; });
      here_.erase(std::this_thread::get_id());
    }
    bool met() {
      const std::lock_guard lock(mutex_);
      return met_;
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<std::thread::id> here_;
    bool met_ = false;
    bool failed_ = false;
  };
  const auto meeting = std::make_shared<Meeting>();
  options_.listeners.push_back(meeting);
  options_.compaction_threads = 2;
  options_.automatic_compactions = false;
  options_.max_space_amplification = 0;  // which would have parts too small to share
  Open();
  TestRandom random(TestSeed());
  std::map<std::string, std::string> model;
  Fill(&random, &model, 8000);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  EXPECT_TRUE(meeting->met());
  Compare(model);
  Open();
  Compare(model);
}

// Every kind of compaction, by several threads, beside the writer.
TEST_F(SharedCompactionTest, KeepsEveryRecord) {
  options_.compaction_threads = 4;
  options_.l1_bytes = 256 << 10;
  Open();
  TestRandom random(TestSeed());
  std::map<std::string, std::string> model;
  for (int round = 0; round < 30; ++round) {
    Fill(&random, &model, 3000);
    for (int i = 0; i < 300; ++i) {
      const std::string key = fmt::format("{:05}", Uniform(&random, 0, 20000));
      ASSERT_TRUE(db_->Delete({}, key).ok());
      model.erase(key);
    }
    if (round % 5 == 4) {
      const std::string begin = fmt::format("{:05}", Uniform(&random, 0, 15000));
      ASSERT_TRUE(db_->CompactRange(nullptr, begin, begin + "zzz").ok());
      ASSERT_TRUE(db_->CompactRange(nullptr, begin, {}).ok());
    }
    Compare(model);
  }
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  Compare(model);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.compactions_abandoned, 0u);
}

// A CompactRange of many parts beside a flood of writes: level 0 is compacted meanwhile, or the
// writers would soon wait for the end of it.
TEST_F(SharedCompactionTest, ACompactRangeGivesWayToWhatWritersWaitFor) {
  class Watch final : public EventListener {
   public:
    void OnFlush(const FlushEvent&) override {
      const std::lock_guard lock(mutex_);
      ++flushes_;
      changed_.notify_all();
    }
    void OnStall(const StallEvent&) override {
      const std::lock_guard lock(mutex_);
      stalled_ = true;
      changed_.notify_all();
    }
    // Each part lasts as long as a flush, unless writers have stopped.
    void OnCompaction(const CompactionEvent& event) override {
      std::unique_lock lock(mutex_);
      if (event.kind != CompactionKind::kManual) {
        others_ += parts > 0 ? 1 : 0;
        stalled_ = false;
        return;
      }
      others_between = others_;
      ++parts;
      const size_t before = flushes_;
      EXPECT_TRUE(changed_.wait_for(lock, kInVain, [&] { return flushes_ > before || stalled_; }));
    }
    size_t parts = 0;
    size_t others_between = 0;  // other compactions between two of these parts

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    size_t flushes_ = 0;
    size_t others_ = 0;
    bool stalled_ = false;
  };
  options_.l0_compaction_runs = 4;
  options_.l0_slowdown_runs = 6;
  options_.l0_stop_runs = 20;
  options_.automatic_compactions = false;
  options_.max_space_amplification = 0;  // or writers would wait for that, too, and tell it once
  Open();
  TestRandom random(TestSeed());
  std::map<std::string, std::string> model;
  options_.compaction_bytes = 64 << 10;
  Fill(&random, &model, 60000);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  Fill(&random, &model, 20000);  // so that nothing can be reused
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  const auto watch = std::make_shared<Watch>();
  options_.listeners.push_back(watch);
  options_.automatic_compactions = true;
  options_.memtable_bytes = 64 << 10;
  Open();
  std::thread range([&] { EXPECT_TRUE(db_->CompactRange(nullptr, {}, "w").ok()); });
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; !done; ++i) {
      const std::string key = fmt::format("w{:05}", i);
      ASSERT_TRUE(db_->Put({}, key, std::string(16 << 10, 'w')).ok());
      model[key] = std::string(16 << 10, 'w');
    }
  });
  range.join();
  done = true;
  writer.join();
  EXPECT_GT(watch->parts, options_.l0_stop_runs) << "too few for this to say anything";
  EXPECT_GT(watch->others_between, 0u);
  Compare(model);
}

// However far behind flushes are, nothing is compacted unasked.
TEST_F(SharedCompactionTest, ACompactRangeDoesNoMoreThanItIsToldWithoutAutomaticCompactions) {
  options_.automatic_compactions = false;
  options_.max_waiting_memtables = 1;  // the one that is written is the last there may be
  options_.l0_compaction_runs = 2;
  Open();
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(db_->Put({}, "a", "value").ok());
    ASSERT_TRUE(db_->Put({}, "x", "value").ok());
    ASSERT_TRUE(db_->Flush(nullptr).ok());
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, "w", "y").ok());
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.compactions[static_cast<size_t>(CompactionKind::kMinor)], 0u);
  EXPECT_EQ(statistics.compactions[static_cast<size_t>(CompactionKind::kManual)], 1u);
  EXPECT_EQ(statistics.subtables[0].levels[0].runs, 3u);
}

}  // namespace
}  // namespace sluice
