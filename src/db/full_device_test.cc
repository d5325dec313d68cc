// A full device: writes fail with NoSpace, reads go on, and writing goes on when there is space.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "db/fixture.h"
#include "engine/testing.h"
#include "sluice/db.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr std::chrono::seconds kWatchdog{120};

// A file system of 16 MiB in a mount namespace of this process.
class FullDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", dir_.path().c_str(), "tmpfs", 0, "size=16m") != 0) {
      GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(errno);
    }
    mounted_ = true;
    random_.seed(TestSeed());
    Reopen();
  }
  void TearDown() override {
    db_.reset();
    if (mounted_) {
      EXPECT_EQ(::umount2(dir_.path().c_str(), MNT_DETACH), 0);
    }
  }

  FullDeviceTest() {
    options_.create_if_missing = true;
    options_.memtable_bytes = 256 << 10;
    options_.extent_bytes = 64 << 10;
    options_.block_bytes = 4096;
    options_.log_segment_bytes = 256 << 10;
    options_.l1_bytes = 2 << 20;
  }
  Status TryOpen() {
    db_.reset();
    return DB::Open(options_, home_, &db_);
  }
  void Reopen() {
    const Status status = TryOpen();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  // Makes one write, of a value that does not compress, and notes it if it is acknowledged.
  Status Put(Subtable* subtable, uint64_t number) {
    const std::string key = fmt::format("{:06}", number);
    std::string value(4000, '\0');
    for (char& c : value) {
      c = static_cast<char>(random_());
    }
    const Status status = db_->Put({}, subtable, key, value);
    if (status.ok()) {
      expected_[key] = value;
    }
    return status;
  }
  // Writes until there is no space.
  void FillUp(Subtable* subtable = nullptr) {
    Status status;
    for (uint64_t i = 0; status.ok(); ++i) {
      ASSERT_LT(i, 10000u) << "more than the device holds";
      status = Put(subtable, i);
    }
    ASSERT_TRUE(status.IsNoSpace()) << status.ToString();
  }
  // Does so in another process, which then ends and closes nothing.
  void LiveAndBeKilled(const std::function<void()>& live) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      live();
      ::_exit(HasFailure() ? 1 : 0);
    }
    int how = 0;
    ASSERT_EQ(::waitpid(child, &how, 0), child);
    ASSERT_EQ(how, 0);
  }
  // All that was written is in the log alone, and others leave no space to flush it.
  void FillTheLogAndBeKilled() {
    options_.memtable_bytes = 64 << 20;
    ASSERT_TRUE(db_->Close().ok());
    db_.reset();
    LiveAndBeKilled([&] {
      Reopen();
      for (uint64_t i = 0; i < 1000; ++i) {
        ASSERT_TRUE(Put(nullptr, i).ok());
      }
    });
    LetOthersTakeWhatFlushesNeed();
  }
  void LetOthersTakeWhatFlushesNeed() {
    std::filesystem::remove(dir_.File("db/RESERVE.flush"));
    WriteBallast();
  }
  void ExpectRecords(Subtable* subtable = nullptr) {
    std::map<std::string, std::string> found;
    const auto at = db_->NewIterator({}, subtable);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      found.emplace(at->key(), at->value());
    }
    ASSERT_TRUE(at->status().ok()) << at->status().ToString();
    EXPECT_TRUE(found == expected_) << found.size() << " records, not " << expected_.size();
    std::string value;
    for (const auto& [key, wanted] : expected_) {
      ASSERT_TRUE(db_->Get({}, subtable, key, &value).ok()) << key;
      ASSERT_EQ(value, wanted);
    }
  }
  // Tries until there is space: what is freed comes back bit by bit.
  Status PutInTheEnd(uint64_t number) {
    const auto begin = std::chrono::steady_clock::now();
    Status status = Put(nullptr, number);
    while (status.IsNoSpace() && std::chrono::steady_clock::now() - begin < kWatchdog) {
      std::this_thread::yield();
      status = Put(nullptr, number);
    }
    return status;
  }
  void ExpectWritingGoesOn(uint64_t puts = 300) {
    for (uint64_t i = 0; i < puts; ++i) {
      const Status status = PutInTheEnd(i);
      ASSERT_TRUE(status.ok()) << i << ": " << status.ToString();
    }
    ASSERT_TRUE(db_->Flush(nullptr).ok());
    ASSERT_TRUE(db_->Verify(nullptr).ok());
  }
  // Takes all space that is left, except for this much.
  void WriteBallast(uint64_t bytes_left = 0) {
    std::unique_ptr<WritableFile> file;
    ASSERT_TRUE(Env::Posix()->NewWritableFile(dir_.File("ballast"), &file).ok());
    while (file->Append(std::string(4096, 'x')).ok() && file->Flush().ok()) {
    }
    std::filesystem::resize_file(dir_.File("ballast"),
                                 std::filesystem::file_size(dir_.File("ballast")) - bytes_left);
  }
  void RemoveBallast() { ASSERT_TRUE(Env::Posix()->RemoveFile(dir_.File("ballast")).ok()); }

  Options options_;
  TempDir dir_;
  std::string home_ = dir_.File("db");
  bool mounted_ = false;
  TestRandom random_;
  std::unique_ptr<DB> db_;
  std::map<std::string, std::string> expected_;
};

