// The database: what its parts share, and the threads that work for it.
//
// Locks, in the order they are taken: metadata_mutex_ (changes of the tree: durable first, then
// visible), then mutex_ (what is due and under way); before both, ExclusiveWrites. Readers take
// none. What changes the active memtable of a sub-table, or the set of sub-tables, holds
// ExclusiveWrites; the write pipeline's log buffering stage has what is its own to itself.

#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "cache/cache.h"
#include "cache/row_cache.h"
#include "db/backlog.h"
#include "db/batch_format.h"
#include "db/compaction_job.h"
#include "db/compaction_picker.h"
#include "db/directories.h"
#include "db/flush_job.h"
#include "db/full_device.h"
#include "db/import_leveldb.h"
#include "db/snapshots.h"
#include "db/state_mutex.h"
#include "db/subtable_impl.h"
#include "db/transactions.h"
#include "db/write_pipeline.h"
#include "log/redo_log.h"
#include "offload/driver.h"
#include "sluice/db.h"
#include "table/record_iterator.h"
#include "tree/extent_reader.h"
#include "tree/extent_space.h"
#include "tree/metadata_log.h"
#include "tree/table_cache.h"

namespace sluice {

class DBImpl final : public DB, private WriteStages {
 public:
  using DB::Delete;
  using DB::Get;
  using DB::GetProperty;
  using DB::NewIterator;
  using DB::Put;
  using DB::WriteAsync;

  DBImpl(const Options& options, std::string path);
  ~DBImpl() override;

  // db_open.cc
  Status Recover();
  // For a Recover that failed for want of space: true if another DBImpl may do better.
  bool GiveUpReserve() { return home_.lock != nullptr && !home_.is_new && full_.GiveUp(); }
  Status Close() override;
  Status CreateSubtable(std::string_view name, Subtable** subtable) override;
  Status DropSubtable(Subtable* subtable) override;
  std::vector<Subtable*> ListSubtables() override;
  Subtable* FindSubtable(std::string_view name) override;

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
  const Snapshot* GetSnapshot() override { return snapshots_.Take(); }
  void ReleaseSnapshot(const Snapshot* snapshot) override;

  // db_transactions.cc
  std::unique_ptr<Transaction> BeginTransaction(const TransactionOptions& options,
                                                const WriteOptions& write_options) override;
  std::vector<std::string> ListPrepared() override { return transactions_.prepared.Names(); }
  Status ResumeTransaction(std::string_view name, const WriteOptions& write_options,
                           std::unique_ptr<Transaction>* transaction) override;

  // db_background.cc
  Status Flush(Subtable* subtable) override;
  Status CompactRange(Subtable* subtable, std::string_view begin, std::string_view end) override;
  Status WaitForBackgroundWork() override;

  // db_admin.cc
  Status CreateCheckpoint(const std::string& path) override;
  Statistics GetStatistics() override;
  Status Verify(const std::function<void(uint64_t, uint64_t)>& progress) override;

  // properties.cc
  Status GetProperty(Subtable* subtable, std::string_view name, std::string* value) override;

  // import_leveldb.cc
  Status ImportLevelDb(Subtable* subtable, const std::string& source,
                       const ImportCallback& callback, ImportReport* report);

 private:
  friend class TransactionImpl;

  struct Counters {
    std::atomic<uint64_t> user_bytes{0};
    std::atomic<uint64_t> flush_bytes{0};
    std::atomic<uint64_t> compaction_bytes_read{0};
    std::atomic<uint64_t> compaction_bytes_written{0};
    std::atomic<uint64_t> extents_reused{0};
    std::atomic<uint64_t> blocks_copied{0};
    std::atomic<uint64_t> flushes{0};
    std::atomic<uint64_t> compactions_abandoned{0};
    std::array<std::atomic<uint64_t>, 6> compactions{};
    std::atomic<uint64_t> stall_microseconds{0};
  };

  SubtableImpl* Resolve(Subtable* subtable) const {
    return subtable != nullptr ? static_cast<SubtableImpl*>(subtable) : default_subtable_;
  }
  size_t TierOf(uint32_t level) const { return tier_of_level_[level]; }

  // InvalidArgument if the database is opened read-only.
  Status CheckWritable() const;

