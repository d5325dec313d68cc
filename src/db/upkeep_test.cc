// Compactions that must come to an end, must wait for a snapshot, or meet what they cannot read.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "sluice/env.h"
#include "table/format.h"
#include "util/coding.h"
#include "util/crc32c.h"
#include "util/testing.h"
#include "util/thread_watch.h"

namespace sluice {
namespace {

class Listener final : public EventListener {
 public:
  void OnSetAside(const SetAsideEvent& event) override {
    const std::lock_guard lock(mutex_);
    set_aside_.push_back(event);
  }
  void OnCompaction(const CompactionEvent& event) override {
    const std::lock_guard lock(mutex_);
    compactions_.push_back(event);
  }
  void OnBackgroundError(const Status& status) override { ADD_FAILURE() << status.ToString(); }
  std::vector<SetAsideEvent> set_aside() {
    const std::lock_guard lock(mutex_);
    return set_aside_;
  }
  std::vector<CompactionEvent> compactions() {
    const std::lock_guard lock(mutex_);
    return compactions_;
  }

 private:
  std::mutex mutex_;
  std::vector<CompactionEvent> compactions_;
  std::vector<SetAsideEvent> set_aside_;
};

class UpkeepTest : public DbFixture {
 protected:
  UpkeepTest() {
    options_.memtable_bytes = 256 << 10;
    options_.log_segment_bytes = 64 << 20;
    options_.block_bytes = 4096;
    options_.l1_bytes = 1 << 20;
    options_.row_cache_bytes = options_.block_cache_bytes = 1 << 16;
    options_.listeners.push_back(listener_);
  }
  static std::string Key(int i) { return fmt::format("key{:06}", i); }
  void Fill(int keys, const std::string& value) {
    for (int i = 0; i < keys; ++i) {
      ASSERT_TRUE(db_->Put({}, Key(i), value).ok());
    }
  }
  // A flush calls for a look at what is due.
  void ExpectNothingDue() {
    const uint64_t written = db_->GetStatistics().compaction_bytes_written;
    ASSERT_TRUE(db_->Put({}, "z", "").ok());
    ASSERT_TRUE(db_->Flush(nullptr).ok());
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    EXPECT_EQ(db_->GetStatistics().compaction_bytes_written, written);
  }
  // Inverts a byte of the data file.
  void Damage(uint64_t offset) {
    const int fd = ::open(dir_.File("db/000001.data").c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    char byte;
    ASSERT_EQ(::pread(fd, &byte, 1, static_cast<off_t>(offset)), 1);
    byte = static_cast<char>(~byte);
    ASSERT_EQ(::pwrite(fd, &byte, 1, static_cast<off_t>(offset)), 1);
    ::close(fd);
  }
  // Damages a block that walks and compactions read: not a filter, nor free space, nor an extent with the
  // last of `keys` alone, which is moved unread.
  void DamageData(int keys) {
    for (uint64_t offset = 200 << 10; !HasFatalFailure(); offset += 8192) {
      db_.reset();
      Damage(offset);
      Open();
      auto at = db_->NewIterator({});
      int sound = 0;
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        ++sound;
      }
      if (!at->status().ok() && sound < keys / 2) {
        return;
      }
      at.reset();
      db_.reset();
      Damage(offset);  // as it was
    }
  }

