#include "bench/rocksdb_bridge.h"

#include <rocksdb/db.h>
#include <rocksdb/table.h>

namespace {

rocksdb::Options DbOptions() {
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 4096;
  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.bottommost_compression = rocksdb::kNoCompression;
  options.target_file_size_base = 2 << 20;
  options.write_buffer_size = size_t{1} << 30;
  options.disable_auto_compactions = true;
  options.level0_slowdown_writes_trigger = 1000;
  options.level0_stop_writes_trigger = 1000;
  options.max_subcompactions = 1;
  options.avoid_flush_during_shutdown = true;
  options.stats_dump_period_sec = 0;
  return options;
}

rocksdb::DB* Db(void* db) { return static_cast<rocksdb::DB*>(db); }

}  // namespace

void* RocksBenchOpen(const char* directory) {
  rocksdb::DB* db = nullptr;
  return rocksdb::DB::Open(DbOptions(), directory, &db).ok() ? db : nullptr;
}

void RocksBenchClose(void* db) { delete Db(db); }

bool RocksBenchPut(void* db, const char* key, size_t key_bytes, const char* value,
                   size_t value_bytes) {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return Db(db)->Put(options, {key, key_bytes}, {value, value_bytes}).ok();
}

bool RocksBenchFlush(void* db) { return Db(db)->Flush(rocksdb::FlushOptions()).ok(); }

bool RocksBenchCompact(void* db) {
  rocksdb::CompactRangeOptions options;
  options.max_subcompactions = 1;
  return Db(db)->CompactRange(options, nullptr, nullptr).ok();
}
