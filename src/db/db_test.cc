// The database's promises, one by one.

#include "sluice/db.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "db/fixture.h"
#include "sluice/ingestion.h"
#include "sluice/transaction.h"
#include "util/cpu_clock.h"

namespace sluice {
namespace {

class DbTest : public DbFixture {
 protected:
  std::string Get(std::string_view key, const Snapshot* snapshot = nullptr,
                  Subtable* subtable = nullptr) {
    std::string value;
    ReadOptions options;
    options.snapshot = snapshot;
    const Status status = db_->Get(options, subtable, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : status.ToString();
  }
  void Put(std::string_view key, std::string_view value) {
    ASSERT_TRUE(db_->Put({}, key, value).ok());
  }
  // "k=v k=v ..." forward.
  std::string Scan(const ReadOptions& options = {}, Subtable* subtable = nullptr) {
    std::string all;
    const auto at = db_->NewIterator(options, subtable);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      all += std::string(at->key()) + "=" + std::string(at->value()) + " ";
    }
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    return all;
  }
};

TEST_F(DbTest, ReadsWhatWasWritten) {
  Open();
  EXPECT_EQ(Get("a"), "-");
  Put("a", "1");
  Put("b", "");
  Put("", "empty key");
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "");
  EXPECT_EQ(Get(""), "empty key");
  Put("a", "2");
  ASSERT_TRUE(db_->Delete({}, "b").ok());
  EXPECT_EQ(Get("a"), "2");
  EXPECT_EQ(Get("b"), "-");
  EXPECT_EQ(Scan(), "=empty key a=2 ");
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  EXPECT_EQ(Get("a"), "2");
  EXPECT_EQ(Get("b"), "-");
  EXPECT_EQ(Scan(), "=empty key a=2 ");
  ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
  EXPECT_EQ(Get("a"), "2");
  EXPECT_EQ(Get("b"), "-");
  EXPECT_EQ(Scan(), "=empty key a=2 ");
}

TEST_F(DbTest, SurvivesReopening) {
  Open();
  Put("a", "1");
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  Put("b", "2");
  Open();
  EXPECT_EQ(Scan(), "a=1 b=2 ");
  Put("c", "3");
  Open();
  Open();
  EXPECT_EQ(Scan(), "a=1 b=2 c=3 ");
}

TEST_F(DbTest, RefusesWhatItCannotOpen) {
  options_.create_if_missing = false;
  EXPECT_TRUE(DB::Open(options_, dir_.File("db"), &db_).IsNotFound());
  options_.create_if_missing = true;
  Open();
  std::unique_ptr<DB> second;
  EXPECT_EQ(DB::Open(options_, dir_.File("db"), &second).code(), Status::Code::kBusy);
  db_.reset();
  options_.error_if_exists = true;
  EXPECT_EQ(DB::Open(options_, dir_.File("db"), &db_).code(), Status::Code::kInvalidArgument);
  options_.error_if_exists = false;
  options_.extent_bytes = 0;
  EXPECT_EQ(DB::Open(options_, dir_.File("db"), &db_).code(), Status::Code::kInvalidArgument);
  options_.extent_bytes = 1 << 20;
  options_.memtable_bytes = (size_t{64} << 30) + 1;
  EXPECT_EQ(DB::Open(options_, dir_.File("db"), &db_).code(), Status::Code::kInvalidArgument);
  options_.memtable_bytes = 1 << 20;
  options_.executors = {nullptr};
  EXPECT_EQ(DB::Open(options_, dir_.File("db"), &db_).code(), Status::Code::kInvalidArgument);
  options_.executors = {};
  options_.listeners = {nullptr};
  EXPECT_EQ(DB::Open(options_, dir_.File("db"), &db_).code(), Status::Code::kInvalidArgument);
  options_.listeners = {};
  options_.compaction_order = {CompactionKind{kCompactionKinds}};
  EXPECT_EQ(DB::Open(options_, dir_.File("db"), &db_).code(), Status::Code::kInvalidArgument);
}

TEST_F(DbTest, SnapshotsStayAsTheyAre) {
  Open();
  Put("a", "1");
  const Snapshot* const first = db_->GetSnapshot();
  Put("a", "2");
  Put("b", "1");
  const Snapshot* const second = db_->GetSnapshot();
  ASSERT_TRUE(db_->Delete({}, "a").ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Get("a"), "-");
    EXPECT_EQ(Get("a", first), "1");
    EXPECT_EQ(Get("b", first), "-");
    EXPECT_EQ(Get("a", second), "2");
    EXPECT_EQ(Scan({.snapshot = first}), "a=1 ");
    EXPECT_EQ(Scan({.snapshot = second}), "a=2 b=1 ");
    EXPECT_EQ(Scan(), "b=1 ");
    if (i == 0) {
      ASSERT_TRUE(db_->Flush(nullptr).ok());
    } else {
      ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
    }
  }
  db_->ReleaseSnapshot(first);
  db_->ReleaseSnapshot(second);
  ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
  EXPECT_EQ(Scan(), "b=1 ");
  EXPECT_EQ(db_->GetStatistics().subtables[0].levels[2].records, 1u);
}

