// Opening, recovery, closing, and the sub-tables there are.
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
//  3. It is read again. Of each sub-table, records that are not in its extents yet go to its
//     memtable; several threads do that, each for some of the sub-tables. When the memtables hold
//     as much as Backlog lets them before they stop being written, they are flushed, on the spot.
//     Where there is no space for that, all stays in memory: a full device can be opened.
//  4. Transactions that the log has as prepared and not as resolved are so again, with their locks.

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "db/db_impl.h"
#include "db/replayer.h"
#include "offload/executors.h"
#include "util/epoch.h"

namespace sluice {

namespace {

// Free space that stays in a data file, in extents.
constexpr uint64_t kSlackExtents = 8;
constexpr uint32_t kMaxExtentBytes = uint32_t{1} << 30;
// Ids of sub-tables are never given twice.
constexpr uint32_t kMaxSubtables = ~uint32_t{0};

// For both logs, when the database is opened and when deletions and their flush need space; a part
// of it is for the redo log and less where that has small segments.
constexpr uint64_t kReserveBytes = uint64_t{512} << 10;

Status CheckOptions(const Options& options) {
  if (options.block_bytes < 64 || options.restart_interval == 0 ||
      options.extent_bytes < options.block_bytes || options.extent_bytes > kMaxExtentBytes ||
      options.memtable_bytes == 0 || options.max_waiting_memtables == 0 ||
      options.write_buffer_bytes == 0 || options.transaction_memory_bytes == 0 ||
      options.l0_compaction_runs < 2 || options.l0_stop_runs == 0 ||
      options.l0_stop_runs < options.l0_slowdown_runs || options.task_bytes == 0 ||
      options.compaction_threads == 0 || options.write_queues == 0 ||
      options.level_paths.size() > kLevels || options.log_segment_bytes < 4096 ||
      options.log_segment_bytes >= uint64_t{1} << 32) {
    return Status::InvalidArgument("an option is out of its range (sluice/options.h)");
  }
  return {};
}

}  // namespace

DBImpl::DBImpl(const Options& options, std::string path)
    : options_(options),
      path_(std::move(path)),
      env_(options.env != nullptr ? options.env : Env::Posix()),
      full_(env_, path_ + "/RESERVE",
            kReserveBytes + std::min(kReserveBytes, 2 * options.log_segment_bytes)),
      tables_(options.table_cache_bytes),
      blocks_(options.block_cache_bytes, options.block_bytes),
      rows_(options.row_cache_bytes),
      reader_(&tables_, &blocks_) {}

DBImpl::~DBImpl() {
  (void)Close();
  subtables_.clear();
  dropped_.clear();
  metadata_.reset();
  EpochDrain();
}

Status DB::Open(const Options& options, const std::string& path, std::unique_ptr<DB>* db) try {
  SLUICE_RETURN_IF_ERROR(CheckOptions(options));
  auto opened = std::make_unique<DBImpl>(options, path);
  Status status = opened->Recover();
  if (status.IsNoSpace() && opened->GiveUpReserve()) {
    opened = std::make_unique<DBImpl>(options, path);
    status = opened->Recover();
  }
  SLUICE_RETURN_IF_ERROR(status);
  *db = std::move(opened);
  return {};
} catch (const std::exception& e) {  // no memory, or no thread
  return Status::IoError(fmt::format("{}: cannot be opened: {}", path, e.what()));
}

Status DBImpl::OpenDriver() {
  const Options::Offload& wanted = options_.offload;
  ExecutorOptions executor;
  const double each = wanted.fault_rate / 4;
  executor.fault = {
      .rates = {.hang = each, .lost_interrupt = each, .bus_error = each, .wrong_result = each},
      .seed = wanted.fault_seed};
  OffloadOptions offload;
  if (!wanted.replay_dump_dir.empty() && !options_.read_only) {
    SLUICE_RETURN_IF_ERROR(env_->CreateDir(wanted.replay_dump_dir));
    offload.dump_dir = wanted.replay_dump_dir;
  }
  offload.listener = [this](const OffloadEvent& event) {
    if (event.kind == OffloadEvent::Kind::kTaskFailed) {
      Tell([&](EventListener& listener) {
        listener.OnOffloadFailure(
            {.device = fmt::format("{}, unit {}", options_.offload.configuration, event.unit),
             .reason = event.what,
             .dump = event.dump});
      });
    }
  };
  return MakeDriver(wanted.executor, wanted.configuration, executor, std::move(offload), &driver_);
}

Status DBImpl::OpenSpace() {
  const auto new_number = [this](uint64_t* number) {
    *number = next_number_.fetch_add(1);
    return metadata_->Apply({.next_number = *number + 1});
  };
  TierDirs tiers;
  SLUICE_RETURN_IF_ERROR(OpenTiers(options_, env_, path_, home_.identity, new_number, &tiers));
  std::copy(tiers.of_level.begin(), tiers.of_level.end(), tier_of_level_.begin());
  tier_locks_ = std::move(tiers.locks);
  SLUICE_RETURN_IF_ERROR(options_.read_only ? ExtentSpace::OpenReadOnly(env_, tiers.dirs, &space_)
                                            : ExtentSpace::Open(env_, tiers.dirs, &space_));
  for (const auto& [id, subtable] : metadata_->state().subtables) {
    for (const auto& [run_id, run] : subtable.runs) {
      RunIndex::Iterator at(run);
      for (at.SeekToFirst(); at.Valid(); at.Next()) {
        SLUICE_RETURN_IF_ERROR(space_->Adopt(*at.extent(), &at.extent()->place));
      }
    }
  }
  return {};
}

Status DBImpl::OpenMetadata() {
  MetadataEdit first;
  first.database = home_.identity.database;
  first.created.push_back({kDefaultSubtableId, std::string(kDefaultSubtable)});
  first.next_number = kHomeDir + 1;
  SLUICE_RETURN_IF_ERROR(
      options_.read_only
          ? MetadataLog::OpenReadOnly(env_, path_, &metadata_)
          : MetadataLog::Open(env_, path_, home_.is_new ? &first : nullptr, &metadata_));
  const Metadata& state = metadata_->state();
  if (state.database != home_.identity.database) {
    return Status::Corruption(fmt::format("{}: of database {}, but the metadata is that of {}",
                                          IdentityPath(path_), home_.identity.database,
                                          state.database));
  }
  next_number_ = state.next_number;
  return home_.identity.state == DirIdentity::State::kWhole || options_.read_only
             ? Status()
             : FinishCreation(env_, path_, &home_);
}

Status DBImpl::Recover() {
  SLUICE_RETURN_IF_ERROR(OpenDriver());
  SLUICE_RETURN_IF_ERROR(OpenHome(options_, env_, path_, &home_));
  SLUICE_RETURN_IF_ERROR(OpenMetadata());
  SLUICE_RETURN_IF_ERROR(OpenSpace());
  for (const auto& [id, subtable] : metadata_->state().subtables) {
    AddSubtable(StateLock(mutex_), id, subtable);
  }
  default_subtable_ = subtables_.at(kDefaultSubtableId).get();
  SLUICE_RETURN_IF_ERROR(OpenLog());
  WriteStages* const stages = this;
  writes_ = std::make_unique<WritePipeline>(options_.write_queues, stages);
  if (options_.read_only) {
    return {};
  }
  SLUICE_RETURN_IF_ERROR(full_.Fill());
  space_->StartGivingBack(kSlackExtents * options_.extent_bytes);
  threads_.emplace_back([this] { FlushLoop(); });
  for (size_t i = 0; i < options_.compaction_threads; ++i) {
    threads_.emplace_back([this] { CompactionLoop(); });
  }
  return {};
}

void DBImpl::AddSubtable(const StateLock& lock, uint32_t id, const Metadata::Subtable& metadata) {
  auto subtable = std::make_unique<SubtableImpl>(id, metadata.name);
  auto* const version = new Version;
  version->active = NewMemtable();
  version->flushed = metadata.flushed;
  version->SetRuns(metadata);
  subtable->Install(lock, version);
  const std::lock_guard directory_lock(directory_mutex_);
  names_[metadata.name] = subtable.get();
  unchecked_[id] = subtable.get();
  subtables_[id] = std::move(subtable);
}

Status DBImpl::ReplayLog(LoggedTransactions* prepared) {
  std::map<uint32_t, Replayer::Target> targets;
  SequenceNumber flushed = 0;  // by any sub-table
  for (const auto& [id, subtable] : subtables_) {
    const EpochGuard guard;
    const Version& version = subtable->version(guard);
    targets[id] = {version.flushed, &version.active->table};
    flushed = std::max(flushed, version.flushed);
  }
  const size_t threads =
      std::min<size_t>(targets.size(), std::max(1u, std::thread::hardware_concurrency()));
  const std::string dir = path_ + "/log";
  LogPosition begin = metadata_->state().log_start;
  LogPosition held_from = begin;  // what memtables have from before is held already
  Replayer replayer(&targets, threads);
  const auto drain = [&](LogPosition now) {
    // Not what another sub-table has flushed: a flush now has of this one what is replayed so far,
    // and says that it has all up to here.
    last_sequence_ = replayer.Drain();
    visible_.store(last_sequence_);
    const StateLock lock(mutex_);
    for (const auto& [id, subtable] : subtables_) {
      MemtableInfo& active = *subtable->version(lock).active;
      if (active.table.records() > 0) {
        backlog_.HoldLog(lock, subtable.get(), &active, held_from);
      }
    }
    held_from = now;
  };
  bool flush = !options_.read_only;
  LogContents contents;
  SLUICE_RETURN_IF_ERROR(ReadLog(
      env_, dir, begin,
      [&](LogPosition end, std::string_view payload) -> Status {
        if (const Status status = CheckRecord(payload, begin, prepared); !status.ok()) {
          return status.WithContext(fmt::format("{}, record that ends at offset {}",
                                                LogSegmentPath(dir, LogSegment(end)),
                                                LogOffset(end)));
        }
        if (flush && backlog_.MustSwitch()) {
          drain(begin);
          const Status flushed = FlushRecovered();
          if (!flushed.ok() && !flushed.IsNoSpace()) {
            return flushed;
          }
          flush = flushed.ok();  // without space the flush thread tries again, once there is one
          for (auto& [id, target] : targets) {
            const StateLock lock(mutex_);
            target.memtable = &subtables_.at(id)->version(lock).active->table;
          }
        }
        begin = end;
        replayer.Add(payload);
        return {};
      },
      &contents, log_end_));
  drain(log_end_);
  last_sequence_ = std::max(last_sequence_, flushed);
  visible_.store(last_sequence_);
  return {};
}

Status DBImpl::FlushRecovered() {
  std::vector<SubtableImpl*> chosen;
  {
    const StateLock lock(mutex_);
    chosen = backlog_.ToSwitch(lock);
    for (SubtableImpl* const subtable : chosen) {
      SwitchMemtable(lock, subtable);
    }
  }
  for (SubtableImpl* const subtable : chosen) {
    SLUICE_RETURN_IF_ERROR(
        FlushSubtable(subtable).WithContext(fmt::format("flush of '{}'", subtable->name())));
    EpochReclaim();
  }
  return {};
}

Status DBImpl::OpenLog() {
  const std::string dir = path_ + "/log";
  if (!options_.read_only) {
    SLUICE_RETURN_IF_ERROR(env_->CreateDir(dir));
  }
  LogContents contents;
  if (options_.read_only && metadata_->state().log_start == 0 &&
      env_->FileExists(dir).IsNotFound()) {
    return {};  // the database was created, and no more
  }
  SLUICE_RETURN_IF_ERROR(ReadLog(
      env_, dir, metadata_->state().log_start,
      [](LogPosition, std::string_view) { return Status(); }, &contents));
  LoggedTransactions prepared;
  if (options_.read_only) {
    log_end_ = contents.end;
    return ReplayLog(&prepared);  // what is prepared stays so, and is not to be seen
  }
  SLUICE_RETURN_IF_ERROR(
      RedoLog::Open(env_, dir, {.segment_bytes = options_.log_segment_bytes}, contents, &log_));
  log_end_ = log_->end();
  // Until all is replayed, flushes do not know what of the log is needed.
  ++checkpoints_;
  SLUICE_RETURN_IF_ERROR(ReplayLog(&prepared));
  --checkpoints_;
  SLUICE_RETURN_IF_ERROR(RecoverPrepared(prepared));
  // From now on; what was prepared is there again, however much it is.
  transactions_.memory.SetLimit(options_.transaction_memory_bytes);
  const StateLock lock(mutex_);
  settled_ = log_->end();
  backlog_.SetLogEnd(settled_);
  for (const auto& [id, subtable] : subtables_) {
    const MemtableInfo& active = *subtable->version(lock).active;
    if (active.table.records() > 0 && active.table.memory_bytes() >= options_.memtable_bytes) {
      SwitchMemtable(lock, subtable.get());
    }
  }
  for (SubtableImpl* const subtable : backlog_.ToSwitch(lock)) {
    SwitchMemtable(lock, subtable);
  }
  return {};
}

void DBImpl::StopThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    work_.notify_all();
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

Status DBImpl::Close() {
  if (std::exchange(closed_, true)) {
    return {};
  }
  {
    const StateLock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  writes_.reset();
  StopThreads();
  if (space_ != nullptr) {
    space_->Freeze();
  }
  Status status = BackgroundError();
  if (status.ok() && log_ != nullptr) {
    status = log_->Seal();
  }
  if (status.ok() && log_ != nullptr) {
    status = metadata_->Seal();
  }
  driver_.reset();
  tier_locks_.clear();
  home_.lock.reset();
  return status;
}

Status DBImpl::CheckWritable() const {
  return options_.read_only ? Status::InvalidArgument(fmt::format("{}: opened read-only", path_))
                            : Status();
}

Status DBImpl::ApplyOrMakeSpace(const MetadataEdit& edit) {
  Status status = ApplyMetadata(edit);
  while (status.IsNoSpace() && MakeSpace(status)) {
    status = ApplyMetadata(edit);
  }
  if (!status.ok() && !status.IsNoSpace()) {
    SetBackgroundError(status);
  }
  return status;
}

Status DBImpl::CreateSubtable(std::string_view name, Subtable** subtable) {
  SLUICE_RETURN_IF_ERROR(CheckWritable());
  if (name.empty()) {
    return Status::InvalidArgument("a sub-table needs a name");
  }
  const ExclusiveWrites exclusive(writes_.get());
  const std::lock_guard metadata_lock(metadata_mutex_);
  if (names_.contains(name)) {
    return Status::InvalidArgument(fmt::format("there is a sub-table '{}'", name));
  }
  MetadataEdit edit;
  const uint32_t id = metadata_->state().next_subtable;
  if (id == kMaxSubtables) {
    return Status::TooLarge(
        fmt::format("{} sub-tables were created, and there are no more ids", kMaxSubtables));
  }
  edit.created.push_back({id, std::string(name)});
  edit.next_subtable = id + 1;
  SLUICE_RETURN_IF_ERROR(ApplyOrMakeSpace(edit));
  const StateLock lock(mutex_);
  AddSubtable(lock, id, metadata_->state().subtables.at(id));
  *subtable = subtables_.at(id).get();
  work_.notify_all();  // it counts as work until somebody has looked at it
  return {};
}

Status DBImpl::DropSubtable(Subtable* subtable) {
  SLUICE_RETURN_IF_ERROR(CheckWritable());
  SubtableImpl* const target = Resolve(subtable);
  if (target == default_subtable_) {
    return Status::InvalidArgument("the default sub-table cannot be dropped");
  }
  const ExclusiveWrites exclusive(writes_.get());
  const std::lock_guard metadata_lock(metadata_mutex_);
  if (target->dropped) {
    return Status::InvalidArgument(fmt::format("sub-table '{}' is dropped", target->name()));
  }
  MetadataEdit edit;
  edit.dropped.push_back(target->id());
  SLUICE_RETURN_IF_ERROR(ApplyOrMakeSpace(edit));
  {
    const StateLock lock(mutex_);
    target->dropped = true;
    auto* const empty = new Version;
    empty->active = NewMemtable();
    InstallVersion(lock, target, empty);
    unchecked_.erase(target->id());
    held_back_subtables_.erase(target->id());
    const std::lock_guard directory_lock(directory_mutex_);
    names_.erase(target->name());
    dropped_.push_back(std::move(subtables_.extract(target->id()).mapped()));
  }
  EpochReclaim();
  full_.RetryNow();
  return {};
}

std::vector<Subtable*> DBImpl::ListSubtables() {
  const std::shared_lock lock(directory_mutex_);
  std::vector<Subtable*> list;
  for (const auto& [id, subtable] : subtables_) {
    list.push_back(subtable.get());
  }
  return list;
}

Subtable* DBImpl::FindSubtable(std::string_view name) {
  const std::shared_lock lock(directory_mutex_);
  const auto found = names_.find(name);
  return found != names_.end() ? found->second : nullptr;
}

SubtableImpl* DBImpl::FindSubtable(uint32_t id) {
  const std::shared_lock lock(directory_mutex_);
  const auto found = subtables_.find(id);
  return found != subtables_.end() ? found->second.get() : nullptr;
}

}  // namespace sluice