TEST_F(FullDeviceTest, WritingGoesOnWhenThereIsSpace) {
  WriteBallast(3 << 20);
  FillUp();
  ExpectRecords();
  for (uint64_t i = 5000; i < 5010; ++i) {
    const Status status = Put(nullptr, i);
    EXPECT_TRUE(status.ok() || status.IsNoSpace()) << status.ToString();
  }
  ExpectRecords();
  RemoveBallast();
  ExpectWritingGoesOn();
  ExpectRecords();
  Reopen();
  ExpectRecords();
}

TEST_F(FullDeviceTest, DeletingMakesSpace) {
  FillUp();
  ExpectRecords();
  // Deletions are taken, and their compaction finds space.
  Status status = db_->DeleteRange({}, nullptr, "000000", "999999");
  ASSERT_TRUE(status.ok()) << status.ToString();
  expected_.clear();
  ExpectRecords();
  status = db_->CompactRange(nullptr, "", "");
  ASSERT_TRUE(status.ok()) << status.ToString();
  ExpectWritingGoesOn();
  ExpectRecords();
}

// What fills the device is in one segment of the log, which nothing else would end.
TEST_F(FullDeviceTest, DeletingWhatTheLogHasMakesSpace) {
  options_.memtable_bytes = 64 << 20;
  options_.log_segment_bytes = 64 << 20;
  Reopen();
  FillUp();
  ExpectRecords();
  for (const auto& [key, value] : expected_) {
    const Status status = db_->Delete({}, key);
    ASSERT_TRUE(status.ok()) << key << ": " << status.ToString();
  }
  expected_.clear();
  ExpectRecords();
  const Status status = db_->CompactRange(nullptr, "", "");
  ASSERT_TRUE(status.ok()) << status.ToString();
  ExpectWritingGoesOn();
  ExpectRecords();
}

// Nobody flushes: what the log has of versions that are overwritten comes free by itself.
TEST_F(FullDeviceTest, OverwritesThatTheLogHasMakeSpace) {
  options_.memtable_bytes = 64 << 20;
  for (const uint64_t segment : {uint64_t{1} << 20, uint64_t{64} << 20}) {
    SCOPED_TRACE(segment);
    options_.log_segment_bytes = segment;
    Reopen();
    for (uint64_t i = 0; i < 10000; ++i) {
      const Status status = PutInTheEnd(i % 50);
      ASSERT_TRUE(status.ok()) << i << ": " << status.ToString();
    }
    ExpectRecords();
    Reopen();
    ExpectRecords();
  }
}

