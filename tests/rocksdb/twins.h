// A real RocksDB whose compactions Sluice does, beside a twin that compacts by itself and a std::map.

#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/real_rocksdb.h"
#include "sluice_rocksdb.h"

namespace sluice::interop {

using Model = std::map<std::string, std::string>;

// Small files, so that there are many compactions.
rocksdb::Options SmallOptions();
std::unique_ptr<rocksdb::DB> Open(const rocksdb::Options& options, const std::string& path);
Model Contents(rocksdb::DB* db, const rocksdb::Snapshot* snapshot);
// Flushes, and waits until there is nothing to compact.
void WaitForCompactions(rocksdb::DB* db);
// Every live table, by our own verifier.
void VerifyTables(rocksdb::DB* db);
// Why jobs were left to RocksDB, a line each; the second one without those that are not for RocksDB
// to choose.
std::string Reasons(const SluiceCompactionStatistics& statistics);
std::string OtherReasons(SluiceCompactionStatistics statistics);

// A database that Sluice compacts, one that RocksDB compacts, and what both must hold.
class Twins {
 public:
  Twins(const rocksdb::Options& options, std::shared_ptr<SluiceCompactionService> service)
      : service_(std::move(service)) {
    plain_ = Open(options, dir_.File("plain"));
    rocksdb::Options ours = options;
    service_->AddTo(&ours);
    ours_ = Open(ours, dir_.File("ours"));
  }
  ~Twins() {
    while (!snapshots_.empty()) {
      Release(0);
    }
  }

  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(ours_->Put({}, key, value).ok());
    ASSERT_TRUE(plain_->Put({}, key, value).ok());
    model_[key] = value;
  }
  void Delete(const std::string& key) {
    ASSERT_TRUE(ours_->Delete({}, key).ok());
    ASSERT_TRUE(plain_->Delete({}, key).ok());
    model_.erase(key);
  }
  void Snapshot() { snapshots_.push_back({ours_->GetSnapshot(), plain_->GetSnapshot(), model_}); }
  void Release(size_t i) {
    ours_->ReleaseSnapshot(snapshots_[i].ours);
    plain_->ReleaseSnapshot(snapshots_[i].plain);
    snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(i));
  }
  size_t snapshots() const { return snapshots_.size(); }

  void Compact() {
    ASSERT_TRUE(ours_->CompactRange({}, nullptr, nullptr).ok());
    ASSERT_TRUE(plain_->CompactRange({}, nullptr, nullptr).ok());
  }

  // As far as their keys go from `first` to `last`.
  void CompactPart(const std::string& first, const std::string& last) {
    const rocksdb::Slice begin(first);
    const rocksdb::Slice end(last);
    ASSERT_TRUE(ours_->CompactRange({}, &begin, &end).ok());
    ASSERT_TRUE(plain_->CompactRange({}, &begin, &end).ok());
  }

  void Check() {
    WaitForCompactions(ours_.get());
    ASSERT_EQ(Contents(ours_.get(), nullptr), model_);
    ASSERT_EQ(Contents(plain_.get(), nullptr), model_);
    for (const Held& held : snapshots_) {
      ASSERT_EQ(Contents(ours_.get(), held.ours), held.model);
      ASSERT_EQ(Contents(plain_.get(), held.plain), held.model);
    }
    std::string value;
    for (const auto& [key, expected] : model_) {
      ASSERT_TRUE(ours_->Get({}, key, &value).ok());
      ASSERT_EQ(value, expected);
    }
    VerifyTables(ours_.get());
  }

  // Closes ours, and opens it without the service.
  void ReopenWithout(const rocksdb::Options& options) {
    while (!snapshots_.empty()) {
      Release(0);
    }
    ours_.reset();
    ours_ = Open(options, dir_.File("ours"));
  }

  // Internal keys that a table of either still has.
  size_t Versions(bool ours) {
    rocksdb::DB* const db = ours ? ours_.get() : plain_.get();
    return AllVersions(db, db->DefaultColumnFamily()).size();
  }

  rocksdb::DB* ours() { return ours_.get(); }
  rocksdb::DB* plain() { return plain_.get(); }
  std::string path() const { return dir_.File("ours"); }

 private:
  struct Held {
    const rocksdb::Snapshot* ours;
    const rocksdb::Snapshot* plain;
    Model model;
  };

  TempDir dir_;
  const std::shared_ptr<SluiceCompactionService> service_;
  std::unique_ptr<rocksdb::DB> ours_;
  std::unique_ptr<rocksdb::DB> plain_;
  Model model_;
  std::vector<Held> snapshots_;
};

// Puts, deletions, and snapshots that come and go.
void RunWorkload(TestRandom* random, int operations, Twins* twins);

}  // namespace sluice::interop