  std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
};

TEST_F(UpkeepTest, TombstonesThatASnapshotNeedsAreLeftAloneAndGoWithIt) {
  constexpr int kKeys = 20000;
  options_.extent_bytes = 256 << 10;
  Open();
  Fill(kKeys, std::string(100, 'v'));
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  const Snapshot* const dump = db_->GetSnapshot();
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(db_->Delete({}, Key(i)).ok());
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_GE(db_->GetStatistics().subtables[0].levels[2].tombstones, uint64_t{kKeys});
  ExpectNothingDue();
  std::string value;
  EXPECT_TRUE(db_->Get({.snapshot = dump}, Key(77), &value).ok());
  db_->ReleaseSnapshot(dump);
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  // Where the last extent begins depends on when flushes and compactions met. If few records are
  // left to it, they are not worth a compaction of their own.
  EXPECT_LT(db_->GetStatistics().subtables[0].levels[2].records, uint64_t{kKeys / 4});
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  EXPECT_EQ(db_->GetStatistics().subtables[0].levels[2].records, 1u);
}

// No further write is needed for that, however large the values are.
TEST_F(UpkeepTest, WhatIsDeletedAndFlushedGivesItsSpaceBack) {
  options_.memtable_bytes = 4 << 20;
  options_.l1_bytes = 64 << 20;
  for (const int value_bytes : {100, 20'000}) {
    const int keys = 4'000'000 / value_bytes;
    for (const bool held : {false, true}) {
      SCOPED_TRACE(fmt::format("values of {} bytes, snapshot {}", value_bytes, held));
      Open();
      Fill(keys, std::string(value_bytes, 'v'));
      ASSERT_TRUE(db_->Flush(nullptr).ok());
      ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
      const Snapshot* const dump = held ? db_->GetSnapshot() : nullptr;
      for (int i = 0; i < keys; ++i) {
        ASSERT_TRUE(db_->Delete({}, Key(i)).ok());
      }
      ASSERT_TRUE(db_->Flush(nullptr).ok());
      ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
      if (held) {
        ExpectNothingDue();
        std::string value;
        EXPECT_TRUE(db_->Get({.snapshot = dump}, Key(77), &value).ok());
        db_->ReleaseSnapshot(dump);
        ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
      }
      uint64_t bytes = 0;
      const Statistics statistics = db_->GetStatistics();
      for (const LevelStatistics& level : statistics.subtables[0].levels) {
        bytes += level.bytes;
      }
      EXPECT_LT(bytes, uint64_t{64} << 10);
    }
  }
}

TEST_F(UpkeepTest, VersionsThatASnapshotNeedsGoWithIt) {
  constexpr int kKeys = 20000;
  options_.extent_bytes = 64 << 10;
  Open();
  Fill(kKeys, std::string(100, 'v'));
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  const Snapshot* const dump = db_->GetSnapshot();
  Fill(kKeys, std::string(100, 'w'));
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(db_->GetStatistics().subtables[0].levels[2].records, uint64_t{2 * kKeys});
  ExpectNothingDue();
  std::string value;
  EXPECT_TRUE(db_->Get({.snapshot = dump}, Key(77), &value).ok());
  EXPECT_EQ(value[0], 'v');
  db_->ReleaseSnapshot(dump);
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  // Some small extents are left alone. How many there are depends on when flushes and compactions
  // met.
  EXPECT_LT(db_->GetStatistics().subtables[0].levels[2].records, uint64_t{kKeys * 3 / 2});
  EXPECT_TRUE(db_->Get({}, Key(77), &value).ok());
  EXPECT_EQ(value[0], 'w');
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  EXPECT_EQ(db_->GetStatistics().subtables[0].levels[2].records, uint64_t{kKeys + 1});
}

// In each extent some keys are deleted or overwritten under the snapshot, and some stay as they are.
// Neither tombstones nor old versions are half of the records then, but together they are.
TEST_F(UpkeepTest, TombstonesAndVersionsThatASnapshotNeedsGoWithItTogether) {
  constexpr int kKeys = 20000;
  options_.extent_bytes = 64 << 10;
  struct Case {
    int of;  // so many keys
    int deleted, overwritten;
  };
  for (const Case& each : {Case{100, 99, 0}, Case{3, 1, 1}}) {
    SCOPED_TRACE(fmt::format("{} of {} deleted", each.deleted, each.of));
    Open();
    Fill(kKeys, std::string(100, 'v'));
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    const Snapshot* const dump = db_->GetSnapshot();
    uint64_t live = 0;
    for (int i = 0; i < kKeys; ++i) {
      const int which = i % each.of;
      if (which < each.deleted) {
        ASSERT_TRUE(db_->Delete({}, Key(i)).ok());
      } else if (++live; which < each.deleted + each.overwritten) {
        ASSERT_TRUE(db_->Put({}, Key(i), std::string(100, 'w')).ok());
      }
    }
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    const auto records = [&] { return db_->GetStatistics().subtables[0].levels[2].records; };
    EXPECT_GT(records(), uint64_t{kKeys * 3 / 2});
    ExpectNothingDue();
    std::string value;
    for (int i = 0; i < kKeys; i += 77) {
      EXPECT_TRUE(db_->Get({.snapshot = dump}, Key(i), &value).ok());
      EXPECT_EQ(value[0], 'v');
    }
    db_->ReleaseSnapshot(dump);
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    // As above, small extents may be left alone.
    EXPECT_LT(records(), live + kKeys / 8);
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    EXPECT_EQ(records(), live + 1);
  }
}

// The version that the snapshot needs fills an extent of its own, behind what is newer.
TEST_F(UpkeepTest, AVersionInAnExtentOfItsOwnIsLeftAloneUntilNoSnapshotNeedsIt) {
  options_.extent_bytes = 64 << 10;
  Open();
  ASSERT_TRUE(db_->Put({}, "key", std::string(50 << 10, 'v')).ok());
  const Snapshot* const dump = db_->GetSnapshot();
  ASSERT_TRUE(db_->Put({}, "key", std::string(50 << 10, 'w')).ok());
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  const Statistics before = db_->GetStatistics();
  EXPECT_EQ(before.subtables[0].levels[2].extents, 2u);
  EXPECT_EQ(before.compactions[static_cast<size_t>(CompactionKind::kSelfMajor)], 0u);
  db_->ReleaseSnapshot(dump);
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(db_->GetStatistics().subtables[0].levels[2].records, 1u);
}

// A large compaction takes effect in parts, and needs room for no more than one.
TEST_F(UpkeepTest, ALargeCompactionIsCarriedOutInParts) {
  constexpr int kKeys = 80000;
  options_.automatic_compactions = false;
  options_.extent_bytes = 128 << 10;
  options_.compaction_bytes = 512 << 10;
  Open();
  TestRandom random(TestSeed());
  std::map<std::string, std::string> model;
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = Key(static_cast<int>(Uniform(&random, 0, kKeys)));
    const std::string value = fmt::format("{:0100}", i);
    ASSERT_TRUE(db_->Put({}, key, value).ok());
    model[key] = value;
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  const size_t runs = db_->GetStatistics().subtables[0].levels[0].runs;
  ASSERT_GT(runs, 10u);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  uint64_t extents = 0;
  for (const CompactionEvent& part : listener_->compactions()) {
    // At most one more extent of each run, and one that ends with the part.
    EXPECT_LE(part.output_bytes, options_.compaction_bytes + (runs + 1) * options_.extent_bytes);
    extents += part.output_extents + part.reused_extents;
  }
  EXPECT_GT(listener_->compactions().size(), 10u);
  const Statistics s = db_->GetStatistics();
  EXPECT_EQ(s.subtables[0].levels[0].runs, 0u);
  EXPECT_EQ(s.subtables[0].levels[2].records, model.size());
  EXPECT_EQ(s.subtables[0].levels[2].extents, extents);
  EXPECT_LT(s.data_file_bytes, 4 * s.subtables[0].levels[2].bytes);
  ASSERT_TRUE(db_->Verify({}).ok());
  const std::unique_ptr<Iterator> at = db_->NewIterator({});
  at->SeekToFirst();
  for (const auto& [key, value] : model) {
    ASSERT_TRUE(at->Valid());
    ASSERT_EQ(at->key(), key);
    ASSERT_EQ(at->value(), value);
    at->Next();
  }
  EXPECT_FALSE(at->Valid());
}

// Parts that left as many small extents as they took would never end.
TEST_F(UpkeepTest, CompactionsInTheSmallestPartsComeToAnEnd) {
  constexpr int kKeys = 20000;
  options_.extent_bytes = 256 << 10;
  options_.compaction_bytes = 1;
  Open();
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(db_->Put({}, Key(i * 7919 % kKeys), std::string(400, 'v')).ok());
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  const LevelStatistics last = db_->GetStatistics().subtables[0].levels[2];
  EXPECT_EQ(last.records, uint64_t{kKeys});
  EXPECT_LE(last.extents, 2 * last.bytes / options_.extent_bytes);
}

// An interruption leaves the same database, perhaps with slices.
TEST_F(UpkeepTest, AnInterruptedCompactionKeepsItsParts) {
  constexpr int kKeys = 60000;
  options_.automatic_compactions = false;
  options_.extent_bytes = 128 << 10;
  options_.compaction_bytes = 512 << 10;
  class Gate final : public EventListener {
   public:
    void OnCompaction(const CompactionEvent&) override {
      if (++parts_ == 3) {
        reached.release();
        go_on.acquire();
      }
    }
    std::binary_semaphore reached{0};
    std::binary_semaphore go_on{0};

   private:
    int parts_ = 0;
  };
  const auto gate = std::make_shared<Gate>();
  options_.listeners.push_back(gate);
  Open();
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(db_->Put({}, Key(i * 7919 % kKeys), fmt::format("{:0100}", i)).ok());
  }
  std::thread compaction([&] { (void)db_->CompactRange(nullptr, {}, {}); });
  gate->reached.acquire();
  const std::string copy = dir_.File("copy");
  const Status copied = db_->CreateCheckpoint(copy);
  gate->go_on.release();
  compaction.join();
  ASSERT_TRUE(copied.ok()) << copied.ToString();
  options_.listeners.pop_back();
  std::unique_ptr<DB> opened;
  ASSERT_TRUE(DB::Open(options_, copy, &opened).ok());
  ASSERT_TRUE(opened->Verify({}).ok());
  const auto check = [&] {
    const std::unique_ptr<Iterator> at = opened->NewIterator({});
    int keys = 0;
    for (at->SeekToLast(); at->Valid(); at->Prev()) {
      ++keys;
      ASSERT_EQ(at->key(), Key(kKeys - keys));
    }
    EXPECT_EQ(keys, kKeys);
    std::string value;
    for (int i = 0; i < kKeys; i += 101) {
      ASSERT_TRUE(opened->Get({}, Key(i * 7919 % kKeys), &value).ok());
      ASSERT_EQ(value, fmt::format("{:0100}", i));
    }
  };
  check();
  ASSERT_TRUE(opened->CompactRange(nullptr, {}, {}).ok());
  check();
}

// However many compactions are due, a CompactRange waits for at most one of them.
TEST_F(UpkeepTest, ACompactRangeHasItsTurn) {
  class Gate final : public EventListener {
   public:
    void OnCompaction(const CompactionEvent& event) override {
      const bool manual = event.kind == CompactionKind::kManual;
      had_turn = had_turn || manual;
      reached.release();
      if (!manual && !open) {
        go_on.acquire();
      }
    }
    std::atomic<bool> had_turn{false};
    std::atomic<bool> open{false};
    std::counting_semaphore<> reached{0};
    std::counting_semaphore<> go_on{0};
  };
  const auto gate = std::make_shared<Gate>();
  options_.listeners.push_back(gate);
  options_.compaction_order = {CompactionKind::kMinor};
  options_.l0_compaction_runs = 2;
  Open();
  const auto make_due = [&] {
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(db_->Put({}, "key", "value").ok());
      ASSERT_TRUE(db_->Flush(nullptr).ok());
    }
  };
  make_due();
  gate->reached.acquire();
  std::thread range([&] {
    ::pthread_setname_np(::pthread_self(), "range");
    EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  });
  // The compaction under way has reached the gate, so that the range can only wait for it.
  AwaitSleep("range", 1, [] { return false; });
  for (int i = 0; i < 2 && !gate->had_turn; ++i) {
    make_due();
    gate->go_on.release();
    gate->reached.acquire();
  }
  EXPECT_TRUE(gate->had_turn);
  gate->open = true;
  gate->go_on.release();
  range.join();
}

// Between two of its parts, a long compaction lets one of level 0 pass whose runs slow writers down.
TEST_F(UpkeepTest, ALongCompactionGivesWayToLevel0) {
  class Gate final : public EventListener {
   public:
    void OnCompaction(const CompactionEvent& event) override {
      if (event.kind == CompactionKind::kMajor && !std::exchange(met_, true)) {
        reached.release();
        go_on.acquire();
      } else if (met_ && !next) {
        next = event.kind;
      }
    }
    std::binary_semaphore reached{0};
    std::binary_semaphore go_on{0};
    std::optional<CompactionKind> next;

   private:
    bool met_ = false;
  };
  const auto gate = std::make_shared<Gate>();
  options_.automatic_compactions = false;
  options_.extent_bytes = 64 << 10;
  options_.compaction_bytes = 256 << 10;
  options_.max_space_amplification = 0;  // lest a write waits for what waits for it
  options_.l0_slowdown_runs = 10;
  Open();
  const std::string value(100, 'v');
  Fill(40000, value);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  for (int i = 0; i < 15000; ++i) {  // more than l1_bytes, in no order
    ASSERT_TRUE(db_->Put({}, Key(i * 7919 % 40000), value).ok());
  }
  db_.reset();
  options_.automatic_compactions = true;
  options_.listeners.push_back(gate);
  Open();
  gate->reached.acquire();
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(db_->Put({}, "key", value).ok());
    ASSERT_TRUE(db_->Flush(nullptr).ok());
  }
  gate->go_on.release();
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  ASSERT_TRUE(gate->next);
  EXPECT_EQ(*gate->next, CompactionKind::kMinor);
  EXPECT_TRUE(db_->Verify({}).ok());
}

