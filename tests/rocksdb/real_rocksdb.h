// Tables as the real RocksDB writes and reads them.

#pragma once

#include <rocksdb/db.h>
#include <rocksdb/table.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table/testing.h"
#include "util/testing.h"

namespace sluice::interop {

inline rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// How RocksDB is to write a table.
struct RealTableOptions {
  rocksdb::BlockBasedTableOptions table;
  rocksdb::CompressionType compression = rocksdb::kNoCompression;
};

// Any options that we read.
RealTableOptions RandomRealOptions(TestRandom* random);
// As text, for messages.
std::string Describe(const RealTableOptions& options);

// Options of a database whose tables are like that, and which does nothing by itself.
rocksdb::Options DatabaseOptions(const RealTableOptions& options);

// Internal keys and values as RocksDB finds them in a column family, in order.
std::vector<TestEntry> AllVersions(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family);

// A table that RocksDB wrote from random puts and deletions, many versions of a key among them.
struct RealTable {
  std::string image;
  std::vector<TestEntry> entries;
};
RealTable WriteWithRocksDb(const RealTableOptions& options, TestRandom* random);

// Has real RocksDB open a table, verify its checksums, and read every way what must be `entries`.
void ExpectRocksDbReads(const std::string& image, const std::vector<TestEntry>& entries,
                        const RealTableOptions& options);

}  // namespace sluice::interop
