// Sub-tables by the ten thousand. The database is in memory if it can be, where a sync costs nothing.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db.h"
#include "util/replaced_new.h"
#include "util/testing.h"

namespace sluice {

namespace {

std::atomic<uint64_t> allocated{0};    // bytes, ever
std::atomic<uint64_t> allocations{0};  // ever

}  // namespace

void OnAllocation(std::size_t bytes) {
  allocated.fetch_add(bytes, std::memory_order_relaxed);
  allocations.fetch_add(1, std::memory_order_relaxed);
}

namespace {

constexpr int kRows = 10;

class ManySubtables : public testing::Test {
 protected:
  ManySubtables() {
    options_.create_if_missing = true;
    options_.row_cache_bytes = options_.block_cache_bytes = 1 << 20;
  }
  void Open() {
    db_.reset();
    const Status status = DB::Open(options_, dir_.File("db"), &db_);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  static std::string Name(int i) { return fmt::format("t{}", i); }
  void Create(int from, int to) {
    for (int i = from; i < to; ++i) {
      Subtable* subtable;
      ASSERT_TRUE(db_->CreateSubtable(Name(i), &subtable).ok());
    }
  }

  static std::filesystem::path Parent() {
    const std::filesystem::path memory = "/dev/shm";
    constexpr uint64_t kEnough = uint64_t{256} << 20;
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(memory, error);
    return !error && space.available >= kEnough ? memory : std::filesystem::temp_directory_path();
  }

  const TempDir dir_{Parent()};
  Options options_;
  std::unique_ptr<DB> db_;
};

TEST_F(ManySubtables, OfFewRowsAreSmall) {
  constexpr int kSubtables = 10'000;
  constexpr uint64_t kMostBytes = 64 << 10;
  Open();
  const uint64_t before = ResidentBytes();
  Create(0, kSubtables);
  for (int i = 0; i < kSubtables; ++i) {
    WriteBatch batch;
    for (int row = 0; row < kRows; ++row) {
      batch.Put(db_->FindSubtable(Name(i)), fmt::format("row{}", row), "value");
    }
    ASSERT_TRUE(db_->Write({}, batch).ok());
  }
  const auto small = [&] {
    uint64_t memtables = 0;
    for (const SubtableStatistics& subtable : db_->GetStatistics().subtables) {
      memtables += subtable.memtable_bytes;
    }
    EXPECT_GT(memtables, 0u);
    EXPECT_LE(memtables, kSubtables * kMostBytes / 8);
    EXPECT_LE(ResidentBytes(), before + kSubtables * kMostBytes);
  };
  small();
  Open();  // from the log
  small();
  std::string value;
  for (int i = 0; i < kSubtables; ++i) {
    ASSERT_TRUE(db_->Get({}, db_->FindSubtable(Name(i)), "row9", &value).ok()) << i;
  }
}

// Their handles stay, and little else.
TEST_F(ManySubtables, DroppedOnesLeaveLittle) {
  constexpr int kSubtables = 2000;
  constexpr uint64_t kMostBytes = 1024;
  Open();
  const auto create_and_drop = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      Subtable* subtable;
      ASSERT_TRUE(db_->CreateSubtable(Name(i), &subtable).ok());
      ASSERT_TRUE(db_->Put({}, subtable, "row", "value").ok());
      ASSERT_TRUE(db_->DropSubtable(subtable).ok());
      std::string value;
      EXPECT_TRUE(db_->Get({}, subtable, "row", &value).IsNotFound());
      EXPECT_EQ(subtable->name(), Name(i));
    }
  };
  create_and_drop(0, kSubtables);  // what is kept for reuse
  const uint64_t before = ::mallinfo2().uordblks;
  create_and_drop(kSubtables, 2 * kSubtables);
  EXPECT_LE(::mallinfo2().uordblks, before + kSubtables * kMostBytes);
}

// Whether a lock of them goes before or afterwards.
TEST_F(ManySubtables, DroppedOnesLeaveNoRangesThatWereLocked) {
  constexpr int kSubtables = 500;
  constexpr uint64_t kMostBytes = 1024;
  Open();
  const auto create_and_drop = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      Subtable* subtable;
      ASSERT_TRUE(db_->CreateSubtable(Name(i), &subtable).ok());
      const auto transaction = db_->BeginTransaction({}, {});
      ASSERT_TRUE(transaction->Put(subtable, "row", "value").ok());
      ASSERT_TRUE(transaction->LockRangeForShare(subtable, "a", "b").ok());
      if (i % 2 == 0) {
        ASSERT_TRUE(transaction->Rollback().ok());
      }
      ASSERT_TRUE(db_->DropSubtable(subtable).ok());
      if (i % 2 != 0) {
        EXPECT_FALSE(transaction->LockRangeForShare(subtable, "c", "d").ok());
        EXPECT_FALSE(transaction->Commit().ok());
      }
    }
  };
  create_and_drop(0, kSubtables);  // what is kept for reuse
  const uint64_t before = ::mallinfo2().uordblks;
  create_and_drop(kSubtables, 2 * kSubtables);
  EXPECT_LE(::mallinfo2().uordblks, before + kSubtables * kMostBytes);
}