// Nobody flushes the deletions, nor compacts what they delete.
TEST_F(FullDeviceTest, DeletionsMakeSpaceByThemselves) {
  FillUp();
  options_.memtable_bytes = 64 << 20;
  Reopen();
  for (const auto& [key, value] : expected_) {
    const Status status = db_->Delete({}, key);
    ASSERT_TRUE(status.ok()) << key << ": " << status.ToString();
  }
  expected_.clear();
  ExpectWritingGoesOn();
  ExpectRecords();
}

// Nobody flushes or compacts, and memtables and extents are large for the device. The log of the
// deletions never takes what their flushes need, nor their tombstones what compactions need.
TEST_F(FullDeviceTest, EverythingCanBeDeletedKeyByKey) {
  options_.memtable_bytes = 1 << 20;
  options_.extent_bytes = 256 << 10;
  for (const uint64_t segment : {uint64_t{64} << 20, uint64_t{256} << 10}) {
    for (const size_t subtables : {1, 8, 100}) {
      if (subtables == 100 && segment > (1 << 20)) {
        continue;  // takes long
      }
      SCOPED_TRACE(fmt::format("segment {}, sub-tables {}", segment, subtables));
      db_.reset();
      std::filesystem::remove_all(home_);
      options_.log_segment_bytes = segment;
      Reopen();
      std::vector<Subtable*> tables(subtables);
      for (size_t i = 0; i < subtables; ++i) {
        ASSERT_TRUE(db_->CreateSubtable(fmt::format("{}", i), &tables[i]).ok());
      }
      std::vector<std::pair<Subtable*, std::string>> keys;
      Status status;
      while (status.ok()) {
        keys.emplace_back(tables[random_() % subtables], fmt::format("{:08}", keys.size()));
        std::string value(Uniform(&random_, 50, 150), '\0');
        std::generate(value.begin(), value.end(), [&] { return static_cast<char>(random_()); });
        status = db_->Put({}, keys.back().first, keys.back().second, value);
      }
      ASSERT_TRUE(status.IsNoSpace()) << status.ToString();
      keys.pop_back();
      std::shuffle(keys.begin(), keys.end(), random_);
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto& [subtable, key] = keys[i];
        const auto until = std::chrono::steady_clock::now() + kWatchdog;
        while ((status = db_->Delete({}, subtable, key)).IsNoSpace() &&
               std::chrono::steady_clock::now() < until) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        ASSERT_TRUE(status.ok()) << i << " of " << keys.size() << ": " << status.ToString()
                                 << db_->GetStatistics().ToString();
      }
      for (Subtable* const subtable : tables) {
        const auto at = db_->NewIterator({}, subtable);
        at->SeekToFirst();
        EXPECT_FALSE(at->Valid());
        EXPECT_TRUE(at->status().ok());
      }
    }
  }
}

// Before any write fails, memtables are flushed for the log that only they need.
TEST_F(FullDeviceTest, TheLogDoesNotFillIt) {
  constexpr uint64_t kMuch = 2 << 20;
  options_.memtable_bytes = 512 << 10;
  options_.write_buffer_bytes = 16 << 20;
  options_.log_segment_bytes = 1 << 20;
  Reopen();
  std::vector<Subtable*> tables(40);
  for (size_t i = 0; i < tables.size(); ++i) {
    ASSERT_TRUE(db_->CreateSubtable(fmt::format("{}", i), &tables[i]).ok());
  }
  Status status;
  for (uint64_t i = 0; status.ok(); ++i) {
    std::string value(200, '\0');
    std::generate(value.begin(), value.end(), [&] { return static_cast<char>(random_()); });
    status = db_->Put({}, tables[random_() % tables.size()], fmt::format("{:08}", i), value);
  }
  ASSERT_TRUE(status.IsNoSpace()) << status.ToString();
  EXPECT_LT(db_->GetStatistics().log_file_bytes, kMuch);
}

