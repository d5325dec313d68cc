// Everything at once: writers, readers, iterators, snapshots, flushes, compactions on a device that
// fails now and then, checkpoints. For ThreadSanitizer, and for what only happens between threads.
//
// A batch writes the same number to a pair of keys, one in each of two sub-tables, and the numbers
// of a pair grow: so a reader sees a pair's numbers equal in one state, and never falling.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "device/test_units.h"
#include "engine/workload.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr int kWriters = 2;
constexpr int kReaders = 3;
constexpr int kPairs = 200;  // of each writer
constexpr int kWrites = 1000;

uint64_t NumberOf(std::string_view value) { return std::stoull(std::string(value)); }

class DbStress : public testing::Test {
 protected:
  void Open(uint64_t seed) {
    options_.create_if_missing = true;
    options_.memtable_bytes = 128 << 10;
    options_.extent_bytes = 32 << 10;
    options_.block_bytes = 1024;
    options_.row_cache_bytes = 64 << 10;
    options_.block_cache_bytes = 128 << 10;
    options_.table_cache_bytes = 16 << 10;
    options_.l0_compaction_runs = 2;
    options_.l1_bytes = 128 << 10;
    options_.log_segment_bytes = 128 << 10;
    options_.task_bytes = 64 << 10;
    options_.compaction_bytes = 128 << 10;
    options_.compaction_threads = 2;
    options_.executors = TestUnits("model", 0.1, seed);
    options_.always_offload = true;
    const Status opened = DB::Open(options_, dir_.File("db"), &db_);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    ASSERT_TRUE(db_->CreateSubtable("other", &other_).ok());
    TestRandom random(seed);
    KeySpace keys(&random);
    std::set<std::string> distinct;
    while (distinct.size() < kWriters * kPairs) {
      const std::string key = keys.Next(&random);
      // Some draw from fewer keys than there are pairs.
      distinct.insert(distinct.count(key) == 0 ? key : key + std::to_string(distinct.size()));
    }
    // What begins with a key and a tilde comes and goes, if none of the others does.
    for (const std::string& key : distinct) {
      const auto next = distinct.lower_bound(key + "~");
      if (next == distinct.end() || *next >= key + "~~") {
        prefixes_.push_back(key);
      }
    }
    ASSERT_FALSE(prefixes_.empty());
    // A writer's pairs lie among the others'.
    keys_.assign(distinct.begin(), distinct.end());
    std::shuffle(keys_.begin(), keys_.end(), random);
    values_ = std::make_unique<ValueSpace>(&random, size_t{64} << 10);
  }

  void Write(int writer, TestRandom* random) {
    std::vector<std::future<Status>> under_way;
    for (int i = 1; i <= kWrites; ++i) {
      const std::string& key = keys_[writer * kPairs + Uniform(random, 0, kPairs - 1)];
      const std::string value = std::to_string(i) + " " + values_->Next(random);
      WriteBatch batch;
      batch.Put(key, value);
      batch.Put(other_, key, value);
      const WriteOptions options{.sync = i % 500 == 0};
      if (Uniform(random, 0, 1) != 0) {
        ASSERT_TRUE(db_->Write(options, batch).ok());
      } else {
        under_way.push_back(db_->WriteAsync(options, batch));
      }
    }
    for (std::future<Status>& write : under_way) {
      ASSERT_TRUE(write.get().ok());
    }
  }

  // Pairs of their own, which come and go.
  std::string Volatile(TestRandom* random) {
    return prefixes_[Uniform(random, 0, prefixes_.size() - 1)] +
           fmt::format("~{}", Uniform(random, 0, 9));
  }
  void DeleteRanges(TestRandom* random) {
    for (int i = 0; writing_.load() > 0; ++i) {
      WriteBatch batch;
      if (Uniform(random, 0, 20) == 0) {
        // All keys that have the prefix, but the prefix itself.
        const std::string& key = prefixes_[Uniform(random, 0, prefixes_.size() - 1)];
        batch.DeleteRange(key + "~", key + "~~");
        batch.DeleteRange(other_, key + "~", key + "~~");
      } else {
        const std::string key = Volatile(random);
        const std::string value = std::to_string(i) + " " + values_->Next(random);
        batch.Put(key, value);
        batch.Put(other_, key, value);
      }
      ASSERT_TRUE(db_->Write({}, batch).ok());
    }
  }

  void Read(TestRandom* random) {
    std::vector<uint64_t> seen(kWriters * kPairs);
    std::string value;
    while (writing_.load() > 0) {
      const size_t pair = Uniform(random, 0, seen.size() - 1);
      const std::string& key = keys_[pair];
      Subtable* const subtable = Uniform(random, 0, 1) != 0 ? other_ : nullptr;
      switch (Uniform(random, 0, 20)) {
        case 0: {
          // All pairs of one state.
          const Snapshot* const snapshot = db_->GetSnapshot();
          const auto a = db_->NewIterator({.snapshot = snapshot}, nullptr);
          const auto b = db_->NewIterator({.snapshot = snapshot}, other_);
          b->SeekToFirst();
          for (a->SeekToFirst(); a->Valid(); a->Next(), b->Next()) {
            ASSERT_TRUE(b->Valid());
            ASSERT_EQ(a->key(), b->key());
            ASSERT_EQ(a->value(), b->value());
          }
          ASSERT_FALSE(b->Valid());
          ASSERT_TRUE(a->status().ok() && b->status().ok());
          db_->ReleaseSnapshot(snapshot);
          break;
        }
        case 1: {
          const Snapshot* const snapshot = db_->GetSnapshot();
          std::string other;
          const std::string one = Uniform(random, 0, 1) != 0 ? key : Volatile(random);
          const Status first = db_->Get({.snapshot = snapshot}, nullptr, one, &value);
          const Status second = db_->Get({.snapshot = snapshot}, other_, one, &other);
          ASSERT_EQ(first.code(), second.code());
          if (first.ok()) {
            ASSERT_EQ(value, other);
          }
          db_->ReleaseSnapshot(snapshot);
          break;
        }
        default:
          if (db_->Get({}, subtable, key, &value).ok()) {
            ASSERT_GE(NumberOf(value), seen[pair]);
            seen[pair] = NumberOf(value);
          } else {
            ASSERT_EQ(seen[pair], 0u);
          }
      }
    }
  }