TEST_F(ManySubtables, DroppedOnesKeepTheirOptions) {
  Open();
  const auto create = [&](const SubtableOptions& options, int number) {
    Subtable* subtable = nullptr;
    EXPECT_TRUE(db_->CreateSubtable(options, Name(number), &subtable).ok());
    return subtable;
  };
  std::vector<std::pair<Subtable*, SubtableOptions>> subtables;
  for (const uint32_t block_bytes : {0, 1024, 8192, 0}) {
    SubtableOptions options;
    if (block_bytes != 0) {
      options.block_bytes = block_bytes;
    }
    subtables.emplace_back(create(options, static_cast<int>(subtables.size())), options);
  }
  for (const auto& [subtable, options] : subtables) {
    ASSERT_TRUE(db_->DropSubtable(subtable).ok());
  }
  for (const auto& [subtable, options] : subtables) {
    EXPECT_EQ(db_->GetSubtableOptions(subtable), options);
  }
}

// Counted in memory: a copy of what there is for each new one would take seven times as much in the end.
TEST_F(ManySubtables, CostTheSameHoweverManyThereAre) {
  constexpr int kPart = 10'000;
  constexpr int kParts = 4;
  Open();
  uint64_t first_bytes = 0;
  uint64_t first_allocations = 0;
  for (int part = 0; part < kParts; ++part) {
    const uint64_t bytes = allocated;
    const uint64_t count = allocations;
    Create(part * kPart, (part + 1) * kPart);
    if (part == 0) {
      first_bytes = allocated - bytes;
      first_allocations = allocations - count;
    }
    EXPECT_LE(allocated - bytes, first_bytes * 3 / 2) << part;
    EXPECT_LE(allocations - count, first_allocations * 3 / 2) << part;
  }
  EXPECT_EQ(db_->ListSubtables().size(), size_t{kParts * kPart + 1});
}

// Where all have a compaction due, each does not cost more the more there are.
TEST_F(ManySubtables, EachCompactionCostsTheSame) {
  constexpr int kRuns = 4;
  options_.memtable_bytes = 64 << 10;
  options_.l0_compaction_runs = kRuns / 2;
  options_.compaction_threads = 1;
  const auto cost = [&](int subtables) {
    db_.reset();
    EXPECT_TRUE(DB::Destroy(options_, dir_.File("db")).ok());
    options_.automatic_compactions = false;
    Open();
    Create(0, subtables);
    for (int run = 0; run < kRuns; ++run) {
      for (int i = 0; i < subtables; ++i) {
        Subtable* const subtable = db_->FindSubtable(Name(i));
        EXPECT_TRUE(db_->Put({}, subtable, "row", "value").ok());
        EXPECT_TRUE(db_->Flush(subtable).ok());
      }
    }
    options_.automatic_compactions = true;
    const uint64_t before = allocations.load();
    Open();
    EXPECT_TRUE(db_->WaitForBackgroundWork().ok());
    const auto& compactions = db_->GetStatistics().compactions;
    EXPECT_EQ(compactions[static_cast<size_t>(CompactionKind::kMinor)], subtables);
    return (allocations.load() - before) / subtables;
  };
  const uint64_t few = cost(250);
  const uint64_t many = cost(1000);
  EXPECT_LT(many, 2 * few);
}

// The first compaction waits until both sub-tables have another one due.
class BlockedListener final : public EventListener {
 public:
  void OnCompaction(const CompactionEvent& event) override {
    bool first;
    {
      const std::lock_guard lock(mutex_);
      subtables_.push_back(event.subtable);
      first = subtables_.size() == 1;
    }
    if (first) {
      begun_.release();
      go_on_.acquire();
    }
  }
  std::vector<std::string> subtables() {
    const std::lock_guard lock(mutex_);
    return subtables_;
  }
  std::binary_semaphore begun_{0};
  std::binary_semaphore go_on_{0};

 private:
  std::mutex mutex_;
  std::vector<std::string> subtables_;
};

TEST_F(ManySubtables, TakeTurnsToBeCompacted) {
  const auto blocked = std::make_shared<BlockedListener>();
  options_.listeners.push_back(blocked);
  options_.compaction_threads = 1;
  options_.l0_compaction_runs = 2;
  Open();
  Subtable* first;
  Subtable* second;
  ASSERT_TRUE(db_->CreateSubtable("first", &first).ok());
  ASSERT_TRUE(db_->CreateSubtable("second", &second).ok());
  const auto add_runs = [&](Subtable* subtable) {
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(db_->Put({}, subtable, "row", "value").ok());
      ASSERT_TRUE(db_->Flush(subtable).ok());
    }
  };
  add_runs(first);
  blocked->begun_.acquire();
  add_runs(second);
  add_runs(first);
  blocked->go_on_.release();
  EXPECT_TRUE(db_->WaitForBackgroundWork().ok());
  ASSERT_GE(blocked->subtables().size(), 3u);
  EXPECT_EQ(blocked->subtables()[1], "second");
}

}  // namespace
}  // namespace sluice