// The pages that the data files keep, to write them again soon, go to the log when it finds no others.
TEST_F(FullDeviceTest, TheLogGetsWhatIsFreeInDataFiles) {
  options_.automatic_compactions = false;
  options_.memtable_bytes = 64 << 20;
  options_.extent_bytes = 1 << 20;
  Reopen();
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(Put(nullptr, i).ok());
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->DeleteRange({}, nullptr, "000000", "999999").ok());
  ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
  expected_.clear();
  ASSERT_GT(db_->GetStatistics().data_file_bytes, 3u << 20);
  WriteBallast();
  for (uint64_t i = 0; i < 500; ++i) {
    const Status status = PutInTheEnd(i);
    ASSERT_TRUE(status.ok()) << i << ": " << status.ToString();
  }
  ExpectRecords();
}

// A compaction goes on in parts that fit into the reserve, and of values that are stored apart, those
// that are left move a few at a time.
TEST_F(FullDeviceTest, DeletingHalfMakesSpace) {
  options_.extent_bytes = 32 << 10;
  for (const uint64_t apart : {0, 1024}) {
    SCOPED_TRACE(apart);
    options_.separate_value_bytes = apart;
    db_.reset();
    std::filesystem::remove_all(dir_.File("db"));
    expected_.clear();
    Reopen();
    FillUp();
    ExpectRecords();
    const auto filled = expected_;
    for (const auto& [key, value] : filled) {
      if (std::stoi(key) % 2 == 0) {
        const Status status = db_->Delete({}, key);
        ASSERT_TRUE(status.ok()) << status.ToString();
        expected_.erase(key);
      }
    }
    const Status status = db_->CompactRange(nullptr, "", "");
    ASSERT_TRUE(status.ok()) << status.ToString() << db_->GetStatistics().ToString();
    ExpectRecords();
    ExpectWritingGoesOn();
    ExpectRecords();
  }
}

// With few extents, of which a part of a compaction takes four at least, and little is deleted in each.
TEST_F(FullDeviceTest, DeletingAnEighthOfLargeExtentsMakesSpace) {
  db_.reset();
  std::filesystem::remove_all(home_);
  options_.extent_bytes = 256 << 10;
  options_.automatic_compactions = false;
  Reopen();
  FillUp();
  const auto filled = expected_;
  for (const auto& [key, value] : filled) {
    if (std::stoi(key) % 8 == 0) {
      const Status status = db_->Delete({}, key);
      ASSERT_TRUE(status.ok()) << status.ToString();
      expected_.erase(key);
    }
  }
  Status status = db_->Flush(nullptr);
  ASSERT_TRUE(status.ok()) << status.ToString();
  status = db_->CompactRange(nullptr, "", "");
  ASSERT_TRUE(status.ok()) << status.ToString() << db_->GetStatistics().ToString();
  ExpectRecords();
  ExpectWritingGoesOn(100);
  ExpectRecords();
}

TEST_F(FullDeviceTest, DroppingMakesSpace) {
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  FillUp(other);
  ExpectRecords(other);
  const Status status = db_->DropSubtable(other);
  ASSERT_TRUE(status.ok()) << status.ToString();
  expected_.clear();
  ExpectWritingGoesOn();
  ExpectRecords();
}

// Metadata alone fills the device.
TEST_F(FullDeviceTest, SubtablesThatFillItCanBeDropped) {
  options_.row_cache_bytes = options_.block_cache_bytes = 1 << 20;
  for (const int mib : {2, 7}) {
    for (const bool reopened : {false, true}) {
      SCOPED_TRACE(fmt::format("{} MiB, reopened {}", mib, reopened));
      (void)db_->Close();
      db_.reset();
      ASSERT_TRUE(DB::Destroy(options_, dir_.File("db")).ok());
      WriteBallast(static_cast<uint64_t>(mib) << 20);
      Reopen();
      expected_.clear();
      ASSERT_TRUE(Put(nullptr, 0).ok());
      const auto create = [&](size_t i) {
        Subtable* ignored;
        return db_->CreateSubtable(fmt::format("a name of some length, for metadata {:06}", i),
                                   &ignored);
      };
      Status status;
      size_t created = 0;
      for (; (status = create(created)).ok(); ++created) {
      }
      ASSERT_TRUE(status.IsNoSpace()) << status.ToString();
      EXPECT_GT(created, 1000u);
      for (int i = 0; i < 100; ++i) {  // nor do vain attempts change anything
        EXPECT_TRUE(create(created).IsNoSpace());
      }
      ExpectRecords();
      for (int i = 0; i < 3 && reopened; ++i) {
        Reopen();
        ExpectRecords();
      }
      std::vector<Subtable*> subtables = db_->ListSubtables();
      ASSERT_EQ(subtables.size(), created + 1);
      for (size_t i = 1; i < subtables.size(); ++i) {
        status = db_->DropSubtable(subtables[i]);
        ASSERT_TRUE(status.ok()) << i << " of " << created << ": " << status.ToString();
      }
      status = PutInTheEnd(1);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_TRUE(create(created).ok());
      ExpectRecords();
      Reopen();
      EXPECT_EQ(db_->ListSubtables().size(), 2u);
      ExpectRecords();
      RemoveBallast();
    }
  }
}