  // db_open.cc
  Status OpenDriver();
  Status OpenMetadata();
  Status OpenSpace();
  Status OpenLog();
  Status ReplayLog(LoggedTransactions* prepared);
  // Flushes what Backlog chooses, while nothing else is under way.
  Status FlushRecovered();
  void AddSubtable(const StateLock& lock, uint32_t id, const Metadata::Subtable& metadata);
  void StopThreads();

  // Null if there is none, or it was dropped.
  SubtableImpl* FindSubtable(uint32_t id);
  // An edit of sub-tables; NoSpace is no background error.
  Status ApplyOrMakeSpace(const MetadataEdit& edit);

  // db_write.cc
  Status CheckWrite(const SubtableImpl& subtable, std::string_view key, std::string_view value);
  Status CheckBatch(const WriteBatch& batch);
  Status WriteOne(const WriteOptions& options, const BatchWrite& write);
  // Why the group must not be written now, if it must not.
  Status CheckTaken(const WriteGroup& group);
  Status BufferLog(WriteGroup* group) override;
  Status FlushLog(LogPosition* durable) override;
  bool Insert(const WriteGroup& group) override;
  void Publish(SequenceNumber last) override { visible_.store(last, std::memory_order_release); }
  void SwitchFullMemtables() override;
  void Failed(const Status& status) override { SetBackgroundError(status); }
  // Slows writers down, or holds them, while background work is behind.
  void Admit(size_t bytes) override;
  bool SlowDown(size_t bytes, double pressure);  // false: not yet
  void WaitForRoom();
  MemtablePtr NewMemtable() {
    return std::make_shared<MemtableInfo>(options_.memtable_bytes, backlog_.memory());
  }
  // A new active memtable for the sub-table. Called with ExclusiveWrites.
  void SwitchMemtable(const StateLock& lock, SubtableImpl* subtable);

  // db_read.cc
  // `flushes_seen`: of the sub-table, from before the version was pinned.
  Status GetAt(const Version& version, uint64_t flushes_seen, SubtableImpl* subtable,
               SequenceNumber snapshot, bool fill_cache, std::string_view key, std::string* value);
  Status FindInRuns(const Version& version, std::string_view key, SequenceNumber snapshot,
                    bool fill_cache, BlockMatch* match);
  // The same for what was set aside, which may have a newer version than `*match`.
  Status FindAside(const Version& version, std::string_view internal_key, uint32_t hash,
                   BlockMatch* match);
  // Whether there is a version of the key that `since`, a snapshot that is held, does not see, be
  // it visible yet or not.
  Status ChangedSince(SubtableImpl* subtable, std::string_view key, SequenceNumber since,
                      bool* changed);
  // `newest` (may be null): over all that the sub-table has.
  std::unique_ptr<Iterator> IteratorOver(std::unique_ptr<RecordIterator> newest,
                                         const ReadOptions& options, Subtable* subtable);

  // db_transactions.cc
  // Makes those transactions that the log has as prepared, and not as resolved, prepared again.
  Status RecoverPrepared(const LoggedTransactions& logged);

  // db_background.cc
  void FlushLoop();
  void CompactionLoop();
  Status FlushSubtable(SubtableImpl* subtable);
  // Gives up the log that neither a memtable nor a prepared transaction needs; `prepared` is where
  // the oldest of these began before the log was last synced.
  Status ReleaseLog(LogPosition prepared);
  // Ok, too, when an input could not be read: it is set aside, `*set_aside` says why, and what is
  // left is to be picked again.
  Status Compact(SubtableImpl* subtable, const CompactionPick& pick, Status* set_aside);
  Status RunPick(SubtableImpl* subtable, const CompactionPick& pick, bool reuse,
                 CompactionResult* result);
  Status InstallOutput(SubtableImpl* subtable, const CompactionPick& pick,
                       const CompactionResult& result);
  // Takes the extent, an input of `pick`, out of its level: reads still look into it, compactions
  // go on without it.
  Status SetAside(SubtableImpl* subtable, const CompactionPick& pick, const ExtentPtr& extent,
                  const Status& why);
  // The only way to change the metadata once the database is open.
  Status ApplyMetadata(const MetadataEdit& edit);
  // Makes the edit durable, then visible in the sub-table's version; `change` adjusts that.
  Status ApplyEdit(SubtableImpl* subtable, MetadataEdit* edit,
                   const std::function<void(Version*)>& change);
  void InstallVersion(const StateLock& lock, SubtableImpl* subtable, const Version* version);
  // Whether a compaction of it is due is to be asked, and who waits for something is to look.
  void Recheck(const StateLock& lock, SubtableImpl* subtable);
  LogPosition LogStart();
  void SetBackgroundError(const Status& status);
  // `status` is NoSpace: gives up what can be spared. True if there was something, so that the same
  // may be tried again at once; else the flush thread tries until there is space.
  bool MakeSpace(const Status& status);
  Status BackgroundError();
  ExtentFormat MakeExtentFormat() const {
    return {options_.extent_bytes, options_.compression, options_.bloom_bits_per_key};
  }

