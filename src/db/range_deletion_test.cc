// Range deletions: what readers see of them at each stage, and what becomes of the tree.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "sluice/transaction.h"
#include "util/fault_env.h"

namespace sluice {
namespace {

constexpr int kKeys = 20000;
const std::string kOld(100, 'o');
const std::string kNew(100, 'n');

std::string Key(int i) { return fmt::format("{:06}", i); }

// Holds the compaction that is under way, after its first part, until it is let go.
class Barrier final : public EventListener {
 public:
  void OnCompaction(const CompactionEvent&) override {
    std::unique_lock lock(mutex_);
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    open_ = reached_ = false;
  }
  void AwaitCompaction() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_; });
  }
  void LetGo() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  bool reached_ = false;
};

// Calls `on_log_sync` before the log is synced, as each flush does when the row cache has learnt of
// it and readers still see the memtable.
class HookedEnv final : public FaultEnv {
 public:
  std::function<void()> on_log_sync;

  Status NewReservedFile(const std::string& path, uint64_t most,
                         std::unique_ptr<ReservedFile>* file) override {
    std::unique_ptr<ReservedFile> base;
    SLUICE_RETURN_IF_ERROR(FaultEnv::NewReservedFile(path, most, &base));
    *file = std::make_unique<File>(this, path.find("/log/") != std::string::npos, std::move(base));
    return {};
  }

 private:
  class File final : public ReservedFile {
   public:
    File(HookedEnv* env, bool is_log, std::unique_ptr<ReservedFile> base)
        : env_(*env), is_log_(is_log), base_(std::move(base)) {}
    Status Reserve(uint64_t bytes) override { return base_->Reserve(bytes); }
    Status Write(uint64_t offset, std::string_view bytes) override {
      return base_->Write(offset, bytes);
    }
    Status Sync() override {
      if (is_log_ && env_.on_log_sync) {
        env_.on_log_sync();
      }
      return base_->Sync();
    }

   private:
    HookedEnv& env_;
    const bool is_log_;
    const std::unique_ptr<ReservedFile> base_;
  };
};

class RangeDeletionTest : public DbFixture {
 protected:
  RangeDeletionTest() {
    options_.memtable_bytes = 8 << 20;
    options_.extent_bytes = 64 << 10;  // of some 500 records, of which 32 are few
    options_.block_bytes = 4096;
    options_.log_segment_bytes = 64 << 20;
    options_.listeners.push_back(barrier_);
  }
  void Fill(int begin, int end, const std::string& value) {
    for (int i = begin; i < end; ++i) {
      ASSERT_TRUE(db_->Put({}, Key(i), value).ok());
    }
  }
  std::string Get(const std::string& key, const Snapshot* snapshot = nullptr) {
    std::string value;
    const Status status = db_->Get({.snapshot = snapshot}, key, &value);
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    return status.ok() ? value : "-";
  }
  // Expects that these keys, and no others, are there, each with this value.
  void Expect(const std::function<std::string(int)>& value_of, const Snapshot* snapshot = nullptr) {
    std::vector<std::pair<std::string, std::string>> expected;
    std::vector<std::string> keys;
    for (int i = 0; i < kKeys; ++i) {
      keys.push_back(Key(i));
      if (const std::string value = value_of(i); value != "-") {
        expected.emplace_back(Key(i), value);
      }
    }
    for (const bool forward : {true, false}) {
      std::vector<std::pair<std::string, std::string>> found;
      const auto at = db_->NewIterator({.snapshot = snapshot});
      for (forward ? at->SeekToFirst() : at->SeekToLast(); at->Valid();
           forward ? at->Next() : at->Prev()) {
        found.emplace_back(at->key(), at->value());
      }
      ASSERT_TRUE(at->status().ok()) << at->status().ToString();
      if (!forward) {
        std::reverse(found.begin(), found.end());
      }
      ASSERT_EQ(found.size(), expected.size()) << (forward ? "forward" : "backward");
      ASSERT_TRUE(found == expected);
    }
    std::vector<std::string> values;
    const std::vector<Status> statuses =
        db_->MultiGet({.snapshot = snapshot}, nullptr, {keys.begin(), keys.end()}, &values);
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_EQ(statuses[i].ok() ? values[i] : "-", value_of(i)) << keys[i];
      if (i % 16 == 0) {
        ASSERT_EQ(Get(keys[i], snapshot), value_of(i));
      }
    }
  }
  void FlushAndWait() {
    ASSERT_TRUE(db_->Flush(nullptr).ok());
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  }
  // A database in level 2, and which of its keys are in a block that is damaged.
  void FillAndDamage(std::vector<int>* unreadable) {
    options_.automatic_compactions = false;
    options_.block_cache_bytes = 0;
    Open();
    Fill(0, kKeys, kOld);
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    db_.reset();
    // The first extent's second block.
    const int fd = ::open(dir_.File("db/000001.data").c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    uint64_t damaged = 0;
    for (uint64_t offset = 4500; damaged == 0; offset += 4096) {
      char byte;
      ASSERT_EQ(::pread(fd, &byte, 1, static_cast<off_t>(offset)), 1);
      const char other = static_cast<char>(~byte);
      ASSERT_EQ(::pwrite(fd, &other, 1, static_cast<off_t>(offset)), 1);
      Open();
      damaged = db_->Verify(nullptr).IsCorruption() ? offset : 0;
    }
    ::close(fd);
    // Which keys cannot be read.
    for (int i = 0; i < kKeys; ++i) {
      std::string value;
      if (db_->Get({}, Key(i), &value).IsCorruption()) {
        unreadable->push_back(i);
      }
    }
    ASSERT_GT(unreadable->size(), 2u);
  }
  uint64_t Tombstones() {
    uint64_t tombstones = 0;
    const Statistics statistics = db_->GetStatistics();
    for (const LevelStatistics& level : statistics.subtables[0].levels) {
      tombstones += level.tombstones;
    }
    return tombstones;
  }

  const std::shared_ptr<Barrier> barrier_ = std::make_shared<Barrier>();
};