// A writer that never stops to try meets the very moment in which the device has space again.
TEST_F(FullDeviceTest, WhatIsAcknowledgedAsSpaceComesBackIsThere) {
  for (uint64_t round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    WriteBallast();
    FillUp();
    (void)db_->Flush(nullptr);  // from the reserve
    RemoveBallast();
    const std::string name = fmt::format("made in round {}", round);
    Subtable* made = nullptr;
    Status created;
    std::thread creator([&] {
      while ((created = db_->CreateSubtable(name, &made)).IsNoSpace()) {
      }
    });
    const Status status = PutInTheEnd(10000 + round);
    creator.join();
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_TRUE(created.ok()) << created.ToString();
    EXPECT_EQ(db_->FindSubtable(name), made);
    Reopen();
    EXPECT_NE(db_->FindSubtable(name), nullptr);
    ExpectRecords();
  }
}

TEST_F(FullDeviceTest, ACheckpointThatFindsNoSpaceLeavesNone) {
  for (uint64_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(Put(nullptr, i).ok());
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Status status = db_->CreateCheckpoint(dir_.File("copy"));
    ASSERT_TRUE(status.IsNoSpace()) << status.ToString();
    EXPECT_FALSE(std::filesystem::exists(dir_.File("copy")));
  }
  ExpectWritingGoesOn();
  ExpectRecords();
}

TEST_F(FullDeviceTest, CanBeDestroyed) {
  FillUp();
  db_.reset();
  WriteBallast();
  const Status status = DB::Destroy(options_, dir_.File("db"));
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_FALSE(std::filesystem::exists(dir_.File("db")));
}

// Without a reserve, which only databases have that were opened.
TEST_F(FullDeviceTest, ACheckpointCanBeDestroyed) {
  for (uint64_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(Put(nullptr, i).ok());
  }
  Status status = db_->CreateCheckpoint(dir_.File("copy"));
  ASSERT_TRUE(status.ok()) << status.ToString();
  WriteBallast();
  status = DB::Destroy(options_, dir_.File("copy"));
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_FALSE(std::filesystem::exists(dir_.File("copy")));
  ExpectWritingGoesOn();
  ExpectRecords();
}

TEST_F(FullDeviceTest, CanBeOpenedReadAndDeletedFrom) {
  Subtable* other;
  ASSERT_TRUE(db_->CreateSubtable("other", &other).ok());
  FillUp(other);
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    (void)db_->Close();
    Reopen();
    other = db_->FindSubtable("other");
    ExpectRecords(other);
  }
  Status status = db_->Delete({}, other, "000000");
  ASSERT_TRUE(status.ok()) << status.ToString();
  expected_.erase("000000");
  ExpectRecords(other);
  status = db_->DropSubtable(other);
  ASSERT_TRUE(status.ok()) << status.ToString();
  expected_.clear();
  ExpectWritingGoesOn();
  ExpectRecords();
}