  // import_leveldb.cc
  // InvalidArgument if anything was ever written to it. Called with ExclusiveWrites.
  Status CheckUntouched(const SubtableImpl& subtable);
  // The extents become `run` of the sub-table, all at once.
  Status Adopt(SubtableImpl* subtable, const RunId& run, const std::vector<Extent>& extents,
               SequenceNumber last_sequence);

  template <typename F>
  void Tell(const F& call) {
    for (const auto& listener : options_.listeners) {
      call(*listener);
    }
  }

  const Options options_;
  const std::string path_;
  Env* const env_;
  std::array<size_t, kLevels> tier_of_level_{};

  // In the order in which they need each other.
  HomeDir home_;
  FullDevice full_;
  std::vector<std::unique_ptr<FileLock>> tier_locks_;
  TableCache tables_;
  Cache blocks_;
  RowCache rows_;
  std::unique_ptr<ExtentSpace> space_;
  std::unique_ptr<MetadataLog> metadata_;
  std::unique_ptr<RedoLog> log_;
  std::unique_ptr<OffloadDriver> driver_;
  ExtentReader reader_;

  std::atomic<uint64_t> next_number_{1};
  std::atomic<SequenceNumber> visible_{0};
  Snapshots snapshots_{&visible_};
  Counters counters_;
  Transactions transactions_;

  // Of log buffering and of who holds ExclusiveWrites.
  SequenceNumber last_sequence_ = 0;
  LogPosition log_end_ = 0;  // behind the last record
  std::string record_;

  std::mutex room_mutex_;  // taken before all others: writers that are held come in turn
  std::atomic<size_t> slowed_down_{0};  // writers, asleep

  std::mutex metadata_mutex_;
  size_t checkpoints_ = 0;  // under way: they need the log as it is; under metadata_mutex_

  StateMutex mutex_;
  std::condition_variable work_;     // there may be some
  std::condition_variable changed_;  // some is done
  // By id. Changed with ExclusiveWrites, under mutex_ and directory_mutex_: whoever holds one of
  // the three may look; the pipeline's stages look without.
  std::map<uint32_t, std::unique_ptr<SubtableImpl>> subtables_;
  std::map<std::string, SubtableImpl*, std::less<>> names_;  // likewise
  std::shared_mutex directory_mutex_;                        // the last that is taken
  std::vector<std::unique_ptr<SubtableImpl>> dropped_;  // handles stay until the database is closed
  // By id: those that a compaction may be due in, for something has changed since it was last
  // asked.
  std::map<uint32_t, SubtableImpl*> unchecked_;
  std::map<uint32_t, SubtableImpl*> held_back_subtables_;  // by id: one is due but for a snapshot
  size_t working_ = 0;                                     // flushes and compactions under way
  SubtableImpl* default_subtable_ = nullptr;
  Backlog backlog_{options_};
  LogPosition settled_ = 0;  // what the log has before is in memtables; under mutex_
  Status background_error_;
  // NoSpace while automatic compactions fail for it; the next one is tried then.
  Status compactions_full_;
  std::atomic<bool> stuck_{false};  // and so many are due that nothing may be written
  FullDevice::Clock::time_point next_compaction_{};
  std::atomic<bool> failed_{false};  // background_error_ is set
  // Once the oldest snapshot is at least this, some sub-table has a compaction due that has none
  // before.
  std::atomic<SequenceNumber> held_back_{kMaxSequence};
  std::atomic<bool> stopping_{false};
  bool closing_ = false;  // writers are held no longer; under mutex_
  bool closed_ = false;
  std::vector<std::thread> threads_;
  std::unique_ptr<WritePipeline> writes_;  // the last: its end needs all the rest
};

}  // namespace sluice