// If it did, it would be picked again, for ever: its first part ends where all runs have a large
// record of one key, and leaves the last level's extents before that as they are.
TEST_F(UpkeepTest, ALongCompactionDoesNotGiveWayToWhatGoesBehindIt) {
  options_.automatic_compactions = false;
  options_.extent_bytes = 64 << 10;
  options_.compaction_bytes = 256 << 10;
  options_.max_space_amplification = 0;
  options_.l1_bytes = 1;
  options_.l0_compaction_runs = 2;
  options_.l0_slowdown_runs = 3;
  options_.compaction_order = {CompactionKind::kMajor, CompactionKind::kMinor};
  Open();
  const std::string value(100, 'v');
  Fill(40000, value);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  for (int run = 0; run < 4; ++run) {
    ASSERT_TRUE(db_->Put({}, "z", std::string(300 << 10, 'z')).ok());
    ASSERT_TRUE(db_->Flush(nullptr).ok());
  }
  db_.reset();
  options_.automatic_compactions = true;
  Open();
  const std::future<Status> done =
      std::async(std::launch::async, [&] { return db_->WaitForBackgroundWork(); });
  EXPECT_EQ(done.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.subtables[0].levels[0].runs, 0);
  EXPECT_LT(statistics.compactions[static_cast<size_t>(CompactionKind::kMajor)], 50);
  EXPECT_TRUE(db_->Close().ok());  // which ends the wait
}

