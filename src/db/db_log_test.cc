// What the redo log costs a database: disk, and memory when it is opened again.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "sluice/listener.h"
#include "util/fault_env.h"
#include "util/testing.h"
#include "util/thread_watch.h"

namespace sluice {
namespace {

uint64_t DiskBytes(const std::string& dir) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    struct stat info;
    EXPECT_EQ(::stat(entry.path().c_str(), &info), 0) << entry.path();
    bytes += info.st_blocks * 512;
  }
  return bytes;
}

TEST(DbLog, ADatabaseOfOneKeyIsSmall) {
  constexpr uint64_t kMost = uint64_t{2} << 20;
  const TempDir dir;
  Options options;
  options.create_if_missing = true;
  std::unique_ptr<DB> db;
  for (int life = 0; life < 3; ++life) {
    ASSERT_TRUE(DB::Open(options, dir.File("db"), &db).ok());
    ASSERT_TRUE(db->Put({.sync = true}, "key", "value").ok());
    EXPECT_LT(DiskBytes(dir.path()), kMost);
    if (life == 1) {
      ASSERT_TRUE(db->CompactRange(nullptr, "", "").ok());
      EXPECT_LT(DiskBytes(dir.path()), kMost);
    }
    ASSERT_TRUE(db->Close().ok());
    db.reset();
    EXPECT_LT(DiskBytes(dir.path()), kMost);
  }
}

// Several threads replay the log, so writes of one key may reach its memtable in any order.
TEST(DbLog, WhatIsReplayedKeepsItsOrder) {
  constexpr int kKeys = 50;
  constexpr int kWrites = 60000;  // many chunks of the replayer
  const TempDir dir;
  Options options;
  options.create_if_missing = true;
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, dir.File("db"), &db).ok());
  std::map<std::string, std::string> model;
  std::mt19937_64 random(TestSeed());
  for (int i = 0; i < kWrites; ++i) {
    const std::string key = fmt::format("k{:02}", random() % kKeys);
    if (i % 1000 == 999) {
      const std::string end = fmt::format("k{:02}", random() % kKeys);
      ASSERT_TRUE(db->DeleteRange({}, nullptr, std::min(key, end), std::max(key, end)).ok());
      model.erase(model.lower_bound(std::min(key, end)), model.lower_bound(std::max(key, end)));
    } else if (i % 10 == 9) {
      ASSERT_TRUE(db->Delete({}, key).ok());
      model.erase(key);
    } else {
      model[key] = fmt::format("{} {}", i, std::string(random() % 200, 'v'));
      ASSERT_TRUE(db->Put({}, key, model[key]).ok());
    }
  }
  ASSERT_TRUE(db->Close().ok());
  db.reset();
  ASSERT_TRUE(DB::Open(options, dir.File("db"), &db).ok());
  const auto at = db->NewIterator({});
  at->SeekToFirst();
  for (const auto& [key, value] : model) {
    ASSERT_TRUE(at->Valid()) << key;
    EXPECT_EQ(at->key(), key);
    EXPECT_EQ(at->value(), value);
    at->Next();
  }
  EXPECT_FALSE(at->Valid());
}

// Each call that takes space for the log fails once: the write that needed it fails, nothing of it
// is there, and the next one is taken.
TEST(DbLog, AWriteThatFindsNoSpaceFailsAlone) {
  int failed = 0;
  for (uint64_t k = 0; k < 12; ++k) {
    SCOPED_TRACE(k);
    FaultEnv env;
    Options options;
    options.create_if_missing = true;
    options.env = &env;
    options.log_segment_bytes = 4096;
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options, "db", &db).ok());
    env.FailAt(env.operations() + k, ENOSPC, k);
    std::string refused;
    for (int i = 0; i < 20; ++i) {
      const std::string key = fmt::format("k{}", i);
      const Status status = db->Put({}, key, std::string(1000, 'v'));
      if (!status.ok()) {
        EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
        EXPECT_EQ(refused, "");
        refused = key;
      }
    }
    ASSERT_FALSE(refused.empty());
    ++failed;
    ASSERT_TRUE(db->Close().ok());
    ASSERT_TRUE(DB::Open(options, "db", &db).ok());
    for (int i = 0; i < 20; ++i) {
      const std::string key = fmt::format("k{}", i);
      std::string value;
      EXPECT_EQ(db->Get({}, key, &value).IsNotFound(), key == refused) << key;
    }
  }
  EXPECT_EQ(failed, 12);
}

