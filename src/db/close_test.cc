// Closing while threads write, and while they wait for flushes that never end.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "sluice/listener.h"
#include "util/testing.h"

namespace sluice {
namespace {

class Stalls final : public EventListener {
 public:
  void OnStall(const StallEvent& event) override {
    if (DB* const opened = db; opened != nullptr) {
      (void)opened->GetStatistics();  // whatever else is going on
    }
    ++told;
    if (event.stopped && !stopped_.exchange(true)) {
      stopped.release();
    }
  }
  std::binary_semaphore stopped{0};
  std::atomic<DB*> db{nullptr};
  std::atomic<int> told{0};

 private:
  std::atomic<bool> stopped_{false};
};

struct Outcome {
  Status status;
  bool begun = false;  // before the database was closed, certainly
};
using Outcomes = std::map<std::string, Outcome>;  // by key

class CloseTest : public DbFixture {
 protected:
  CloseTest() : random_(TestSeed()) {
    options_.memtable_bytes = 16 << 10;
    options_.max_waiting_memtables = 1;
  }

  // Until a write is refused. Asynchronous ones are asked for their outcome when the database is gone.
  void Write(int thread, uint64_t seed, Outcomes* outcomes) {
    TestRandom random(seed);
    bool refused = false;
    for (int i = 0; !refused && i < 100'000; ++i) {
      const std::string key = fmt::format("{}/{:06}", thread, i);
      const std::string value(Uniform(&random, 0, 500), 'v');
      const WriteOptions options{.sync = Uniform(&random, 0, 20) == 0};
      Outcome& outcome = (*outcomes)[key];
      Status* const status = &outcome.status;
      switch (Uniform(&random, 0, 3)) {
        case 0: {  // a wait for the log's flush, and one more record
          const Status durable = db_->Write({.sync = true}, WriteBatch());
          EXPECT_TRUE(durable.ok() || durable.code() == Status::Code::kBusy) << durable.ToString();
          *status = db_->Put(options, key, value);
          refused = !status->ok();
          break;
        }
        case 1: {
          WriteBatch batch;
          batch.Put(key, value);
          *status = Status::TimedOut("its callback was not called");
          db_->WriteAsync(options, std::move(batch), [=](const Status& s) { *status = s; });
          outcome.begun = !closing_;
          break;
        }
        case 2: {
          const auto transaction = db_->BeginTransaction({}, options);
          *status = transaction->Put(nullptr, key, value);
          if (status->ok()) {
            *status = transaction->Commit();
          }
          refused = !status->ok();
          break;
        }
        default:
          *status = db_->Put(options, key, value);
          refused = !status->ok();
      }
    }
  }

