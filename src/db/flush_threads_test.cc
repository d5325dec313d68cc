// Flushes by several threads.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "db/fixture.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Long enough for any machine: a wait that takes longer is in vain.
constexpr std::chrono::minutes kInVain{10};

class FlushThreadsTest : public DbFixture {
 protected:
  void CreateSubtables(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(db_->CreateSubtable(fmt::format("t{}", i), &subtables_.emplace_back()).ok());
    }
  }

  std::vector<Subtable*> subtables_;
};

// Two sub-tables are flushed at the same time, each by another thread.
TEST_F(FlushThreadsTest, SubtablesAreFlushedSideBySide) {
  class Meeting final : public EventListener {
   public:
    void OnFlush(const FlushEvent&) override {
      std::unique_lock lock(mutex_);
      here_.insert(std::this_thread::get_id());
      changed_.notify_all();
      failed_ = failed_ ||
                !changed_.wait_for(lock, kInVain, [&] { return here_.size() == 2 || failed_; });
    }
    bool met() {
      const std::lock_guard lock(mutex_);
      return here_.size() == 2 && !failed_;
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<std::thread::id> here_;
    bool failed_ = false;
  };
  const auto meeting = std::make_shared<Meeting>();
  options_.listeners.push_back(meeting);
  options_.flush_threads = 2;
  Open();
  CreateSubtables(2);
  std::vector<std::thread> threads;
  for (Subtable* const subtable : subtables_) {
    ASSERT_TRUE(db_->Put({}, subtable, "key", "value").ok());
  }
  for (Subtable* const subtable : subtables_) {
    threads.emplace_back([&, subtable] { EXPECT_TRUE(db_->Flush(subtable).ok()); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_TRUE(
      db_->WaitForBackgroundWork().ok());  // listeners are told when Flush may have returned
  EXPECT_TRUE(meeting->met());
}

// On a full device, a thread that has nothing to flush leaves the space to one that has.
TEST_F(FlushThreadsTest, TheReserveIsNotFilledWhileAnotherFlushes) {
  class WatchedEnv final : public FaultEnv {
   public:
    Status NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) override {
      taken_meanwhile = taken_meanwhile || (flushing && path == "db/RESERVE");
      return FaultEnv::NewDataFile(path, file);
    }
    Status RemoveFile(const std::string& path) override {
      given_up = given_up || path == "db/RESERVE";
      return FaultEnv::RemoveFile(path);
    }
    std::atomic<bool> given_up{false};
    std::atomic<bool> flushing{false};
    std::atomic<bool> taken_meanwhile{false};
  };
  class SlowFlush final : public EventListener {
   public:
    explicit SlowFlush(WatchedEnv* env) : env_(*env) {}
    void OnFlush(const FlushEvent&) override {
      env_.flushing = true;
      for (int i = 0; i < 50 && !env_.taken_meanwhile; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      env_.flushing = false;
    }

   private:
    WatchedEnv& env_;
  };
  WatchedEnv env;
  options_.env = &env;
  options_.flush_threads = 2;
  options_.listeners.push_back(std::make_shared<SlowFlush>(&env));
  ASSERT_TRUE(DB::Open(options_, "db", &db_).ok());
  ASSERT_TRUE(db_->Put({}, "key", std::string(10'000, 'v')).ok());
  env.FillUp(env.operations(), UINT64_MAX, TestSeed());
  // It finds no space, and is repeated with that of the reserve.
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  const Status idle = db_->WaitForBackgroundWork();
  EXPECT_TRUE(idle.ok()) << idle.ToString();
  EXPECT_FALSE(env.taken_meanwhile);
  EXPECT_TRUE(env.given_up);
  db_.reset();  // before its file system
}

// A sub-table's memtables are flushed one after the other, however many threads there are: a newer
// version never lies under an older one, and none is lost.
TEST_F(FlushThreadsTest, KeepsTheOrderOfASubtable) {
  options_.flush_threads = 4;
  options_.memtable_bytes = 8 << 10;
  options_.max_waiting_memtables = 8;
  Open();
  CreateSubtables(3);
  TestRandom random(TestSeed());
  std::vector<std::map<std::string, std::string>> models(subtables_.size());
  for (int i = 0; i < 60'000; ++i) {
    // The first one is written most of the time, so that its memtables pile up.
    const size_t which = Uniform(&random, 0, 3) != 0 ? 0 : Uniform(&random, 0, 2);
    const std::string key = fmt::format("{:03}", Uniform(&random, 0, 300));
    if (Uniform(&random, 0, 9) == 0) {
      ASSERT_TRUE(db_->Delete({}, subtables_[which], key).ok());
      models[which].erase(key);
    } else {
      const std::string value = fmt::format("{}", i);
      ASSERT_TRUE(db_->Put({}, subtables_[which], key, value).ok());
      models[which][key] = value;
    }
    if (i % 10'000 == 0) {
      ASSERT_TRUE(db_->Flush(nullptr).ok());
    }
  }
  const auto compare = [&] {
    for (size_t i = 0; i < models.size(); ++i) {
      Subtable* const subtable = db_->FindSubtable(fmt::format("t{}", i));
      ASSERT_NE(subtable, nullptr);
      const std::unique_ptr<Iterator> at = db_->NewIterator({}, subtable);
      auto expected = models[i].begin();
      for (at->SeekToFirst(); at->Valid(); at->Next(), ++expected) {
        ASSERT_NE(expected, models[i].end());
        ASSERT_EQ(at->key(), expected->first);
        ASSERT_EQ(at->value(), expected->second);
      }
      EXPECT_EQ(expected, models[i].end());
    }
  };
  compare();
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  compare();
  Open();
  compare();
}

// A file system may take long to remove a segment of the log: nobody else waits for that.
TEST_F(FlushThreadsTest, TheTreeChangesWhileSegmentsAreRemoved) {
  class SlowRemoval final : public FaultEnv {
   public:
    Status RemoveFile(const std::string& path) override {
      if (path.starts_with("db/log/")) {
        std::unique_lock lock(mutex_);
        removing_ = true;
        changed_.notify_all();
        in_vain =
            in_vain || !changed_.wait_for(lock, std::chrono::seconds(20), [&] { return go_; });
      }
      return FaultEnv::RemoveFile(path);
    }
    void AwaitRemoval() {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return removing_; });
    }
    void GoOn() {
      const std::lock_guard lock(mutex_);
      go_ = true;
      changed_.notify_all();
    }
    bool in_vain = false;

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool removing_ = false;
    bool go_ = false;
  };
  SlowRemoval env;
  options_.env = &env;
  options_.flush_threads = 2;
  const Status opened = DB::Open(options_, "db", &db_);
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  CreateSubtables(2);
  for (int i = 0; i < 4; ++i) {  // segments of the log
    ASSERT_TRUE(db_->Put({}, subtables_[0], "key", std::string(40'000, 'x')).ok());
  }
  std::thread flush([&] { EXPECT_TRUE(db_->Flush(subtables_[0]).ok()); });
  env.AwaitRemoval();
  ASSERT_TRUE(db_->Put({}, subtables_[1], "key", "value").ok());
  EXPECT_TRUE(db_->Flush(subtables_[1]).ok());
  EXPECT_TRUE(db_->CreateCheckpoint("copy").ok());
  EXPECT_TRUE(db_->DropSubtable(subtables_[1]).ok());
  env.GoOn();
  flush.join();
  EXPECT_TRUE(db_->Close().ok());
  EXPECT_FALSE(env.in_vain);
  db_.reset();
}

}  // namespace
}  // namespace sluice
