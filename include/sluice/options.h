// How a database is opened, written and read. Every field has a sensible default; bytes are bytes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/compression.h"

namespace sluice {

class Env;
class EventListener;
class Snapshot;

// Kinds of compaction (X-Engine 3.3.3); which comes first when several are due is
// Options::compaction_order.
enum class CompactionKind : uint8_t {
  kDeletion,   // an extent with many tombstones, with all it overlaps in the level below
  kIntraL0,    // runs of level 0 into one, which stays there
  kMinor,      // level 0 into level 1
  kMajor,      // the coldest extents of level 1 into level 2
  kSelfMajor,  // extents of level 2 that are small or hold what nobody needs, anew
  kManual,     // CompactRange
};

struct Options {
  bool create_if_missing = false;
  bool error_if_exists = false;
  // Opens a database that there is without writing anything: the log is read into memory, however
  // much it is, and every call that would change something fails with InvalidArgument. Works on a
  // full device and on a file system mounted read-only. Any number of readers may have it open at
  // once, and no writer meanwhile.
  bool read_only = false;

  // Memory. What is in use stands in Statistics.
  size_t memtable_bytes = size_t{64} << 20;  // a sub-table's memtable is flushed at this size
  // Of a sub-table's memtables that wait for their flush; writers are slowed down, then held, as
  // they become more.
  size_t max_waiting_memtables = 3;
  // Of all memtables of all sub-tables together. When those that are written hold half of it, the
  // largest are flushed; writers are slowed down, then held, while flushes cannot keep up. Beyond
  // it goes what the batches need that are under way.
  size_t write_buffer_bytes = size_t{256} << 20;
  size_t row_cache_bytes = size_t{32} << 20;    // newest versions of records, by key
  size_t block_cache_bytes = size_t{64} << 20;  // uncompressed blocks
  size_t table_cache_bytes = size_t{64} << 20;  // indexes and filters of extents
  // Of the writes and locks of all open and prepared transactions together. What would need more is
  // refused (sluice/transaction.h).
  size_t transaction_memory_bytes = size_t{512} << 20;

  // Format of new extents: tables of LevelDB's format (docs/formats.md).
  uint32_t extent_bytes = uint32_t{2} << 20;  // 1 GiB at most; a longer record gets a longer one
  uint32_t block_bytes = 16 << 10;
  uint32_t restart_interval = 16;
  Compression compression = Compression::kNone;
  int bloom_bits_per_key = 10;  // 0: no filters

  // Shape of the trees.
  size_t l0_compaction_runs = 4;  // runs in level 0 that set off a compaction
  size_t l0_slowdown_runs = 16;   // from here on writes are slowed down, more with each run
  size_t l0_stop_runs = 32;       // here they wait
  uint64_t l1_bytes = uint64_t{512} << 20;  // of level 1, from where on a part goes to level 2
  size_t major_extents = 500;   // at most so many go there at once, the coldest (X-Engine C)
  double deletion_share = 0.5;  // of an extent's records, tombstones, that set off a compaction
  std::vector<CompactionKind> compaction_order = {
      CompactionKind::kDeletion, CompactionKind::kIntraL0, CompactionKind::kMinor,
      CompactionKind::kMajor, CompactionKind::kSelfMajor};
  bool automatic_compactions = true;

  // Directories for extents of levels 0, 1 and 2 (tiers); those left out, or empty: the database's.
  // Each is empty, or made, when it is first given, and belongs to this database from then on.
  std::vector<std::string> level_paths;

  // Task queues of writers, each led by one of them at a time (X-Engine 3.2.2): so many threads add
  // to memtables at once. Threads are dealt out over them in turn.
  size_t write_queues = 8;
  size_t compaction_threads = 1;  // sub-tables compacted at once, each by at most one compaction
  uint64_t log_segment_bytes = uint64_t{64} << 20;  // of a file of the log; it grows up to them
  // Of the log that memtables need; at least four segments. When half of it is in use, those
  // memtables are flushed that need its oldest part; writers are slowed down, then held, while
  // flushes cannot keep up. Prepared transactions and checkpoints may keep more. 0: four times
  // write_buffer_bytes.
  uint64_t max_log_bytes = uint64_t{1} << 30;
  // Key ranges of about this much input that a large compaction is cut in, for units to share; of
  // less where the CPU merges.
  uint64_t task_bytes = uint64_t{32} << 20;
  // Which executor merges (docs/architecture.md). All write the same bytes.
  struct Offload {
    std::string executor = "cpu";          // "cpu", "rtl", "model" or "check"
    std::string configuration = "fast20";  // of the card; `sluice unit list` shows them
    // Tasks that failed on the device are kept here, to be run again with `sluice unit replay`;
    // empty: nowhere.
    std::string replay_dump_dir;
    // For tests: share of the device's jobs that fail, one way or another, drawn from this seed.
    double fault_rate = 0;
    uint64_t fault_seed = 1;
  };
  Offload offload;

  std::vector<std::shared_ptr<EventListener>> listeners;
  Env* env = nullptr;  // the file system; null: the real one. Must outlive the database.
};

struct WriteOptions {
  // Return when the write would survive a loss of power; without it, it survives this process.
  bool sync = false;
};

struct ReadOptions {
  const Snapshot* snapshot = nullptr;  // null: the state as the call begins
  bool fill_cache = true;              // keep what was read; not for large scans
  // Iterators: keys from lower_bound to below upper_bound. They must outlive the iterator.
  const std::string* lower_bound = nullptr;
  const std::string* upper_bound = nullptr;
};

}  // namespace sluice