// Extents cut by compactions of ranges do not keep much more space than they need.
TEST_F(UpkeepTest, CompactionsOfRangesGiveSpaceBack) {
  constexpr int kKeys = 20000;
  constexpr int kStep = 500;
  options_.automatic_compactions = false;
  options_.extent_bytes = 256 << 10;
  Open();
  TestRandom random(TestSeed());
  const auto put = [&](int i) {
    std::string value(400, '\0');
    for (char& c : value) {
      c = static_cast<char>(random());
    }
    ASSERT_TRUE(db_->Put({}, Key(i), value).ok());
  };
  for (int i = 0; i < kKeys; ++i) {
    put(i);
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  const uint64_t bytes = db_->GetStatistics().subtables[0].levels[2].bytes;
  for (int left = 0; left < kStep; left += 50) {
    for (int i = 0; i < kKeys; i += kStep) {
      put(i + left / 2);
      put(i + (left + kStep) / 2);
      ASSERT_TRUE(db_->CompactRange(nullptr, Key(i), Key(i + left)).ok());
      ASSERT_TRUE(db_->CompactRange(nullptr, Key(i + left + 1), Key(i + kStep)).ok());
    }
  }
  const Statistics s = db_->GetStatistics();
  EXPECT_EQ(s.subtables[0].levels[2].records, uint64_t{kKeys});
  EXPECT_LT(s.subtables[0].levels[2].bytes, bytes + bytes / 10);
  EXPECT_LT(s.data_file_bytes, 2 * bytes);
  ASSERT_TRUE(db_->Verify({}).ok());
}

// A table is copied once, however many slices it has.
TEST_F(UpkeepTest, ACheckpointOfSlicesIsNoLargerThanTheirTables) {
  constexpr int kKeys = 2000;
  options_.automatic_compactions = false;
  options_.memtable_bytes = 16 << 20;
  options_.extent_bytes = 1 << 20;
  Open();
  Fill(kKeys, std::string(400, 'v'));
  for (int i = 0; i < kKeys; i += 50) {
    ASSERT_TRUE(db_->CompactRange(nullptr, Key(i), Key(i + 10)).ok());
  }
  ASSERT_GT(db_->GetStatistics().subtables[0].levels[0].extents, 10u);
  ASSERT_TRUE(db_->CreateCheckpoint(dir_.File("copy")).ok());
  const uint64_t bytes = db_->GetStatistics().data_file_bytes;
  Open("copy");
  EXPECT_LE(db_->GetStatistics().data_file_bytes, bytes);
  ASSERT_TRUE(db_->Verify({}).ok());
  const std::unique_ptr<Iterator> at = db_->NewIterator({});
  int keys = 0;
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    ASSERT_EQ(at->key(), Key(keys++));
  }
  EXPECT_EQ(keys, kKeys);
}

