// Opening, recovery, closing.
//
//   DIR/LOCK, IDENTITY  whose the directory is, and who uses it (directories.h)
//   DIR/CURRENT, meta/  the metadata log (metadata_log.h): sub-tables, extents
//   DIR/log/            the redo log (redo_log.h), its records as batch_format.h says
//   DIR/NNNNNN.data     extents (extent_space.h); further ones in Options::level_paths
//
// Recovery:
//  1. The metadata log says which extents live; their pages are taken, all others are free.
//  2. The redo log is read from where the metadata says, to its end, and begun anew behind it: all
//     that was found is durable then (redo_log.h).
//  3. The log is read again. Records that are not in their sub-table's extents yet go to its
//     memtable, through several threads (replayer.h). Memtables that Backlog would switch are
//     flushed at once. If there is no space for that, all stays in memory, so that a full device
//     can be opened.
//  4. Transactions that were prepared and not resolved are prepared again, with their locks.

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "db/db_impl.h"
#include "db/replayer.h"
#include "offload/driver.h"
#include "tree/subtable_options.h"
#include "util/epoch.h"

namespace sluice {

namespace {

// How much free space a data file keeps at the least, in extents.
constexpr uint64_t kLeastFreeExtents = 8;
constexpr size_t kMostThreads = 1024;
// A memtable has fewer versions than a 32-bit counter can count, of 24 bytes and more each.
constexpr size_t kMostMemtableBytes = size_t{64} << 30;
// The share of write_buffer_bytes that the log's bytes may have that wait to be replayed: tiny
// records take many times as much in memtables.
constexpr size_t kQueuedShare = 32;
// Bounds of Options::max_space_amplification. With less there is no room for a compaction; with
// more the caller has mistaken the unit.
constexpr double kLeastSpaceLimit = 1.1;
constexpr double kMostSpaceLimit = 100;

// No data has as many bytes, nor any level as many runs: what is above is as good as without a limit.
// Cut to that, sums and products of options do not overflow.
constexpr uint64_t kBoundlessBytes = uint64_t{1} << 52;
constexpr size_t kBoundlessRuns = size_t{1} << 20;

void CutBoundless(Options* options) {
  for (uint64_t* const bytes :
       {&options->write_buffer_bytes, &options->l1_bytes, &options->max_log_bytes,
        &options->task_bytes, &options->compaction_bytes}) {
    *bytes = std::min(*bytes, kBoundlessBytes);
  }
  options->l0_compaction_runs = std::min(options->l0_compaction_runs, kBoundlessRuns);
}

Status CheckOptions(const Options& options) {
  const auto none = [](const auto& pointer) { return pointer == nullptr; };
  const auto unknown = [](CompactionKind kind) {
    return static_cast<size_t>(kind) >= kCompactionKinds;
  };
  const std::pair<const char*, bool> in_range[] = {
      {"restart_interval", options.restart_interval > 0},
      {"extent_bytes",
       options.extent_bytes >= kLeastBlockBytes && options.extent_bytes <= kMaxExtentBytes},
      {"memtable_bytes",
       options.memtable_bytes > 0 && options.memtable_bytes <= kMostMemtableBytes},
      {"max_waiting_memtables", options.max_waiting_memtables > 0},
      {"write_buffer_bytes", options.write_buffer_bytes > 0},
      {"transaction_memory_bytes", options.transaction_memory_bytes > 0},
      {"l0_compaction_runs", options.l0_compaction_runs >= 2},
      {"l0_stop_runs",
       options.l0_stop_runs > 0 && options.l0_stop_runs >= options.l0_slowdown_runs},
      {"deletion_share", options.deletion_share >= 0},
      {"max_space_amplification", options.max_space_amplification == 0 ||
                                      (options.max_space_amplification >= kLeastSpaceLimit &&
                                       options.max_space_amplification <= kMostSpaceLimit)},
      {"task_bytes", options.task_bytes > 0},
      {"compaction_bytes", options.compaction_bytes > 0},
      {"compaction_threads",
       options.compaction_threads > 0 && options.compaction_threads <= kMostThreads},
      {"flush_threads", options.flush_threads > 0 && options.flush_threads <= kMostThreads},
      {"write_queues", options.write_queues > 0 && options.write_queues <= kMostThreads},
      {"level_paths", options.level_paths.size() <= kLevels},
      {"log_segment_bytes",
       options.log_segment_bytes >= 4096 && options.log_segment_bytes < uint64_t{1} << 32},
      {"executors", std::none_of(options.executors.begin(), options.executors.end(), none)},
      {"listeners", std::none_of(options.listeners.begin(), options.listeners.end(), none)},
      {"compaction_order",
       std::none_of(options.compaction_order.begin(), options.compaction_order.end(), unknown)},
  };
  const char* bad = nullptr;
  for (const auto& [name, fits] : in_range) {
    bad = bad == nullptr && !fits ? name : bad;
  }
  if (bad == nullptr) {
    bad = OutOfRange(DefaultsOf(options), options.extent_bytes);
  }
  return bad == nullptr ? Status()
                        : Status::InvalidArgument(fmt::format(
                              "Options::{} is out of its range (sluice/options.h)", bad));
}

}  // namespace

DBImpl::~DBImpl() {
  (void)Close();
  writes_.End();
  db_.subtables.Clear();
  db_.metadata.reset();
  EpochDrain();
}

void DBImpl::operator delete(DBImpl* self, std::destroying_delete_t) {
  if (!self->db_.made.IsCopy()) {
    self->~DBImpl();
    ::operator delete(self, std::align_val_t(alignof(DBImpl)));
  }
}

Status DB::Open(const Options& given, const std::string& where, std::unique_ptr<DB>* db) try {
  SLUICE_RETURN_IF_ERROR(CheckOptions(given));
  Options options = given;
  CutBoundless(&options);
  std::string path = where;
  SLUICE_RETURN_IF_ERROR(
      MakeAbsolute(given.env != nullptr ? given.env : Env::Posix(), &options, &path));
  auto opened = std::make_unique<DBImpl>(options, path);
  Status status = opened->Recover();
  while (status.IsNoSpace() && opened->GiveUpReserve()) {
    opened = std::make_unique<DBImpl>(options, path);
    status = opened->Recover();
  }
  SLUICE_RETURN_IF_ERROR(status);
  *db = std::move(opened);
  return {};
} catch (const std::exception& e) {  // no memory, or no thread
  return Status::IoError(fmt::format("{}: cannot be opened: {}", where, e.what()));
}

Status DBImpl::OpenDriver() {
  OffloadOptions offload;
  offload.always = db_.options.always_offload;
  if (!db_.options.failed_task_dir.empty() && !db_.options.read_only) {
    SLUICE_RETURN_IF_ERROR(db_.env->CreateDir(db_.options.failed_task_dir));
    offload.dump_dir = db_.options.failed_task_dir;
  }
  offload.listener = [this](const OffloadEvent& event) {
    if (event.kind == OffloadEvent::Kind::kTaskFailed) {
      db_.Tell([&](EventListener& listener) {
        listener.OnOffloadFailure(
            {.device =
                 fmt::format("{}, unit {}", db_.options.executors[event.unit]->name(), event.unit),
             .reason = event.what,
             .dump = event.dump});
      });
    }
  };
  db_.driver = std::make_unique<OffloadDriver>(db_.options.executors, std::move(offload));
  return {};
}

Status DBImpl::OpenSpace() {
  const auto new_number = [this](uint64_t* number) {
    *number = db_.next_number.fetch_add(1);
    return db_.metadata->Apply({.next_number = *number + 1});
  };
  std::vector<const Extent*> extents;
  FilesInUse in_use;
  const auto find = [&](const Extent& extent) {
    extents.push_back(&extent);
    in_use.emplace(extent.address.file, extent.number);
  };
  for (const auto& [id, subtable] : db_.metadata->state().subtables) {
    for (const auto& [run_id, run] : subtable.runs) {
      RunIndex::Iterator at(run);
      for (at.SeekToFirst(); at.Valid(); at.Next()) {
        find(*at.extent());
      }
    }
    for (const auto& [number, use] : subtable.values) {
      find(use.extent->pages);
    }
  }
  TierDirs tiers;
  SLUICE_RETURN_IF_ERROR(
      OpenTiers(db_.options, db_.env, db_.path, db_.home.identity, in_use, new_number, &tiers));
  std::copy(tiers.of_level.begin(), tiers.of_level.end(), db_.tier_of_level.begin());
  db_.tier_locks = std::move(tiers.locks);
  SLUICE_RETURN_IF_ERROR(db_.options.read_only
                             ? ExtentSpace::OpenReadOnly(db_.env, tiers.dirs, &db_.space)
                             : ExtentSpace::Open(db_.env, tiers.dirs, &db_.space));
  if (db_.options.direct_io) {
    SLUICE_RETURN_IF_ERROR(db_.space->BypassPageCache());
  }
  for (const Extent* const extent : extents) {
    SLUICE_RETURN_IF_ERROR(db_.space->Adopt(*extent, &extent->place));
  }
  if (db_.options.read_only) {
    return {};
  }
  if (!db_.home.is_new && db_.full.IsReserveUsed()) {
    // Flushes and compactions that a kill cut short have written what nobody needs.
    db_.space->GiveBackAtOnce();
  }
  return NumberOpen(db_.env, db_.path, tiers, &db_.home.identity);
}

Status DBImpl::OpenMetadata() {
  MetadataEdit first;
  first.database = db_.home.identity.database;
  first.created.push_back({kDefaultSubtableId, std::string(kDefaultSubtable)});
  first.next_number = kHomeDir + 1;
  SLUICE_RETURN_IF_ERROR(
      db_.options.read_only ? MetadataLog::OpenReadOnly(db_.env, db_.path, &db_.metadata)
                            : MetadataLog::Open(db_.env, db_.path,
                                                db_.home.is_new ? &first : nullptr, &db_.metadata));
  const Metadata& state = db_.metadata->state();
  if (state.database != db_.home.identity.database) {
    return Status::Corruption(fmt::format("{}: of database {}, but the metadata is that of {}",
                                          IdentityPath(db_.path), db_.home.identity.database,
                                          state.database));
  }
  db_.next_number = state.next_number;
  return db_.home.identity.state == DirIdentity::State::kWhole || db_.options.read_only
             ? Status()
             : FinishCreation(db_.env, db_.path, &db_.home);
}

Status DBImpl::Recover() {
  SLUICE_RETURN_IF_ERROR(OpenDriver());
  SLUICE_RETURN_IF_ERROR(OpenHome(db_.options, db_.env, db_.path, &db_.home));
  SLUICE_RETURN_IF_ERROR(OpenMetadata());
  SLUICE_RETURN_IF_ERROR(OpenSpace());
  for (const auto& [id, subtable] : db_.metadata->state().subtables) {
    AddSubtable(StateLock(db_.mutex), id, subtable);
  }
  SLUICE_RETURN_IF_ERROR(OpenLog());
  writes_.Start();
  if (db_.options.read_only) {
    return {};
  }
  if (!db_.home.is_new) {
    db_.full.RegainForOpening();  // before flushes take it
  }
  if (const Status status = db_.full.ReserveForMetadata(db_.metadata->whole_bytes());
      !status.ok() && !status.IsNoSpace()) {
    return status;
  }
  db_.PlanReserve();  // what compactions took of a full device must be there again before it is none
  SLUICE_RETURN_IF_ERROR(db_.FillReserve());
  // What one part of a compaction gives back, the next one takes. CompactRange has a thread of its own.
  db_.space->StartGivingBack(kLeastFreeExtents * db_.options.extent_bytes,
                             (1 + db_.options.compaction_threads) * db_.options.compaction_bytes);
  background_.Start();
  return {};
}

Status DBImpl::ReplayLog(LoggedTransactions* prepared) {
  std::map<uint32_t, Replayer::Target> targets;
  SequenceNumber flushed = 0;  // by any sub-table
  for (const auto& [id, subtable] : db_.subtables.all()) {
    const EpochGuard guard;
    const Version& version = subtable->version(guard);
    targets[id] = {version.flushed, &version.active->table};
    flushed = std::max(flushed, version.flushed);
  }
  const std::string dir = db_.path + "/log";
  LogPosition begin = db_.metadata->state().log_start;
  LogPosition held_from = begin;  // earlier log that memtables need is held already
  Replayer replayer(&targets, std::max(1u, std::thread::hardware_concurrency()),
                    db_.options.write_buffer_bytes / kQueuedShare);
  const auto drain = [&](LogPosition now) {
    // The last record replayed, not the last one that some sub-table has flushed: a flush now
    // declares that it has all records up to this number.
    db_.last_sequence = replayer.Drain();
    db_.visible.store(db_.last_sequence);
    const StateLock lock(db_.mutex);
    for (const auto& [id, subtable] : db_.subtables.all()) {
      MemtableInfo& active = *subtable->version(lock).active;
      if (!active.table.empty()) {
        db_.backlog.HoldLog(lock, subtable.get(), &active, held_from);
      }
    }
    held_from = now;
  };
  bool flush = !db_.options.read_only;
  LogContents contents;
  SLUICE_RETURN_IF_ERROR(ReadLog(
      db_.env, dir, begin,
      [&](LogPosition end, std::string_view payload) -> Status {
        if (const Status status = CheckRecord(payload, begin, prepared); !status.ok()) {
          return status.WithContext(fmt::format("{}, record that ends at offset {}",
                                                LogSegmentPath(dir, LogSegment(end)),
                                                LogOffset(end)));
        }
        if (flush && db_.backlog.MustSwitch()) {
          drain(begin);
          const Status flushed = FlushRecovered();
          if (!flushed.ok() && !flushed.IsNoSpace()) {
            return flushed;
          }
          flush = flushed.ok();  // without space, the flush thread tries again later
          for (auto& [id, target] : targets) {
            const StateLock lock(db_.mutex);
            target.memtable = &db_.subtables.all().at(id)->version(lock).active->table;
          }
        }
        begin = end;
        replayer.Add(payload);
        return {};
      },
      &contents, db_.log_end));
  drain(db_.log_end);
  db_.last_sequence = std::max(db_.last_sequence, flushed);
  db_.visible.store(db_.last_sequence);
  return {};
}

Status DBImpl::FlushRecovered() {
  std::vector<SubtableImpl*> chosen;
  {
    const StateLock lock(db_.mutex);
    chosen = db_.backlog.ToSwitch(lock);
    for (SubtableImpl* const subtable : chosen) {
      db_.SwitchMemtable(lock, subtable);
    }
  }
  for (SubtableImpl* const subtable : chosen) {
    SLUICE_RETURN_IF_ERROR(background_.FlushSubtable(subtable, /*limiter=*/nullptr)
                               .WithContext(fmt::format("flush of '{}'", subtable->name())));
    EpochReclaim();
  }
  return {};
}

Status DBImpl::OpenLog() {
  const std::string dir = db_.path + "/log";
  if (!db_.options.read_only) {
    SLUICE_RETURN_IF_ERROR(db_.env->CreateDir(dir));
  }
  LogContents contents;
  if (db_.options.read_only && db_.metadata->state().log_start == 0 &&
      db_.env->FileExists(dir).IsNotFound()) {
    return {};  // the database was created, and no more
  }
  SLUICE_RETURN_IF_ERROR(ReadLog(
      db_.env, dir, db_.metadata->state().log_start,
      [](LogPosition, std::string_view) { return Status(); }, &contents));
  LoggedTransactions prepared;
  if (db_.options.read_only) {
    db_.log_end = contents.end;
    SLUICE_RETURN_IF_ERROR(ReplayLog(&prepared));
    SLUICE_RETURN_IF_ERROR(RecoverPrepared(prepared));  // they stay prepared, and invisible
    db_.transactions.memory.SetLimit(db_.options.transaction_memory_bytes);
    return {};
  }
  SLUICE_RETURN_IF_ERROR(RedoLog::Open(
      db_.env, dir,
      {.segment_bytes = db_.options.log_segment_bytes, .most_ahead_bytes = uint64_t{8} << 20},
      contents, &db_.log));
  db_.log_end = db_.log->end();
  // Until all is replayed, flushes do not know which part of the log is needed.
  db_.HoldLog(+1);
  SLUICE_RETURN_IF_ERROR(ReplayLog(&prepared));
  db_.HoldLog(-1);
  SLUICE_RETURN_IF_ERROR(RecoverPrepared(prepared));
  // Only now, because recovered transactions may exceed the limit.
  db_.transactions.memory.SetLimit(db_.options.transaction_memory_bytes);
  const StateLock lock(db_.mutex);
  db_.settled = db_.log->end();
  db_.backlog.SetLogEnd(db_.settled);
  for (const auto& [id, subtable] : db_.subtables.all()) {
    const MemtableInfo& active = *subtable->version(lock).active;
    if (!active.table.empty() && active.table.memory_bytes() >= db_.options.memtable_bytes) {
      db_.SwitchMemtable(lock, subtable.get());
    }
  }
  for (SubtableImpl* const subtable : db_.backlog.ToSwitch(lock)) {
    db_.SwitchMemtable(lock, subtable);
  }
  return {};
}

Status DBImpl::RecoverPrepared(const LoggedTransactions& logged) {
  for (const auto& [name, found] : logged) {
    auto prepared = std::make_shared<PreparedTransaction>(&db_.transactions.memory);
    prepared->name = name;
    prepared->locks =
        std::make_shared<LockTable::Owner>(&db_.transactions.locks, db_.transactions.next_id++);
    std::string_view entries = found.entries;
    bool tracked = true;
    for (BatchEntry entry; ReadEntry(&entries, &entry);) {
      if (entry.type == EntryType::kUntracked) {
        tracked = false;
        continue;
      }
      const bool lock = std::exchange(tracked, true);
      // Its writes to a sub-table that was dropped are gone.
      if (db_.subtables.all().count(entry.subtable) == 0) {
        continue;
      }
      if (bool taken; lock) {
        SLUICE_RETURN_IF_ERROR(db_.transactions.locks.Acquire(
            prepared->locks.get(), entry.subtable, entry.key, LockMode::kExclusive, {}, &taken));
      }
      if (entry.type != EntryType::kLock) {
        AppendWrite(entry, &prepared->writes);
        ++prepared->count;
      }
    }
    prepared->CountMemory();
    const LogPosition begin = found.begin;
    SLUICE_RETURN_IF_ERROR(db_.transactions.prepared.Add(prepared, [begin] { return begin; }));
  }
  return {};
}

Status DBImpl::Close() {
  if (db_.made.IsCopy()) {
    return {};
  }
  if (std::exchange(closed_, true)) {
    return {};
  }
  {
    const StateLock lock(db_.mutex);
    db_.closing = true;
    db_.changed.notify_all();
  }
  writes_.Stop();
  background_.Stop();
  if (db_.space != nullptr) {
    db_.space->Freeze();
  }
  if (db_.log != nullptr) {
    db_.full.Uncover(db_.backlog.UnflushedBytes());
  }
  Status status = db_.BackgroundError();
  if (status.ok() && db_.log != nullptr) {
    status = db_.log->Seal();
  }
  if (status.ok() && db_.log != nullptr) {
    status = db_.metadata->Seal();
  }
  db_.tier_locks.clear();
  db_.home.lock.reset();
  return status;
}

}  // namespace sluice
