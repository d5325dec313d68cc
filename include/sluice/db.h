/// @file
/// The Sluice storage engine: sorted sub-tables of keys and values, kept in LSM trees.
///
///     sluice::Options options;
///     options.create_if_missing = true;
///     std::unique_ptr<sluice::DB> db;
///     sluice::Status status = sluice::DB::Open(options, "/data/db", &db);
///     if (status.ok()) status = db->Put({}, "key", "value");
///     std::string value;
///     if (status.ok()) status = db->Get({}, "key", &value);
///
/// Keys and values are arbitrary bytes: keys up to 64 KiB - 1, values up to 1 GiB. Keys are ordered
/// bytewise.
///
/// Thread-safe, except Close and the destructor, which must come last: destroy all iterators,
/// release all snapshots and end all transactions first. Only writes may be under way when Close is
/// called; later changes fail with Busy. Reads take no lock. Once a write has returned, every later
/// read sees it, and it survives the process; with WriteOptions::sync a loss of power, too.
///
/// A child of fork may open databases, but those that its parent had open stay the parent's: calls
/// that would change them fail with Busy there, Close and the destructor do nothing, and nothing may
/// be read, nor an iterator or a transaction destroyed.
///
/// Wherever a call takes a `Subtable*`, null means the default sub-table, which every database has.
/// One of another database is refused by calls that would change something.
///
/// Any call may return InvalidArgument (misuse, described in the message), Corruption (stored bytes
/// are not what they must be; the message names file and offset), IoError or Busy. After an error
/// of the background work or of the log, every write fails with that error until the database is
/// opened again; reads go on.
///
/// NoSpace is different: it passes. While the device is full, writes fail with NoSpace and have no
/// effect. Reads still work, and so do deletions and the calls that make space, DropSubtable and
/// CompactRange: for those the database keeps a reserve of 1 MiB (less with small log segments), and
/// of a sixteenth of its data more, up to six extents and l0_compaction_runs. It takes that again
/// when there is space. From then on writes succeed again.

#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/export.h"
#include "sluice/ingestion.h"
#include "sluice/iterator.h"
#include "sluice/listener.h"
#include "sluice/options.h"
#include "sluice/statistics.h"
#include "sluice/status.h"
#include "sluice/transaction.h"
#include "sluice/write_batch.h"

namespace sluice {

/// A sub-table: an LSM tree of its own within the database (X-Engine 2). Handles belong to the
/// database and live until it is closed, even those of dropped sub-tables.
class SLUICE_EXPORT Subtable {
 public:
  Subtable() = default;
  Subtable(const Subtable&) = delete;
  Subtable& operator=(const Subtable&) = delete;
  virtual ~Subtable() = default;

  /// As given to DB::CreateSubtable.
  virtual const std::string& name() const = 0;
  virtual uint32_t id() const = 0;  ///< never reused within a database
};

/// A state of the whole database that reads can return to. It keeps old versions from being
/// dropped.
class SLUICE_EXPORT Snapshot {
 public:
  Snapshot() = default;
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  virtual ~Snapshot() = default;

