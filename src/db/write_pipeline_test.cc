// The pipeline between stages that only take notes: what they are called with, and when a write
// returns, is checked against what write_pipeline.h promises.

#include "db/write_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "db/batch_format.h"
#include "util/testing.h"

namespace sluice {
namespace {

class Notes : public WriteStages {
 public:
  Status BufferLog(WriteGroup* group) override {
    EXPECT_FALSE(buffering_.exchange(true));
    EXPECT_FALSE(exclusive_);
    group->first_sequence = sequence_ + 1;
    for (const WriteTask* task = group->tasks; task != nullptr; task = task->next) {
      EXPECT_EQ(task->sync, group->sync);
      sequence_ += task->count;
      log_ += task->batch.size();
    }
    group->last_sequence = sequence_;
    group->log_end = log_;
    appended_.store(log_);
    buffering_ = false;
    return {};
  }
  Status FlushLog(LogPosition* durable) override {
    EXPECT_FALSE(flushing_.exchange(true));
    const LogPosition end = appended_.load();
    Dawdle(200);
    flushing_ = false;
    if (flushes_++ == fail_at_) {
      return Status::IoError("planned");
    }
    durable_ = *durable = end;
    return {};
  }
  bool Insert(const WriteGroup& group) override {
    EXPECT_FALSE(exclusive_);
    EXPECT_LT(published_, group.first_sequence);
    Dawdle(20);
    inserted_ += group.last_sequence - group.first_sequence + 1;
    return group.last_sequence % 50 == 0;
  }
  void Publish(SequenceNumber last) override {
    EXPECT_FALSE(exclusive_);
    EXPECT_GT(last, published_);
    EXPECT_GE(inserted_.load(), last);  // without gaps
    published_ = last;
  }
  void SwitchFullMemtables() override {
    exclusive_ = true;
    EXPECT_TRUE(published_ == sequence_ || failed_);
    Dawdle(20);
    ++switches_;
    exclusive_ = false;
  }
  void Failed(const Status&) override { failed_ = true; }

  SequenceNumber published() const { return published_; }
  uint64_t switches() const { return switches_; }
  LogPosition durable() const { return durable_; }
  bool failed() const { return failed_; }
  // The flush of this number fails.
  void FailAt(uint64_t flush) { fail_at_ = flush; }

 private:
  static void Dawdle(int most_microseconds) {
    thread_local std::mt19937 random(std::random_device{}());
    std::this_thread::sleep_for(std::chrono::microseconds(random() % most_microseconds));
  }

  std::atomic<bool> buffering_{false};
  std::atomic<bool> flushing_{false};
  std::atomic<bool> exclusive_{false};
  std::atomic<bool> failed_{false};
  SequenceNumber sequence_ = 0;
  LogPosition log_ = 0;
  std::atomic<LogPosition> appended_{0};
  std::atomic<LogPosition> durable_{0};
  std::atomic<uint64_t> inserted_{0};
  std::atomic<SequenceNumber> published_{0};
  uint64_t switches_ = 0;
  uint64_t flushes_ = 0;
  uint64_t fail_at_ = UINT64_MAX;
};

struct Outcome {
  std::atomic<uint64_t> ok{0};
  std::atomic<uint64_t> failed{0};
};

// `threads` threads write `each` batches each, some asynchronously.
void WriteFromThreads(WritePipeline* pipeline, const Notes& notes, int threads, int each,
                      Outcome* outcome) {
  const uint64_t seed = TestSeed();
  std::vector<std::thread> writers;
  for (int i = 0; i < threads; ++i) {
    writers.emplace_back([&, i] {
      std::mt19937_64 random(seed + i);
      std::atomic<int> under_way{0};
      for (int n = 0; n < each; ++n) {
        WriteBatch batch;
        for (uint64_t left = 1 + random() % 3; left > 0; --left) {
          batch.Put("key", std::string(random() % 100, 'v'));
        }
        const bool sync = random() % 4 == 0;
        if (random() % 2 == 0) {
          const SequenceNumber before = notes.published();
          const Status status = pipeline->Write(batch.rep(), batch.count(), sync);
          EXPECT_TRUE(!status.ok() || notes.published() >= before + batch.count());
          ++(status.ok() ? outcome->ok : outcome->failed);
        } else {
          ++under_way;
          pipeline->WriteAsync(batch, sync, [&](const Status& status) {
            ++(status.ok() ? outcome->ok : outcome->failed);
            --under_way;
          });
        }
      }
      while (under_way > 0) {
        std::this_thread::yield();
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
}

TEST(WritePipeline, GroupsComeThroughInOrder) {
  for (const size_t queues : {1, 2, 8}) {
    for (const int threads : {1, 3, 12}) {
      Notes notes;
      Outcome outcome;
      {
        WritePipeline pipeline(queues, &notes);
        WriteFromThreads(&pipeline, notes, threads, 600 / threads, &outcome);
      }
      EXPECT_EQ(outcome.ok, 600 / threads * threads);
      EXPECT_EQ(outcome.failed, 0);
      EXPECT_GT(notes.switches(), 0);
    }
  }
}

TEST(WritePipeline, SyncedWritesWaitForTheDisk) {
  Notes notes;
  WritePipeline pipeline(2, &notes);
  std::vector<std::thread> writers;
  std::atomic<uint64_t> bytes{0};
  for (int i = 0; i < 5; ++i) {
    writers.emplace_back([&] {
      for (int n = 0; n < 50; ++n) {
        const std::string batch(10, 'x');
        ASSERT_TRUE(pipeline.Write(batch, 1, true).ok());
        EXPECT_GE(notes.durable(), bytes += batch.size());
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
}

TEST(WritePipeline, NothingBecomesVisibleBehindAFailedFlush) {
  for (uint64_t flush = 0; flush < 4; ++flush) {
    Notes notes;
    notes.FailAt(flush);
    Outcome outcome;
    SequenceNumber published = 0;
    {
      WritePipeline pipeline(2, &notes);
      WriteFromThreads(&pipeline, notes, 4, 100, &outcome);
      EXPECT_TRUE(notes.failed());
      published = notes.published();
      EXPECT_FALSE(pipeline.Write("x", 1, false).ok());
    }
    EXPECT_EQ(notes.published(), published);
    EXPECT_GT(outcome.failed, 0);
    EXPECT_EQ(outcome.ok + outcome.failed, 400);
  }
}

}  // namespace
}  // namespace sluice