// Before it is written, in the memtable, from the log, flushed and compacted: with a refill of a
// part before the deletion, and another one after it.
TEST_F(RangeDeletionTest, ReadersSeeTheSameAtEveryStage) {
  const auto before = [](int) { return kOld; };
  const auto after = [](int i) {
    return i < 5000 || i >= 15000 ? kOld : i >= 9000 && i < 9100 ? kNew : "-";
  };
  for (const bool held : {false, true}) {
    SCOPED_TRACE(testing::Message() << "with a snapshot: " << held);
    Open(held ? "held" : "free");
    Fill(0, kKeys, kOld);
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    Fill(8000, 9500, kOld);
    Expect(before);
    const Snapshot* snapshot = held ? db_->GetSnapshot() : nullptr;
    ASSERT_TRUE(db_->DeleteRange({}, Key(5000), Key(15000)).ok());
    Fill(9000, 9100, kNew);
    Expect(after);
    if (held) {
      Expect(before, snapshot);
    } else {
      Open("free");
      Expect(after);
    }
    FlushAndWait();
    Expect(after);
    if (held) {
      Expect(before, snapshot);
      EXPECT_GE(Tombstones(), 9900u);  // the others are hidden by what is newer
      db_->ReleaseSnapshot(snapshot);
    } else {
      EXPECT_EQ(Tombstones(), 0u);
      const Statistics statistics = db_->GetStatistics();
      EXPECT_EQ(statistics.range_cuts, 1u);
      EXPECT_GT(statistics.cut_extents, 10u);
      EXPECT_GE(statistics.cut_records, 10000u);
      EXPECT_EQ(statistics.subtables[0].levels[2].records, 10000u);
      // What goes as a whole is not read.
      EXPECT_LT(statistics.flush_bytes_written, uint64_t{5} << 20);
    }
    ASSERT_TRUE(db_->Verify(nullptr).ok());
    Open(held ? "held" : "free");
    Expect(after);
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    EXPECT_EQ(Tombstones(), 0u);
    Expect(after);
    ASSERT_TRUE(db_->Verify(nullptr).ok());
  }
}

