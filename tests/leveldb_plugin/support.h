// What the tests of LevelDB's compactions share.

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/env.h>

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "merge/cpu_executor.h"
#include "sluice_leveldb.h"
#include "util/testing.h"

namespace sluice {

inline void ExpectOk(const leveldb::Status& status) {
  EXPECT_TRUE(status.ok()) << status.ToString();
}

// Bytewise, but another object than LevelDB's: compactions of its databases are left to LevelDB.
class OwnComparator : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    return a.compare(b);
  }
  const char* Name() const override { return leveldb::BytewiseComparator()->Name(); }
  void FindShortestSeparator(std::string* start, const leveldb::Slice& limit) const override {
    leveldb::BytewiseComparator()->FindShortestSeparator(start, limit);
  }
  void FindShortSuccessor(std::string* key) const override {
    leveldb::BytewiseComparator()->FindShortSuccessor(key);
  }
};

using Contents = std::map<std::string, std::string>;

// All records, forward; the iterator's status is checked.
inline Contents Read(leveldb::DB* db, const leveldb::Snapshot* snapshot) {
  leveldb::ReadOptions options;
  options.snapshot = snapshot;
  options.verify_checksums = true;
  options.fill_cache = false;
  const std::unique_ptr<leveldb::Iterator> iterator(db->NewIterator(options));
  Contents contents;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    contents.emplace_hint(contents.end(), iterator->key().ToString(), iterator->value().ToString());
  }
  ExpectOk(iterator->status());
  return contents;
}

inline std::string NumberedKey(uint64_t number) { return fmt::format("key{:09}", number); }

// Noise, so that Snappy leaves its size as it is.
inline std::string Noise(TestRandom* random, size_t bytes) {
  std::string value(bytes, '\0');
  for (char& c : value) {
    c = static_cast<char>((*random)());
  }
  return value;
}

// A database of Sluice's compactions, and a map of what is in it.
class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest() : random_(TestSeed()) {
    options_.create_if_missing = true;
    options_.write_buffer_size = 128 << 10;
    options_.max_file_size = 1 << 20;
    SetLevelDbExecutors({});
  }
  ~DatabaseTest() override {
    db_.reset();
    SetLevelDbExecutors({});
  }

  void Open() {
    db_.reset();
    leveldb::DB* db = nullptr;
    ExpectOk(leveldb::DB::Open(options_, dir_.File("db"), &db));
    db_.reset(db);
    ASSERT_NE(db_, nullptr);
  }
  // Writes over all of `keys` keys, `times` times, in random order.
  void Fill(uint64_t keys, uint64_t times) {
    for (uint64_t i = 0; i < keys * times; ++i) {
      const std::string key = NumberedKey(Uniform(&random_, 0, keys - 1));
      const std::string value = Noise(&random_, Uniform(&random_, 0, 400));
      model_[key] = value;
      ASSERT_TRUE(db_->Put({}, key, value).ok());
    }
  }
  void ExpectContents() { EXPECT_TRUE(Read(db_.get(), nullptr) == model_); }
  // The database takes writes: there was no background error.
  void ExpectAlive() {
    model_["alive"] = "yes";
    ExpectOk(db_->Put({}, "alive", "yes"));
    ExpectContents();
  }
  uint64_t TableFiles() const {
    uint64_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.File("db"))) {
      count += entry.path().extension() == ".ldb";
    }
    return count;
  }
  uint64_t TablesInUse() {
    uint64_t sum = 0;
    for (int level = 0; level < 7; ++level) {
      std::string files;
      EXPECT_TRUE(db_->GetProperty(fmt::format("leveldb.num-files-at-level{}", level), &files));
      sum += std::stoull(files);
    }
    return sum;
  }
  uint64_t Left(const std::string& reason) const {
    const LevelDbStatistics now = GetLevelDbStatistics();
    const auto found = now.reasons.find(reason);
    return found == now.reasons.end() ? 0 : found->second;
  }

  TempDir dir_;
  TestRandom random_;
  leveldb::Options options_;
  std::unique_ptr<leveldb::DB> db_;
  Contents model_;
};

// A unit whose tasks wait until they may go on.
class GatedUnit : public Executor {
 public:
  std::string_view name() const override { return "gated"; }
  size_t max_runs() const override { return 64; }
  size_t max_snapshots() const override { return 1; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [&] { return open_; });
    --waiting_;
    lock.unlock();
    return cpu_.Run(task, sink);
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool HasTask() {
    const std::lock_guard lock(mutex_);
    return waiting_ > 0;
  }

 private:
  CpuExecutor cpu_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

}  // namespace sluice