// A transaction that is older than memtables and runs seeks as fast as others, and does not pass over
// all that came since.
TEST_F(DbTest, AnOldSnapshotSeeksPastWhatIsNewer) {
  constexpr int kKeys = 100'000;
  const auto key = [](int i) { return fmt::format("key{:06}", i); };
  options_.memtable_bytes = options_.write_buffer_bytes = 256 << 20;
  options_.extent_bytes = 256 << 10;
  options_.block_cache_bytes = options_.table_cache_bytes = 64 << 20;
  options_.automatic_compactions = false;
  Open();
  ASSERT_TRUE(db_->Put({}, key(0), "old").ok());
  ASSERT_TRUE(db_->Put({}, key(kKeys), "old").ok());
  const Snapshot* const snapshot = db_->GetSnapshot();
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  for (int i = 0; i <= kKeys; ++i) {
    ASSERT_TRUE(db_->Put({}, key(i), "new").ok());
  }
  const auto cost = [&](const Snapshot* at, std::string_view expected) {
    const double begin = ThreadCpuSeconds();
    for (int i = 1; i <= 200; ++i) {
      const auto iterator = db_->NewIterator({.snapshot = at});
      iterator->Seek(key(i));
      EXPECT_TRUE(iterator->Valid());
      EXPECT_EQ(iterator->key(), at == nullptr ? key(i) : key(kKeys));
      EXPECT_EQ(iterator->value(), expected);
      iterator->SeekForPrev(key(kKeys - i));
      EXPECT_TRUE(iterator->Valid());
      EXPECT_EQ(iterator->key(), at == nullptr ? key(kKeys - i) : key(0));
      EXPECT_EQ(iterator->value(), expected);
    }
    return ThreadCpuSeconds() - begin;
  };
  for (const bool flushed : {false, true}) {
    SCOPED_TRACE(testing::Message() << "flushed: " << flushed);
    if (flushed) {
      ASSERT_TRUE(db_->Flush(nullptr).ok());
    }
    (void)cost(nullptr, "new");
    EXPECT_LT(cost(snapshot, "old"), 50 * cost(nullptr, "new"));
  }
  db_->ReleaseSnapshot(snapshot);
}

// Where a memtable has little that a snapshot sees, and much that it does not.
TEST_F(DbTest, IteratorsLookForNothingBeyondTheirBounds) {
  constexpr int kKeys = 100'000;
  const auto key = [](int i) { return fmt::format("key{:06}", i); };
  options_.memtable_bytes = options_.write_buffer_bytes = 256 << 20;
  Open();
  ASSERT_TRUE(db_->Put({}, key(0), "old").ok());
  ASSERT_TRUE(db_->Put({}, key(kKeys / 2), "old").ok());
  ASSERT_TRUE(db_->Put({}, key(kKeys), "old").ok());
  const Snapshot* const snapshot = db_->GetSnapshot();
  for (int i = 0; i <= kKeys; ++i) {
    ASSERT_TRUE(db_->Put({}, key(i), "new").ok());
  }
  const auto cost = [&](const Snapshot* at, int first) {
    const double begin = ThreadCpuSeconds();
    for (int i = first; i < first + 200; ++i) {
      const std::string lower = key(i);
      const std::string upper = key(i + 3);
      const auto iterator =
          db_->NewIterator({.snapshot = at, .lower_bound = &lower, .upper_bound = &upper});
      iterator->SeekToFirst();
      EXPECT_EQ(iterator->Valid(), at == nullptr);
      iterator->SeekToLast();
      EXPECT_EQ(iterator->Valid(), at == nullptr);
      EXPECT_TRUE(at != nullptr || iterator->key() == key(i + 2));
    }
    return ThreadCpuSeconds() - begin;
  };
  (void)cost(nullptr, 1000);
  EXPECT_LT(cost(snapshot, 1000), 20 * cost(nullptr, 1000));
  EXPECT_LT(cost(snapshot, kKeys - 1000), 20 * cost(nullptr, kKeys - 1000));
  db_->ReleaseSnapshot(snapshot);
}

