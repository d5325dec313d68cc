// The reserve for a full device, on a file system in memory that is full when it is told to be.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "db/fixture.h"
#include "db/full_device.h"
#include "sluice/db.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

// While the reserve is filled again, in vain, it takes what a deletion needs.
TEST(FullDevice, WhatFailsWhileTheReserveIsFilledIsTriedAgain) {
  FaultEnv env;
  ASSERT_TRUE(env.CreateDir("db").ok());
  FullDevice full(&env, "db", 1 << 20);
  ASSERT_TRUE(full.Fill(0, false).ok());
  env.FillUp(env.operations(), ~uint64_t{0}, 1);
  const Status status = Status::NoSpace("planned");
  EXPECT_TRUE(full.Failed(status, FullDevice::Need::kOther, 0));  // the reserve is given up
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(env.NewDataFile("db/file", &file).ok());
  ASSERT_TRUE(file->Write(0, std::string(100 << 10, 'x')).ok());
  ASSERT_TRUE(full.Fill(0, false).ok());
  EXPECT_TRUE(full.full());
  EXPECT_TRUE(full.Failed(status, FullDevice::Need::kOther, 0));
  EXPECT_FALSE(full.Failed(status, FullDevice::Need::kOther, 0));
}

// What there is of the reserve stays, whatever fails as it is filled.
TEST(FullDevice, FillingTheReserveCanFailAnywhere) {
  bool failed = true;
  for (uint64_t k = 0; failed; ++k) {
    SCOPED_TRACE(k);
    FaultEnv env;
    ASSERT_TRUE(env.CreateDir("db").ok());
    FullDevice full(&env, "db", 1 << 20);
    full.ReserveForCompactions(1 << 20);
    ASSERT_TRUE(full.Fill(1 << 20, false).ok());
    for (const char* const name : {"", ".open", ".flush", ".compact"}) {
      std::unique_ptr<DataFile> file;
      ASSERT_TRUE(env.NewDataFile(std::string("db/RESERVE") + name, &file).ok());
      ASSERT_TRUE(file->Truncate(4096).ok());
    }
    env.FailAt(env.operations() + k, ENOSPC, k);
    EXPECT_TRUE(full.Fill(1 << 20, false).ok());
    failed = !env.failure().empty();
    EXPECT_TRUE(failed || !full.full());
    EXPECT_TRUE(full.Fill(1 << 20, false).ok());
    EXPECT_FALSE(full.full());
    uint64_t bytes = 0;
    EXPECT_TRUE(env.GetFileSize("db/RESERVE.flush", &bytes).ok());
    EXPECT_EQ(bytes, 1u << 20);
  }
}

