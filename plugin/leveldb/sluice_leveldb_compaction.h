/// @file
/// What LevelDB's compaction (sluice_leveldb_hook.h) asks of libsluice_leveldb. Programs need
/// sluice_leveldb.h instead.
///
/// LevelDB is C++11 without exceptions and without type information, and so is this header. The
/// library calls LevelDB only through what is handed over here.

#pragma once

#include <leveldb/env.h>
#include <leveldb/filter_policy.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sluice/export.h"

namespace sluice {

/// A table file of LevelDB's.
struct LevelDbTable {
  uint64_t number = 0;   ///< of the file
  uint64_t bytes = 0;    ///< of the file
  std::string smallest;  ///< its first internal key
  std::string largest;   ///< its last internal key
};

/// A compaction that LevelDB has decided on.
struct LevelDbCompaction {
  leveldb::Env* env = nullptr;                           ///< that all files are reached through
  std::string dir;                                       ///< of the database
  bool bytewise = false;                                 ///< keys are ordered as bytes
  bool snappy = false;                                   ///< outputs are compressed with Snappy
  size_t block_bytes = 0;                                ///< LevelDB's block_size
  int restart_interval = 0;                              ///< LevelDB's block_restart_interval
  const leveldb::FilterPolicy* filter_policy = nullptr;  ///< that takes internal keys; null: none
  /// One as LevelDB's C++ interface makes it, and one as its C interface does, to tell by their
  /// classes whether filter_policy has LevelDB's.
  const leveldb::FilterPolicy* own_filter_policies[2] = {nullptr, nullptr};
  int level = 0;                        ///< of inputs[0]
  std::vector<LevelDbTable> inputs[2];  ///< of `level` and of the next
  /// The tables of each deeper level, in order, that overlap the inputs, by key.
  std::vector<std::vector<LevelDbTable>> below;
  uint64_t smallest_snapshot = 0;  ///< the newest version at or below it is seen by a reader
  uint64_t file_bytes = 0;         ///< with which an output ends

  /// @{
  /// Called on a thread of the compaction. A number for an output, whose file LevelDB must not
  /// remove from then on; and whether LevelDB can open a table.
  std::function<uint64_t()> new_file_number;
  std::function<bool(const LevelDbTable&)> is_usable;
  /// @}
  /// Called on the thread that waits, about every millisecond. False: the database is being closed.
  std::function<bool()> meanwhile;
};

/// What became of it.
struct LevelDbCompactionResult {
  bool done = false;                 ///< false: nothing is changed, LevelDB is to do it
  std::vector<LevelDbTable> tables;  ///< the outputs, by key: synced and checked
  std::string message;               ///< for the info log; may be empty
};

/// Does a compaction. Files that it made are gone unless the result is `done`.
SLUICE_EXPORT LevelDbCompactionResult CompactForLevelDb(const LevelDbCompaction& compaction);

}  // namespace sluice