// The snapshot keeps a record of the memtable that the very next write deletes: other readers must be
// told so.
TEST_F(RangeDeletionTest, ASnapshotJustBeforeKeepsNothingAlive) {
  Open();
  ASSERT_TRUE(db_->Put({}, "key", "value").ok());
  const Snapshot* const before = db_->GetSnapshot();
  ASSERT_TRUE(db_->DeleteRange({}, nullptr, "a", "z").ok());
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  std::string value;
  EXPECT_TRUE(db_->Get({}, "key", &value).IsNotFound());
  EXPECT_TRUE(db_->Get({.snapshot = before}, "key", &value).ok());
  db_->ReleaseSnapshot(before);
}

TEST_F(RangeDeletionTest, FewKeysGetTombstonesAndNothingLeavesNothing) {
  options_.automatic_compactions = false;
  Open();
  Fill(0, kKeys, kOld);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  ASSERT_TRUE(db_->DeleteRange({}, Key(10), Key(20)).ok());
  // Records that only the memtable has are never written.
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(db_->Put({}, fmt::format("x{}", i), kOld).ok());
  }
  ASSERT_TRUE(db_->DeleteRange({}, "x", "y").ok());
  FlushAndWait();
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.subtables[0].levels[0].records, 10u);
  EXPECT_EQ(statistics.subtables[0].levels[0].tombstones, 10u);
  EXPECT_EQ(statistics.range_cuts, 0u);
  Expect([](int i) { return i >= 10 && i < 20 ? "-" : kOld; });
  ASSERT_TRUE(db_->DeleteRange({}, "x", "y").ok());
  FlushAndWait();
  EXPECT_EQ(db_->GetStatistics().subtables[0].levels[0].records, 10u);
}

// Where values are large, few keys are many extents.
TEST_F(RangeDeletionTest, LargeValuesGoAtOnce) {
  constexpr int kLarge = 200;
  options_.automatic_compactions = false;
  Open();
  const std::string large(40 << 10, 'v');
  Fill(0, kLarge, large);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  ASSERT_TRUE(db_->DeleteRange({}, Key(50), Key(70)).ok());
  FlushAndWait();
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.range_cuts, 1u);
  EXPECT_GE(statistics.cut_extents, 5u);
  EXPECT_EQ(statistics.subtables[0].levels[2].records, kLarge - 20u);
  EXPECT_EQ(Tombstones(), 0u);
  Expect([&](int i) { return i >= kLarge || (i >= 50 && i < 70) ? "-" : large; });
}

TEST_F(RangeDeletionTest, BoundsAreThoseOfAnIterator) {
  Open();
  Fill(0, 10, "v");
  ASSERT_TRUE(db_->Put({}, "", "v").ok());
  ASSERT_TRUE(db_->DeleteRange({}, Key(5), Key(5)).ok());
  ASSERT_TRUE(db_->DeleteRange({}, Key(5), Key(4)).ok());
  EXPECT_EQ(Get(Key(5)), "v");
  ASSERT_TRUE(db_->DeleteRange({}, Key(8), "").ok());
  EXPECT_EQ(Get(Key(7)), "v");
  EXPECT_EQ(Get(Key(8)), "-");
  ASSERT_TRUE(db_->DeleteRange({}, "", Key(0)).ok());
  EXPECT_EQ(Get(""), "-");
  EXPECT_EQ(Get(Key(0)), "v");
  WriteBatch batch;
  batch.DeleteRange("b", "a");
  EXPECT_EQ(batch.count(), 0u);
  batch.Put(Key(1), "before");
  batch.DeleteRange("", "");
  batch.Put(Key(2), "after");
  EXPECT_EQ(batch.count(), 3u);
  ASSERT_TRUE(db_->Write({}, batch).ok());
  EXPECT_EQ(Get(Key(1)), "-");
  EXPECT_EQ(Get(Key(2)), "after");
  EXPECT_EQ(Get(Key(3)), "-");
  const std::string long_key(kMaxKeyBytes + 1, 'k');
  EXPECT_EQ(db_->DeleteRange({}, "a", long_key).code(), Status::Code::kInvalidArgument);
  batch.Clear();
  batch.DeleteRange("a", long_key);
  EXPECT_EQ(db_->Write({}, batch).code(), Status::Code::kInvalidArgument);
}

