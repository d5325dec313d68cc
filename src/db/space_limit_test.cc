// Options::max_space_amplification: extents never take more than it says, whatever is written.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "db/fixture.h"
#include "sluice/listener.h"
#include "util/epoch.h"
#include "util/mutex.h"
#include "util/thread_watch.h"

namespace sluice {
namespace {

class SpaceLimitTest : public DbFixture {
 protected:
  static constexpr uint64_t kKeys = 200'000;

  SpaceLimitTest() {
    // With smaller extents, pages that they fill in part would take more than a few hundredths.
    options_.extent_bytes = 64 << 10;
    options_.memtable_bytes = 512 << 10;
    options_.log_segment_bytes = 4 << 20;
    options_.l1_bytes = 4 << 20;
    options_.compaction_bytes = 8 << 20;
    options_.max_space_amplification = 1.3;
    options_.listeners.push_back(std::make_shared<Listener>(this));
  }

  static std::string Key(uint64_t number) {
    return fmt::format("{:016x}", number * 0x9E3779B97F4A7C15u);
  }
  void Put(uint64_t number, size_t value_bytes) {
    ASSERT_TRUE(db_->Put({}, Key(number), std::string(value_bytes, 'v')).ok());
    SetSize(number, 16 + value_bytes);
  }
  void Delete(uint64_t number) {
    ASSERT_TRUE(db_->Delete({}, Key(number)).ok());
    SetSize(number, 0);
  }
  // If each record takes so many bytes of a memtable, and replaces one of so many.
  double HiddenBy(double record, double replaced) const {
    return options_.max_space_amplification * 2 * static_cast<double>(options_.memtable_bytes) /
           record * replaced;
  }
  void SetSize(uint64_t number, uint64_t bytes) {
    uint64_t& size = sizes_[number];
    live_bytes_ += bytes - size;
    size = bytes;
  }
  void Load(size_t value_bytes) {
    for (uint64_t i = 0; i < kKeys; ++i) {
      Put(i, value_bytes);
    }
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    Reopen();  // while there was little data, the floor was more than the limit
  }
  void Reopen() {
    checks_compactions_ = false;
    db_.reset();
    const Status status = DB::Open(options_, path_, &db_);
    ASSERT_TRUE(status.ok()) << status.ToString();
    checks_compactions_ = true;
  }
  void TearDown() override {
    checks_compactions_ = false;
    db_.reset();
  }

  // What there may be beside live data in any case: l1_bytes, two memtables, half a part, and for
  // each compaction thread and one CompactRange a part and the ends of its runs.
  uint64_t Floor(const Statistics& statistics) const {
    uint64_t runs = 4;  // some may have gone since
    for (const LevelStatistics& level : statistics.subtables[0].levels) {
      runs += level.runs;
    }
    const uint64_t threads = options_.compaction_threads + 1;
    const double excess = (options_.max_space_amplification - 1) *
                          static_cast<double>(statistics.subtables[0].levels[2].bytes);
    const uint64_t part =
        std::clamp(static_cast<uint64_t>(excess) / 4 / threads, uint64_t{4} * options_.extent_bytes,
                   options_.compaction_bytes);
    return options_.l1_bytes + 2 * options_.memtable_bytes + part / 2 +
           threads * (part + runs * options_.extent_bytes);
  }
  double Most(double live, const Statistics& statistics) const {
    const auto values = static_cast<double>(statistics.subtables[0].value_live_bytes);
    return std::max(options_.max_space_amplification * live,
                    live + static_cast<double>(Floor(statistics))) +
           (options_.max_space_amplification - 1) * values;
  }
  // By the engine's estimate of live data. Called at any moment, and by a listener just when a part of
  // a compaction has its inputs and its outputs.
  void Check() {
    const Statistics s = db_->GetStatistics();
    const auto live = static_cast<double>(s.live_bytes);
    EXPECT_LE(static_cast<double>(s.extent_bytes), Most(live, s) + hidden_) << s.ToString();
    const MutexLock lock(mutex_);
    worst_ = std::max(worst_, static_cast<double>(s.extent_bytes) / Most(live, s));
    ++checks_;
  }
  // With nothing in memtables, and nothing under way: by what the model says is alive. Tables have
  // filters, indexes, and pages that are not full.
  void CheckAtRest() {
    ASSERT_TRUE(db_->Flush(nullptr).ok());
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    const Statistics s = db_->GetStatistics();
    if (one_size_) {
      const double live = static_cast<double>(live_bytes_) * kTablesPerByte;
      EXPECT_LE(static_cast<double>(s.live_bytes), live + kStretch) << s.ToString();
      EXPECT_LE(static_cast<double>(s.extent_bytes), Most(live, s)) << s.ToString();
    }
    std::cout << fmt::format(
        "of what is allowed {:.2f} at most, in {} checks; now {:.3f} per byte, at most {:.3f}; "
        "write amplification {:.1f}, stalled {} ms\n",
        worst_, checks_, s.SpaceAmplification(), s.most_space_amplification, s.WriteAmplification(),
        s.stall_microseconds / 1000);
  }
  void Run(uint64_t writes, const std::function<void()>& write) {
    for (uint64_t i = 0; i < writes; ++i) {
      write();
      if (i % 500 == 0) {
        Check();
      }
      if (HasFailure()) {
        return;
      }
    }
    CheckAtRest();
  }