TEST_F(FullDeviceTest, CanBeOpenedWhenOthersFilledIt) {
  for (uint64_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(Put(nullptr, i).ok());
  }
  ASSERT_TRUE(db_->Close().ok());
  WriteBallast();
  for (int round = 0; round < 2; ++round) {
    Reopen();
    ExpectRecords();
    FillUp();  // what the log has reserved already
    const std::string key = fmt::format("{:06}", round);
    const Status status = db_->Delete({}, key);
    ASSERT_TRUE(status.ok()) << status.ToString();
    expected_.erase(key);
    ExpectRecords();
    if (round == 0) {
      ASSERT_TRUE(db_->Close().ok());
    }
  }
  RemoveBallast();
  ExpectWritingGoesOn();
  ExpectRecords();
}

// Not much of the reserve is needed each time, and none of the rest is left to others.
TEST_F(FullDeviceTest, CanBeOpenedAndDeletedFromManyTimes) {
  for (uint64_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(Put(nullptr, i).ok());
  }
  for (int round = 0; round < 20; ++round) {
    db_.reset();
    WriteBallast();
    Reopen();
    const std::string key = fmt::format("{:06}", round);
    const Status status = db_->Delete({}, key);
    ASSERT_TRUE(status.ok()) << round << ": " << status.ToString();
    expected_.erase(key);
  }
  ExpectRecords();
  RemoveBallast();
  ExpectWritingGoesOn();
}

// By what a kill left of flushes and compactions, when the reserve was used up but for a page.
TEST_F(FullDeviceTest, CanBeOpenedWhenWhatNobodyNeedsFillsIt) {
  for (uint64_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(Put(nullptr, i).ok());
  }
  ASSERT_TRUE(db_->Close().ok());
  db_.reset();
  std::filesystem::remove(dir_.File("db/RESERVE"));
  std::filesystem::remove(dir_.File("db/RESERVE.compact"));
  std::filesystem::resize_file(dir_.File("db/RESERVE.open"), 4096);
  const std::string path = dir_.File("db/000001.data");
  std::unique_ptr<DataFile> data;
  ASSERT_TRUE(Env::Posix()->NewDataFile(path, &data).ok());
  for (uint64_t end = std::filesystem::file_size(path);
       data->Write(end, std::string(4096, 'x')).ok(); end += 4096) {
  }
  Reopen();
  ExpectRecords();
  ExpectWritingGoesOn();
}

// The log has more than can be in memtables and the reserve has room for.
TEST_F(FullDeviceTest, CanBeOpenedWithMoreToRecoverThanCanBeFlushed) {
  options_.memtable_bytes = 64 << 20;
  options_.write_buffer_bytes = 64 << 20;
  Reopen();
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(Put(nullptr, i).ok());
  }
  ASSERT_TRUE(db_->Close().ok());
  LetOthersTakeWhatFlushesNeed();
  options_.write_buffer_bytes = 4 << 20;
  for (int round = 0; round < 8; ++round) {
    Reopen();
    ExpectRecords();
    (void)db_->WaitForBackgroundWork();  // it uses up what it can get
    // More is in memtables than may be. No write waits for what cannot be flushed.
    (void)db_->Delete({}, nullptr, "nothing");
    EXPECT_TRUE(Put(nullptr, 0).IsNoSpace());
    EXPECT_EQ(db_->GetStatistics().stall_microseconds, 0u);
  }
  RemoveBallast();
  ExpectWritingGoesOn();
  ExpectRecords();
  Reopen();
  ExpectRecords();
}

// What was not synced is more than the reserve, and must be written anew before it counts.
TEST_F(FullDeviceTest, CanBeOpenedAfterAKill) {
  FillTheLogAndBeKilled();
  for (int round = 0; round < 2; ++round) {
    Reopen();
    const auto at = db_->NewIterator({}, nullptr);
    size_t records = 0;
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      ++records;
    }
    EXPECT_TRUE(at->status().ok());
    EXPECT_GE(records, 999u);
    EXPECT_TRUE(db_->Delete({}, "000000").ok());
  }
  RemoveBallast();
  ExpectWritingGoesOn();
}

