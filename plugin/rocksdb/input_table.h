// An input of a job: a table of RocksDB's, which the CPU executor reads as it is, and others once it is
// viewed as a table of theirs.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "merge/foreign_table.h"
#include "rocksdb_table/table.h"
#include "rocksdb_table/view.h"
#include "sluice/env.h"

namespace sluice::rocks {

class InputTable : public ForeignTable {
 public:
  // Of the blocks that may have keys in `range`.
  Status Open(Env* env, const std::string& path, const RocksViewRange& range);
  Status MakeView(const RocksViewRange& range) {
    return ViewRocksTable(*table_, range, &view_).WithContext(path_);
  }

  // NotSupported if it has records that are neither values nor deletions. Reads all keys.
  Status CheckTypes();

  const std::string& path() const { return path_; }
  bool empty() const { return blocks_.empty(); }
  std::string_view first() const { return first_; }  // internal key
  // An internal key that none of its keys comes after.
  std::string_view last() const { return last_; }
  uint64_t stored_bytes() const { return stored_bytes_; }
  uint64_t raw_bytes() const { return raw_bytes_; }  // about: once uncompressed
  const RocksView& view() const { return view_; }

  std::string_view image() const override { return table_->image(); }
  std::string_view index() const override { return index_; }
  Status ReadBlock(const BlockHandle& handle, std::string_view* contents) override {
    return table_->ReadDataBlock(handle, &buffer_, contents);
  }

 private:
  Status FindFirst();
  Status EstimateRawBytes();

  std::string path_;
  std::unique_ptr<RocksTable> table_;
  std::vector<BlockHandle> blocks_;
  std::string index_;
  std::string first_;
  std::string last_;
  uint64_t stored_bytes_ = 0;
  uint64_t raw_bytes_ = 0;
  RocksBlockBuffer buffer_;
  RocksView view_;
};

}  // namespace sluice::rocks