TEST_F(RangeDeletionTest, OtherSubtablesKeepTheirKeys) {
  Open();
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  WriteBatch batch;
  batch.Put("k", "default");
  batch.Put(other, "k", "other");
  batch.DeleteRange(other, "a", "z");
  ASSERT_TRUE(db_->Write({}, batch).ok());
  for (int life = 0; life < 2; ++life) {
    std::string value;
    EXPECT_EQ(Get("k"), "default");
    EXPECT_TRUE(db_->Get({}, other, "k", &value).IsNotFound());
    Open();
    other = db_->FindSubtable("other");
  }
}

TEST_F(RangeDeletionTest, TheRowCacheHasNoRowsThatAreDeleted) {
  options_.row_cache_bytes = 16 << 20;
  Open();
  Fill(0, kKeys, kOld);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  const auto read_all = [&](const Snapshot* snapshot) {
    for (int i = 0; i < kKeys; ++i) {
      Get(Key(i), snapshot);
    }
  };
  for (const bool held : {true, false}) {
    read_all(nullptr);
    EXPECT_GE(db_->GetStatistics().row_cache.entries, uint64_t{kKeys} / 2);
    const Snapshot* const snapshot = held ? db_->GetSnapshot() : nullptr;
    const int begin = held ? 1000 : 5000;
    ASSERT_TRUE(db_->DeleteRange({}, Key(begin), Key(begin + 2000)).ok());
    // A reader of the past finds rows that are deleted by now, which must not stay.
    if (held) {
      read_all(snapshot);
    }
    EXPECT_EQ(Get(Key(begin + 7)), "-");
    FlushAndWait();
    const auto expected = [&](int i) {
      return (i >= 1000 && i < 3000) || (!held && i >= 5000 && i < 7000) ? "-" : kOld;
    };
    Expect(expected);
    if (held) {
      Expect([](int) { return kOld; }, snapshot);
      read_all(snapshot);
      db_->ReleaseSnapshot(snapshot);
    }
    Expect(expected);
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    Expect(expected);
  }
}

// While the flush is about to end, a reader of the past reads what is deleted by then.
TEST_F(RangeDeletionTest, TheRowCacheTakesNothingThatTheFlushDeletes) {
  HookedEnv env;
  options_.env = &env;
  options_.row_cache_bytes = 16 << 20;
  options_.automatic_compactions = false;
  ASSERT_TRUE(DB::Open(options_, "db", &db_).ok());
  Fill(0, 5000, kOld);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  const Snapshot* const snapshot = db_->GetSnapshot();
  ASSERT_TRUE(db_->DeleteRange({}, Key(1000), Key(3000)).ok());
  std::atomic<int> hooked{0};
  env.on_log_sync = [&] {
    for (int i = 0; i < 5000; ++i) {
      EXPECT_EQ(Get(Key(i), snapshot), kOld);
    }
    ++hooked;
  };
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  env.on_log_sync = nullptr;
  EXPECT_GT(hooked, 0);
  for (int i = 0; i < 5000; ++i) {
    EXPECT_EQ(Get(Key(i)), i >= 1000 && i < 3000 ? "-" : kOld);
    EXPECT_EQ(Get(Key(i), snapshot), kOld);
  }
  db_->ReleaseSnapshot(snapshot);
  db_.reset();
}

