// Which column families Sluice can compact exactly as RocksDB would, and how their tables look.

#pragma once

#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <cstdint>
#include <string>

#include "job_text.h"
#include "rocksdb_table/finish.h"

namespace sluice::rocks {

// Why nothing of a database can be offloaded; empty: it can.
std::string CheckDatabase(const std::string& path, const rocksdb::DBOptions& options);

struct FamilyPolicy {
  // Why nothing of the family can be offloaded; empty: it can.
  std::string declined;
  uint32_t block_bytes = 4096;
  uint32_t restart_interval = 16;
  bool filter_on_last_level = true;
  RocksTableOptions format;  // less compression and properties
  rocksdb::ColumnFamilyOptions options;

  // About how large files of a level become.
  uint64_t FileBytes(int level) const;
};

FamilyPolicy MakeFamilyPolicy(const rocksdb::ColumnFamilyOptions& options);

// Why a job cannot be offloaded, as its family's options are now; empty: it can. `fields` may be
// empty, if they are not known.
std::string CheckFamilyFields(const Fields& fields);

// Sets how data blocks are compressed. False if there is no such compression here.
bool SetCompression(rocksdb::CompressionType type, const rocksdb::ColumnFamilyOptions& options,
                    Codec* codec);

}  // namespace sluice::rocks
