/// @file
/// How a database is opened, written and read. Every field has a sensible default; sizes are in
/// bytes. A limit of more than there can be is none: caches may have SIZE_MAX.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/compression.h"
#include "sluice/export.h"

namespace sluice {

class Env;
class EventListener;
class Executor;
class Snapshot;

/// Kinds of compaction. Options::compaction_order decides which comes first when several are due.
enum class CompactionKind : uint8_t {
  kDeletion,   ///< moves an extent with many tombstones down
  kIntraL1,    ///< small runs of level 1 into a larger one, which stays there
  kMinor,      ///< level 0 into a run of level 1
  kMajor,      ///< all that levels 0 and 1 have of a range of keys into level 2
  kSelfMajor,  ///< rewrites extents of level 2 that are small or hold obsolete tombstones
  kManual,     ///< CompactRange
  kValues,     ///< moves what is left of value extents that are mostly garbage together
};

/// How many values CompactionKind has.
inline constexpr size_t kCompactionKinds = 7;

/// How a database is opened.
struct Options {
  bool create_if_missing = false;  ///< create the database if there is none
  bool error_if_exists = false;    ///< fail if there is one
  /// Opens an existing database without writing anything: the whole log is read into memory,
  /// however long it is, and every call that would change something fails with InvalidArgument.
  /// Works on a full device and on a file system that is mounted read-only. Any number of readers
  /// may have the database open at once, but no writer at the same time.
  bool read_only = false;

  // Memory. Statistics tells how much is in use.
  /// Size at which a sub-table's memtable is flushed, 64 GiB at most.
  size_t memtable_bytes = size_t{64} << 20;
  /// Limit on a sub-table's memtables that wait for their flush. Writers are slowed down as their
  /// number grows, and finally stopped.
  size_t max_waiting_memtables = 3;
  /// Limit on all memtables of all sub-tables together. When the active ones hold half of it, the
  /// largest are flushed; while flushes cannot keep up, writers are slowed down and finally
  /// stopped. Only batches under way may exceed it.
  size_t write_buffer_bytes = size_t{256} << 20;
  size_t row_cache_bytes = size_t{32} << 20;    ///< newest versions of records, by key
  size_t block_cache_bytes = size_t{64} << 20;  ///< uncompressed blocks
  size_t table_cache_bytes = size_t{64} << 20;  ///< indexes and filters of extents
  /// Reads, iterators, flushes and compactions go past the system's page cache: the caches above are
  /// all there are. Only on file systems with O_DIRECT, else DB::Open says NotSupported.
  bool direct_io = false;
  /// Limit on the writes and locks of all open and prepared transactions together. Calls that would
  /// exceed it are refused (sluice/transaction.h).
  size_t transaction_memory_bytes = size_t{512} << 20;

  // Format of new extents: tables of LevelDB's format (docs/formats.md).
  uint32_t extent_bytes = uint32_t{2} << 20;  ///< 1 GiB at most; a longer record gets a longer one
  uint32_t block_bytes = 4 << 10;             ///< of a block before compression, about
  uint32_t restart_interval = 16;             ///< entries from one whole key of a block to the next
  Compression compression =
      Compression::kNone;  ///< of blocks, on levels that have none of their own
  /// For blocks on levels 0, 1 and 2; levels beyond the end of it have `compression`. What moves to
  /// a level of another compression is rewritten; what was written under other options keeps its
  /// compression until a compaction rewrites it.
  std::vector<Compression> compression_per_level;
  int zstd_level = 3;  ///< effort of Zstandard, 1 to 22: slower and smaller
  /// Size of dictionaries for Zstandard in level 2, 256 bytes to 1 MiB, and an eighth of extent_bytes
  /// at most; 0: none. 16 KiB are usual. Each extent has one, trained from blocks like its own: what
  /// small blocks have in common is stored once. It takes this and some 30 KiB of the table cache.
  uint32_t zstd_dictionary_bytes = 0;
  int bloom_bits_per_key = 10;  ///< 64 at most; 0: no filters
  /// Filters also have the first so many bytes of each key that has as many, 255 at most; 0: they do
  /// not. An iterator whose two bounds share a prefix of this length (ReadOptions) passes over runs
  /// that have no such key. Costs filter bits for each prefix in each block. It may change from one
  /// opening to the next: extents keep what they were written with, which iterators heed.
  uint32_t prefix_bytes = 0;
  /// Values of at least this size are stored apart from their keys, in value extents, when they are
  /// flushed, so that compactions move references of 20 bytes; 0: none. 4096 is a good size. What
  /// overwritten and deleted values take is reclaimed once it is as much, of what is alive of the
  /// sub-table's, as max_space_amplification has above 1, but at most half of all. It may change from
  /// one opening to the next, and holds for what is flushed since.
  uint64_t separate_value_bytes = 0;