TEST_F(DbTest, SubtablesAreApartAndBatchesAcrossThemAtomic) {
  Open();
  Subtable* orders;
  ASSERT_TRUE(db_->CreateSubtable("orders", &orders).ok());
  EXPECT_EQ(db_->CreateSubtable("orders", &orders).code(), Status::Code::kInvalidArgument);
  WriteBatch batch;
  batch.Put("a", "default");
  batch.Put(orders, "a", "orders");
  batch.Delete(orders, "b");
  ASSERT_TRUE(db_->Write({}, batch).ok());
  EXPECT_EQ(Get("a"), "default");
  EXPECT_EQ(Get("a", nullptr, orders), "orders");
  Open();
  orders = db_->FindSubtable("orders");
  ASSERT_NE(orders, nullptr);
  EXPECT_EQ(db_->ListSubtables().size(), 2u);
  EXPECT_EQ(Get("a", nullptr, orders), "orders");
  ASSERT_TRUE(db_->Flush(orders).ok());
  ASSERT_TRUE(db_->DropSubtable(orders).ok());
  EXPECT_EQ(Get("a", nullptr, orders), "-");
  EXPECT_EQ(db_->Put({}, orders, "a", "x").code(), Status::Code::kInvalidArgument);
  EXPECT_EQ(db_->FindSubtable("orders"), nullptr);
  Subtable* again;
  ASSERT_TRUE(db_->CreateSubtable("orders", &again).ok());
  EXPECT_EQ(Get("a", nullptr, again), "-");
  Open();
  EXPECT_EQ(Get("a", nullptr, db_->FindSubtable("orders")), "-");
  EXPECT_EQ(Get("a"), "default");
  EXPECT_EQ(db_->DropSubtable(nullptr).code(), Status::Code::kInvalidArgument);
}

TEST_F(DbTest, IteratorsKeepBoundsAndTurn) {
  Open();
  for (char c = 'a'; c <= 'z'; ++c) {
    Put(std::string(1, c), "x");
    if (c % 7 == 0) {
      ASSERT_TRUE(db_->Flush(nullptr).ok());
    }
  }
  const std::string lower = "f";
  const std::string upper = "k";
  const auto at = db_->NewIterator({.lower_bound = &lower, .upper_bound = &upper});
  std::string seen;
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    seen += at->key();
  }
  EXPECT_EQ(seen, "fghij");
  seen.clear();
  for (at->SeekToLast(); at->Valid(); at->Prev()) {
    seen += at->key();
  }
  EXPECT_EQ(seen, "jihgf");
  at->Seek("a");
  EXPECT_EQ(at->key(), "f");
  at->SeekForPrev("z");
  EXPECT_EQ(at->key(), "j");
  at->Seek("h");
  at->Prev();
  EXPECT_EQ(at->key(), "g");
  at->Next();
  EXPECT_EQ(at->key(), "h");
  at->Seek("k");
  EXPECT_FALSE(at->Valid());
}

TEST_F(DbTest, DeletesRanges) {
  Open();
  for (int i = 0; i < 3000; ++i) {
    Put(std::to_string(10000 + i), "v");
  }
  ASSERT_TRUE(db_->DeleteRange({}, nullptr, "10001", "12999").ok());
  EXPECT_EQ(Scan(), "10000=v 12999=v ");
}

TEST_F(DbTest, ChecksWhatIsWritten) {
  Open();
  EXPECT_EQ(db_->Put({}, std::string(kMaxKeyBytes + 1, 'k'), "").code(),
            Status::Code::kInvalidArgument);
  Put(std::string(kMaxKeyBytes, 'k'), "long");
  EXPECT_EQ(Get(std::string(kMaxKeyBytes, 'k')), "long");
  const std::string big(5 << 20, 'v');
  Put("big", big);
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  EXPECT_EQ(Get("big"), big);
  EXPECT_EQ(Get(std::string(kMaxKeyBytes, 'k')), "long");
  ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
  EXPECT_EQ(Get("big"), big);
}

