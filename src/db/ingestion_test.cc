// Ingestions, against models and beside everything else that a database does.

#include "db/ingestion.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "db/fixture.h"

namespace sluice {
namespace {

using Model = std::map<std::string, std::string>;

std::string Key(uint64_t i) { return fmt::format("{:08}", i); }

// Holds up the first compaction of a database.
class Gate final : public EventListener {
 public:
  void OnCompaction(const CompactionEvent& /*event*/) override {
    if (!std::exchange(met_, true)) {
      reached.release();
      go_on.acquire();
    }
  }
  std::binary_semaphore reached{0};
  std::binary_semaphore go_on{0};

 private:
  bool met_ = false;  // there is one thread for compactions
};

class IngestionTest : public DbFixture {
 protected:
  std::unique_ptr<Ingestion> Begin() {
    std::unique_ptr<Ingestion> ingestion;
    const Status status = db_->NewIngestion(&ingestion);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return ingestion;
  }
  // Keys [begin, end) with this value.
  void Ingest(uint64_t begin, uint64_t end, const std::string& value,
              Subtable* subtable = nullptr) {
    const auto ingestion = Begin();
    for (uint64_t i = begin; i < end; ++i) {
      const Status status = ingestion->Add(subtable, Key(i), value);
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
    const Status status = ingestion->Commit();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  // Level 0 has three runs then, and no compaction begins before the gate lets the first one go on.
  std::shared_ptr<Gate> OpenBehindGate(size_t stop_runs) {
    const auto gate = std::make_shared<Gate>();
    options_.l0_compaction_runs = 2;
    options_.l0_slowdown_runs = 3;
    options_.l0_stop_runs = stop_runs;
    options_.listeners.push_back(gate);
    Open();
    for (int run = 0; run < 3; ++run) {
      EXPECT_TRUE(db_->Put({}, Key(5), "value").ok());
      EXPECT_TRUE(db_->Flush(nullptr).ok());
      if (run == 1) {
        gate->reached.acquire();
      }
    }
    return gate;
  }
  std::string Get(const std::string& key, const Snapshot* snapshot = nullptr) const {
    std::string value;
    ReadOptions options;
    options.snapshot = snapshot;
    const Status status = db_->Get(options, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : status.ToString();
  }
  std::vector<uint64_t> RecordsByLevel() const {
    std::vector<uint64_t> records;
    const Statistics statistics = db_->GetStatistics();
    for (const LevelStatistics& level : statistics.subtables[0].levels) {
      records.push_back(level.records);
    }
    return records;
  }
  static Model Contents(DB* db, Subtable* subtable = nullptr, const Snapshot* snapshot = nullptr) {
    Model found;
    ReadOptions options;
    options.snapshot = snapshot;
    const auto at = db->NewIterator(options, subtable);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      found.emplace(at->key(), at->value());
    }
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    return found;
  }
};

TEST_F(IngestionTest, AnEmptyTableIsWrittenOnce) {
  options_.compression = Compression::kNone;
  Open();
  Ingest(0, 50'000, std::string(100, 'v'));
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(RecordsByLevel(), (std::vector<uint64_t>{0, 0, 50'000}));
  Ingest(50'000, 60'000, std::string(100, 'v'));  // and so is what comes behind
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(RecordsByLevel(), (std::vector<uint64_t>{0, 0, 60'000}));
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.user_bytes_written, 60'000u * 108);
  EXPECT_LT(statistics.WriteAmplification(), 1.2);
  EXPECT_EQ(statistics.flushes, 0u);
  EXPECT_EQ(statistics.compaction_bytes_written, 0u);
  EXPECT_LT(statistics.log_bytes_written, 1u << 20);
  Open();
  EXPECT_EQ(Contents(db_.get()).size(), 60'000u);
  EXPECT_EQ(Get(Key(12'345)), std::string(100, 'v'));
  EXPECT_TRUE(db_->Verify(nullptr).ok());
}

TEST_F(IngestionTest, GoesAsDeepAsNothingOverlaps) {
  options_.automatic_compactions = false;
  Open();
  Ingest(1000, 2000, "last");
  Ingest(1500, 1600, "above");  // the last level
  EXPECT_EQ(RecordsByLevel(), (std::vector<uint64_t>{0, 100, 1000}));
  Ingest(1550, 1560, "newer");  // of two runs of level 1
  EXPECT_EQ(RecordsByLevel(), (std::vector<uint64_t>{0, 110, 1000}));
  ASSERT_TRUE(db_->Put({}, Key(1555), "flushed").ok());
  Ingest(0, 10, "beside");  // flushes that, but lies beside
  EXPECT_EQ(RecordsByLevel(), (std::vector<uint64_t>{1, 110, 1010}));
  EXPECT_EQ(Get(Key(1555)), "flushed");
  Ingest(1555, 1557, "newest");
  EXPECT_EQ(RecordsByLevel(), (std::vector<uint64_t>{3, 110, 1010}));
  for (int compacted = 0; compacted < 2; ++compacted) {
    EXPECT_EQ(Get(Key(1555)), "newest");
    EXPECT_EQ(Get(Key(1557)), "newer");
    EXPECT_EQ(Get(Key(1599)), "above");
    EXPECT_EQ(Get(Key(1600)), "last");
    EXPECT_EQ(Get(Key(9)), "beside");
    EXPECT_TRUE(db_->Verify(nullptr).ok());
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  }
}

TEST_F(IngestionTest, TakesEffectAtItsCommit) {
  Open();
  ASSERT_TRUE(db_->Put({}, Key(1), "before").ok());
  ASSERT_TRUE(db_->Put({}, Key(2), "before").ok());
  const Snapshot* const first = db_->GetSnapshot();
  const auto ingestion = Begin();
  for (uint64_t i = 1; i < 2000; ++i) {
    ASSERT_TRUE(ingestion->Add(nullptr, Key(i), "ingested").ok());
  }
  ASSERT_TRUE(db_->Put({}, Key(2), "meanwhile").ok());
  const Snapshot* const second = db_->GetSnapshot();
  const auto iterator = db_->NewIterator({});
  EXPECT_EQ(Get(Key(2)), "meanwhile");
  EXPECT_EQ(Get(Key(3)), "-");
  ASSERT_TRUE(ingestion->Commit().ok());
  ASSERT_TRUE(db_->Put({}, Key(4), "after").ok());
  for (int compacted = 0; compacted < 2; ++compacted) {
    EXPECT_EQ(Get(Key(1)), "ingested");
    EXPECT_EQ(Get(Key(2)), "ingested");
    EXPECT_EQ(Get(Key(4)), "after");
    EXPECT_EQ(Get(Key(1999)), "ingested");
    EXPECT_EQ(Contents(db_.get(), nullptr, first), (Model{{Key(1), "before"}, {Key(2), "before"}}));
    EXPECT_EQ(Contents(db_.get(), nullptr, second),
              (Model{{Key(1), "before"}, {Key(2), "meanwhile"}}));
    EXPECT_EQ(Get(Key(2), second), "meanwhile");
    EXPECT_EQ(Get(Key(3), second), "-");
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  }
  iterator->SeekToLast();
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), Key(2));
  db_->ReleaseSnapshot(first);
  db_->ReleaseSnapshot(second);
}

// Rows, and what iterators found dead.
TEST_F(IngestionTest, NothingRememberedHidesIt) {
  Open();
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(db_->Put({}, Key(i), "old").ok());
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(Get(Key(7)), "old");  // a row of the cache
  }
  ASSERT_GT(db_->GetStatistics().row_cache.entries, 0u);
  for (uint64_t i = 20; i < 90; ++i) {
    ASSERT_TRUE(db_->Delete({}, Key(i)).ok());
  }
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(Contents(db_.get()).size(), 30u);
  }
  Ingest(5, 60, "new");
  EXPECT_EQ(Get(Key(7)), "new");
  EXPECT_EQ(Get(Key(4)), "old");
  EXPECT_EQ(Contents(db_.get()).size(), 70u);
  EXPECT_EQ(Contents(db_.get())[Key(30)], "new");
}

TEST_F(IngestionTest, ComesAfterRangeDeletions) {
  options_.automatic_compactions = false;
  Open();
  Ingest(0, 5000, std::string(100, 'o'));
  ASSERT_TRUE(db_->DeleteRange({}, Key(1000), Key(4000)).ok());
  Ingest(2000, 3000, "new");
  ASSERT_TRUE(db_->DeleteRange({}, Key(2500), Key(2600)).ok());
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Contents(db_.get()).size(), 2900u);
    EXPECT_EQ(Get(Key(2499)), "new");
    EXPECT_EQ(Get(Key(2500)), "-");
    EXPECT_EQ(Get(Key(1500)), "-");
    ASSERT_TRUE(round == 0 ? db_->WaitForBackgroundWork().ok()
                           : db_->CompactRange(nullptr, {}, {}).ok());
    EXPECT_TRUE(db_->Verify(nullptr).ok());
  }
}

// Or small ones would add runs without end, and writers would wait for ever.
TEST_F(IngestionTest, WaitsWhereWritersAreStopped) {
  const auto gate = OpenBehindGate(4);
  std::atomic<int> ingested = 0;
  std::thread thread([&] {
    for (; ingested < 20; ++ingested) {
      Ingest(0, 10, "ingested");
    }
  });
  const auto runs = [&] { return db_->GetStatistics().subtables[0].levels[0].runs; };
  while (runs() < 4) {
    std::this_thread::yield();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(runs(), 4u);
  EXPECT_LT(ingested, 20);
  gate->go_on.release();
  thread.join();
  EXPECT_EQ(Get(Key(5)), "ingested");
}

// Or small ones would bring writers to a stop, whom they leave no room to be slowed down in.
TEST_F(IngestionTest, IsSlowedDownWhereWritersAre) {
  options_.memtable_bytes = 256 << 10;
  const auto gate = OpenBehindGate(12);
  const auto slowed_down = [&] { return db_->GetStatistics().stall_microseconds; };
  EXPECT_EQ(slowed_down(), 0u);
  uint64_t before = 0;
  for (int i = 0; i < 10; ++i) {
    before = slowed_down();
    Ingest(0, 10, "ingested");
  }
  // As long as a memtable takes where level 0 is nearly full.
  EXPECT_GT(slowed_down() - before, 10'000u);
  EXPECT_EQ(db_->GetStatistics().subtables[0].levels[0].runs, 11u);
  gate->go_on.release();
  EXPECT_EQ(Get(Key(5)), "ingested");
}

// Level 1 may get any number of runs while a compaction is under way. The next ones take a few at a
// time: a part of one that took all of them would read some of each.
TEST_F(IngestionTest, ManyRunsAreCompactedAFewAtATime) {
  class Watch final : public EventListener {
   public:
    void OnCompaction(const CompactionEvent& event) override {
      if (!std::exchange(met_, true)) {
        reached.release();
        go_on.acquire();
      }
      most_inputs = std::max(most_inputs, event.input_extents);
    }
    std::binary_semaphore reached{0};
    std::binary_semaphore go_on{0};
    size_t most_inputs = 0;

   private:
    bool met_ = false;  // there is one thread for compactions
  };
  const auto watch = std::make_shared<Watch>();
  options_.listeners.push_back(watch);
  Open();
  Ingest(0, 10, "first");
  int runs = 1;
  for (; runs < 5; ++runs) {
    Ingest(0, 10, "few");
  }
  watch->reached.acquire();
  for (; runs < 100; ++runs) {
    Ingest(0, 10, std::to_string(runs));
  }
  EXPECT_GT(db_->GetStatistics().subtables[0].levels[1].runs, 90u);
  watch->go_on.release();
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_LE(watch->most_inputs, 17u);  // one may be of the last level
  EXPECT_LT(db_->GetStatistics().subtables[0].levels[1].runs, 20u);
  EXPECT_EQ(Get(Key(5)), "99");
  EXPECT_TRUE(db_->Verify(nullptr).ok());
}

// Other keys that are ingested meanwhile must not go below what level 0 has of these: made into a run
// with the older value, they would bring it back.
TEST_F(IngestionTest, WhatIsOverwrittenStaysSo) {
  Open();
  ASSERT_TRUE(db_->Put({}, Key(0), "value").ok());
  ASSERT_TRUE(db_->Put({}, Key(9000), "value").ok());
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  Ingest(10, 11, "old");
  const Snapshot* const snapshot = db_->GetSnapshot();
  ASSERT_TRUE(db_->Put({}, Key(10), "new").ok());
  for (int i = 1000; i < 4000; ++i) {
    ASSERT_TRUE(db_->Delete({}, Key(i)).ok());
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->Put({}, Key(20), "value").ok());
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  for (int i = 0; i < 8; ++i) {  // enough to be made into one run
    Ingest(8000 + i, 8001 + i, "value");
  }
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  db_->ReleaseSnapshot(snapshot);  // tombstones of level 0 are worth a compaction now
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(Get(Key(10)), "new");
  EXPECT_TRUE(db_->Verify(nullptr).ok());
  Open();
  EXPECT_EQ(Get(Key(10)), "new");
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  EXPECT_EQ(Get(Key(10)), "new");
}

TEST_F(IngestionTest, TransactionsMeetConflicts) {
  Open();
  const auto transaction = db_->BeginTransaction({}, {});
  std::string value;
  EXPECT_TRUE(transaction->Get({}, nullptr, Key(5), &value).IsNotFound());
  Ingest(0, 10, "new");
  EXPECT_TRUE(transaction->Get({}, nullptr, Key(5), &value).IsNotFound());
  EXPECT_EQ(transaction->Put(nullptr, Key(5), "own").code(), Status::Code::kConflict);
  EXPECT_TRUE(transaction->Put(nullptr, Key(10), "own").ok());
}

TEST_F(IngestionTest, MistakesAreRefusedAndForgotten) {
  Open();
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  auto ingestion = Begin();
  std::unique_ptr<Ingestion> second;
  EXPECT_EQ(db_->NewIngestion(&second).code(), Status::Code::kBusy);
  ASSERT_TRUE(ingestion->Add(nullptr, "b", "1").ok());
  EXPECT_EQ(ingestion->Add(nullptr, "b", "2").code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(ingestion->Add(nullptr, "a", "2").code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(ingestion->Add(nullptr, std::string(kMaxKeyBytes + 1, 'c'), "2").code(),
            Status::Code::kInvalidArgument);
  ASSERT_TRUE(ingestion->Add(other, "a", "3").ok());
  ASSERT_TRUE(ingestion->Add(other, std::string(kMaxKeyBytes, 'c'), "4").ok());
  ASSERT_TRUE(ingestion->Add(nullptr, "c", "5").ok());
  ASSERT_TRUE(ingestion->Commit().ok());
  EXPECT_EQ(ingestion->Commit().code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(ingestion->Add(nullptr, "d", "6").code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(Contents(db_.get()), (Model{{"b", "1"}, {"c", "5"}}));
  EXPECT_EQ(Contents(db_.get(), other), (Model{{"a", "3"}, {std::string(kMaxKeyBytes, 'c'), "4"}}));

  // A committed one is none that is under way; nor is one that is gone.
  ASSERT_TRUE(db_->NewIngestion(&second).ok());
  ASSERT_TRUE(second->Add(nullptr, "x", "7").ok());
  second.reset();
  ingestion.reset();
  ingestion = Begin();
  EXPECT_TRUE(ingestion->Commit().ok());
  EXPECT_EQ(db_->GetStatistics().ingestion_bytes_written > 0, true);

  ingestion.reset();
  ingestion = Begin();
  ASSERT_TRUE(ingestion->Add(nullptr, "", "first").ok());
  ASSERT_TRUE(ingestion->Add(other, "b", "8").ok());
  ASSERT_TRUE(db_->DropSubtable(other).ok());
  EXPECT_EQ(ingestion->Add(other, "c", "9").code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(ingestion->Commit().code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(ingestion->Add(nullptr, "e", "9").code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(Get(""), "-");
  ingestion.reset();
  ingestion = Begin();
  ASSERT_TRUE(ingestion->Add(nullptr, "", "first").ok());
  ASSERT_TRUE(ingestion->Commit().ok());
  EXPECT_EQ(Get(""), "first");

  ingestion.reset();
  ingestion = Begin();
  ASSERT_TRUE(ingestion->Add(nullptr, "f", "10").ok());
  ASSERT_TRUE(db_->Close().ok());
  EXPECT_EQ(ingestion->Add(nullptr, "g", "10").code(), Status::Code::kBusy);
  EXPECT_EQ(ingestion->Commit().code(), Status::Code::kBusy);
  ingestion.reset();
  options_.read_only = true;
  Open();
  EXPECT_EQ(Contents(db_.get()), (Model{{"", "first"}, {"b", "1"}, {"c", "5"}}));
  EXPECT_EQ(db_->NewIngestion(&ingestion).code(), Status::Code::kInvalidArgument);
}

TEST_F(IngestionTest, WhatIsAbandonedComesFree) {
  options_.separate_value_bytes = 1000;
  Open();
  Ingest(0, 1000, "there");
  const uint64_t before = db_->GetStatistics().extent_bytes;
  for (int round = 0; round < 3; ++round) {
    auto ingestion = Begin();
    for (uint64_t i = 0; i < 20'000; ++i) {
      ASSERT_TRUE(ingestion->Add(nullptr, Key(i), std::string(i % 10 == 0 ? 2000 : 100, 'x')).ok());
    }
    EXPECT_GT(db_->GetStatistics().extent_bytes, before);
    ingestion.reset();
    // What is just being given back to the file system counts as used until that is done, even if it
    // was free a moment ago.
    uint64_t now = db_->GetStatistics().extent_bytes;
    for (int i = 0; i < 1000 && now != before; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      now = db_->GetStatistics().extent_bytes;
    }
    EXPECT_EQ(now, before);
  }
  EXPECT_EQ(Contents(db_.get()).size(), 1000u);
  EXPECT_EQ(db_->GetStatistics().ingestion_bytes_written,
            db_->GetStatistics().subtables[0].levels[2].bytes);
}

// Everything, one after the other, against maps.
class AnyLife : public IngestionTest {
 protected:
  struct Held {
    const Snapshot* snapshot;
    Model model;
  };

  std::string RandomKey() {
    std::string key = Key(Uniform(&random_, 0, 4000));
    return key + std::string(Uniform(&random_, 0, 3) == 0 ? 60 : 0, 'k');
  }
  std::string RandomValue() {
    ++values_;
    const uint64_t bytes =
        Uniform(&random_, 0, 30) == 0 ? Uniform(&random_, 500, 5000) : Uniform(&random_, 0, 200);
    return std::string(bytes, static_cast<char>('a' + values_ % 26)) + std::to_string(values_);
  }
  void Write() {
    WriteBatch batch;
    for (uint64_t i = Uniform(&random_, 1, 400); i > 0; --i) {
      const std::string key = RandomKey();
      switch (Uniform(&random_, 0, 50)) {
        case 0: {
          const std::string end = RandomKey();
          batch.DeleteRange(key, end);
          if (key < end) {
            model_.erase(model_.lower_bound(key), model_.lower_bound(end));
          }
          break;
        }
        case 1:
        case 2:
        case 3:
        case 4:
        case 5:
        case 6:
        case 7:
        case 8:
          batch.Delete(key);
          model_.erase(key);
          break;
        default:
          model_[key] = RandomValue();
          batch.Put(key, model_[key]);
      }
    }
    ASSERT_TRUE(db_->Write({}, batch).ok());
  }
  void IngestSome() {
    Model added;
    const std::string from = RandomKey();
    const bool narrow = Uniform(&random_, 0, 1) == 0;
    for (uint64_t i = Uniform(&random_, 0, 2000); i > 0; --i) {
      const std::string key = RandomKey();
      if (!narrow || (key >= from && key < from.substr(0, 5) + "\xff")) {
        added[key] = RandomValue();
      }
    }
    const auto ingestion = Begin();
    for (const auto& [key, value] : added) {
      ASSERT_TRUE(ingestion->Add(nullptr, key, value).ok());
      if (Uniform(&random_, 0, 500) == 0) {
        Write();
        Hold();
      }
    }
    if (Uniform(&random_, 0, 9) == 0) {
      return;  // abandoned
    }
    const Status status = ingestion->Commit();
    ASSERT_TRUE(status.ok()) << status.ToString();
    for (auto& [key, value] : added) {
      model_[key] = std::move(value);
    }
  }
  void Hold() {
    if (held_.size() < 4) {
      held_.push_back({db_->GetSnapshot(), model_});
    }
  }
  void ReleaseOne() {
    if (!held_.empty()) {
      const auto at =
          held_.begin() + static_cast<ptrdiff_t>(Uniform(&random_, 0, held_.size() - 1));
      db_->ReleaseSnapshot(at->snapshot);
      held_.erase(at);
    }
  }
  void Check() {
    ASSERT_TRUE(Contents(db_.get()) == model_);
    for (const Held& held : held_) {
      ASSERT_TRUE(Contents(db_.get(), nullptr, held.snapshot) == held.model);
    }
    for (int i = 0; i < 200; ++i) {
      const std::string key = RandomKey();
      const auto found = model_.find(key);
      ASSERT_EQ(Get(key), found == model_.end() ? "-" : found->second) << key;
      for (const Held& held : held_) {
        const auto then = held.model.find(key);
        ASSERT_EQ(Get(key, held.snapshot), then == held.model.end() ? "-" : then->second) << key;
      }
    }
  }
  void Run() {
    Open();
    for (int step = 0; step < 120 && !HasFatalFailure(); ++step) {
      switch (Uniform(&random_, 0, 11)) {
        case 0:
        case 1:
        case 2:
          IngestSome();
          break;
        case 3:
          ASSERT_TRUE(db_->Flush(nullptr).ok());
          break;
        case 4: {
          const std::string begin = RandomKey();
          ASSERT_TRUE(db_->CompactRange(nullptr, begin, RandomKey()).ok());
          break;
        }
        case 5:
          ReleaseOne();
          break;
        case 6:
          Hold();
          break;
        case 7:
          if (Uniform(&random_, 0, 2) == 0) {
            while (!held_.empty()) {
              ReleaseOne();
            }
            Open();
          }
          break;
        case 8:
          if (Uniform(&random_, 0, 4) == 0) {
            const std::string path = dir_.File(fmt::format("copy{}", step));
            ASSERT_TRUE(db_->CreateCheckpoint(path).ok());
            std::unique_ptr<DB> copy;
            Options options = options_;
            options.level_paths.clear();  // they are the other's
            ASSERT_TRUE(DB::Open(options, path, &copy).ok());
            ASSERT_TRUE(Contents(copy.get()) == model_);
          }
          break;
        default:
          Write();
      }
      if (!HasFatalFailure()) {
        Check();
      }
    }
    const Status status = db_->Verify(nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
    while (!held_.empty()) {
      ReleaseOne();
    }
  }

  const uint64_t seed_ = TestSeed();
  TestRandom random_{seed_};
  uint64_t values_ = 0;
  Model model_;
  std::vector<Held> held_;
};

TEST_F(AnyLife, IsThatOfAMap) {
  options_.l1_bytes = 128 << 10;
  options_.compaction_bytes = 128 << 10;
  Run();
}

TEST_F(AnyLife, WithFormatsOfLevelsAndValuesApart) {
  options_.l1_bytes = 128 << 10;
  options_.compaction_bytes = 128 << 10;
  options_.compression_per_level = {Compression::kNone, Compression::kLz4, Compression::kZstd};
  options_.zstd_dictionary_bytes = 4 << 10;
  options_.separate_value_bytes = 400;
  options_.compaction_threads = 2;
  Run();
}

TEST_F(AnyLife, WithTinyCaches) {
  options_.extent_bytes = 16 << 10;
  options_.block_bytes = 512;
  options_.l1_bytes = 64 << 10;
  options_.compaction_bytes = 64 << 10;
  options_.row_cache_bytes = 64 << 10;
  options_.block_cache_bytes = 64 << 10;
  options_.table_cache_bytes = 16 << 10;
  options_.separate_value_bytes = 2000;
  options_.level_paths = {dir_.File("t0"), dir_.File("t1"), dir_.File("t2")};
  Run();
}

// Each ingestion overwrites all keys of two sub-tables, while threads write others, read and compact:
// no reader sees half of one, none goes back, and no write is lost.
TEST_F(IngestionTest, BesideThreads) {
  constexpr uint64_t kKeys = 1000;
  options_.l1_bytes = 256 << 10;
  Open();
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  std::atomic<bool> stop{false};
  std::atomic<int> committed{0};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      for (uint64_t i = 0; !stop; ++i) {
        // Between the ingested keys.
        const std::string key = Key(i % kKeys) + "w" + std::to_string(writer);
        ASSERT_TRUE(db_->Put({}, i % 2 == 0 ? other : nullptr, key, std::to_string(i)).ok());
        std::string value;
        ASSERT_TRUE(db_->Get({}, i % 2 == 0 ? other : nullptr, key, &value).ok());
        ASSERT_EQ(value, std::to_string(i));
      }
    });
  }
  threads.emplace_back([&] {
    int newest = 0;
    TestRandom random(1);
    while (!stop) {
      const int least = committed;
      std::string value;
      const Status status = db_->Get({}, Key(Uniform(&random, 0, kKeys - 1)), &value);
      if (least > 0) {
        ASSERT_TRUE(status.ok()) << status.ToString();
        ASSERT_GE(std::stoi(value), std::max(least, newest));
        newest = std::stoi(value);
      }
      const Snapshot* const snapshot = db_->GetSnapshot();
      std::map<std::string, uint64_t> generations;
      for (Subtable* const subtable : {static_cast<Subtable*>(nullptr), other}) {
        for (const auto& [key, found] : Contents(db_.get(), subtable, snapshot)) {
          generations[found] += key.size() == 8 ? 1 : 0;
        }
        ASSERT_TRUE(db_->Get({}, subtable, Key(1), &value).ok() || least == 0);
      }
      db_->ReleaseSnapshot(snapshot);
      std::erase_if(generations, [](const auto& entry) { return entry.second == 0; });
      ASSERT_LE(generations.size(), 1u);
      ASSERT_TRUE(generations.empty() || generations.begin()->second == 2 * kKeys);
    }
  });
  threads.emplace_back([&] {
    while (!stop) {
      ASSERT_TRUE(db_->CompactRange(other, {}, {}).ok());
    }
  });
  for (int generation = 1; generation <= 30; ++generation) {
    const auto ingestion = Begin();
    const std::string value = std::to_string(generation);
    for (uint64_t i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(ingestion->Add(nullptr, Key(i), value).ok());
      ASSERT_TRUE(ingestion->Add(other, Key(i), value).ok());
    }
    const Status status = ingestion->Commit();
    ASSERT_TRUE(status.ok()) << status.ToString();
    committed = generation;
  }
  stop = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(db_->Verify(nullptr).ok());
  Open();
  EXPECT_EQ(Get(Key(17)), "30");
  EXPECT_TRUE(db_->Verify(nullptr).ok());
}

}  // namespace
}  // namespace sluice