// The log of each life stays, and others take what comes free.
TEST_F(FullDeviceTest, CanBeOpenedAfterManyKills) {
  FillTheLogAndBeKilled();
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(round);
    WriteBallast();
    LiveAndBeKilled([&] {
      ASSERT_TRUE(TryOpen().ok());
      EXPECT_TRUE(db_->Delete({.sync = true}, fmt::format("{:06}", round)).ok());
    });
  }
  Reopen();
  const auto at = db_->NewIterator({});
  at->SeekToFirst();
  ASSERT_TRUE(at->Valid());
  EXPECT_EQ(at->key(), "000050");
  RemoveBallast();
}

// Compactions of "other" find no space, and level 0 is at its stop.
class StoppedByAFullDevice : public FullDeviceTest {
 protected:
  void SetUp() override {
    options_.l0_compaction_runs = 4;
    options_.l0_slowdown_runs = 5;
    options_.l0_stop_runs = 8;
    options_.automatic_compactions = false;
    FullDeviceTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    ASSERT_TRUE(db_->CreateSubtable("other", &other_).ok());
    for (uint64_t i = 0; i < 2000; ++i) {
      ASSERT_TRUE(Put(other_, i * 7919 % 100000).ok());
      if (i % 200 == 199) {
        ASSERT_TRUE(db_->Flush(other_).ok());
      }
    }
    WriteBallast(3 << 20);
    options_.automatic_compactions = true;
    Reopen();
    other_ = db_->FindSubtable("other");
    FillUp(other_);
  }

  Subtable* other_ = nullptr;
};

TEST_F(StoppedByAFullDevice, DroppingLetsWritersGoOn) {
  RemoveBallast();
  ASSERT_TRUE(db_->DropSubtable(other_).ok());
  expected_.clear();
  ExpectWritingGoesOn();
  ExpectRecords();
}

TEST_F(StoppedByAFullDevice, DeletionsAreTaken) {
  ExpectRecords(other_);
  for (uint64_t i = 0; i < 1000; ++i) {
    const std::string key = fmt::format("{:06}", i * 7919 % 100000);
    const Status status = db_->Delete({}, other_, key);
    ASSERT_TRUE(status.ok()) << i << ": " << status.ToString();
    expected_.erase(key);
  }
  ExpectRecords(other_);
  RemoveBallast();
  const Status status = db_->CompactRange(other_, "", "");
  ASSERT_TRUE(status.ok()) << status.ToString();
  ExpectRecords(other_);
}

// The small file system has what `options_` say of a database that is elsewhere.
class FullTierTest : public FullDeviceTest {
 protected:
  FullTierTest() { home_ = elsewhere_.File("db"); }