TEST_F(DbTest, RefusesTheSubtableOfAnotherDatabase) {
  Open();
  Subtable* own = nullptr;
  ASSERT_TRUE(db_->CreateSubtable("own", &own).ok());
  std::unique_ptr<DB> other;
  ASSERT_TRUE(DB::Open(options_, dir_.File("other"), &other).ok());
  Subtable* foreign = nullptr;
  ASSERT_TRUE(other->CreateSubtable("foreign", &foreign).ok());
  const auto transaction = db_->BeginTransaction({}, {});
  std::unique_ptr<Ingestion> ingestion;
  ASSERT_TRUE(db_->NewIngestion(&ingestion).ok());
  const Status refused[] = {
      db_->Put({}, foreign, "k", "v"),
      db_->Delete({}, foreign, "k"),
      db_->DeleteRange({}, foreign, "a", "z"),
      transaction->Put(foreign, "k", "v"),
      ingestion->Add(foreign, "k", "v"),
      db_->Flush(foreign),
      db_->CompactRange(foreign, "", ""),
      db_->SetSubtableOptions(foreign, {}),
      db_->DropSubtable(foreign),
  };
  for (const Status& status : refused) {
    EXPECT_EQ(status.code(), Status::Code::kInvalidArgument) << status.ToString();
  }
  ASSERT_TRUE(db_->Put({}, own, "k", "v").ok());
  ASSERT_TRUE(other->Put({}, foreign, "k", "v").ok());
}

// Versions of the tree that nobody reads any more keep neither extents nor memtables.
TEST_F(DbTest, SpaceOfWhatWasCompactedIsUsedAgain) {
  Open();
  for (int round = 0; round < 15; ++round) {
    for (int i = 0; i < 1000; ++i) {
      Put("key" + std::to_string(i), std::string(200, static_cast<char>('a' + round)));
    }
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  }
  const Statistics statistics = db_->GetStatistics();
  uint64_t bytes = 0;
  for (const LevelStatistics& level : statistics.subtables.at(0).levels) {
    bytes += level.bytes;
  }
  // The outputs of a compaction lie beside its inputs, and XFS takes space beyond the file's end.
  EXPECT_LE(statistics.data_file_bytes, 6 * bytes);
}