  // Shape of the trees.
  size_t l0_compaction_runs = 6;  ///< runs in level 0 that trigger a compaction; at least 2
  size_t l0_slowdown_runs = 16;   ///< from here on writes are slowed down, more with each run
  size_t l0_stop_runs = 32;       ///< from here on writes wait
  /// Levels 0 and 1 together may have this size, or an eighth of level 2's if that is more, and if
  /// max_space_amplification permits; the rest moves to level 2.
  uint64_t l1_bytes = uint64_t{256} << 20;
  /// Limit on what extents and values apart take of the device, per byte of live data: what the last
  /// level would have after a full compaction, as far as metadata tells. Compactions begin earlier
  /// and go in smaller parts for its sake, and if they fall behind all the same, writers are slowed
  /// down and finally stopped. It counts what compactions under way write, but neither the log, nor
  /// free pages, nor what only iterators and checkpoints still hold; what a snapshot needs is live.
  /// Each sub-table may have l1_bytes, two memtables and parts of compactions beside its live data,
  /// even if that is more. Values that are stored apart may have as much garbage again: 1.3 limits
  /// them to 1.6. At least 1.1; 0: no limit. docs/engine.md has all of it.
  double max_space_amplification = 1.3;
  /// Share of tombstones and old versions that makes an extent due; not negative.
  double deletion_share = 0.5;
  /// Which compaction goes first if several are due; kinds left out are never due, and no write
  /// waits for them.
  std::vector<CompactionKind> compaction_order = {
      CompactionKind::kDeletion, CompactionKind::kMinor, CompactionKind::kIntraL1,
      CompactionKind::kValues,   CompactionKind::kMajor, CompactionKind::kSelfMajor};
  bool automatic_compactions = true;  ///< otherwise only CompactRange compacts

  /// Directories for the extents of levels 0, 1 and 2 (tiers). A level without one, or with an
  /// empty name, uses the database's own. A directory must be empty or missing when it is first
  /// given, and belongs to this database from then on. If one is full, flushes and compactions that
  /// make room there go to the database's own. SubtableOptions::level_tiers chooses among them.
  std::vector<std::string> level_paths;

  /// Task queues of writers, each led by one writer at a time (X-Engine 3.2.2): as many threads can
  /// add to memtables at once. Threads are assigned to queues in turn. 1024 at most.
  size_t write_queues = 8;
  /// Threads that compact, besides those in CompactRange. Each sub-table has one compaction at a
  /// time; threads that have nothing else to do take a share of a large one. 1024 at most.
  size_t compaction_threads = 1;
  /// Threads that flush memtables, each those of another sub-table: a sub-table's own are flushed one
  /// after the other. More than one is of use where many sub-tables are written. 1024 at most.
  size_t flush_threads = 1;
  /// Limit on what flushes and compactions write together, in bytes per second; 0: none. Flushes go
  /// first: while one waits for its turn, compactions wait. Of the rest compactions take as much as
  /// they need: an eighth when they become due, all of it before writers would be slowed down for
  /// them, or while a caller waits for one. Set it higher than writes times write amplification, or
  /// else compactions fall behind until writers are slowed down. What an opening flushes, so that its
  /// log fits into write_buffer_bytes, is not limited.
  uint64_t background_bytes_per_second = 0;
  uint64_t log_segment_bytes = uint64_t{64} << 20;  ///< size up to which a file of the log grows
  /// Limit on the log that memtables need; at least four segments. When half of it is in use, the
  /// memtables that need its oldest part are flushed; while flushes cannot keep up, writers are
  /// slowed down and finally stopped. Prepared transactions and checkpoints may keep more. 0: four
  /// times write_buffer_bytes.
  uint64_t max_log_bytes = uint64_t{1} << 30;
  /// A large compaction is cut into key ranges of this much input at most, which units share: smaller
  /// ones if they have too few of these, and where the CPU merges.
  uint64_t task_bytes = uint64_t{32} << 20;
  /// A compaction that has more input than this is carried out in parts of about this much, each of
  /// which takes effect by itself: an interruption loses one part at most, and no more space is
  /// needed than a part takes. Not below the size of four extents; max_space_amplification may make
  /// them smaller.
  uint64_t compaction_bytes = uint64_t{128} << 20;
  /// Units that merge for compactions (sluice/executor.h), each given as many tasks at once as it has
  /// use for; without any, the CPU merges. What a unit refuses, fails or answers wrongly the CPU
  /// merges anew, and a unit that fails again and again is taken out of service for a while. Units
  /// that several databases share must be thread-safe.
  std::vector<std::shared_ptr<Executor>> executors;
  /// Whether units merge for compactions at all. Otherwise the CPU does, but for sub-tables that have
  /// it otherwise (SubtableOptions::offload).
  bool offload = true;
  /// Give units every merge that they take. Otherwise the CPU does those for which a unit does not
  /// pay, if the units can say what a merge takes them (Executor::Estimate): such as cost the host
  /// no less to offload than to merge, and while cores are idle those that the CPU will have done
  /// much sooner. OffloadStatistics tells how many, and why.
  bool always_offload = false;
  /// Directory where tasks that a unit failed are kept, to be run again with `sluice unit replay`;
  /// empty: nowhere.
  std::string failed_task_dir;