  virtual uint64_t sequence() const = 0;  ///< of the newest write that it sees
};

inline constexpr std::string_view kDefaultSubtable = "default";  ///< every database has it
inline constexpr size_t kMaxKeyBytes = (64 << 10) - 1;           ///< longer keys are refused
inline constexpr size_t kMaxValueBytes = size_t{1} << 30;        ///< longer values are refused

/// What DB::Repair saved, and what it could not.
struct RepairReport {
  uint64_t extents = 0;             ///< extents that the metadata names, or found without it
  uint64_t extents_damaged = 0;     ///< those among them that lost records
  uint64_t records_saved = 0;       ///< newest versions in extents
  uint64_t records_lost = 0;        ///< in extents, as far as the metadata counts them
  uint64_t log_writes_saved = 0;    ///< writes that only the log had
  uint64_t prepared_saved = 0;      ///< prepared transactions
  std::vector<std::string> losses;  ///< one line per loss: what, which keys, why
};

/// What a range of keys holds, roughly (DB::ApproximateSize).
struct RangeSize {
  uint64_t records = 0;  ///< keys that have a value
  uint64_t bytes = 0;    ///< of their records, as they are stored
};

/// Is told how a write ended.
using WriteCallback = std::function<void(const Status&)>;

/// An open database; see the top of sluice/db.h.
class SLUICE_EXPORT DB {
 public:
  /// Opens the database in directory `path` and recovers what its log holds. NotFound if there is
  /// none and create_if_missing is false; Busy if it is open elsewhere; InvalidArgument if a
  /// database would have to be created in a directory that is not empty, or if a directory of
  /// level_paths is not empty and does not belong to this database: nothing in it is touched then.
  /// Makes paths absolute (not those for Options::env). Cost: reads the metadata, the log's tail.
  static Status Open(const Options& options, const std::string& path, std::unique_ptr<DB>* db);
  /// Removes the database in `path` and all its files, including those in level_paths, and the
  /// directories that this empties; ok if there is none. Files that are not the database's stay,
  /// and with them their directories. InvalidArgument, and nothing is removed, if
  /// `path` holds something else, or one of level_paths holds another database's extents. After a
  /// crash, the remains can be passed to Destroy again, or to Open with create_if_missing.
  static Status Destroy(const Options& options, const std::string& path);
  /// Saves what can be read of the database in `path`, whether it can be opened or not, as a new
  /// database in `to`, which must not exist. The database in `path` is only read, and must not be
  /// open anywhere. For each key, the newest readable version is saved: where a newer one is lost,
  /// an older one may reappear, among the keys that `report->losses` names. If all metadata is
  /// lost, extents are looked for in the data files: deleted keys may reappear, so may records of
  /// ingestions that were never committed, and sub-tables but the default one are named
  /// `subtable-N`. Ok if the new database is whole, however little it holds; Corruption if there are
  /// neither metadata nor extents nor a log. After an error nothing is left in `to`; after a crash,
  /// remains that Open takes for no database and Repair for nothing. `options` are those of the new database, but for
  /// level_paths: those of the one in `path`. Sub-tables have the options of their own that
  /// extent_bytes permits, as when a database is opened (SubtableOptions).
  static Status Repair(const Options& options, const std::string& path, const std::string& to,
                       RepairReport* report);

  DB() = default;
  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;
  /// Closes, and ignores any error.
  virtual ~DB() = default;

  /// Ends background work and syncs the log. Memtables are not flushed: the next Open recovers them
  /// from the log. Returns the first error.
  ///
  /// Writes may be under way: those that have begun, asynchronous ones too, are completed, and none
  /// waits any more for flushes or compactions. Later ones fail with Busy and have no effect.
  virtual Status Close() = 0;

  /// Makes an empty sub-table. InvalidArgument if the name is taken or empty, or an option is out of
  /// its range.
  virtual Status CreateSubtable(const SubtableOptions& options, std::string_view name,
                                Subtable** subtable) = 0;
  /// The sub-table's keys are gone at once; its space is freed when it is no longer being read. The
  /// default sub-table cannot be dropped.
  virtual Status DropSubtable(Subtable* subtable) = 0;
  /// Gives the sub-table these options in place of those it had: what is not set is the database's
  /// again. They hold for flushes, compactions and ingestions that begin later; extents that are
  /// there keep their format, which readers know from them, until a compaction rewrites them.
  /// Durable, and all or nothing. InvalidArgument if one is out of its range, or the sub-table is
  /// dropped.
  virtual Status SetSubtableOptions(Subtable* subtable, const SubtableOptions& options) = 0;
  /// The sub-table's own options, as they were given last.
  virtual SubtableOptions GetSubtableOptions(Subtable* subtable) = 0;
  /// All that are not dropped, in order of their creation.
  virtual std::vector<Subtable*> ListSubtables() = 0;
  /// The sub-table of this name; null if there is none.
  virtual Subtable* FindSubtable(std::string_view name) = 0;