// Reads that look into many runs make a compaction due that leaves one run, and no further ones.
TEST_F(UpkeepTest, ReadsPayForFewerRuns) {
  constexpr int kRuns = 5;
  constexpr int kKeys = 1000;
  options_.memtable_bytes = 4 << 20;
  options_.l1_bytes = 64 << 20;
  for (const bool by_iterators : {false, true}) {
    SCOPED_TRACE(by_iterators);
    Open();
    for (int run = 0; run < kRuns; ++run) {
      Fill(kKeys, std::string(100, 'v'));
      ASSERT_TRUE(db_->Flush(nullptr).ok());
    }
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    const auto level = [&](int i) { return db_->GetStatistics().subtables[0].levels[i]; };
    const auto read = [&] {
      std::string value;
      for (int i = 0; i < (by_iterators ? 5000 : 100000); ++i) {
        if (by_iterators) {
          db_->NewIterator({})->Seek(Key(i % kKeys));
        } else {
          ASSERT_TRUE(db_->Get({}, Key(i % kKeys) + "x", &value).IsNotFound());
        }
      }
      ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    };
    ASSERT_EQ(level(0).runs + level(1).runs, size_t{kRuns});
    read();
    EXPECT_EQ(level(0).runs, 0u);
    EXPECT_EQ(level(1).runs, 1u);
    const uint64_t written = db_->GetStatistics().compaction_bytes_written;
    read();
    EXPECT_EQ(db_->GetStatistics().compaction_bytes_written, written);
    db_.reset();
    ASSERT_TRUE(DB::Destroy(options_, dir_.File("db")).ok());
  }
}