  void CloseWhileThreadsWrite(bool when_stopped) {
    constexpr int kThreads = 4;
    const auto stalls = std::make_shared<Stalls>();
    options_.listeners = {stalls};
    // With the one, a flush takes hours.
    options_.background_bytes_per_second = when_stopped ? 1 : 0;
    closing_ = false;
    options_.write_queues = Uniform(&random_, 1, kThreads);
    Open();
    stalls->db = db_.get();
    std::vector<Outcomes> outcomes(kThreads);
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back(&CloseTest::Write, this, t, random_(), &outcomes[t]);
    }
    if (when_stopped) {
      stalls->stopped.acquire();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(Uniform(&random_, 0, 20'000)));
    closing_ = true;
    EXPECT_TRUE(db_->Close().ok());
    for (std::thread& thread : threads) {
      thread.join();
    }
    const int told = stalls->told;
    EXPECT_EQ(db_->Put({}, "later", "v").code(), Status::Code::kBusy);
    EXPECT_EQ(stalls->told, told) << "it waits for nothing";
    stalls->db = nullptr;
    db_.reset();
    options_.background_bytes_per_second = 0;
    Open();
    std::string value;
    for (const Outcomes& of_thread : outcomes) {
      for (const auto& [key, outcome] : of_thread) {
        const Status& written = outcome.status;
        ASSERT_TRUE(written.ok() || (written.code() == Status::Code::kBusy && !outcome.begun))
            << key << ": " << written.ToString();
        const Status status = db_->Get({}, key, &value);
        ASSERT_EQ(status.code(), written.ok() ? Status::Code::kOk : Status::Code::kNotFound)
            << key << ": " << status.ToString() << ", " << written.ToString();
      }
    }
    EXPECT_TRUE(db_->Get({}, "later", &value).IsNotFound());
    db_.reset();
    ASSERT_TRUE(DB::Destroy(options_, dir_.File("db")).ok());
  }

  TestRandom random_;
  std::atomic<bool> closing_{false};
};

TEST_F(CloseTest, WritersThatWaitGoOn) {
  for (int round = TestRounds(5); round > 0; --round) {
    CloseWhileThreadsWrite(true);
  }
}

TEST_F(CloseTest, WritersAreCompletedOrRefused) {
  for (int round = TestRounds(10); round > 0; --round) {
    CloseWhileThreadsWrite(false);
  }
}

// The directory is free for others then.
TEST_F(CloseTest, NothingIsChangedAfterwards) {
  Open();
  Subtable* subtable = nullptr;
  ASSERT_TRUE(db_->CreateSubtable("subtable", &subtable).ok());
  ASSERT_TRUE(db_->Put({}, subtable, "key", "value").ok());
  std::unique_ptr<Ingestion> ingestion;
  ASSERT_TRUE(db_->NewIngestion(&ingestion).ok());
  ASSERT_TRUE(ingestion->Add(subtable, "key", "ingested").ok());
  ASSERT_TRUE(db_->Close().ok());
  std::unique_ptr<DB> next;
  ASSERT_TRUE(DB::Open(options_, dir_.File("db"), &next).ok());
  const auto refused = [](const Status& status) { return status.code() == Status::Code::kBusy; };
  Subtable* created = nullptr;
  EXPECT_TRUE(refused(db_->CreateSubtable("created", &created)));
  EXPECT_TRUE(refused(db_->SetSubtableOptions(subtable, {.block_bytes = 2048})));
  EXPECT_TRUE(refused(db_->DropSubtable(subtable)));
  EXPECT_TRUE(refused(db_->Flush(subtable)));
  EXPECT_TRUE(refused(db_->CompactRange(subtable, {}, {})));
  EXPECT_TRUE(refused(db_->CreateCheckpoint(dir_.File("checkpoint"))));
  EXPECT_TRUE(refused(ingestion->Commit()));
  ingestion.reset();
  EXPECT_TRUE(refused(db_->NewIngestion(&ingestion)));
  EXPECT_TRUE(refused(db_->Put({}, subtable, "key", "new")));
  EXPECT_TRUE(refused(db_->DeleteRange({}, subtable, {}, {})));
  EXPECT_TRUE(refused(db_->DeleteRange({}, subtable, "b", "a")));
  db_.reset();
  ASSERT_TRUE(next->Close().ok());
  next.reset();
  Open();
  EXPECT_EQ(db_->ListSubtables().size(), 2u);
  std::string value;
  EXPECT_TRUE(db_->Get({}, db_->FindSubtable("subtable"), "key", &value).ok());
  EXPECT_EQ(value, "value");
}

// What destructors of static objects and of a thread's thread_local ones may do: those that the
// engine has of its own for each thread are gone by then, or may go before the end of it.
class AtTheEnd {
 public:
  AtTheEnd() = default;
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  ~AtTheEnd() {
    Use();
    Check(db->Close());
  }
  void Use() {
    const std::string value(500, 'v');
    std::vector<std::string> keys;
    std::vector<std::string_view> views;
    for (int i = 0; i < 1000; ++i) {
      keys.push_back(fmt::format("{:06}", i));
      Check(db->Put({}, keys.back(), value));
    }
    Check(db->Flush(nullptr));
    std::string read;
    for (const std::string& key : keys) {
      Check(db->Get({}, key, &read));
      views.emplace_back(key);
    }
    std::vector<std::string> values;
    for (const Status& status : db->MultiGet({}, nullptr, views, &values)) {
      Check(status);
    }
    size_t count = 0;
    const auto at = db->NewIterator({});
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      count += at->value() == value ? 1 : 0;
    }
    Check(at->status());
    if (count != keys.size()) {
      _exit(1);
    }
    Check(db->CompactRange(nullptr, {}, {}));
  }
  static void Check(const Status& status) {
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      _exit(1);
    }
  }

  std::unique_ptr<DB> db;
};

TEST_F(CloseTest, StaticObjectsMayUseADatabase) {
  options_.block_cache_bytes = options_.row_cache_bytes = 0;
  options_.compression = Compression::kZstd;
  options_.separate_value_bytes = 400;
  const auto run = [&] {
    static AtTheEnd last;
    AtTheEnd::Check(DB::Open(options_, dir_.File("db"), &last.db));
    last.Use();
    std::exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(CloseTest, ThreadLocalObjectsMayUseADatabase) {
  options_.block_cache_bytes = options_.row_cache_bytes = 0;
  options_.compression = Compression::kZstd;
  options_.separate_value_bytes = 400;
  std::thread([&] {
    thread_local AtTheEnd last;  // made before what the engine has for the thread
    AtTheEnd::Check(DB::Open(options_, dir_.File("db"), &last.db));
    last.Use();
  }).join();
  Open();
  std::string value;
  EXPECT_TRUE(db_->Get({}, "000999", &value).ok());
}

}  // namespace
}  // namespace sluice