TEST_F(RangeDeletionTest, TransactionsAreTold) {
  for (const bool flushed : {false, true}) {
    Open(flushed ? "flushed" : "memtable");
    Fill(0, kKeys, kOld);
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    const auto transaction = db_->BeginTransaction({.isolation = Isolation::kSnapshot}, {});
    std::string value;
    ASSERT_TRUE(transaction->Get({}, nullptr, Key(1), &value).ok());
    ASSERT_TRUE(db_->DeleteRange({}, Key(0), Key(5000)).ok());
    if (flushed) {
      FlushAndWait();
      ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    }
    EXPECT_EQ(transaction->Put(nullptr, Key(4999), "new").code(), Status::Code::kConflict);
    EXPECT_TRUE(transaction->Put(nullptr, Key(5000), "new").ok());
    EXPECT_TRUE(transaction->Get({}, nullptr, Key(1), &value).ok());
    EXPECT_EQ(Get(Key(1)), "-");
    ASSERT_TRUE(transaction->Commit().ok());
    const auto later = db_->BeginTransaction({.isolation = Isolation::kSnapshot}, {});
    EXPECT_TRUE(later->Get({}, nullptr, Key(1), &value).IsNotFound());
    EXPECT_TRUE(later->Put(nullptr, Key(1), "again").ok());
    const auto at = later->NewIterator({}, nullptr);
    at->SeekToFirst();
    EXPECT_EQ(at->key(), Key(1));
    at->Next();
    EXPECT_EQ(at->key(), Key(5000));
    at->Prev();
    EXPECT_EQ(at->key(), Key(1));
    ASSERT_TRUE(later->Commit().ok());
    EXPECT_EQ(Get(Key(1)), "again");
  }
}

// A cut waits for the compaction under way, and is honoured meanwhile: by readers, by copies, and
// by those who open the database then.
TEST_F(RangeDeletionTest, CutsWaitForTheCompactionUnderWay) {
  options_.automatic_compactions = false;
  options_.compaction_bytes = 256 << 10;
  Open();
  Fill(0, kKeys, kOld);
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  Fill(0, kKeys, kOld);
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  barrier_->Close();
  std::thread compaction([&] { EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok()); });
  barrier_->AwaitCompaction();
  const auto expected = [](int i) {
    return i < 100 || (i >= 19000 && i != 19500) ? kOld : i == 700 ? kNew : "-";
  };
  ASSERT_TRUE(db_->DeleteRange({}, Key(100), Key(19000)).ok());
  ASSERT_TRUE(db_->Put({}, Key(700), kNew).ok());
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->Delete({}, Key(19500)).ok());
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  EXPECT_EQ(db_->GetStatistics().range_cuts, 0u);
  Expect(expected);
  ASSERT_TRUE(db_->CreateCheckpoint(dir_.File("copy")).ok());
  barrier_->LetGo();
  compaction.join();
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(db_->GetStatistics().range_cuts, 1u);
  Expect(expected);
  ASSERT_TRUE(db_->Verify(nullptr).ok());
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  Expect(expected);

  db_.reset();
  RepairReport report;
  ASSERT_TRUE(DB::Repair(options_, dir_.File("copy"), dir_.File("repaired"), &report).ok());
  for (const bool read_only : {true, false}) {
    options_.read_only = read_only;
    Open("copy");
    Expect(expected);
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    EXPECT_EQ(db_->GetStatistics().range_cuts, read_only ? 0u : 1u);
    Expect(expected);
    ASSERT_TRUE(db_->Verify(nullptr).ok());
  }
  Open("repaired");
  Expect(expected);
}

// The same range is filled and deleted over and over, with neighbours that stay: slices of their
// extents keep no more than a few tables.
TEST_F(RangeDeletionTest, SpaceComesBack) {
  options_.l1_bytes = 1 << 20;
  options_.compaction_bytes = 1 << 20;
  Open();
  Fill(0, kKeys, kOld);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  const uint64_t once = db_->GetStatistics().data_file_bytes;
  for (int round = 0; round < 40; ++round) {
    const int begin = 3000 + round % 7;
    ASSERT_TRUE(db_->DeleteRange({}, Key(begin), Key(17000 - round % 5)).ok());
    FlushAndWait();
    Fill(begin, 17000, kNew);
    FlushAndWait();
    ASSERT_LT(db_->GetStatistics().data_file_bytes, 3 * once) << "round " << round;
  }
  EXPECT_GT(db_->GetStatistics().range_cuts, 30u);
  ASSERT_TRUE(db_->Verify(nullptr).ok());
  ASSERT_TRUE(db_->DeleteRange({}, "", "").ok());
  FlushAndWait();
  Expect([](int) { return "-"; });
  const Statistics statistics = db_->GetStatistics();
  for (const LevelStatistics& level : statistics.subtables[0].levels) {
    EXPECT_EQ(level.extents, 0u);
  }
}

