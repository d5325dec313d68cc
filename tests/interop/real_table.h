// Tables as the real LevelDB library writes and reads them, in memory.

#pragma once

#include <leveldb/comparator.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "table/internal_key.h"
#include "table/testing.h"

// leveldb::Table has its point lookup, the only one that asks the filter, for its friend TableCache
// alone. The library keeps its own class of this name to itself.
namespace leveldb {
class TableCache {
 public:
  static Status Get(Table* table, const ReadOptions& options, const Slice& key, void* arg,
                    void (*found)(void*, const Slice&, const Slice&)) {
    return table->InternalGet(options, key, arg, found);
  }
};
}  // namespace leveldb

namespace sluice::interop {

inline leveldb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view ToView(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }

// Internal keys, with the short index keys that LevelDB makes of them.
class InternalKeyComparator : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    return CompareInternalKeys(ToView(a), ToView(b));
  }
  const char* Name() const override { return "leveldb.InternalKeyComparator"; }

  void FindShortestSeparator(std::string* start, const leveldb::Slice& limit) const override {
    std::string shortened(UserKey(*start));
    leveldb::BytewiseComparator()->FindShortestSeparator(&shortened,
                                                         ToSlice(UserKey(ToView(limit))));
    UseIfShorter(shortened, start);
  }
  void FindShortSuccessor(std::string* key) const override {
    std::string shortened(UserKey(*key));
    leveldb::BytewiseComparator()->FindShortSuccessor(&shortened);
    UseIfShorter(shortened, key);
  }

 private:
  static void UseIfShorter(const std::string& user_key, std::string* key) {
    if (user_key.size() < UserKey(*key).size() && UserKey(*key) < user_key) {
      *key = InternalKey(user_key, kMaxSequence);
    }
  }
};

// LevelDB's Bloom filter over user keys, as its databases use it; counts what it turns away.
class InternalFilterPolicy : public leveldb::FilterPolicy {
 public:
  explicit InternalFilterPolicy(int bits_per_key)
      : bloom_(leveldb::NewBloomFilterPolicy(bits_per_key)) {}

  const char* Name() const override { return bloom_->Name(); }
  void CreateFilter(const leveldb::Slice* keys, int n, std::string* filter) const override {
    std::vector<leveldb::Slice> user_keys;
    for (int i = 0; i < n; ++i) {
      user_keys.push_back(ToSlice(UserKey(ToView(keys[i]))));
    }
    bloom_->CreateFilter(user_keys.data(), n, filter);
  }
  bool KeyMayMatch(const leveldb::Slice& key, const leveldb::Slice& filter) const override {
    ++asked_;
    const bool match = bloom_->KeyMayMatch(ToSlice(UserKey(ToView(key))), filter);
    turned_away_ += !match;
    return match;
  }

  uint64_t asked() const { return asked_; }
  uint64_t turned_away() const { return turned_away_; }

 private:
  const std::unique_ptr<const leveldb::FilterPolicy> bloom_;
  mutable std::atomic<uint64_t> asked_ = 0;
  mutable std::atomic<uint64_t> turned_away_ = 0;
};

class MemoryWritable : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& bytes) override {
    contents.append(bytes.data(), bytes.size());
    return {};
  }
  leveldb::Status Close() override { return {}; }
  leveldb::Status Flush() override { return {}; }
  leveldb::Status Sync() override { return {}; }

  std::string contents;
};

class MemoryReadable : public leveldb::RandomAccessFile {
 public:
  explicit MemoryReadable(std::string_view contents) : contents_(contents) {}

  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* scratch) const override {
    const std::string_view bytes = contents_.substr(std::min(offset, contents_.size()), n);
    std::copy(bytes.begin(), bytes.end(), scratch);
    *result = {scratch, bytes.size()};
    return {};
  }

 private:
  const std::string_view contents_;
};

// What a table of `options` is to real LevelDB.
class RealOptions {
 public:
  explicit RealOptions(const TableOptions& options) {
    if (options.bloom_bits_per_key > 0) {
      filter_.emplace(options.bloom_bits_per_key);
      options_.filter_policy = &*filter_;
    }
    options_.comparator = &comparator_;
    options_.paranoid_checks = true;
    options_.block_size = options.block_bytes;
    options_.block_restart_interval = static_cast<int>(options.restart_interval);
    options_.compression = options.compression == Compression::kSnappy ? leveldb::kSnappyCompression
                                                                       : leveldb::kNoCompression;
  }
  RealOptions(const RealOptions&) = delete;
  RealOptions& operator=(const RealOptions&) = delete;

  const leveldb::Options& options() const { return options_; }
  const InternalFilterPolicy* filter() const { return filter_ ? &*filter_ : nullptr; }

 private:
  InternalKeyComparator comparator_;
  std::optional<InternalFilterPolicy> filter_;
  leveldb::Options options_;
};

}  // namespace sluice::interop