  // Checks when a compaction has installed a part and not yet let go of what went into it.
  class Listener final : public EventListener {
   public:
    explicit Listener(SpaceLimitTest* test) : test_(*test) {}
    void OnCompaction(const CompactionEvent&) override {
      if (test_.checks_compactions_) {
        test_.Check();
      }
    }

   private:
    SpaceLimitTest& test_;
  };

  static constexpr double kTablesPerByte = 1.15;
  static constexpr double kStretch = 64 * (64 << 10);  // that the estimate is made by
  std::string path_ = dir_.File("db");

  TestRandom random_{TestSeed()};
  std::map<uint64_t, uint64_t> sizes_;
  uint64_t live_bytes_ = 0;
  // What memtables have may delete so much, which shows only when they are flushed.
  double hidden_ = 0;
  bool one_size_ = true;  // all records: then the estimate has to be right
  std::atomic<bool> checks_compactions_{false};
  Mutex mutex_;
  double worst_ = 0;
  uint64_t checks_ = 0;
};

TEST_F(SpaceLimitTest, HoldsForUniformOverwrites) {
  Open();
  Load(100);
  for (const size_t threads : {1, 3}) {
    options_.compaction_threads = threads;
    Reopen();
    Run(kKeys, [&] { Put(Uniform(&random_, 0, kKeys - 1), 100); });
  }
}

TEST_F(SpaceLimitTest, HoldsForSkewedOverwrites) {
  Open();
  Load(100);
  Run(2 * kKeys, [&] {
    const double draw = std::uniform_real_distribution<double>(0, 1)(random_);
    Put(static_cast<uint64_t>(std::pow(static_cast<double>(kKeys), draw)) - 1, 100);
  });
}

TEST_F(SpaceLimitTest, HoldsForDeletions) {
  Open();
  Load(200);
  hidden_ = HiddenBy(30, 230);
  uint64_t next = 0;
  // All of it goes, in an order of its own, and then comes back in part.
  Run(kKeys, [&] { Delete(next++ * 7919 % kKeys); });
  Run(kKeys, [&] {
    const uint64_t key = Uniform(&random_, 0, kKeys - 1);
    if (Uniform(&random_, 0, 2) == 0) {
      Put(key, 200);
    } else {
      Delete(key);
    }
  });
}

TEST_F(SpaceLimitTest, HoldsForValuesThatChangeTheirSize) {
  Open();
  Load(400);
  hidden_ = HiddenBy(30, 900);
  one_size_ = false;
  uint64_t next = 0;
  Run(kKeys, [&] { Put(next++, 4); });
  Run(kKeys, [&] { Put(Uniform(&random_, 0, kKeys - 1), Uniform(&random_, 0, 9) == 0 ? 800 : 4); });
}

// Slices keep the pages of their whole tables.
TEST_F(SpaceLimitTest, HoldsForRangeDeletions) {
  Open();
  Load(100);
  hidden_ = HiddenBy(100 * 116, 600 * 116);  // each hundred puts come with a deletion of 600 keys
  std::map<std::string, uint64_t> order;
  for (uint64_t i = 0; i < kKeys; ++i) {
    order.emplace(Key(i), i);
  }
  std::vector<std::pair<std::string, uint64_t>> keys(order.begin(), order.end());
  Run(400, [&] {
    // Larger than what a flush deletes one by one, and some two fifths of an extent of level 2.
    const uint64_t first = Uniform(&random_, 0, kKeys - 1000);
    ASSERT_TRUE(db_->DeleteRange({}, nullptr, keys[first].first, keys[first + 600].first).ok());
    for (uint64_t i = first; i < first + 600; ++i) {
      SetSize(keys[i].second, 0);
    }
    for (int i = 0; i < 100; ++i) {
      Put(Uniform(&random_, 0, kKeys - 1), 100);
    }
  });
}

TEST_F(SpaceLimitTest, HoldsForValuesApart) {
  constexpr uint64_t kValues = 12'000;
  options_.separate_value_bytes = 1024;
  Open();
  for (uint64_t i = 0; i < kValues; ++i) {
    Put(i, 4096);
  }
  Run(3 * kValues, [&] { Put(Uniform(&random_, 0, kValues - 1), 4096); });
  // A memtable has room for all deletions, and what is flushed of them lets values die at once: so it
  // has few of them.
  constexpr uint64_t kDeletions = 200;
  hidden_ = options_.max_space_amplification * 2 * kDeletions * (16 + 4096);
  uint64_t deleted = 0;
  Run(kValues / 2, [&] {
    Delete(Uniform(&random_, 0, kValues - 1));
    if (++deleted % kDeletions == 0) {
      ASSERT_TRUE(db_->Flush(nullptr).ok());
    }
  });
}

TEST_F(SpaceLimitTest, HoldsBesideCompactRange) {
  options_.compaction_threads = 2;
  Open();
  Load(100);
  std::atomic<bool> done{false};
  std::thread compacts([&] {
    while (!done) {
      EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    }
  });
  Run(kKeys, [&] { Put(Uniform(&random_, 0, kKeys - 1), 100); });
  done = true;
  compacts.join();
}

TEST_F(SpaceLimitTest, HoldsAfterReopening) {
  for (int turn = 0; turn < 5; ++turn) {
    if (turn == 0) {
      Open();
      Load(100);
    }
    Reopen();
    Run(kKeys / 2, [&] { Put(Uniform(&random_, 0, kKeys - 1), 100); });
  }
}

// What a snapshot needs is live, and what an iterator holds does not count: writes go on.
TEST_F(SpaceLimitTest, WritesGoOnWhileReadersHoldSpace) {
  Open();
  Load(100);
  checks_compactions_ = false;
  const Snapshot* const snapshot = db_->GetSnapshot();
  const std::unique_ptr<Iterator> at = db_->NewIterator({}, nullptr);
  for (uint64_t i = 0; i < kKeys; ++i) {
    Put(i, 100);
  }
  for (uint64_t i = 0; i < kKeys; ++i) {
    Delete(i);
  }
  at->SeekToFirst();
  EXPECT_TRUE(at->Valid());
  std::string value;
  EXPECT_TRUE(db_->Get({.snapshot = snapshot}, Key(1), &value).ok());
  db_->ReleaseSnapshot(snapshot);
  EXPECT_TRUE(db_->WaitForBackgroundWork().ok());
}

// Nobody waits for compactions that are never due.
// What a part of a compaction has replaced stays in use as long as somebody may be reading it, and
// the next part does not take more meanwhile.
TEST_F(SpaceLimitTest, PartsWaitForReaders) {
  options_.automatic_compactions = false;
  options_.compaction_bytes = 256 << 10;
  Open();
  for (uint64_t i = 0; i < 20'000; ++i) {
    Put(i % 10'000, 100);
  }
  std::atomic<bool> done{false};
  const auto compactions = [&] {
    const Statistics statistics = db_->GetStatistics();
    return std::accumulate(statistics.compactions.begin(), statistics.compactions.end(),
                           uint64_t{0});
  };
  const auto switches = [] { return SleepOf("range").switches + SleepOf("slc-compact").switches; };
  std::thread range;
  {
    const EpochGuard reading;
    range = std::thread([&] {
      ::pthread_setname_np(::pthread_self(), "range");
      EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
      done = true;
    });
    // It looks again and again whether the reader has gone, and does nothing else.
    uint64_t compacted = 0;
    for (uint64_t from = switches(); !done && (compacted == 0 || switches() < from + 1000);) {
      if (compactions() != compacted) {
        compacted = compactions();
        from = switches();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_FALSE(done);
    EXPECT_GE(compacted, 1u);
  }
  range.join();
  EXPECT_GT(compactions(), 2u);
}

TEST_F(SpaceLimitTest, WritesGoOnWithoutCompactions) {
  options_.automatic_compactions = false;
  Open("none");
  for (int run = 0; run < 100; ++run) {
    for (int i = 0; i < 1000; ++i) {
      Put(Uniform(&random_, 0, 1000), 100);
    }
    ASSERT_TRUE(db_->Flush(nullptr).ok());  // so that no two memtables become one run
  }
  EXPECT_GT(db_->GetStatistics().extent_bytes, 4'000'000u);
  options_.automatic_compactions = true;
  options_.compaction_order = {CompactionKind::kMinor};
  Open("no major");
  for (int i = 0; i < 100'000; ++i) {
    Put(Uniform(&random_, 0, kKeys), 100);
  }
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
}

// A sub-table that is dropped takes its debts along.
TEST_F(SpaceLimitTest, DroppedSubtablesHoldNobodyUp) {
  Open();
  for (int round = 0; round < 5; ++round) {
    Subtable* table = nullptr;
    ASSERT_TRUE(db_->CreateSubtable("t", &table).ok());
    std::thread writes([&] {
      for (uint64_t i = 0; i < 30'000; ++i) {
        if (!db_->Put({}, table, Key(i % 10'000), std::string(100, 'v')).ok()) {
          return;  // it is dropped
        }
      }
    });
    for (uint64_t i = 0; i < 5'000; ++i) {
      Put(i, 100);
    }
    ASSERT_TRUE(db_->DropSubtable(table).ok());
    writes.join();
    for (uint64_t i = 0; i < 5'000; ++i) {
      Put(i, 100);
    }
  }
  CheckAtRest();
}

TEST_F(SpaceLimitTest, OnlyLimitsThatCanBeKept) {
  for (const double limit : {1.0, 1.09, -1.0, 101.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    options_.max_space_amplification = limit;
    EXPECT_EQ(DB::Open(options_, dir_.File("db"), &db_).code(), Status::Code::kInvalidArgument)
        << limit;
  }
  for (const double limit : {0.0, 1.1, 100.0}) {
    options_.max_space_amplification = limit;
    Open();
  }
}

}  // namespace
}  // namespace sluice