// An extent that a cut enters and that cannot be read stays as it is, and so does the cut.
TEST_F(RangeDeletionTest, WhatCannotBeReadIsSetAside) {
  std::vector<int> unreadable;
  ASSERT_NO_FATAL_FAILURE(FillAndDamage(&unreadable));
  const int middle = unreadable[unreadable.size() / 2];
  // So it enters the extent, in the block that is damaged.
  ASSERT_TRUE(db_->DeleteRange({}, Key(middle), Key(18000)).ok());
  ASSERT_TRUE(db_->Put({}, Key(middle + 1), kNew).ok());
  for (int life = 0; life < 3; ++life) {
    FlushAndWait();
    for (int i = 0; i < kKeys; ++i) {
      std::string value;
      const Status status = db_->Get({}, Key(i), &value);
      const bool damage = i >= unreadable.front() && i <= unreadable.back();
      if (i == middle + 1) {
        ASSERT_EQ(value, kNew);
      } else if (i < middle && damage) {
        ASSERT_TRUE(status.IsCorruption()) << i << status.ToString();
      } else if (i >= middle && i < 18000) {
        ASSERT_TRUE(status.IsNotFound()) << i << status.ToString();
      } else {
        ASSERT_TRUE(status.ok()) << i << status.ToString();
      }
    }
    EXPECT_EQ(db_->GetStatistics().subtables[0].set_aside.extents, 1u);
    ASSERT_TRUE(db_->Put({}, Key(19999), kNew).ok());
    EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    if (life == 1) {
      Open();
    }
  }
  // All of it.
  ASSERT_TRUE(db_->DeleteRange({}, "", "").ok());
  FlushAndWait();
  EXPECT_EQ(db_->GetStatistics().subtables[0].set_aside.extents, 0u);
  Expect([](int) { return "-"; });
}

// Tombstones for a snapshot's sake need to know the keys.
TEST_F(RangeDeletionTest, UnreadableKeysUnderASnapshotStopWritesUntilTheNextOpen) {
  std::vector<int> unreadable;
  ASSERT_NO_FATAL_FAILURE(FillAndDamage(&unreadable));
  const Snapshot* const snapshot = db_->GetSnapshot();
  ASSERT_TRUE(db_->DeleteRange({}, Key(unreadable.front()), Key(18000)).ok());
  const Status flushed = db_->Flush(nullptr);
  ASSERT_TRUE(flushed.IsCorruption()) << flushed.ToString();
  EXPECT_NE(flushed.message().find("000001.data"), std::string::npos) << flushed.ToString();
  EXPECT_TRUE(db_->Put({}, "k", "v").IsCorruption());
  EXPECT_EQ(Get(Key(unreadable.front())), "-");
  EXPECT_EQ(Get(Key(17999)), "-");
  EXPECT_EQ(Get(Key(17999), snapshot), kOld);
  EXPECT_EQ(Get(Key(18000)), kOld);
  db_->ReleaseSnapshot(snapshot);
  Open();
  FlushAndWait();
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_EQ(Get(Key(i)), i >= unreadable.front() && i < 18000 ? "-" : kOld) << i;
  }
  EXPECT_TRUE(db_->Put({}, "k", "v").ok());
}

// If all that cannot be read is deleted, the rest can be read again: whether the extent was set aside
// before or not.
TEST_F(RangeDeletionTest, DamageThatIsDeletedIsOfNoConcern) {
  for (const bool set_aside : {false, true}) {
    SCOPED_TRACE(set_aside);
    std::vector<int> unreadable;
    ASSERT_NO_FATAL_FAILURE(FillAndDamage(&unreadable));
    if (set_aside) {
      Fill(unreadable.front(), unreadable.front() + 10, kNew);
      EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).IsCorruption());
      EXPECT_EQ(db_->GetStatistics().subtables[0].set_aside.extents, 1u);
    }
    // Where the block begins is where the one before it ends, as far as is known.
    const int begin = unreadable.front() - 1;
    ASSERT_TRUE(db_->DeleteRange({}, Key(begin), Key(18000)).ok());
    FlushAndWait();
    EXPECT_EQ(db_->GetStatistics().range_cuts, 1u);
    EXPECT_EQ(db_->GetStatistics().subtables[0].set_aside.extents, set_aside ? 1u : 0u);
    const auto expected = [&](int i) { return i >= begin && i < 18000 ? "-" : kOld; };
    Expect(expected);
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    EXPECT_EQ(db_->Verify(nullptr).ok(), !set_aside);  // a slice keeps its table as it is
    Expect(expected);
    Open();
    Expect(expected);
    db_.reset();
    ASSERT_TRUE(DB::Destroy(options_, dir_.File("db")).ok());
  }
}

