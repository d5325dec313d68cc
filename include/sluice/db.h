// The Sluice storage engine: sorted sub-tables of keys and values, kept in LSM trees.
//
//   sluice::Options options;
//   options.create_if_missing = true;
//   std::unique_ptr<sluice::DB> db;
//   sluice::Status status = sluice::DB::Open(options, "/data/db", &db);
//   if (status.ok()) status = db->Put({}, "key", "value");
//   std::string value;
//   if (status.ok()) status = db->Get({}, "key", &value);
//
// Keys and values are any bytes, keys up to 64 KiB - 1, values up to 1 GiB; keys are ordered
// bytewise.
//
// Thread-safe, but for Close and the destructor, which come last: iterators are destroyed and
// snapshots released, and transactions ended, before. Reads take no lock. A write that returned is
// read by every read that begins after it, and survives the process; with WriteOptions::sync it
// survives a loss of power.
//
// Where a call takes a `Subtable*`, null is the default sub-table, which every database has.
//
// Errors, of all calls: InvalidArgument (a misuse, described), Corruption (stored bytes are not
// what they must be: file and offset named), IoError, Busy. After an error of the background work
// or of the log every write fails with it until the database is opened again; reads go on.
//
// But NoSpace passes. While the device is full, writes fail with it, and have no effect; reads go
// on, and so do deletions and what makes space: DropSubtable, CompactRange. For those the database
// keeps a reserve of 4 MiB, of less with small log segments, which it takes again when there is
// space. Then writing goes on.

#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/iterator.h"
#include "sluice/listener.h"
#include "sluice/options.h"
#include "sluice/statistics.h"
#include "sluice/status.h"
#include "sluice/transaction.h"
#include "sluice/write_batch.h"

namespace sluice {

// A sub-table: an LSM tree of its own within the database (X-Engine 2). Handles belong to the
// database and live until it is closed, those of dropped sub-tables too.
class Subtable {
 public:
  Subtable() = default;
  Subtable(const Subtable&) = delete;
  Subtable& operator=(const Subtable&) = delete;
  virtual ~Subtable() = default;

  virtual const std::string& name() const = 0;
  virtual uint32_t id() const = 0;  // never given twice in one database
};

// A state of the whole database that reads can go back to; keeps old versions from being dropped.
class Snapshot {
 public:
  Snapshot() = default;
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  virtual ~Snapshot() = default;

  virtual uint64_t sequence() const = 0;
};

inline constexpr std::string_view kDefaultSubtable = "default";
inline constexpr size_t kMaxKeyBytes = (64 << 10) - 1;
inline constexpr size_t kMaxValueBytes = size_t{1} << 30;

// What DB::Repair saved, and what it could not.
struct RepairReport {
  uint64_t extents = 0;             // that the metadata names
  uint64_t extents_damaged = 0;     // of them, those with records that are lost
  uint64_t records_saved = 0;       // newest versions in extents
  uint64_t records_lost = 0;        // in extents; some may be older than others that were saved
  uint64_t log_writes_saved = 0;    // writes that only the log had
  uint64_t prepared_saved = 0;      // transactions
  std::vector<std::string> losses;  // a line for each: what, which keys, why
};

using WriteCallback = std::function<void(const Status&)>;

class DB {
 public:
  // Opens the database in directory `path`, recovering what its log holds. NotFound if there is
  // none and create_if_missing is false; Busy if it is open elsewhere; InvalidArgument if a
  // database is to be made in a directory that is not empty, or if a directory of level_paths is
  // not empty and not this database's: nothing in it is touched then. Costs: reads the log's tail,
  // and of extents only what the metadata log says.
  static Status Open(const Options& options, const std::string& path, std::unique_ptr<DB>* db);
  // Removes the database in `path` and all its files, those in level_paths too; ok if there is
  // none. What is not the database's stays. InvalidArgument, and nothing is removed, if there is
  // something else in `path`, or another database's extents in one of level_paths. What a crash
  // leaves of it may be given to Destroy again, or to Open with create_if_missing.
  static Status Destroy(const Options& options, const std::string& path);
  // Saves what can be read of the database in `path`, whether it can be opened or not, as a new
  // database in `to`, which must not exist. The one in `path` is only read, and must be open
  // nowhere. Of each key the newest version that can be read is saved: where a newer one is lost,
  // an older one may be back, within the keys that `report->losses` names. Ok if the new database
  // is whole, however little it holds; Corruption if not even the metadata say what there is.
  // `options`: of the new database; level_paths: of the one in `path`.
  static Status Repair(const Options& options, const std::string& path, const std::string& to,
                       RepairReport* report);

  DB() = default;
  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;
  // Closes, and forgets how that went.
  virtual ~DB() = default;

  // Ends background work and syncs the log; memtables stay in the log, to be recovered by the next
  // Open. The first error met is returned.
  virtual Status Close() = 0;

  // InvalidArgument if there is one of this name, or if the name is empty.
  virtual Status CreateSubtable(std::string_view name, Subtable** subtable) = 0;
  // Its keys are gone at once; its space is given back when nobody reads it any more. The default
  // sub-table cannot be dropped.
  virtual Status DropSubtable(Subtable* subtable) = 0;
  virtual std::vector<Subtable*> ListSubtables() = 0;
  // Null if there is none.
  virtual Subtable* FindSubtable(std::string_view name) = 0;

