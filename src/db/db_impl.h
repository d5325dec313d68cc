// The database: the public interface over the write path, the read path, background work and the
// sub-tables there are.

#pragma once

#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "db/background_work.h"
#include "db/db_state.h"
#include "db/import_leveldb.h"
#include "db/ingestion.h"
#include "db/write_path.h"
#include "sluice/db.h"
#include "table/record_iterator.h"
#include "txn/transaction_store.h"
#include "txn/transactions.h"
#include "write/batch_format.h"

namespace sluice {

class DBImpl final : public DB, private TransactionStore {
 public:
  using DB::ApproximateSize;
  using DB::CreateSubtable;
  using DB::Delete;
  using DB::DeleteRange;
  using DB::Get;
  using DB::GetProperty;
  using DB::NewIterator;
  using DB::Put;
  using DB::WriteAsync;

  DBImpl(const Options& options, std::string path) : db_(options, std::move(path)) {}
  ~DBImpl() override;
  // Leaves a copy that a fork has made as it is: its threads are not there to be joined, and log and
  // data are the parent's.
  static void operator delete(DBImpl* self, std::destroying_delete_t);

  // db_open.cc
  Status Recover();
  // Gives up a part of the reserve for a Recover that failed with NoSpace: true if another DBImpl
  // may succeed.
  bool GiveUpReserve() {
    return db_.home.lock != nullptr && !db_.home.is_new && db_.full.GiveUpForOpening();
  }
  Status Close() override;

  // db_subtables.cc
  Status CreateSubtable(const SubtableOptions& options, std::string_view name,
                        Subtable** subtable) override;
  Status DropSubtable(Subtable* subtable) override;
  Status SetSubtableOptions(Subtable* subtable, const SubtableOptions& options) override;
  SubtableOptions GetSubtableOptions(Subtable* subtable) override {
    return Resolve(subtable)->format()->own;
  }
  std::vector<Subtable*> ListSubtables() override { return db_.subtables.List(); }
  Subtable* FindSubtable(std::string_view name) override { return db_.subtables.Find(name); }

  // db_write.cc
  Status Write(const WriteOptions& options, const WriteBatch& batch) override;
  void WriteAsync(const WriteOptions& options, WriteBatch batch, WriteCallback callback) override;
  Status Put(const WriteOptions& options, Subtable* subtable, std::string_view key,
             std::string_view value) override;
  Status Delete(const WriteOptions& options, Subtable* subtable, std::string_view key) override;
  Status DeleteRange(const WriteOptions& options, Subtable* subtable, std::string_view begin,
                     std::string_view end) override;

  // db_read.cc
  Status Get(const ReadOptions& options, Subtable* subtable, std::string_view key,
             std::string* value) override;
  std::vector<Status> MultiGet(const ReadOptions& options, Subtable* subtable,
                               const std::vector<std::string_view>& keys,
                               std::vector<std::string>* values) override;
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options, Subtable* subtable) override {
    return IteratorOver(nullptr, options, subtable);
  }

  // range_size.cc
  RangeSize ApproximateSize(Subtable* subtable, std::string_view begin,
                            std::string_view end) override;

  const Snapshot* GetSnapshot() override { return db_.snapshots.Take(); }
  void ReleaseSnapshot(const Snapshot* snapshot) override;

  // db_ingest.cc
  Status NewIngestion(std::unique_ptr<Ingestion>* ingestion) override;

  // db_transactions.cc
  std::unique_ptr<Transaction> BeginTransaction(const TransactionOptions& options,
                                                const WriteOptions& write_options) override;
  std::vector<std::string> ListPrepared() override { return db_.transactions.prepared.Names(); }
  std::vector<std::string> ListPreparedIn(Subtable* subtable) override;
  Status ResumeTransaction(std::string_view name, const WriteOptions& write_options,
                           std::unique_ptr<Transaction>* transaction) override;

  // db_admin.cc
  Status Flush(Subtable* subtable) override;
  Status CompactRange(Subtable* subtable, std::string_view begin, std::string_view end) override;
  Status WaitForBackgroundWork() override;
  Status CreateCheckpoint(const std::string& path) override;
  Status Verify(const std::function<void(uint64_t, uint64_t)>& progress) override;

  // statistics.cc
  Statistics GetStatistics() override;

  // properties.cc
  Status GetProperty(Subtable* subtable, std::string_view name, std::string* value) override;

  // db_subtables.cc
  // Attempts at CreateSubtable, SetSubtableOptions and DropSubtable.
  Status Create(const SubtableOptions& options, std::string_view name, Subtable** subtable);
  Status SetOptions(SubtableImpl* target, const SubtableOptions& options);
  Status Drop(SubtableImpl* target);

  // import_leveldb.cc
  Status ImportLevelDb(Subtable* subtable, const std::string& source,
                       const ImportCallback& callback, ImportReport* report);

