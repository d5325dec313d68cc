// What the tests of LevelDB's compactions share.

#pragma once

#include <gtest/gtest.h>
#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/env.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "merge/cpu_executor.h"
#include "sluice_leveldb.h"

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

// A unit of two ways whose tasks wait until they may go on.
class GatedUnit : public Executor {
 public:
  std::string_view name() const override { return "gated"; }
  size_t max_runs() const override { return 64; }
  size_t max_snapshots() const override { return 1; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
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
  void AwaitTask() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ > 0; });
  }

 private:
  CpuExecutor cpu_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

}  // namespace sluice