  /// Told of what happens in the background.
  std::vector<std::shared_ptr<EventListener>> listeners;
  Env* env = nullptr;  ///< the file system; null: the real one. Must outlive the database.
};

/// What a sub-table has of its own among the Options of the same names: how its extents are written
/// from now on, and who merges them. What is not set is the database's, as of each DB::Open. Kept
/// with the sub-table, and given to DB::CreateSubtable or DB::SetSubtableOptions.
///
/// Should a later DB::Open have a smaller Options::extent_bytes than these were given under,
/// block_bytes and zstd_dictionary_bytes are what that permits.
struct SLUICE_EXPORT SubtableOptions {
  std::optional<uint32_t> block_bytes{};  ///< as Options::block_bytes
  /// For blocks on levels of which compression_per_level says nothing; on all levels, if that is not
  /// set here.
  std::optional<Compression> compression{};
  /// As Options::compression_per_level; one without any level leaves all to `compression`.
  std::optional<std::vector<Compression>> compression_per_level{};
  std::optional<int> zstd_level{};                  ///< as Options::zstd_level
  std::optional<uint32_t> zstd_dictionary_bytes{};  ///< as Options::zstd_dictionary_bytes
  std::optional<int> bloom_bits_per_key{};          ///< as Options::bloom_bits_per_key
  std::optional<uint32_t> prefix_bytes{};           ///< as Options::prefix_bytes
  std::optional<uint64_t> separate_value_bytes{};   ///< as Options::separate_value_bytes
  std::optional<bool> offload{};                    ///< as Options::offload
  /// For levels 0, 1 and 2, the level whose directory of Options::level_paths it has: {0, 0, 0} keeps
  /// all of the sub-table where level 0 is, and {2, 2, 2} where level 2 is. Levels beyond the end of
  /// it have their own. Values that are stored apart are where the last level is. Once it is changed,
  /// new extents follow, and compactions bring those that they take; value extents stay until they
  /// are mostly garbage.
  std::optional<std::vector<uint32_t>> level_tiers{};

  /// What is set, as "compression=zstd block_bytes=16384"; empty if nothing is.
  std::string ToString() const;
  friend bool operator==(const SubtableOptions&, const SubtableOptions&) = default;
};

/// How a write is done.
struct WriteOptions {
  /// Return only when the write would survive a loss of power. Without it, the write survives this
  /// process.
  bool sync = false;
};

/// How a read is done.
struct ReadOptions {
  const Snapshot* snapshot = nullptr;  ///< null: the state when the call begins
  bool fill_cache = true;              ///< keep what was read; switch it off for large scans
  /// An iterator begins at this key, which must outlive it and not change; null: no bound.
  const std::string* lower_bound = nullptr;
  /// An iterator ends before this key, which must outlive it and not change; null: no bound. It passes
  /// over what lies outside its bounds, and reads nothing ahead there. If both are within what one
  /// prefix of Options::prefix_bytes begins, the upper one at most the first key behind that, filters
  /// tell it which runs have no such key.
  const std::string* upper_bound = nullptr;
};

}  // namespace sluice
