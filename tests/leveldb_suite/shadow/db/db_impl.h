// What LevelDB's tests find in the place of its db/db_impl.h: leveldb::DB over the Sluice engine,
// with the further calls that tests make, as far as Sluice has the like.
//
// Options that Sluice has no counterpart of are ignored (reuse_logs, max_open_files, info_log,
// paranoid_checks: it always checks); a filter policy only says that there are filters, and a cache
// of the caller's that there is none. A comparator other than LevelDB's own is refused.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/iterator.h"

namespace leveldb {

class DBImpl : public DB {
 public:
  ~DBImpl() override;
  static Status Open(const Options& options, const std::string& name, DB** db);

  Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override;
  Status Delete(const WriteOptions& options, const Slice& key) override;
  Status Write(const WriteOptions& options, WriteBatch* batch) override;
  Status Get(const ReadOptions& options, const Slice& key, std::string* value) override;
  Iterator* NewIterator(const ReadOptions& options) override;
  const Snapshot* GetSnapshot() override;
  void ReleaseSnapshot(const Snapshot* snapshot) override;
  // The properties that have the like in Sluice. A file of level 0 is a run.
  bool GetProperty(const Slice& property, std::string* value) override;
  // Sluice has nothing like it: says so, and ends the test.
  void GetApproximateSizes(const Range* ranges, int n, uint64_t* sizes) override;
  void CompactRange(const Slice* begin, const Slice* end) override;

  // Whatever the level, CompactRange.
  void TEST_CompactRange(int level, const Slice* begin, const Slice* end);
  Status TEST_CompactMemTable();
  // As GetApproximateSizes.
  Iterator* TEST_NewInternalIterator();
  int64_t TEST_MaxNextLevelOverlappingBytes();

 private:
  struct Rep;

  explicit DBImpl(std::unique_ptr<Rep> rep);

  const std::unique_ptr<Rep> rep_;
};

}  // namespace leveldb