// A record whose key lies between two blocks of an extent that could be copied.
TEST_F(DbTest, ACompactionKeepsWhatLiesBetweenBlocks) {
  options_ = {};
  options_.create_if_missing = true;
  Open();
  const std::string value(16 << 10, 'v');
  for (int i = 0; i < 100; ++i) {
    Put(fmt::format("k{}", 100 + i), value);
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  Put("k150x", value);
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  EXPECT_EQ(Get("k150x"), value);
}

TEST_F(DbTest, PropertiesAreThoseOfTheStatistics) {
  Open();
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  for (const char* const key : {"a", "b", "c"}) {
    ASSERT_TRUE(db_->Put({}, other, key, "v").ok());
  }
  ASSERT_TRUE(db_->Flush(other).ok());
  ASSERT_TRUE(db_->Delete({}, other, "a").ok());
  ASSERT_TRUE(db_->Flush(other).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  const auto property = [&](Subtable* subtable, const std::string& name) {
    std::string value;
    const Status status = db_->GetProperty(subtable, name, &value);
    return status.ok() ? value : status.ToString();
  };
  EXPECT_EQ(property(other, "sluice.num-files-at-level0"), "2");
  EXPECT_EQ(property(other, "sluice.num-runs-at-level0"), "2");
  EXPECT_EQ(property(other, "sluice.num-files-at-level2"), "0");
  EXPECT_EQ(property(nullptr, "sluice.num-files-at-level0"), "0");
  EXPECT_EQ(property(other, "sluice.estimate-num-keys"), "2");
  EXPECT_EQ(property(other, "sluice.live-data-size"), property(other, "sluice.bytes-at-level0"));
  EXPECT_EQ(property(other, "sluice.num-immutable-mem-table"), "0");
  EXPECT_EQ(property(other, "sluice.latest-sequence-number"), "4");
  EXPECT_EQ(property(other, "sluice.stats"), db_->GetStatistics().ToString());
  EXPECT_NE(property(other, "sluice.levelstats").find("    0     2 "), std::string::npos);
  for (const char* const name :
       {"cur-size-all-mem-tables", "block-cache-usage", "block-cache-capacity", "row-cache-usage",
        "row-cache-capacity", "table-cache-usage", "table-cache-capacity", "stall-micros"}) {
    EXPECT_EQ(property(nullptr, std::string("sluice.") + name).find_first_not_of("0123456789"),
              std::string::npos)
        << name;
  }
  std::string value;
  EXPECT_TRUE(db_->GetProperty("sluice.write-amplification", &value).ok());
  for (const char* const name : {"", "sluice.", "rocksdb.stats", "sluice.num-files-at-level3",
                                 "sluice.num-files-at-level"}) {
    EXPECT_EQ(db_->GetProperty(name, &value).code(), Status::Code::kInvalidArgument) << name;
  }
  ASSERT_TRUE(db_->DropSubtable(other).ok());
  EXPECT_EQ(db_->GetProperty(other, "sluice.stats", &value).code(), Status::Code::kInvalidArgument);
}

TEST_F(DbTest, CheckpointIsTheStateOfOneInstant) {
  Open();
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  Put("a", "1");
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  WriteBatch batch;
  batch.Put("b", "2");
  batch.Put(other, "b", "3");
  ASSERT_TRUE(db_->Write({}, batch).ok());
  const Status status = db_->CreateCheckpoint(dir_.File("copy"));
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(db_->CreateCheckpoint(dir_.File("copy")).code(), Status::Code::kInvalidArgument);
  Put("a", "later");
  std::unique_ptr<DB> copy;
  ASSERT_TRUE(DB::Open(options_, dir_.File("copy"), &copy).ok());
  db_.swap(copy);
  EXPECT_EQ(Scan(), "a=1 b=2 ");
  EXPECT_EQ(Scan({}, db_->FindSubtable("other")), "b=3 ");
  db_.swap(copy);
  EXPECT_EQ(Get("a"), "later");
}

// In the background, and after another Open too.
TEST_F(DbTest, GivesTheSpaceOfDroppedDataBack) {
  options_ = {};
  options_.create_if_missing = true;
  options_.memtable_bytes = 1 << 20;
  options_.extent_bytes = 64 << 10;
  const auto shrinks_to = [&](uint64_t bytes) {
    for (int i = 0; i < 600'000 && db_->GetStatistics().data_file_bytes > bytes; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return db_->GetStatistics().data_file_bytes <= bytes;
  };
  for (const bool reopened : {false, true}) {
    Open();
    Subtable* dropped;
    ASSERT_TRUE(db_->CreateSubtable("dropped", &dropped).ok());
    for (int i = 0; i < 32 << 10; ++i) {
      ASSERT_TRUE(db_->Put({}, dropped, std::to_string(i), std::string(1024, 'x')).ok());
    }
    ASSERT_TRUE(db_->Flush(dropped).ok());
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    const uint64_t before = db_->GetStatistics().data_file_bytes;
    EXPECT_GE(before, uint64_t{32} << 20);
    Put("kept", "value");
    ASSERT_TRUE(db_->Flush(nullptr).ok());
    ASSERT_TRUE(db_->DropSubtable(dropped).ok());
    if (reopened) {
      ASSERT_TRUE(db_->Close().ok());
      db_.reset();
      Open();
    }
    EXPECT_TRUE(shrinks_to(before / 10)) << db_->GetStatistics().data_file_bytes;
    EXPECT_EQ(Get("kept"), "value");
    ASSERT_TRUE(db_->Verify(nullptr).ok());
    db_.reset();
  }
}

// A database can create only 2^32 sub-tables in its life, so extents must not use up their ids.
TEST_F(DbTest, SubtablesAreNumberedApartFromExtents) {
  Open();
  Subtable* first;
  ASSERT_TRUE(db_->CreateSubtable("first", &first).ok());
  for (int i = 0; i < 5; ++i) {
    Put("a", "1");
    ASSERT_TRUE(db_->Flush(nullptr).ok());
  }
  ASSERT_TRUE(db_->DropSubtable(first).ok());
  const uint32_t id = first->id();
  db_.reset();
  Open();
  Subtable* second;
  ASSERT_TRUE(db_->CreateSubtable("second", &second).ok());
  EXPECT_EQ(second->id(), id + 1);
}

TEST_F(DbTest, DestroyRemovesOnlyDatabases) {
  Open();
  Put("a", "1");
  db_.reset();
  EXPECT_EQ(DB::Destroy(options_, dir_.path()).code(), Status::Code::kInvalidArgument);
  ASSERT_TRUE(DB::Destroy(options_, dir_.File("db")).ok());
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
  EXPECT_TRUE(DB::Destroy(options_, dir_.File("db")).ok());
}

}  // namespace
}  // namespace sluice