  // An empty batch writes nothing; with `sync` it makes durable what was written before.
  virtual Status Write(const WriteOptions& options, const WriteBatch& batch) = 0;
  // Returns as soon as the write is in line, and calls `callback` when Write would return: once,
  // from a thread of the database or of another writer, so it must neither block nor write. What
  // one thread writes takes effect in the order of its calls, though callbacks may overtake each
  // other. A thread can have any number of writes under way; the call waits only while 64 MiB are,
  // or while 32 KiB of a write queue have no place in the log yet. It writes its own batch, with
  // those that come in at the same moment, and leaves the others to a thread of the database.
  virtual void WriteAsync(const WriteOptions& options, WriteBatch batch,
                          WriteCallback callback) = 0;
  virtual Status Put(const WriteOptions& options, Subtable* subtable, std::string_view key,
                     std::string_view value) = 0;
  virtual Status Delete(const WriteOptions& options, Subtable* subtable, std::string_view key) = 0;
  // Deletes the keys from `begin` to below `end` that there are as the call begins, one by one, in
  // batches: not atomic. Costs a scan and a delete each.
  virtual Status DeleteRange(const WriteOptions& options, Subtable* subtable,
                             std::string_view begin, std::string_view end) = 0;

  // NotFound if there is no such key.
  virtual Status Get(const ReadOptions& options, Subtable* subtable, std::string_view key,
                     std::string* value) = 0;
  // As of one state. values[i] is only set where the status is ok.
  virtual std::vector<Status> MultiGet(const ReadOptions& options, Subtable* subtable,
                                       const std::vector<std::string_view>& keys,
                                       std::vector<std::string>* values) = 0;
  // Never null; errors are in its status.
  virtual std::unique_ptr<Iterator> NewIterator(const ReadOptions& options, Subtable* subtable) = 0;

  // Never null; destroyed before the database is closed.
  virtual std::unique_ptr<Transaction> BeginTransaction(const TransactionOptions& options,
                                                        const WriteOptions& write_options) = 0;
  // Names of the transactions that are prepared, and not resolved.
  virtual std::vector<std::string> ListPrepared() = 0;
  // To commit it or to roll it back. NotFound; Busy if another Transaction is there for it.
  virtual Status ResumeTransaction(std::string_view name, const WriteOptions& write_options,
                                   std::unique_ptr<Transaction>* transaction) = 0;

  virtual const Snapshot* GetSnapshot() = 0;
  virtual void ReleaseSnapshot(const Snapshot* snapshot) = 0;

  // Writes the memtables of one sub-table to level 0, and waits for that.
  virtual Status Flush(Subtable* subtable) = 0;
  // Merges all that the keys from `begin` to below `end` (empty: no bound) have in any level into
  // the last one, and waits for that.
  virtual Status CompactRange(Subtable* subtable, std::string_view begin, std::string_view end) = 0;
  // Waits until no flush or compaction is due or under way.
  virtual Status WaitForBackgroundWork() = 0;

  // A consistent copy, open-able by itself, in the directory `path`, which must not exist. Writes
  // go on meanwhile. Costs a check and a copy of all live extents; Corruption if one is damaged.
  virtual Status CreateCheckpoint(const std::string& path) = 0;

  virtual Statistics GetStatistics() = 0;
  // One of its numbers, or a text, by name, as RocksDB's users know them. N is 0, 1 or 2. Of a
  // sub-table:
  //   sluice.num-files-at-levelN, sluice.num-runs-at-levelN, sluice.bytes-at-levelN
  //   sluice.levelstats                     those of all levels, a line for each
  //   sluice.estimate-num-keys              records of all levels, less two for each tombstone
  //   sluice.live-data-size                 bytes of all levels
  //   sluice.cur-size-all-mem-tables, sluice.num-immutable-mem-table
  // Of the database:
  //   sluice.stats                          Statistics::ToString
  //   sluice.block-cache-usage, sluice.row-cache-usage, sluice.table-cache-usage, and -capacity
  //   sluice.transaction-memory-usage, and -capacity: of writes and locks of all transactions
  //   sluice.prepared-log-bytes             of the log, from where the oldest prepared one keeps it
  //   sluice.latest-sequence-number, sluice.stall-micros, sluice.write-amplification
  // InvalidArgument for any other. Costs a GetStatistics.
  virtual Status GetProperty(Subtable* subtable, std::string_view name, std::string* value) = 0;
  // Reads all extents and checks all there is to check; progress may be null. The first fault found
  // is the result, the file and offset named.
  virtual Status Verify(const std::function<void(uint64_t done, uint64_t total)>& progress) = 0;

  std::future<Status> WriteAsync(const WriteOptions& options, WriteBatch batch) {
    const auto promise = std::make_shared<std::promise<Status>>();
    WriteAsync(options, std::move(batch),
               [promise](const Status& status) { promise->set_value(status); });
    return promise->get_future();
  }

  // On the default sub-table.
  Status Put(const WriteOptions& options, std::string_view key, std::string_view value) {
    return Put(options, nullptr, key, value);
  }
  Status Delete(const WriteOptions& options, std::string_view key) {
    return Delete(options, nullptr, key);
  }
  Status Get(const ReadOptions& options, std::string_view key, std::string* value) {
    return Get(options, nullptr, key, value);
  }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) {
    return NewIterator(options, nullptr);
  }
  Status GetProperty(std::string_view name, std::string* value) {
    return GetProperty(nullptr, name, value);
  }
};

}  // namespace sluice