class FlushCounter : public EventListener {
 public:
  void OnFlush(const FlushEvent& event) override {
    records += event.input_records;
    most_records = std::max<uint64_t>(most_records, event.input_records);
    ++flushes;
  }

  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> most_records{0};  // of a flush
  std::atomic<uint64_t> flushes{0};
};

// A log of 300 MB, of memtables that were never flushed, is opened with far less memory. What does
// not fit is then in extents.
TEST(DbLog, RecoveryStaysWithinTheMemoryOfMemtables) {
  constexpr int kSubtables = 50;
  constexpr int kRecords = 30'000;
  FaultEnv env;  // which costs no time to sync
  Options options;
  options.create_if_missing = true;
  options.env = &env;
  options.memtable_bytes = options.write_buffer_bytes = size_t{1} << 30;
  options.max_log_bytes = uint64_t{4} << 30;
  options.automatic_compactions = false;
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  std::vector<Subtable*> subtables(kSubtables);
  for (int i = 0; i < kSubtables; ++i) {
    ASSERT_TRUE(db->CreateSubtable(fmt::format("t{}", i), &subtables[i]).ok());
  }
  for (int i = 0; i < kRecords; ++i) {
    const std::string value(10'000, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(
        db->Put({}, subtables[i % 7 * i % kSubtables], fmt::format("{:08}", i), value).ok());
  }
  EXPECT_EQ(db->GetStatistics().flushes, 0u);
  EXPECT_GT(db->GetStatistics().log_file_bytes, 300'000'000u);
  ASSERT_TRUE(db->Close().ok());

  options.write_buffer_bytes = size_t{32} << 20;
  const auto flushed = std::make_shared<FlushCounter>();
  options.listeners.push_back(flushed);
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  const uint64_t records = flushed->records;
  EXPECT_GE(records * 10'000 + options.write_buffer_bytes, uint64_t{kRecords} * 10'000);
  EXPECT_GT(flushed->flushes, 50u);
  uint64_t memtable_bytes = 0;
  for (const SubtableStatistics& subtable : db->GetStatistics().subtables) {
    memtable_bytes += subtable.memtable_bytes;
  }
  EXPECT_LE(memtable_bytes, options.write_buffer_bytes);
  for (int i = 0; i < kRecords; i += 97) {
    std::string value;
    Subtable* const subtable = db->FindSubtable(fmt::format("t{}", i % 7 * i % kSubtables));
    ASSERT_TRUE(db->Get({}, subtable, fmt::format("{:08}", i), &value).ok());
    EXPECT_EQ(value, std::string(10'000, static_cast<char>('a' + i % 26)));
  }
}

// Records of a few bytes take many times as much in a memtable: what waits to be replayed counts.
TEST(DbLog, RecoveryOfTinyRecordsStaysWithinAMiB) {
  constexpr size_t kBudget = size_t{1} << 20;
  constexpr size_t kLeastBytes = 32;  // that a record takes in a memtable
  constexpr int kBatches = 1000;
  FaultEnv env;
  Options options;
  options.create_if_missing = true;
  options.env = &env;
  options.automatic_compactions = false;
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  for (int i = 0; i < kBatches; ++i) {
    WriteBatch batch;
    for (int j = 0; j < 500; ++j) {
      batch.Put(fmt::format("{:x}", i * 500 + j), {});
    }
    ASSERT_TRUE(db->Write({}, batch).ok());
  }
  ASSERT_TRUE(db->Close().ok());
  options.memtable_bytes = options.write_buffer_bytes = kBudget;
  const auto flushed = std::make_shared<FlushCounter>();
  options.listeners.push_back(flushed);
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  EXPECT_GT(flushed->flushes, 10u);
  EXPECT_LE(flushed->most_records * kLeastBytes, kBudget);
}

// A flush half-way through a recovery covers only the log so far, whatever another sub-table's
// extents have: the rest of the log is still needed.
TEST(DbLog, RecoveryThatFlushesHalfWayKeepsTheRest) {
  constexpr int kRecords = 2000;
  FaultEnv env;
  Options options;
  options.create_if_missing = true;
  options.env = &env;
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  Subtable* other;
  ASSERT_TRUE(db->CreateSubtable("other", &other).ok());
  for (int i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(db->Put({}, std::to_string(i), std::string(10'000, 'v')).ok());
  }
  ASSERT_TRUE(db->Put({}, other, "newest", "value").ok());
  ASSERT_TRUE(db->Flush(other).ok());
  ASSERT_TRUE(db->Close().ok());

  const auto flushed = std::make_shared<FlushCounter>();
  Options small = options;
  small.write_buffer_bytes = size_t{8} << 20;
  small.listeners.push_back(flushed);
  ASSERT_TRUE(DB::Open(small, "db", &db).ok());
  ASSERT_TRUE(db->Close().ok());
  EXPECT_GT(flushed->flushes, 0u);
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  for (int i = 0; i < kRecords; ++i) {
    std::string value;
    ASSERT_TRUE(db->Get({}, std::to_string(i), &value).ok()) << i;
  }
}

// What a recovery leaves in a memtable needs the log only from where the last flush ended.
TEST(DbLog, WhatARecoveryHasFlushedNeedsNoLog) {
  constexpr int kRecords = 825;
  FaultEnv env;
  Options options;
  options.create_if_missing = true;
  options.env = &env;
  options.log_segment_bytes = 256 << 10;
  std::unique_ptr<DB> db;
  // Until a recovery leaves something: how fast its flushes are decides whether all is flushed.
  for (int attempt = 0; db == nullptr; ++attempt) {
    ASSERT_TRUE(DB::Open(options, "db", &db).ok());
    const uint64_t flushes = db->GetStatistics().flushes;
    for (int i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(db->Put({}, std::to_string(i), std::string(10'000, 'v')).ok());
    }
    EXPECT_EQ(db->GetStatistics().flushes, flushes);
    ASSERT_TRUE(db->Close().ok());

    Options small = options;
    small.write_buffer_bytes = size_t{1} << 20;
    small.max_log_bytes = uint64_t{1} << 30;  // so that the log's size alone flushes nothing
    ASSERT_TRUE(DB::Open(small, "db", &db).ok());
    Subtable* other;
    ASSERT_TRUE(db->CreateSubtable("other" + std::to_string(attempt), &other).ok());
    ASSERT_TRUE(db->Put({}, other, "key", "value").ok());
    ASSERT_TRUE(db->Flush(other).ok());
    ASSERT_TRUE(db->WaitForBackgroundWork().ok());
    if (db->GetStatistics().subtables.at(0).memtable_bytes == 0) {
      ASSERT_TRUE(db->Close().ok());
      db.reset();
    }
  }
  EXPECT_LT(db->GetStatistics().log_file_bytes, uint64_t{2} << 20);
  ASSERT_TRUE(db->Close().ok());
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  for (int i = 0; i < kRecords; ++i) {
    std::string value;
    ASSERT_TRUE(db->Get({}, std::to_string(i), &value).ok()) << i;
  }
  db.reset();  // before its file system
}

// A checkpoint copies the log as it was when it began, while flushes go on.
TEST(DbLog, AFlushGivesUpNoLogThatACheckpointCopies) {
  constexpr int kRecords = 200;
  class BusyEnv final : public FaultEnv {
   public:
    Status CreateDir(const std::string& dir) override {
      if (dir == "copy/log" && before_the_copy) {
        before_the_copy();
      }
      return FaultEnv::CreateDir(dir);
    }
    std::function<void()> before_the_copy;
  };
  BusyEnv env;
  Options options;
  options.create_if_missing = true;
  options.env = &env;
  options.log_segment_bytes = 16 << 10;
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  for (int i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(db->Put({}, std::to_string(i), std::string(1000, 'v')).ok());
  }
  const uint64_t before = db->GetStatistics().log_file_bytes;
  env.before_the_copy = [&] {
    EXPECT_TRUE(db->Flush(nullptr).ok());
    EXPECT_TRUE(db->WaitForBackgroundWork().ok());
  };
  const Status status = db->CreateCheckpoint("copy");
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_GE(db->GetStatistics().log_file_bytes, before);
  std::unique_ptr<DB> copy;
  ASSERT_TRUE(DB::Open(options, "copy", &copy).ok());
  for (int i = 0; i < kRecords; ++i) {
    std::string value;
    ASSERT_TRUE(copy->Get({}, std::to_string(i), &value).ok()) << i;
  }
  // The next flush gives up what the checkpoint held.
  ASSERT_TRUE(db->Put({}, "key", "value").ok());
  ASSERT_TRUE(db->Flush(nullptr).ok());
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_LT(db->GetStatistics().log_file_bytes, before);
  copy.reset();
  db.reset();  // before their file system
}

// Memtables need none of the log when a flush is about to give it up, since the one that was switched
// last is dropped; but its end is not on disk, and a log must not begin behind what a loss of power
// leaves of it.
TEST(DbLog, AFlushGivesUpNoLogThatIsNotDurable) {
  FaultEnv env;
  const auto gate = std::make_shared<FlushGate>();
  Options options;
  options.create_if_missing = true;
  options.env = &env;
  options.listeners.push_back(gate);
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  ASSERT_TRUE(db->Put({}, "key", "value").ok());
  std::thread flush([&] { EXPECT_TRUE(db->Flush(nullptr).ok()); });
  gate->reached.acquire();
  SwitchAndDrop(db.get());
  gate->go_on.release();
  flush.join();
  EXPECT_TRUE(db->WaitForBackgroundWork().ok());
  options.listeners.clear();
  for (uint64_t seed = 0; seed < 8; ++seed) {
    FaultEnv after(env.Survivors(CrashKind::kPower, seed));
    Options reopened = options;
    reopened.env = &after;
    std::unique_ptr<DB> found;
    const Status status = DB::Open(reopened, "db", &found);
    ASSERT_TRUE(status.ok()) << status.ToString();
    std::string value;
    ASSERT_TRUE(found->Get({}, "key", &value).ok());
    EXPECT_EQ(value, "value");
    found.reset();  // before its file system
  }
  db.reset();
}

// Counts the syncs of log segments that are over.
class SyncsEnv final : public FaultEnv {
 public:
  Status NewReservedFile(const std::string& path, uint64_t bytes,
                         std::unique_ptr<ReservedFile>* file) override {
    std::unique_ptr<ReservedFile> base;
    SLUICE_RETURN_IF_ERROR(FaultEnv::NewReservedFile(path, bytes, &base));
    *file = std::make_unique<Counted>(this, std::move(base));
    return {};
  }
  std::atomic<uint64_t> syncs{0};

 private:
  class Counted final : public ReservedFile {
   public:
    Counted(SyncsEnv* env, std::unique_ptr<ReservedFile> base)
        : env_(*env), base_(std::move(base)) {}
    Status Reserve(uint64_t bytes) override { return base_->Reserve(bytes); }
    Status Write(uint64_t offset, std::string_view bytes) override {
      return base_->Write(offset, bytes);
    }
    Status Sync() override {
      const Status status = base_->Sync();
      ++env_.syncs;
      return status;
    }

   private:
    SyncsEnv& env_;
    const std::unique_ptr<ReservedFile> base_;
  };
};

// Between log and memtable, nothing but the position up to which all memtables had what is in the log
// keeps a write's record. This one is long in between: most of its batch is for sub-tables that were
// dropped while it waited for its turn.
TEST(DbLog, AFlushGivesUpNoLogOfAWriteThatIsUnderWay) {
  constexpr int kDropped = 4'000'000;
  SyncsEnv env;
  const auto gate = std::make_shared<FlushGate>();
  Options options;
  options.create_if_missing = true;
  options.env = &env;
  options.write_queues = 1;
  options.max_log_bytes = uint64_t{1} << 30;
  options.listeners.push_back(gate);
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  std::array<Subtable*, 2> dropped;
  Subtable* other;
  ASSERT_TRUE(db->CreateSubtable("dropped", &dropped[0]).ok());
  ASSERT_TRUE(db->CreateSubtable("dropped, too", &dropped[1]).ok());
  ASSERT_TRUE(db->CreateSubtable("other", &other).ok());
  ASSERT_TRUE(db->Put({}, "key", "value").ok());
  std::thread flush([&] { EXPECT_TRUE(db->Flush(nullptr).ok()); });
  gate->reached.acquire();

  std::binary_semaphore leads{0};
  std::binary_semaphore go_on{0};
  std::thread leader([&] {
    WriteBatch batch;
    batch.Delete(dropped[0], "key");
    db->WriteAsync({}, std::move(batch), [&](const Status&) {
      leads.release();
      go_on.acquire();
    });
  });
  leads.acquire();
  std::thread writer([&] {
    ::pthread_setname_np(::pthread_self(), "writer");
    WriteBatch batch;
    for (int i = 0; i < kDropped; ++i) {
      batch.Delete(dropped[i % 2], "k");  // that of another one takes longer
    }
    batch.Put(other, "key", "value");
    EXPECT_TRUE(db->Write({.sync = true}, batch).ok());
  });
  AwaitSleep("writer", 1, [] { return false; });
  EXPECT_TRUE(db->DropSubtable(dropped[0]).ok());
  EXPECT_TRUE(db->DropSubtable(dropped[1]).ok());
  const uint64_t before = env.syncs;
  go_on.release();
  while (env.syncs == before) {
    std::this_thread::yield();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the log learns of it
  gate->go_on.release();
  flush.join();
  leader.join();
  writer.join();
  EXPECT_TRUE(db->WaitForBackgroundWork().ok());
  FaultEnv after(env.Survivors(CrashKind::kProcess, 1));
  db.reset();  // before its file system
  options.listeners.clear();
  options.env = &after;
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  std::string value;
  EXPECT_TRUE(db->Get({}, db->FindSubtable("other"), "key", &value).ok());
  db.reset();
}

TEST(DbLog, AnEmptySyncedWriteMakesDurableWhatCameBefore) {
  for (const bool asynchronous : {false, true}) {
    FaultEnv env;
    Options options;
    options.create_if_missing = true;
    options.env = &env;
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options, "db", &db).ok());
    ASSERT_TRUE(db->Put({}, "key", "value").ok());
    ASSERT_TRUE(db->Write({}, WriteBatch()).ok());
    const Status status = asynchronous ? db->WriteAsync({.sync = true}, WriteBatch()).get()
                                       : db->Write({.sync = true}, WriteBatch());
    ASSERT_TRUE(status.ok()) << status.ToString();
    FaultEnv after(env.Survivors(CrashKind::kPower, 1));
    ASSERT_TRUE(db->Close().ok());
    options.env = &after;
    ASSERT_TRUE(DB::Open(options, "db", &db).ok());
    std::string value;
    ASSERT_TRUE(db->Get({}, "key", &value).ok());
    EXPECT_EQ(value, "value");
    ASSERT_TRUE(db->Put({}, "key", "another").ok());
    ASSERT_TRUE(db->Close().ok());
    ASSERT_TRUE(DB::Open(options, "db", &db).ok());
    ASSERT_TRUE(db->Get({}, "key", &value).ok());
    EXPECT_EQ(value, "another");
    db.reset();  // before its file system
  }
}

}  // namespace
}  // namespace sluice