  /// Does all of the batch, or nothing. An empty batch writes nothing; with `sync` it makes
  /// everything written before it durable. InvalidArgument: more than 1 GiB (WriteBatch::bytes).
  virtual Status Write(const WriteOptions& options, const WriteBatch& batch) = 0;
  /// Returns as soon as the write is queued, and calls `callback` once, when Write would return.
  /// The call comes from a thread of the database, of another writer, or from this one before it
  /// returns, so it must neither block nor write, nor take a mutex that the caller holds. The writes of
  /// one thread take effect in the order of its calls, though callbacks may overtake each other. A
  /// thread can have any number of writes under way; the call waits while 64 MiB are under way, while
  /// 32 KiB of a write queue have no place in the log yet, and where Write would be held up because
  /// flushes or compactions have fallen behind. It writes its own batch, with those that arrive at the
  /// same moment, and leaves the others to a thread of the database.
  virtual void WriteAsync(const WriteOptions& options, WriteBatch batch,
                          WriteCallback callback) = 0;
  /// Sets the value of a key, whether it had one or not.
  virtual Status Put(const WriteOptions& options, Subtable* subtable, std::string_view key,
                     std::string_view value) = 0;
  /// Deletes a key; no error if it is absent.
  virtual Status Delete(const WriteOptions& options, Subtable* subtable, std::string_view key) = 0;
  /// Deletes the keys in [begin, end), as one write; an empty `end` means no bound, and of an empty
  /// range nothing is deleted. Like all writes beside transactions it neither takes nor respects
  /// row locks. Cost: that of a Delete. Reads pass over the range in a step for each older memtable
  /// and run. The next flush leaves out of the tree what the range covers: extents within it go
  /// without being read, two of each run may be read and cut. Only where an older snapshot is held,
  /// or little is there, it writes a tombstone for each key.
  virtual Status DeleteRange(const WriteOptions& options, Subtable* subtable,
                             std::string_view begin, std::string_view end) = 0;

  /// Reads the value of a key. NotFound if there is none.
  virtual Status Get(const ReadOptions& options, Subtable* subtable, std::string_view key,
                     std::string* value) = 0;
  /// Reads all keys from one state. values[i] is set only where the status is ok. Faster than as
  /// many Gets where keys are not cached: the blocks of up to 32 of them are read at once.
  virtual std::vector<Status> MultiGet(const ReadOptions& options, Subtable* subtable,
                                       const std::vector<std::string_view>& keys,
                                       std::vector<std::string>* values) = 0;
  /// Never null; errors are reported by the iterator's status().
  virtual std::unique_ptr<Iterator> NewIterator(const ReadOptions& options, Subtable* subtable) = 0;

  /// Begins an ingestion (sluice/ingestion.h). Busy if another one is under way. TooLarge if sequence
  /// numbers are used up: each ingestion that is committed takes 2^32 of 2^56, so this is after 16
  /// million of them, or more, for those take fewer as numbers get scarce. Of the writes that come
  /// before its commit there may be as many as that.
  virtual Status NewIngestion(std::unique_ptr<Ingestion>* ingestion) = 0;

  /// Estimates what the sub-table has in [begin, end); an empty bound means no bound. For optimizers,
  /// and for splitting ranges.
  ///
  /// Exact for what metadata counts: extents that lie within the range as a whole. Where the range
  /// begins or ends within an extent, the part of it is estimated, and wrong by one block of each run
  /// at each end at most, or by a tenth of the result. An extent's records are taken to be of one
  /// size. Memtables are counted up to some 64 keys, and sampled beyond that. A key that was
  /// overwritten counts once more, and so does one that was deleted by a range deletion, until
  /// compactions have merged what there is of it; a deletion counts as one record less.
  ///
  /// Cost: metadata alone if the extents that the range begins and ends in have less than a tenth of
  /// what those within it have. Else their heads are looked at, which a Get needs, too: two pages of
  /// each run at each end, if they are not in the table cache. A head that cannot be read makes the
  /// estimate worse by an extent, and is no error. Nothing of a dropped sub-table.
  virtual RangeSize ApproximateSize(Subtable* subtable, std::string_view begin,
                                    std::string_view end) = 0;

  /// Never null. Destroy it before the database is closed.
  virtual std::unique_ptr<Transaction> BeginTransaction(const TransactionOptions& options,
                                                        const WriteOptions& write_options) = 0;
  /// Names of the transactions that are prepared and not resolved. With Options::read_only, too,
  /// where they can be resumed, but neither committed nor rolled back.
  virtual std::vector<std::string> ListPrepared() = 0;
  /// Those that write to this sub-table: dropping it would take their writes from them. All writes
  /// of the prepared transactions are looked at.
  virtual std::vector<std::string> ListPreparedIn(Subtable* subtable) = 0;
  /// Returns a prepared transaction, to commit it or to roll it back. NotFound if there is none of
  /// this name; Busy if another Transaction object already stands for it.
  virtual Status ResumeTransaction(std::string_view name, const WriteOptions& write_options,
                                   std::unique_ptr<Transaction>* transaction) = 0;

