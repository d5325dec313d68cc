// What the parts of an open database share: its files and caches, its tree and how that changes,
// and its errors.
//
// Locks, in the order they are taken: ExclusiveWrites, metadata_mutex (changes of the tree: durable
// first, then visible), mutex (what is due and under way). Readers take none. ExclusiveWrites is
// held to change a sub-table's active memtable or the set of sub-tables. The write pipeline's log
// buffering stage needs no lock for what only it uses.

#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/cache.h"
#include "cache/row_cache.h"
#include "compaction/record_packer.h"
#include "db/backlog.h"
#include "db/compaction_schedule.h"
#include "db/directories.h"
#include "db/full_device.h"
#include "db/snapshots.h"
#include "db/state_mutex.h"
#include "db/subtable_registry.h"
#include "log/redo_log.h"
#include "offload/driver.h"
#include "sluice/db.h"
#include "tree/extent_reader.h"
#include "tree/extent_space.h"
#include "tree/metadata_log.h"
#include "tree/table_cache.h"
#include "txn/transactions.h"
#include "util/fork_mark.h"
#include "util/mutex.h"
#include "util/rate_limiter.h"

namespace sluice {

// There is one for each database: its members are in the order in which they are read, not packed.
struct DbState {  // NOLINT(clang-analyzer-optin.performance.Padding)
  struct Counters {
    std::atomic<uint64_t> user_bytes{0};
    std::atomic<uint64_t> flush_bytes{0};
    std::atomic<uint64_t> compaction_bytes_read{0};
    std::atomic<uint64_t> compaction_bytes_written{0};
    std::atomic<uint64_t> compaction_cpu_microseconds{0};  // of threads that compact
    std::atomic<uint64_t> extents_reused{0};
    std::atomic<uint64_t> blocks_copied{0};
    std::atomic<uint64_t> flushes{0};
    std::atomic<uint64_t> ingestion_bytes{0};
    std::atomic<uint64_t> compactions_abandoned{0};
    std::array<std::atomic<uint64_t>, kCompactionKinds> compactions{};
    std::atomic<uint64_t> range_cuts{0};
    std::atomic<uint64_t> cut_extents{0};
    std::atomic<uint64_t> cut_records{0};
    std::atomic<uint64_t> stall_microseconds{0};
  };

  DbState(const Options& options, std::string path);
  DbState(const DbState&) = delete;
  DbState& operator=(const DbState&) = delete;

  // How new extents of a level of the sub-table are written, and where. Whoever writes any asks here:
  // flushes, compactions, ingestions and imports.
  RunFormat FormatOf(const SubtableImpl& subtable, uint32_t level) const;
  // Whether any level lies elsewhere than in the database's own directory.
  bool HasTiers() const { return tier_of_level != std::array<size_t, kLevels>{}; }
  MemtablePtr NewMemtable() {
    return std::make_shared<MemtableInfo>(options.memtable_bytes, backlog.memory());
  }
  // InvalidArgument if the database is opened read-only; Busy if it is closed, or a parent's.
  Status CheckWritable() const;
  template <typename F>
  void Tell(const F& call) {
    for (const auto& listener : options.listeners) {
      call(*listener);
    }
  }

  // Stops all writes until the database is opened again. NoSpace does not: it calls MakeSpace.
  void SetBackgroundError(const Status& status);
  Status BackgroundError();
  // Something failed with `status`, NoSpace: gives up what space can be spared. True if there was
  // some, so that it may be tried again at once; else the flush thread tries until there is space.
  bool MakeSpace(const Status& status, FullDevice::Need need = FullDevice::Need::kOther);
  // A compaction failed so, and takes what there is for compactions: no writes add to what is to be
  // compacted before that is there again.
  void SetFull(const Status& status);
  // If that has just been decided, tells it, and looks for compactions again: some are due only now.
  void TellIfFull();
  // After MakeSpace had nothing to give up: a flush or compaction that is under way may have taken it
  // a moment ago, and gives more back. Waits until one of them ends, if there is one. True if another
  // attempt may find space: one was waited for, or might have ended before (`*tried`, false at
  // first). Called without the metadata mutex.
  bool WaitForSpace(bool* tried);
  // To be called before the reserve is filled for the first time: how much there is to be.
  void PlanReserve();
  // To be called after flushes.
  void GrowReserve();
  // Fills what was given up on a full device (FullDevice::Fill), if need be with space that the
  // metadata gives back.
  Status FillReserve();
  // No memtable waits for a flush, nor is there one under way.
  bool IsAllFlushed(const StateLock& lock) const SLUICE_REQUIRES(mutex);
  // Whether some may be, and they find space as far as is known.
  bool CompactionsDue(const StateLock& lock) const SLUICE_REQUIRES(mutex);