// Each level has its own compression, even if nothing has to be merged on the way to it; a level
// beyond the end of the list has `compression`.
TEST_F(UpkeepTest, LevelsAreCompressedAsTheOptionsSay) {
  options_.automatic_compactions = false;
  options_.extent_bytes = 64 << 10;
  options_.compression = Compression::kZstd;
  uint64_t reused = 0;
  const auto sizes = [&](const std::vector<Compression>& by_level) {
    options_.compression_per_level = by_level;
    Open();
    std::vector<uint64_t> bytes;
    std::string value;
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(db_->Put({}, Key(i), std::string(1000, static_cast<char>('a' + i % 26))).ok());
    }
    EXPECT_TRUE(db_->Flush(nullptr).ok());
    bytes.push_back(db_->GetStatistics().subtables[0].levels[0].bytes);
    EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    bytes.push_back(db_->GetStatistics().subtables[0].levels[2].bytes);
    EXPECT_TRUE(db_->Get({}, Key(27), &value).ok());
    EXPECT_EQ(value, std::string(1000, 'b'));
    EXPECT_TRUE(db_->Verify(nullptr).ok());
    reused = db_->GetStatistics().extents_reused;
    db_.reset();
    EXPECT_TRUE(DB::Destroy(options_, dir_.File("db")).ok());
    return bytes;
  };
  const std::vector<uint64_t> zstd = sizes({});
  const std::vector<uint64_t> raw =
      sizes({Compression::kNone, Compression::kNone, Compression::kNone});
  EXPECT_GT(reused, 0u);
  const std::vector<uint64_t> upper_raw = sizes({Compression::kNone, Compression::kNone});
  EXPECT_EQ(reused, 0u);
  EXPECT_LT(10 * zstd[0], raw[0]);
  EXPECT_LT(10 * zstd[1], raw[1]);
  EXPECT_LT(10 * zstd[0], upper_raw[0]);
  EXPECT_LT(10 * upper_raw[1], raw[1]);
}

// Small blocks that have much in common.
TEST_F(UpkeepTest, ADictionaryMakesTheLastLevelSmaller) {
  options_.automatic_compactions = false;
  options_.compression = Compression::kZstd;
  options_.block_bytes = 512;
  uint64_t bytes[2];
  uint64_t heads[2];
  for (const bool dictionary : {false, true}) {
    options_.zstd_dictionary_bytes = dictionary ? 4096 : 0;
    Open();
    const auto value = [](int i) {
      return fmt::format(R"({{"name":"user {}","city":"somewhere","active":{}}})", i * 7919 % 10007,
                         i % 3 == 0);
    };
    for (int i = 0; i < 20000; ++i) {
      ASSERT_TRUE(db_->Put({}, Key(i), value(i)).ok());
    }
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    Open();
    std::string read;
    for (int i = 0; i < 20000; i += 7) {
      ASSERT_TRUE(db_->Get({}, Key(i), &read).ok());
      ASSERT_EQ(read, value(i));
    }
    ASSERT_TRUE(db_->Verify(nullptr).ok());
    ASSERT_TRUE(db_->CreateCheckpoint(dir_.File("copy")).ok());
    const Statistics s = db_->GetStatistics();
    bytes[dictionary] = s.subtables[0].levels[2].bytes;
    heads[dictionary] = s.table_cache.used_bytes;
    ASSERT_EQ(s.subtables[0].levels[0].bytes, 0u);
    ASSERT_TRUE(DB::Open(options_, dir_.File("copy"), &db_).ok());
    ASSERT_TRUE(db_->Get({}, Key(7), &read).ok());
    EXPECT_EQ(read, value(7));
    db_.reset();
    ASSERT_TRUE(DB::Destroy(options_, dir_.File("copy")).ok());
    ASSERT_TRUE(DB::Destroy(options_, dir_.File("db")).ok());
  }
  EXPECT_LT(bytes[1], bytes[0] * 3 / 4);
  EXPECT_GT(heads[1], heads[0] + 4096);
}