  /// Holds the present state. Never null; for ReleaseSnapshot.
  virtual const Snapshot* GetSnapshot() = 0;
  /// Ends the use of a snapshot.
  virtual void ReleaseSnapshot(const Snapshot* snapshot) = 0;

  /// Writes the memtables of a sub-table to level 0, and waits until that is done.
  virtual Status Flush(Subtable* subtable) = 0;
  /// Merges everything that any level holds of the keys in [begin, end) into the last level, and
  /// waits until that is done. An empty bound means no bound.
  virtual Status CompactRange(Subtable* subtable, std::string_view begin, std::string_view end) = 0;
  /// Waits until no flush or compaction is due or running.
  virtual Status WaitForBackgroundWork() = 0;

  /// Makes a consistent copy, a database of its own, in the directory `path`: InvalidArgument if that
  /// has something in it. What a checkpoint has left that was killed can be passed to Destroy.
  /// Writes continue in the meantime. Where the file system can share space between files (XFS,
  /// btrfs), the copy shares all live extents that are on the same one, and costs a system call for
  /// each; others are read, checked and copied, and one that is damaged is Corruption. After an
  /// error nothing is left of the copy, as far as what failed permits.
  virtual Status CreateCheckpoint(const std::string& path) = 0;

  /// The state now, and the work since the database was opened.
  virtual Statistics GetStatistics() = 0;
  /// Finds a statistic by its name, as a number or a text, in the manner of RocksDB.
  /// InvalidArgument for any other name. Cost: a GetStatistics.
  ///
  /// Properties of a sub-table, where N is 0, 1 or 2:
  ///
  ///     sluice.num-files-at-levelN, sluice.num-runs-at-levelN, sluice.bytes-at-levelN
  ///     sluice.levelstats                     these three for all levels, one line per level
  ///     sluice.estimate-num-keys              records of all levels, minus two per tombstone
  ///     sluice.live-data-size                 bytes of all levels
  ///     sluice.cur-size-all-mem-tables, sluice.num-immutable-mem-table
  ///
  /// Properties of the database:
  ///
  ///     sluice.stats                          Statistics::ToString
  ///     sluice.block-cache-usage, sluice.row-cache-usage, sluice.table-cache-usage, and -capacity
  ///     sluice.transaction-memory-usage, and -capacity: writes and locks of all transactions
  ///     sluice.prepared-log-bytes    log bytes kept from the oldest prepared transaction on
  ///     sluice.latest-sequence-number, sluice.stall-micros, sluice.write-amplification
  ///     sluice.space-amplification, sluice.most-space-amplification
  virtual Status GetProperty(Subtable* subtable, std::string_view name, std::string* value) = 0;
  /// Reads all extents and checks everything that can be checked. Returns the first fault found,
  /// with its file and offset. `progress` may be null.
  virtual Status Verify(const std::function<void(uint64_t done, uint64_t total)>& progress) = 0;

  /// The same, with the outcome as a future.
  std::future<Status> WriteAsync(const WriteOptions& options, WriteBatch batch) {
    const auto promise = std::make_shared<std::promise<Status>>();
    WriteAsync(options, std::move(batch),
               [promise](const Status& status) { promise->set_value(status); });
    return promise->get_future();
  }

  /// The same, with the options of the database.
  Status CreateSubtable(std::string_view name, Subtable** subtable) {
    return CreateSubtable(SubtableOptions{}, name, subtable);
  }

  /// @{
  /// The same on the default sub-table.
  Status Put(const WriteOptions& options, std::string_view key, std::string_view value) {
    return Put(options, nullptr, key, value);
  }
  Status Delete(const WriteOptions& options, std::string_view key) {
    return Delete(options, nullptr, key);
  }
  Status DeleteRange(const WriteOptions& options, std::string_view begin, std::string_view end) {
    return DeleteRange(options, nullptr, begin, end);
  }
  Status Get(const ReadOptions& options, std::string_view key, std::string* value) {
    return Get(options, nullptr, key, value);
  }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) {
    return NewIterator(options, nullptr);
  }
  RangeSize ApproximateSize(std::string_view begin, std::string_view end) {
    return ApproximateSize(nullptr, begin, end);
  }
  Status GetProperty(std::string_view name, std::string* value) {
    return GetProperty(nullptr, name, value);
  }
  /// @}
};

}  // namespace sluice