 private:
  // TransactionStore
  SubtableImpl* Resolve(Subtable* subtable) const override {
    return db_.subtables.Resolve(subtable);
  }
  SubtableImpl* FindSubtable(uint32_t id) override { return db_.subtables.Find(id); }
  Status CheckWritable() const override { return db_.CheckWritable(); }
  Status CheckWrite(const Subtable& subtable, std::string_view key,
                    std::string_view value) const override;
  std::unique_ptr<Iterator> IteratorOver(std::unique_ptr<RecordIterator> newest,
                                         const ReadOptions& options, Subtable* subtable) override;
  Status ChangedSince(Subtable* subtable, std::string_view key, SequenceNumber since,
                      bool* changed) override;
  Status RangeChangedSince(Subtable* subtable, std::string_view begin, std::string_view end,
                           SequenceNumber since, bool* changed) override;
  LogPosition LogEnd() const override { return db_.log->end(); }
  Status WriteRecord(std::string_view record, uint32_t count, bool sync) override {
    return writes_.Write(record, count, sync);
  }
  void WriteRecordAsync(std::string record, uint32_t count, bool sync,
                        WriteCallback callback) override {
    writes_.WriteAsync(std::move(record), count, sync, std::move(callback));
  }

  // db_open.cc
  Status OpenDriver();
  Status OpenMetadata();
  Status OpenSpace();
  Status OpenLog();
  Status ReplayLog(LoggedTransactions* prepared);
  // Flushes what Backlog chooses, while nothing else is under way.
  Status FlushRecovered();
  // Prepares again the transactions that the log has as prepared, and not as resolved.
  Status RecoverPrepared(const LoggedTransactions& logged);

  // db_subtables.cc
  void AddSubtable(const StateLock& lock, uint32_t id, const Metadata::Subtable& metadata);

  // db_write.cc
  Status CheckBatch(const WriteBatch& batch);
  Status WriteOne(const WriteOptions& options, const BatchWrite& write);

  // db_admin.cc
  // The newest memtable that waits for its flush, once the active one does, too, if it has records;
  // null if none waits. InvalidArgument if the sub-table is not live. Called with ExclusiveWrites.
  Status SwitchToFlush(SubtableImpl* subtable, MemtablePtr* newest);
  // A checkpoint in a new directory, whose creation begins with it.
  Status CopyTo(const std::string& path, HomeDir* home);

  // db_read.cc
  // Where a Get looks, and what it may see.
  struct View {
    SubtableImpl* subtable;
    uint64_t flushes_seen;  // the sub-table's, read before the version was pinned
    const Version& version;
    SequenceNumber snapshot;
    bool fill_cache;
  };
  struct Lookup {
    std::string_view key;
    std::string* value;
    size_t number = 0;          // of MultiGet's keys
    bool in_memtables = false;  // they have a version or a range deletion of it
  };
  // A Get is the first, and if that returns false, the second.
  static bool GetFromMemory(const View& view, const RowCache& rows, Lookup* lookup, Status* status);
  // `reads`, if not null, puts the Get off if it wants a block.
  Status GetFromRuns(const View& view, const Lookup& lookup, BlockReads* reads);
  struct RunMatch : BlockMatch {
    const Extent* extent = nullptr;  // that it is in
  };
  // Heeds the cuts, too.
  Status FindInRuns(const View& view, std::string_view key, BlockReads* reads, RunMatch* match);
  // Credits a read that looked into several runs with `bytes` of compaction.
  void Pay(SubtableImpl* subtable, uint64_t bytes);
  // As FindInRuns, in extents that were set aside; they may have a newer version than `*match`.
  // What is older than `cut` may be looked for or not.
  Status FindAside(const Version& version, std::string_view internal_key, uint32_t hash,
                   SequenceNumber cut, RunMatch* match);

  // import_leveldb.cc
  // InvalidArgument if anything was ever written to it. Called with ExclusiveWrites.
  Status CheckUntouched(const SubtableImpl& subtable) const;
  // The extents become all of the sub-table.
  Status Adopt(SubtableImpl* subtable, std::vector<Extent> extents, SequenceNumber last_sequence);

  // db_ingest.cc
  // What an ingestion's Commit does, once its extents are durable.
  Status Ingest(const std::vector<IngestedRun>& runs, SequenceNumber sequence);
  // Each run becomes the newest of its sub-table, all at once; the next write gets a sequence number
  // above `sequence`, which none of the records exceeds. After NoSpace nothing has changed, other
  // errors are background errors. Called with ExclusiveWrites. REQUIRES: no memtable of the
  // sub-tables has any record; none is dropped.
  Status Install(const std::vector<IngestedRun>& runs, SequenceNumber sequence);
  // What follows for the same runs once the metadata has them.
  void Show(const std::vector<IngestedRun>& runs, SequenceNumber sequence);

  DbState db_;
  BackgroundWork background_{&db_};
  WritePath writes_{&db_};  // last: its destructor needs all the rest
  bool closed_ = false;
};

}  // namespace sluice