TEST_F(UpkeepTest, OptionsOutOfTheirRangeAreRefusedByName) {
  const auto refused = [&](const std::string& option) {
    const Status status = DB::Open(options_, dir_.File("db"), &db_);
    EXPECT_EQ(status.code(), Status::Code::kInvalidArgument) << status.ToString();
    EXPECT_NE(status.message().find("Options::" + option + " "), std::string::npos)
        << status.ToString();
  };
  options_.compression = Compression{3};
  refused("compression");
  options_.compression = Compression::kLz4;
  options_.compression_per_level = {Compression::kLz4, Compression{7}};
  refused("compression_per_level");
  options_.compression_per_level.assign(4, Compression::kLz4);
  refused("compression_per_level");
  options_.compression_per_level.clear();
  for (const int level : {-1, 0, 23}) {
    options_.zstd_level = level;
    refused("zstd_level");
  }
  options_.zstd_level = 22;
  options_.extent_bytes = 64 << 20;
  for (const uint32_t bytes : {255u, (1u << 20) + 1}) {
    options_.zstd_dictionary_bytes = bytes;
    refused("zstd_dictionary_bytes");
  }
  options_.zstd_dictionary_bytes = 0;
  for (const int bits : {-1, 65}) {
    options_.bloom_bits_per_key = bits;
    refused("bloom_bits_per_key");
  }
  options_.bloom_bits_per_key = 10;
  for (const size_t threads : {size_t{0}, size_t{1025}}) {
    options_.compaction_threads = threads;
    refused("compaction_threads");
    options_.compaction_threads = 1;
    options_.flush_threads = threads;
    refused("flush_threads");
    options_.flush_threads = 1;
    options_.write_queues = threads;
    refused("write_queues");
    options_.write_queues = 8;
  }
}

// Each extent has one: many times as much as the data, if extents are small.
TEST_F(UpkeepTest, DictionariesTakeAnEighthOfAnExtentAtMost) {
  options_.zstd_dictionary_bytes = options_.extent_bytes / 8;
  Open();
  db_.reset();
  ++options_.zstd_dictionary_bytes;
  EXPECT_EQ(DB::Open(options_, dir_.File("db"), &db_).code(), Status::Code::kInvalidArgument);
}

// Extents are judged by the size that they have on disk, so they are cut by it, too.
TEST_F(UpkeepTest, WhatCompressesWellIsCompactedOnce) {
  options_.compression = Compression::kSnappy;
  options_.memtable_bytes = 16 << 20;
  Open();
  Fill(300, std::string(64 << 10, 'v'));
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  const Statistics s = db_->GetStatistics();
  EXPECT_LT(s.subtables[0].levels[2].extents, 60u);
  EXPECT_EQ(s.compactions[static_cast<size_t>(CompactionKind::kSelfMajor)], 0u);
}

// The index of an extent is compressed once the extent is cut. With long keys that share much, it
// is most of the size before that, and little of it afterwards.
TEST_F(UpkeepTest, WhatHasAnIndexThatCompressesWellIsCompactedOnce) {
  options_.compression = Compression::kSnappy;
  options_.extent_bytes = 8192;
  options_.block_bytes = 256;
  Open();
  const std::string prefix(1000, 'k');
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(db_->Put({}, prefix + Key(i), "").ok());
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  Statistics s = db_->GetStatistics();
  EXPECT_GT(s.subtables[0].levels[2].extents, 200u);
  EXPECT_EQ(s.compactions[static_cast<size_t>(CompactionKind::kSelfMajor)], 0u);
  // A process that opens the database anew cannot know, and tries once.
  Open();
  ASSERT_TRUE(db_->Put({}, "z", "").ok());
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  s = db_->GetStatistics();
  EXPECT_LE(s.compactions[static_cast<size_t>(CompactionKind::kSelfMajor)], 1u);
}