  std::string Tier() const { return dir_.File("tier"); }
  // A flush that finds no room where it belongs goes to the database's own directory, and there is
  // nothing to be told.
  void ExpectFlushesGoOn() {
    Reopen();
    for (uint64_t i = 0; i < 200; ++i) {
      ASSERT_TRUE(Put(nullptr, i).ok());
    }
    ASSERT_TRUE(db_->Flush(nullptr).ok());
    WriteBallast();
    for (uint64_t i = 100; i < 400; ++i) {
      const Status status = Put(nullptr, i);
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
    const Status status = db_->Flush(nullptr);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ExpectRecords();
    Reopen();
    ExpectRecords();
    RemoveBallast();
    ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    ExpectRecords();
    ExpectWritingGoesOn();
    Reopen();
    ExpectRecords();
  }

 private:
  TempDir elsewhere_;
};

// What has room elsewhere goes on, though it is small and its last level is full.
TEST_F(FullTierTest, SmallSubtablesGoOn) {
  options_.level_paths = {"", "", Tier()};
  options_.l0_compaction_runs = 2;
  Reopen();
  Subtable* small;
  ASSERT_TRUE(db_->CreateSubtable("small", &small).ok());
  for (uint64_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(Put(nullptr, i).ok());
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
  WriteBallast();
  // So much that some of it is to go to the last level, and not so much that writers wait.
  for (uint64_t i = 2000; i < 2550; ++i) {
    ASSERT_TRUE(Put(nullptr, i).ok());
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().IsNoSpace());
  for (uint64_t i = 0; i < 100; ++i) {
    Status status;
    const auto until = std::chrono::steady_clock::now() + kWatchdog;
    while ((status = db_->Put({}, small, fmt::format("{}", i % 20), "value")).IsNoSpace() &&
           std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(
          std::chrono::milliseconds(5));  // until a compaction is tried again
    }
    ASSERT_TRUE(status.ok()) << i << status.ToString();
    ASSERT_TRUE(db_->Flush(small).ok());
  }
  EXPECT_TRUE(db_->Flush(nullptr).ok());
  ExpectRecords();
}

TEST_F(FullTierTest, FlushesOfValuesApartGoOn) {
  options_.level_paths = {"", "", Tier()};
  options_.separate_value_bytes = 1000;
  ExpectFlushesGoOn();
}

TEST_F(FullTierTest, FlushesOfLevel0GoOn) {
  options_.level_paths = {Tier(), "", ""};
  options_.automatic_compactions = false;
  ExpectFlushesGoOn();
}

// What is in a full tier is deleted: half of all keys in a row, or all but every eighth. Keys come in
// order, and those whose values find no room in the tier are the last ones or, backwards, the first.
// Compactions are due by themselves, or one is asked for.
struct Deletions {
  bool scattered = false;
  bool backwards = false;
  uint64_t separate_value_bytes = 0;
  bool compact = false;
  bool level1 = false;  // is in the tier, too
};

class DeletionsInAFullTier : public FullTierTest, public testing::WithParamInterface<Deletions> {};

INSTANTIATE_TEST_SUITE_P(
    Deletions, DeletionsInAFullTier,
    testing::Values(Deletions{false, false, 1000, true}, Deletions{true, false, 1000, true},
                    Deletions{true, false, 1000, false}, Deletions{false, true, 1000, false},
                    Deletions{false, true, 0, true}, Deletions{true, true, 0, true},
                    Deletions{false, true, 0, false}, Deletions{true, true, 0, false},
                    Deletions{false, false, 0, false, true}, Deletions{true, true, 0, false, true},
                    Deletions{true, false, 1000, false, true}),
    [](const auto& info) {
      const Deletions& deletions = info.param;
      return fmt::format("{}{}{}{}{}", deletions.scattered ? "Scattered" : "InARow",
                         deletions.backwards ? "Backwards" : "",
                         deletions.separate_value_bytes != 0 ? "Apart" : "",
                         deletions.level1 ? "OfTwoLevels" : "",
                         deletions.compact ? "AndCompactRange" : "");
    });

TEST_P(DeletionsInAFullTier, MakeRoom) {
  constexpr uint64_t kFirst = 500'000;
  const Deletions& deletions = GetParam();
  const auto number = [&](uint64_t i) { return deletions.backwards ? kFirst - i : kFirst + i; };
  options_.level_paths = {"", deletions.level1 ? Tier() : "", Tier()};
  options_.separate_value_bytes = deletions.separate_value_bytes;
  Reopen();
  WriteBallast(4 << 20);
  Status status;
  for (uint64_t i = 0; status.ok(); ++i) {
    ASSERT_LT(i, 3000u) << "more than the tier holds, and what may wait for room in it";
    status = Put(nullptr, number(i));
  }
  ASSERT_TRUE(status.IsNoSpace()) << status.ToString();
  ExpectRecords();
  const uint64_t there = expected_.size();
  for (uint64_t i = 0; i < there; ++i) {
    if (deletions.scattered ? i % 8 == 0 : i >= there / 2) {
      continue;
    }
    const std::string key = fmt::format("{:06}", number(i));
    status = db_->Delete({}, key);
    ASSERT_TRUE(status.ok()) << status.ToString();
    expected_.erase(key);
  }
  status = db_->Flush(nullptr);
  ASSERT_TRUE(status.ok()) << status.ToString();
  if (deletions.compact) {
    status = db_->CompactRange(nullptr, {}, {});
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  ExpectRecords();
  ExpectWritingGoesOn(there / 3);
  Reopen();
  ExpectRecords();
}

}  // namespace
}  // namespace sluice