  void Upkeep(TestRandom* random) {
    for (int i = 0; writing_.load() > 0; ++i) {
      Subtable* const subtable = Uniform(random, 0, 1) != 0 ? other_ : nullptr;
      switch (Uniform(random, 0, 3)) {
        case 0:
          ASSERT_TRUE(db_->Flush(subtable).ok());
          break;
        case 1:
          if (Uniform(random, 0, 1) != 0) {
            ASSERT_TRUE(db_->CompactRange(subtable, "", "").ok());
          } else {
            const std::string& a = keys_[Uniform(random, 0, keys_.size() - 1)];
            const std::string& b = keys_[Uniform(random, 0, keys_.size() - 1)];
            ASSERT_TRUE(db_->CompactRange(subtable, std::min(a, b), std::max(a, b)).ok());
          }
          break;
        case 2: {
          const std::string copy = dir_.File(fmt::format("copy{}", i));
          ASSERT_TRUE(db_->CreateCheckpoint(copy).ok());
          ASSERT_TRUE(DB::Destroy({}, copy).ok());
          break;
        }
        default: {
          const Statistics statistics = db_->GetStatistics();
          ASSERT_LE(statistics.block_cache.used_bytes, options_.block_cache_bytes);
          ASSERT_LE(statistics.row_cache.used_bytes, options_.row_cache_bytes);
          Subtable* made;
          ASSERT_TRUE(db_->CreateSubtable(fmt::format("t{}", i), &made).ok());
          ASSERT_TRUE(db_->Put({}, made, "key", "value").ok());
          ASSERT_TRUE(db_->DropSubtable(made).ok());
        }
      }
    }
  }

  TempDir dir_;
  Options options_;
  std::unique_ptr<DB> db_;
  Subtable* other_ = nullptr;
  std::vector<std::string> keys_;      // kPairs of each writer
  std::vector<std::string> prefixes_;  // of pairs that come and go
  std::unique_ptr<ValueSpace> values_;
  std::atomic<int> writing_{kWriters};
};

TEST_F(DbStress, StatesStayWhole) {
  const uint64_t seed = TestSeed();
  Open(seed);
  std::vector<std::thread> threads;
  for (int t = 0; t < kWriters; ++t) {
    threads.emplace_back([this, t, seed] {
      TestRandom random(seed + t);
      Write(t, &random);
      --writing_;
    });
  }
  for (int t = 0; t < kReaders; ++t) {
    threads.emplace_back([this, t, seed] {
      TestRandom random(seed + 100 + t);
      Read(&random);
    });
  }
  threads.emplace_back([this, seed] {
    TestRandom random(seed + 200);
    Upkeep(&random);
  });
  threads.emplace_back([this, seed] {
    TestRandom random(seed + 300);
    DeleteRanges(&random);
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  const Status verified = db_->Verify({});
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  ASSERT_TRUE(db_->Close().ok());
}

// Calls that look at a version for a moment hold what keeps it, while versions come and go as fast
// as they can. For AddressSanitizer.
TEST(VersionStress, CallsThatLookAtVersionsWhileTheyChange) {
  const uint64_t seed = TestSeed();
  constexpr int kFlushers = 4;
  constexpr int kRounds = 1500;
  const auto key_of = [](uint64_t i) { return fmt::format("k{:06}", i); };
  TempDir dir;
  Options options;
  options.create_if_missing = true;
  options.memtable_bytes = 16 << 10;
  options.extent_bytes = 16 << 10;
  options.block_bytes = 1024;
  options.l0_compaction_runs = 2;
  options.l1_bytes = 64 << 10;
  options.separate_value_bytes = 1000;
  options.log_segment_bytes = 64 << 10;
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, dir.File("db"), &db).ok());
  std::atomic<int> flushing{kFlushers};
  std::vector<std::thread> threads;
  for (int t = 0; t < kFlushers; ++t) {
    threads.emplace_back([&, t] {
      TestRandom random(seed + t);
      for (int i = 0; i < kRounds; ++i) {
        if (t % 2 == 0) {
          const std::string key = key_of(Uniform(&random, 0, 500));
          ASSERT_TRUE(db->Put({}, key, std::string(Uniform(&random, 0, 2000), 'v')).ok());
        }
        ASSERT_TRUE(db->Flush(nullptr).ok());
      }
      --flushing;
    });
  }
  threads.emplace_back([&] {
    TestRandom random(seed + kFlushers);
    for (int i = 0; flushing > 0; ++i) {
      const auto transaction = db->BeginTransaction({}, {});
      const std::string key = key_of(Uniform(&random, 0, 500));
      if (transaction->Put(nullptr, key, "value").ok()) {
        ASSERT_TRUE(transaction->Commit().ok());
      }
      (void)db->GetStatistics();
      if (i % 50 == 0) {
        Subtable* made;
        ASSERT_TRUE(db->CreateSubtable(fmt::format("t{}", i), &made).ok());
        ASSERT_TRUE(db->Put({}, made, "key", "value").ok());
        ASSERT_TRUE(db->DropSubtable(made).ok());
      }
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_TRUE(db->Verify({}).ok());
}

}  // namespace
}  // namespace sluice