  // Writes the metadata anew if that gives space back: whether it has. Other errors than NoSpace are
  // background errors. Called with the metadata mutex, as ApplyMetadata.
  bool RewriteMetadata();
  // The only way to change the metadata once the database is open.
  Status ApplyMetadata(const MetadataEdit& edit);
  // As ApplyMetadata, for edits that a database does without while the device is full: they take
  // nothing of what is reserved for others, but for the metadata's own that they would need, too.
  Status ApplyGrowth(const MetadataEdit& edit);
  // As ApplyMetadata, for edits of sub-tables; any error but NoSpace is a background error.
  Status ApplyOrMakeSpace(const MetadataEdit& edit);
  // Makes the edit durable, then visible in the sub-table's version, which `change` adjusts.
  Status ApplyEdit(SubtableImpl* subtable, MetadataEdit* edit,
                   const std::function<void(Version*)>& change);
  // To be called when an edit has taken effect, before what it removed comes free.
  void NoteSpace(const StateLock& lock) SLUICE_REQUIRES(mutex);
  // Without memory the process ends: by half, flushes would be waited for that never come.
  void InstallVersion(const StateLock& lock, SubtableImpl* subtable,
                      const Version* version) noexcept;
  // A new active memtable for the sub-table. Called with ExclusiveWrites.
  void SwitchMemtable(const StateLock& lock, SubtableImpl* subtable) SLUICE_REQUIRES(mutex);
  // So that what memtables need no longer can go: the log begins a segment if the last was ended.
  // Called with ExclusiveWrites.
  void BeginLogSegment(const StateLock& lock) SLUICE_REQUIRES(mutex);
  // Has the sub-table checked for a due compaction, and wakes all who wait for a change.
  void Recheck(const StateLock& lock, SubtableImpl* subtable);
  // Adds `more` (1 or -1) to those who need the log as it is: none of it is released meanwhile.
  void HoldLog(int more) {
    const MutexLock lock(metadata_mutex);
    log_holders += more;
  }
  // The position from which on the log is needed.
  LogPosition LogStart();

  const ForkMark made;
  const Options options;
  const std::string path;
  Env* const env;
  std::array<size_t, kLevels> tier_of_level{};  // by Options::level_paths

  // In order of dependence: later ones use earlier ones.
  HomeDir home;
  FullDevice full;
  std::vector<std::unique_ptr<FileLock>> tier_locks;
  TableCache tables;
  Cache blocks;
  RowCache rows;
  std::unique_ptr<ExtentSpace> space;
  std::unique_ptr<MetadataLog> metadata;
  std::unique_ptr<RedoLog> log;  // null if the database is opened read-only
  std::unique_ptr<OffloadDriver> driver;
  ExtentReader reader;
  // After so many flushes nothing is left of the accesses that extents have counted.
  std::atomic<uint32_t> flushes_to_cool{0};

  std::atomic<uint64_t> next_number{1};
  std::atomic<SequenceNumber> visible{0};
  // The last one that a write has got since the database was opened.
  std::atomic<SequenceNumber> given_sequence{0};
  Snapshots snapshots{&visible};
  Counters counters;
  RateLimiter limiter{options.background_bytes_per_second};  // of flushes and compactions
  Transactions transactions;

  // Used by log buffering, or with ExclusiveWrites held.
  SequenceNumber last_sequence = 0;
  LogPosition log_end = 0;  // after the last record

  Mutex metadata_mutex;
  // Checkpoints under way, and recovery, which need the log as it is.
  int log_holders SLUICE_GUARDED_BY(metadata_mutex) = 0;

  StateMutex mutex;
  CondVar work;     // there may be work
  CondVar changed;  // some work is done
  SubtableRegistry subtables;
  Backlog backlog{options};
  CompactionSchedule schedule{options, snapshots};
  // The version of all sub-tables that are dropped and have no options of their own: their handles
  // stay. Null before the first.
  std::shared_ptr<const Version> dropped SLUICE_GUARDED_BY(mutex);
  // Records before this position of the log have reached their memtables.
  LogPosition settled SLUICE_GUARDED_BY(mutex) = 0;
  Status background_error SLUICE_GUARDED_BY(mutex);
  // Flushes under way, compactions that need the reserve meanwhile, and how many of both have ended.
  size_t flushing SLUICE_GUARDED_BY(mutex) = 0;
  size_t using_reserve SLUICE_GUARDED_BY(mutex) = 0;
  uint64_t space_users_ended SLUICE_GUARDED_BY(mutex) = 0;
  double most_space_amplification SLUICE_GUARDED_BY(mutex) = 0;  // as in Statistics
  // NoSpace while automatic compactions fail for want of space.
  Status compactions_full SLUICE_GUARDED_BY(mutex);
  std::atomic<bool> failed{false};  // background_error is set
  std::atomic<bool> stopping{false};
  std::atomic<bool> closing{false};    // writers are no longer stopped
  std::atomic<bool> ingesting{false};  // an ingestion is under way (ingestion.h)
};

}  // namespace sluice
