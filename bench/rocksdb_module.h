// RocksDB as a shared object of its own, which the command loads when it is asked for RocksDB: the
// release build that there is (bench/fetch_rocksdb) has another C++ ABI than this program, and the
// command must run without it. So nothing but C goes between.
//
// Calls that can fail return null, or else a message that lives until the thread's next call.

#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct RocksDbSettings {
  uint64_t cache_bytes;
  uint64_t write_buffer_bytes;
  uint32_t block_bytes;   // 0: RocksDB's default
  int bloom_bits;         // 0: no filters
  uint32_t prefix_bytes;  // of the prefixes that filters have, too; 0: none
  int compression;        // the number that RocksDB has for it
  uint32_t dictionary_bytes;
  uint64_t table_bytes;  // 0: RocksDB's default
  uint64_t blob_bytes;   // values of at least this size go to blob files, collected; 0: none
  bool direct_io;        // for all that it reads and writes, but the log
  // For a measure of compactions by themselves: puts are not logged, nothing is compacted unasked,
  // and Compact takes one thread.
  bool compactions_alone;
  bool compaction_service;  // compactions by Sluice's (plugin/rocksdb)
  bool create;
  bool pipelined_write;
  bool unordered_write;
  bool many_tombstones;  // what it has against them
};

struct RocksDbBytes {
  const char* data;
  size_t size;
};

struct RocksDbRecord {
  RocksDbBytes key;
  RocksDbBytes value;
};

struct RocksDbCounts {
  uint64_t log_bytes_written;
  uint64_t table_bytes_written;
  uint64_t background_bytes_read;
  uint64_t stall_microseconds;
  uint64_t service_jobs;  // that Sluice's service did
  uint64_t service_jobs_left;
};

// The kinds of handle: `db` by Open, `session` (one thread's) by NewSession, `iterator`.
struct RocksDbCalls {
  const char* (*Version)();
  const char* (*Open)(const RocksDbSettings* settings, const char* directory, void** db);
  void (*Close)(void* db);
  const char* (*Flush)(void* db);
  const char* (*Compact)(void* db);
  const char* (*Wait)(void* db);
  RocksDbCounts (*Counts)(void* db);

  void* (*NewSession)(void* db, bool sync);
  void (*DeleteSession)(void* session);
  const char* (*Put)(void* session, const RocksDbRecord* records, size_t count);
  const char* (*Delete)(void* session, RocksDbBytes key);
  // A null `value->data`: there is no such key. It lives until the session's next call.
  const char* (*Get)(void* session, RocksDbBytes key, RocksDbBytes* value);
  // As many values as keys.
  const char* (*MultiGet)(void* session, const RocksDbBytes* keys, size_t count,
                          RocksDbBytes* values);

  // Moves return whether there is a record then.
  // An empty bound is none.
  void* (*NewIterator)(void* session, RocksDbBytes lower, RocksDbBytes upper);
  void (*DeleteIterator)(void* iterator);
  bool (*SeekToFirst)(void* iterator);
  bool (*SeekToLast)(void* iterator);
  bool (*Seek)(void* iterator, RocksDbBytes key);
  bool (*Next)(void* iterator);
  bool (*Prev)(void* iterator);
  RocksDbBytes (*Key)(void* iterator);
  size_t (*RecordBytes)(void* iterator);
  const char* (*IteratorError)(void* iterator);
};

// The one symbol that is looked up.
using RocksDbEntry = const RocksDbCalls* (*)();
const RocksDbCalls* SluiceRocksDbCalls();
}

// Beside the command.
inline constexpr const char* kRocksDbModule = "sluice_rocksdb.so";
inline constexpr const char* kRocksDbEntry = "SluiceRocksDbCalls";