TEST_F(UpkeepTest, ADamagedBlockIsSetAsideAndTheRestGoesOn) {
  constexpr int kKeys = 5000;
  const std::string old_value(200, 'o');
  const std::string new_value(200, 'n');
  Open();
  Fill(kKeys, old_value);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  DamageData(kKeys);
  // Writers and other compactions do not notice, but those who compact the damage do.
  for (int i = 0; i < kKeys; i += 2) {
    ASSERT_TRUE(db_->Put({}, Key(i), new_value).ok());
  }
  const Status damage = db_->CompactRange(nullptr, {}, {});
  EXPECT_TRUE(damage.IsCorruption()) << damage.ToString();
  ASSERT_EQ(listener_->set_aside().size(), 1u);
  EXPECT_TRUE(listener_->set_aside()[0].reason.IsCorruption());
  EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  for (int round = 0; round < 2; ++round) {
    size_t failed = 0;
    for (int i = 0; i < kKeys; ++i) {
      std::string value;
      const Status status = db_->Get({}, Key(i), &value);
      if (i % 2 == 0) {
        ASSERT_TRUE(status.ok()) << Key(i) << ": " << status.ToString();
        EXPECT_EQ(value, new_value);
      } else if (status.ok()) {
        EXPECT_EQ(value, old_value);
      } else {
        ASSERT_TRUE(status.IsCorruption()) << status.ToString();
        ++failed;
      }
    }
    EXPECT_GT(failed, 0u);
    EXPECT_LE(failed, 40u);  // those of a block
    EXPECT_EQ(db_->GetStatistics().subtables[0].set_aside.extents, 1u);
    EXPECT_TRUE(db_->Verify(nullptr).IsCorruption());
    // What is read is found out, what is shared is as it was.
    const std::string path = dir_.File("copy" + std::to_string(round));
    if (const Status copied = db_->CreateCheckpoint(path); copied.ok()) {
      std::unique_ptr<DB> copy;
      ASSERT_TRUE(DB::Open({}, path, &copy).ok());
      EXPECT_TRUE(copy->Verify(nullptr).IsCorruption());
    } else {
      EXPECT_TRUE(copied.IsCorruption()) << copied.ToString();
    }
    auto at = db_->NewIterator({});
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
    }
    EXPECT_TRUE(at->status().IsCorruption());
    at.reset();
    Open();
  }
  // A deletion that only hides what cannot be read stays; what is written again can be read again.
  for (int i = 1; i < kKeys; i += 4) {
    ASSERT_TRUE(db_->Delete({}, Key(i)).ok());
  }
  for (int i = 3; i < kKeys; i += 4) {
    ASSERT_TRUE(db_->Put({}, Key(i), new_value).ok());
  }
  EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  for (int i = 0; i < kKeys; ++i) {
    std::string value;
    const Status status = db_->Get({}, Key(i), &value);
    EXPECT_TRUE(i % 4 == 1 ? status.IsNotFound() : status.ok()) << Key(i) << status.ToString();
  }
}

// A block that another version of Sluice may have written: it is whole, but says that it has a
// compression that this one does not know.
TEST_F(UpkeepTest, ABlockThatIsNotUnderstoodIsSetAsideAndTheRestGoesOn) {
  options_.automatic_compactions = false;
  Open();
  Fill(1000, std::string(200, 'v'));
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  db_.reset();
  std::string file;
  ASSERT_TRUE(Env::Posix()->ReadFile(dir_.File("db/000001.data"), &file).ok());
  size_t bytes = 1;  // of the first block
  const auto checksum = [&] { return MaskCrc(Crc32c({file.data(), bytes + 1})); };
  while (DecodeFixed32(file.data() + bytes + 1) != checksum()) {
    ++bytes;
    ASSERT_LT(bytes + kBlockTrailerBytes, file.size());
  }
  file[bytes] = 3;
  EncodeFixed32(file.data() + bytes + 1, checksum());
  std::ofstream(dir_.File("db/000001.data"), std::ios::binary) << file;
  Open();
  ASSERT_TRUE(db_->Put({}, Key(0), "new").ok());
  const Status status = db_->CompactRange(nullptr, {}, {});
  EXPECT_TRUE(status.IsNotSupported()) << status.ToString();
  EXPECT_EQ(listener_->set_aside().size(), 1u);
  EXPECT_TRUE(db_->Put({}, Key(1), "new").ok());
  EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  std::string value;
  EXPECT_TRUE(db_->Get({}, Key(1), &value).ok());
  EXPECT_TRUE(db_->Get({}, Key(2), &value).IsNotSupported());
  EXPECT_TRUE(db_->Get({}, Key(999), &value).ok());
}

// The tombstones stay as long as what was set aside, whatever their share of the extents, and no
// thread looks in vain for ever.
TEST_F(UpkeepTest, TombstonesOverWhatIsSetAsideCallForNothing) {
  constexpr int kKeys = 5000;
  Open();
  Fill(kKeys, std::string(200, 'v'));
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  DamageData(kKeys);
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(db_->Delete({}, Key(i)).ok());
  }
  (void)db_->CompactRange(nullptr, {}, {});  // unless another compaction has met the damage
  EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  EXPECT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(listener_->set_aside().size(), 1u);
  EXPECT_GT(db_->GetStatistics().subtables[0].levels[2].tombstones, 0u);
  EXPECT_TRUE(db_->Put({}, Key(0), "value").ok());
  EXPECT_TRUE(db_->Flush(nullptr).ok());
}

}  // namespace
}  // namespace sluice
