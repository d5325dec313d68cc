// The pipeline between stages that only take notes: what they are called with, and when a write
// returns, is checked against what write_pipeline.h promises.

#include "write/write_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "util/testing.h"
#include "write/batch_format.h"

namespace sluice {
namespace {

// What the calling thread has done of late.
thread_local uint64_t groups_led = 0;
thread_local uint64_t groups_led_since_own = 0;
thread_local const char* own_batch = nullptr;

class Notes : public WriteStages {
 public:
  void Admit(const WriteGroup&, size_t) override {}
  Status BufferLog(WriteGroup* group) override {
    EXPECT_FALSE(buffering_.exchange(true));
    EXPECT_FALSE(exclusive_);
    group->first_sequence = sequence_ + 1;
    ++groups_led;
    ++groups_led_since_own;
    for (const WriteTask* task = group->tasks; task != nullptr; task = task->next) {
      EXPECT_EQ(task->sync, group->sync);
      sequence_ += task->count;
      log_ += task->batch.size();
      groups_led_since_own = task->batch.data() == own_batch ? 0 : groups_led_since_own;
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
    if (!quick_flushes_) {
      Dawdle(200);
    }
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
    return group.last_sequence / 50 != (group.first_sequence - 1) / 50;
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
  void FlushQuickly() { quick_flushes_ = true; }
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
  bool quick_flushes_ = false;
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
        if (random() % 4 == 0) {
          EXPECT_TRUE(pipeline->Write({}, 0, true).ok() || notes.failed());
        }
        if (random() % 2 == 0) {
          const SequenceNumber before = notes.published();
          const Status status = pipeline->Write(batch.rep(), batch.count(), sync);
          EXPECT_TRUE(!status.ok() || notes.published() >= before + batch.count());
          ++(status.ok() ? outcome->ok : outcome->failed);
        } else {
          ++under_way;
          pipeline->WriteAsync(std::string(batch.rep()), batch.count(), sync,
                               [&](const Status& status) {
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
      if (queues == 2) {
        notes.FlushQuickly();
      }
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
        // First of all: what others add from now on may be durable only later.
        const uint64_t returned = bytes += batch.size();
        EXPECT_GE(notes.durable(), returned);
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
}

// Where the log is in memory, a lone writer's sync costs no switch of threads.
TEST(WritePipeline, ALoneWriterFlushesForItselfIfThatIsQuick) {
  struct Own : Notes {
    Status FlushLog(LogPosition* durable) override {
      own += std::this_thread::get_id() == writer ? 1 : 0;
      if (!quick) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return Notes::FlushLog(durable);
    }
    const std::thread::id writer = std::this_thread::get_id();
    std::atomic<bool> quick{false};
    std::atomic<int> own{0};
  };
  Own notes;
  notes.FlushQuickly();
  WritePipeline pipeline(2, &notes);
  LogPosition written = 0;
  const auto write = [&] {
    ASSERT_TRUE(pipeline.Write("x", 1, true).ok());
    EXPECT_EQ(notes.durable(), ++written);
    EXPECT_EQ(notes.published(), written);
  };
  for (int i = 0; i < 20; ++i) {
    write();
  }
  EXPECT_EQ(notes.own, 0) << "it would sleep until the disk is done";
  notes.quick = true;
  for (int i = 0; notes.own == 0; ++i) {
    ASSERT_LT(i, 1'000'000) << "on a busy machine a flush may take its time, but not all of them";
    write();
  }
}

TEST(WritePipeline, NothingBecomesVisibleBehindAFailedFlush) {
  for (uint64_t flush = 0; flush < 8; ++flush) {
    Notes notes;
    notes.FailAt(flush / 2);
    if (flush % 2 == 0) {
      notes.FlushQuickly();
    }
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

// What is not synced does not wait for the disk behind what is, as long as that writes nothing.
TEST(WritePipeline, WhatNobodySeesKeepsNobodyWaiting) {
  struct StuckNotes : Notes {
    Status FlushLog(LogPosition* durable) override {
      flushes.fetch_add(1);
      stuck.wait(true);
      return Notes::FlushLog(durable);
    }
    // Groups without writes, too.
    bool Insert(const WriteGroup& group) override {
      return group.last_sequence >= group.first_sequence && Notes::Insert(group);
    }
    std::atomic<int> flushes{0};
    std::atomic<bool> stuck{true};
  };
  StuckNotes notes;
  std::atomic<int> synced{0};
  std::vector<std::thread> writers;
  {
    WritePipeline pipeline(2, &notes);
    for (int i = 0; i < 3; ++i) {
      writers.emplace_back([&] {
        EXPECT_TRUE(pipeline.Write("prepared", 0, true).ok());
        ++synced;
      });
    }
    while (notes.flushes == 0) {
      std::this_thread::yield();
    }
    for (SequenceNumber n = 1; n <= 3; ++n) {
      EXPECT_TRUE(pipeline.Write("x", 1, false).ok());
      EXPECT_EQ(notes.published(), n);
    }
    EXPECT_EQ(synced, 0);
    notes.stuck = false;
    notes.stuck.notify_all();
    for (std::thread& writer : writers) {
      writer.join();
    }
    EXPECT_EQ(synced, 3);
  }
  EXPECT_EQ(notes.published(), 3u);
}

// Takes no batch with a 'p' in it, and lets `beside` run while it takes the first group.
class FullNotes final : public Notes {
 public:
  Status BufferLog(WriteGroup* group) override {
    if (beside) {
      std::thread(std::exchange(beside, nullptr)).join();
    }
    size_t tasks = 0;
    bool taken = true;
    for (const WriteTask* task = group->tasks; task != nullptr; task = task->next) {
      taken = taken && task->batch.find('p') == std::string_view::npos;
      ++tasks;
    }
    most_tasks = std::max(most_tasks, tasks);
    ++groups;
    return taken ? Notes::BufferLog(group) : refusal;
  }

  std::function<void()> beside;
  Status refusal = Status::NoSpace("planned");
  size_t most_tasks = 0;
  int groups = 0;
};

void Flood(WritePipeline* pipeline, int writes, std::atomic<int>* written) {
  for (int i = 0; i < writes; ++i) {
    WriteBatch batch;
    batch.Put("key", std::string(1000, 'v'));
    pipeline->WriteAsync(batch.TakeRep(), 1, false, [](const Status&) {});
    ++*written;
  }
}

class RefusalTest : public testing::TestWithParam<Status> {};

TEST_P(RefusalTest, TakesNoOthersWithIt) {
  FullNotes notes;
  notes.refusal = GetParam();
  WritePipeline pipeline(1, &notes);
  std::string outcome;
  std::atomic<int> left{6};
  notes.beside = [&] {
    // Together in the next group.
    for (const char* const kind : {"d", "p", "d", "d", "p"}) {
      WriteBatch batch;
      batch.Put(kind, "");
      pipeline.WriteAsync(
          std::string(batch.rep()), batch.count(), false, [&, kind](const Status& status) {
            const bool refused = status.code() == GetParam().code();
            outcome += std::string(kind) + (refused ? "- " : status.ok() ? "+ " : "? ");
            --left;
          });
    }
  };
  EXPECT_TRUE(pipeline.Write("d", 1, false).ok());
  --left;
  while (left > 0) {
    std::this_thread::yield();
  }
  EXPECT_EQ(notes.most_tasks, 5u);
  EXPECT_EQ(outcome, "d+ p- d+ d+ p- ");
  EXPECT_EQ(notes.published(), 4u);
}
INSTANTIATE_TEST_SUITE_P(All, RefusalTest,
                         testing::Values(Status::NoSpace("planned"), Status::Busy("planned")));

// While a group waits for log buffering, it takes along what is queued behind it.
TEST(WritePipeline, GroupsGrowUntilTheLogTakesThem) {
  FullNotes notes;
  std::vector<std::thread> writers;
  {
    WritePipeline pipeline(2, &notes);
    std::atomic<int> written{0};
    notes.beside = [&] {
      for (int i = 0; i < 4; ++i) {  // two on each queue
        writers.emplace_back([&] { Flood(&pipeline, 1, &written); });
      }
      // The fourth one leads the other queue, and waits for log buffering.
      while (written < 3) {
        std::this_thread::yield();
      }
    };
    EXPECT_TRUE(pipeline.Write("d", 1, false).ok());
    for (std::thread& writer : writers) {
      writer.join();
    }
  }
  EXPECT_EQ(notes.published(), 5u);
  EXPECT_EQ(notes.groups, 3);
}

// Who only waits for the log's flush has no part in any group, and no turn in log buffering.
TEST(WritePipeline, EmptyWritesPassTheOthersBy) {
  FullNotes notes;
  WritePipeline pipeline(1, &notes);
  EXPECT_TRUE(pipeline.Write("d", 1, false).ok());
  notes.beside = [&] {  // the next group's thread waits for this
    EXPECT_TRUE(pipeline.Write({}, 0, true).ok());
    EXPECT_EQ(notes.durable(), 1u);
    std::atomic<bool> done{false};
    pipeline.WriteAsync({}, 0, true, [&](const Status& status) {  // all is durable by now
      EXPECT_TRUE(status.ok());
      done = true;
    });
    EXPECT_TRUE(done);
  };
  EXPECT_TRUE(pipeline.Write("d", 1, false).ok());
  EXPECT_EQ(notes.groups, 2);
}

// All of a group are synced, or none: what nobody will see is no reason to part others.
TEST(WritePipeline, WhatNobodySeesNeedNotBeSyncedInItsGroup) {
  struct Groups : Notes {
    Status BufferLog(WriteGroup* group) override {
      synced += group->sync ? 1 : 0;
      return Notes::BufferLog(group);
    }
    int synced = 0;
  };
  Groups notes;
  WritePipeline pipeline(1, &notes);
  EXPECT_TRUE(pipeline.Write("prepared", 0, true).ok());
  EXPECT_EQ(notes.durable(), 8u);
  EXPECT_EQ(notes.synced, 0);
  EXPECT_TRUE(pipeline.Write("x", 1, true).ok());
  EXPECT_EQ(notes.durable(), 9u);
  EXPECT_EQ(notes.synced, 1);
}

// But not the asynchronous ones of its thread, which it asks for.
TEST(WritePipeline, EmptyWritesWaitForThoseBeforeThem) {
  FullNotes notes;
  std::atomic<LogPosition> durable{0};
  {
    WritePipeline pipeline(1, &notes);
    EXPECT_TRUE(pipeline.Write("d", 1, false).ok());
    notes.beside = [&] {
      pipeline.WriteAsync("d", 1, false, [](const Status&) {});
      pipeline.WriteAsync({}, 0, true, [&](const Status&) { durable = notes.durable(); });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    EXPECT_TRUE(pipeline.Write("d", 1, false).ok());
  }
  EXPECT_EQ(durable, 3u);
}

TEST(WritePipeline, EmptyWritesFailWithTheFlush) {
  Notes notes;
  notes.FailAt(0);
  WritePipeline pipeline(2, &notes);
  EXPECT_TRUE(pipeline.Write("x", 1, false).ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(pipeline.Write({}, 0, true).code(), Status::Code::kIoError);
  }
}

// While the log is stuck: half a megabyte of asynchronous writes if no thread writes otherwise, else
// as much as a blocking writer can wait for.
TEST(WritePipeline, QueuesAreLongOnlyWhereNobodyWaits) {
  constexpr int kWrites = 500;
  for (const bool blocking_too : {false, true}) {
    FullNotes notes;
    std::thread writer;
    {
      WritePipeline pipeline(1, &notes);
      std::atomic<int> written{0};
      if (blocking_too) {
        EXPECT_TRUE(pipeline.Write("d", 1, false).ok());
      }
      notes.beside = [&] {
        writer = std::thread([&] { Flood(&pipeline, kWrites, &written); });
        if (blocking_too) {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          EXPECT_LT(written, kWrites / 10);
        } else {
          while (written < kWrites) {
            std::this_thread::yield();
          }
        }
      };
      std::atomic<int> first{0};
      Flood(&pipeline, 1, &first);
      writer.join();
    }
    EXPECT_EQ(notes.published(), kWrites + (blocking_too ? 2u : 1u));
  }
}

// Threads flood the pipeline, which cannot keep up: nobody leads for long after its own task.
TEST(WritePipeline, LeadersAreRelieved) {
  for (const bool blocking_too : {false, true}) {
    Notes notes;
    WritePipeline pipeline(2, &notes);
    std::atomic<uint64_t> most_asynchronous{0};
    std::atomic<uint64_t> most_blocking{0};
    const auto raise = [](std::atomic<uint64_t>* most, uint64_t value) {
      for (uint64_t seen = *most; seen < value && !most->compare_exchange_weak(seen, value);) {
      }
    };
    std::vector<std::thread> writers;
    for (int i = 0; i < 16; ++i) {
      writers.emplace_back([&, i] {
        std::atomic<int> under_way{0};
        for (int n = 0; n < 150; ++n) {
          WriteBatch batch;
          batch.Put("key", std::string(10, 'v'));
          if (blocking_too && i < 4) {
            own_batch = batch.rep().data();
            groups_led_since_own = 0;
            EXPECT_TRUE(pipeline.Write(batch.rep(), batch.count(), n % 8 == 0).ok());
            raise(&most_blocking, groups_led_since_own);
          } else {
            ++under_way;
            groups_led = 0;
            pipeline.WriteAsync(std::string(batch.rep()), batch.count(), false,
                                [&](const Status&) { --under_way; });
            raise(&most_asynchronous, groups_led);
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
    EXPECT_LE(most_asynchronous, 1u);
    EXPECT_LE(most_blocking, 8u);
  }
}

// What one thread writes takes effect in the order of its calls, blocking or not.
TEST(WritePipeline, KeepsTheOrderOfEachThread) {
  struct Order : Notes {
    Status BufferLog(WriteGroup* group) override {
      for (const WriteTask* task = group->tasks; task != nullptr; task = task->next) {
        std::string_view rep = task->batch;
        BatchWrite write;
        EXPECT_TRUE(ReadWrite(&rep, &write));
        const int thread = std::stoi(std::string(write.key));
        const int number = std::stoi(std::string(write.value));
        EXPECT_EQ(number, last[thread] + 1);
        last[thread] = number;
      }
      return Notes::BufferLog(group);
    }
    std::array<int, 8> last{};
  };
  Order order;
  {
    WritePipeline pipeline(2, &order);
    std::vector<std::thread> writers;
    for (size_t i = 0; i < order.last.size(); ++i) {
      writers.emplace_back([&, i] {
        for (int n = 1; n <= 300; ++n) {
          WriteBatch batch;
          batch.Put(std::to_string(i), std::to_string(n));
          if (n % 10 == 0) {
            EXPECT_TRUE(pipeline.Write(batch.rep(), batch.count(), false).ok());
          } else {
            pipeline.WriteAsync(std::string(batch.rep()), batch.count(), n % 7 == 0,
                                [](const Status&) {});
          }
        }
      });
    }
    for (std::thread& writer : writers) {
      writer.join();
    }
  }
  for (const int last : order.last) {
    EXPECT_EQ(last, 300);  // the pipeline's end completes what is in it
  }
}

}  // namespace
}  // namespace sluice