// The reserve goes to a flush that finds no space a moment before the deletion does, which needs what
// the flush gives back as it ends.
TEST(FullDevice, ADeletionWaitsForTheFlushThatHasTheReserve) {
  constexpr int kWrites = 100;
  FaultEnv env;
  const auto gate = std::make_shared<FlushGate>();
  Options options;
  options.env = &env;
  options.create_if_missing = true;
  options.log_segment_bytes = 64 << 10;
  options.listeners.push_back(gate);
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, "db", &db).ok());
  // The flush takes little of the reserve, but the deletion, which takes less than the log has of
  // these records, more than all of it.
  const std::string value(20'000, 'v');
  for (int i = 0; i < kWrites; ++i) {
    ASSERT_TRUE(db->Put({}, "key", value).ok());
  }
  WriteBatch deletion;
  for (int i = 0; i < 15; ++i) {
    deletion.Delete(std::string(60'000, 'k') + std::to_string(i));
  }
  deletion.Delete("key");
  env.FillUp(env.operations(), UINT64_MAX, TestSeed());
  std::thread flush([&] { EXPECT_TRUE(db->Flush(nullptr).ok()); });
  gate->reached.acquire();
  const std::string before = env.failure();
  std::atomic<bool> written{false};
  std::thread write([&] {
    const Status status = db->Write({}, deletion);
    EXPECT_TRUE(status.ok()) << status.ToString();
    written = true;
  });
  // It fails once, or waits before it is tried.
  for (int i = 0; i < 100 && env.failure() == before && !written; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  gate->go_on.release();
  write.join();
  flush.join();
  std::string found;
  EXPECT_TRUE(db->Get({}, "key", &found).IsNotFound());
  db.reset();  // before its file system
}

// Writes when a compaction has done its first part, and may have the reserve.
class Writer final : public EventListener {
 public:
  ~Writer() override { Join(); }
  void OnCompaction(const CompactionEvent& /*event*/) override {
    const int part = parts++;
    if (part == 0) {
      write_ = std::thread([&] {
        status = db->Put({}, "another", "value");
        written_ = true;
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    // This part may be the one that has the reserve, or one that another thread does beside it.
    for (int i = 0; part > 0 && i < 1000 && !written_; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void OnBackgroundError(const Status& error) override { ADD_FAILURE() << error.ToString(); }
  void Join() {
    if (write_.joinable()) {
      write_.join();
    }
  }
  DB* db = nullptr;
  Status status;
  std::atomic<int> parts{0};

 private:
  std::thread write_;
  std::atomic<bool> written_{false};
};

// What a compaction takes of the reserve is there again as soon as it is done: writes wait for that,
// and nobody is told that the device is full.
TEST(FullDevice, WritesWaitForACompactionThatHasTheReserve) {
  uint64_t operations = 1;  // of the compaction
  bool taken = false;
  for (uint64_t k = 0; k < operations; ++k) {
    FaultEnv env;
    const auto writer = std::make_shared<Writer>();
    Options options;
    options.env = &env;
    options.create_if_missing = true;
    options.automatic_compactions = false;
    options.listeners.push_back(writer);
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options, "db", &db).ok());
    writer->db = db.get();
    for (int run = 0; run < 2; ++run) {
      ASSERT_TRUE(db->Put({}, "key", fmt::format("{}", run)).ok());
      ASSERT_TRUE(db->Flush(nullptr).ok());
    }
    const uint64_t before = env.operations();
    env.FillUp(before + k, before + k + 1, k);
    const Status status = db->CompactRange(nullptr, {}, {});
    operations = env.operations() - before;
    SCOPED_TRACE(env.failure());
    EXPECT_TRUE(status.ok()) << status.ToString();
    writer->Join();
    EXPECT_TRUE(writer->status.ok()) << writer->status.ToString();
    taken = taken || !env.failure().empty();
    db.reset();  // before its file system
  }
  EXPECT_TRUE(taken);
}

// Until the next part is done, at most.
TEST(FullDevice, WritesDoNotWaitForAllPartsOfACompaction) {
  bool taken = false;
  for (uint64_t k = 0; k < 16; ++k) {  // in its first part
    FaultEnv env;
    const auto writer = std::make_shared<Writer>();
    Options options;
    options.env = &env;
    options.create_if_missing = true;
    options.automatic_compactions = false;
    options.extent_bytes = 64 << 10;
    options.compaction_bytes = 64 << 10;
    options.compression = Compression::kNone;
    options.listeners.push_back(writer);
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options, "db", &db).ok());
    writer->db = db.get();
    for (int run = 0; run < 2; ++run) {
      for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(db->Put({}, fmt::format("{:03}", i), std::string(10'000, 'v')).ok());
      }
      ASSERT_TRUE(db->Flush(nullptr).ok());
    }
    env.FillUp(env.operations() + k, env.operations() + k + 1, k);
    const Status status = db->CompactRange(nullptr, {}, {});
    SCOPED_TRACE(env.failure());
    EXPECT_TRUE(status.ok()) << status.ToString();
    writer->Join();
    EXPECT_TRUE(writer->status.ok()) << writer->status.ToString();
    EXPECT_GE(writer->parts, 3);
    taken = taken || !env.failure().empty();
    db.reset();  // before its file system
  }
  EXPECT_TRUE(taken);
}

// The edit that cuts extents at the ends of the range finds no space, and is made again from the
// reserve.
TEST(FullDevice, ACompactionThatFindsNoSpaceForItsCutsCutsOnce) {
  constexpr int kRuns = 16;
  const std::string prefix(6000, 'k');  // which makes the edit larger than what the log has ahead
  const auto key = [&](int i) { return fmt::format("{}{}", prefix, i); };
  bool cut_failed = false;
  uint64_t operations = 1;  // of the compaction
  for (uint64_t k = 0; k < operations; ++k) {
    FaultEnv env;
    Options options;
    options.env = &env;
    options.create_if_missing = true;
    options.automatic_compactions = false;
    options.bloom_bits_per_key = 0;
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options, "db", &db).ok());
    for (int run = 0; run < kRuns; ++run) {
      for (int i = 0; i < 8; ++i) {
        ASSERT_TRUE(db->Put({}, key(i), fmt::format("{}", run)).ok());
      }
      ASSERT_TRUE(db->Flush(nullptr).ok());
    }
    const uint64_t before = env.operations();
    env.FillUp(before + k, before + k + 1, k);
    Status status = db->CompactRange(nullptr, key(3), key(5));
    operations = env.operations() - before;
    const std::string failure = env.failure();
    SCOPED_TRACE(failure);
    cut_failed = cut_failed || failure.find("/meta/") != std::string::npos;  // the first edit
    EXPECT_TRUE(status.ok() || status.IsNoSpace()) << status.ToString();
    status = db->CompactRange(nullptr, key(3), key(5));
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(db->GetStatistics().subtables[0].levels[2].records, 2u);
    status = db->Verify({});
    EXPECT_TRUE(status.ok()) << status.ToString();
    const std::unique_ptr<Iterator> at = db->NewIterator({});
    int keys = 0;
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      EXPECT_EQ(at->key(), key(keys++));
      EXPECT_EQ(at->value(), fmt::format("{}", kRuns - 1));
    }
    EXPECT_EQ(keys, 8);
  }
  EXPECT_TRUE(cut_failed);
}

}  // namespace
}  // namespace sluice