// When two cuts wait, the older one does not cut what was flushed after it.
TEST_F(RangeDeletionTest, ExtentsAreOnlyCutWhereSomethingGoes) {
  options_.automatic_compactions = false;
  Open();
  Fill(0, kKeys, kOld);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  Fill(0, 100, kOld);
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  barrier_->Close();
  std::thread compaction([&] { EXPECT_TRUE(db_->CompactRange(nullptr, {}, Key(100)).ok()); });
  barrier_->AwaitCompaction();
  ASSERT_TRUE(db_->DeleteRange({}, Key(5000), Key(6003)).ok());
  Fill(5900, 6100, kNew);  // one extent
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->DeleteRange({}, Key(4000), Key(6001)).ok());
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  barrier_->LetGo();
  compaction.join();
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.range_cuts, 1u);
  EXPECT_EQ(statistics.subtables[0].levels[0].records, 99u);
  EXPECT_EQ(statistics.subtables[0].levels[0].extents, 1u);
  Expect([](int i) { return i < 4000 || i >= 6100 ? kOld : i < 6001 ? "-" : kNew; });
}

// In one batch, each within the one before; then as many that lie apart.
TEST_F(RangeDeletionTest, ManyCostNoMoreThanTheirShare) {
  constexpr int kCount = 100000;
  options_.memtable_bytes = 256 << 20;
  options_.write_buffer_bytes = 1 << 30;
  Open();
  Fill(0, kKeys, kOld);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  WriteBatch batch;
  for (int i = 0; i < kCount; ++i) {
    batch.DeleteRange(fmt::format("0{:06}", i), fmt::format("1{:06}", kCount - i));
  }
  ASSERT_TRUE(db_->Write({}, batch).ok());
  Expect([](int i) { return i == 0 ? kOld : "-"; });
  batch.Clear();
  for (int i = 0; i < kCount; ++i) {
    batch.DeleteRange(fmt::format("2{:06}", 2 * i), fmt::format("2{:06}", 2 * i + 1));
  }
  ASSERT_TRUE(db_->Write({}, batch).ok());
  FlushAndWait();
  EXPECT_EQ(db_->GetStatistics().range_cuts, 1u);
  ASSERT_TRUE(db_->Verify(nullptr).ok());
}

// Most of what it deletes is never looked at.
TEST_F(RangeDeletionTest, IteratorsPassOverTheRange) {
  options_.automatic_compactions = false;
  options_.row_cache_bytes = 0;
  Open();
  Fill(0, kKeys, kOld);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  Fill(0, kKeys, kOld);
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->DeleteRange({}, Key(10), Key(19990)).ok());
  const CacheStatistics before = db_->GetStatistics().block_cache;
  for (const bool forward : {true, false}) {
    int seen = 0;
    const auto at = db_->NewIterator({});
    for (forward ? at->SeekToFirst() : at->SeekToLast(); at->Valid();
         forward ? at->Next() : at->Prev()) {
      ++seen;
    }
    EXPECT_EQ(seen, 20);
    at->Seek(Key(500));
    EXPECT_EQ(at->key(), Key(19990));
    at->SeekForPrev(Key(500));
    EXPECT_EQ(at->key(), Key(9));
    at->Next();
    EXPECT_EQ(at->key(), Key(19990));
    at->Prev();
    EXPECT_EQ(at->key(), Key(9));
  }
  const CacheStatistics after = db_->GetStatistics().block_cache;
  EXPECT_LT(after.hits + after.misses - before.hits - before.misses, 80u);
}

}  // namespace
}  // namespace sluice
