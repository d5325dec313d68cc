// Opening, recovery, closing, and the sub-tables there are.
//
//   DIR/LOCK            held while the database is open
//   DIR/CURRENT, meta/  the metadata log (metadata_log.h): sub-tables, extents
//   DIR/log/            the redo log (redo_log.h), its records as batch_format.h says
//   DIR/NNNNNN.data     extents (extent_space.h); further ones in Options::level_paths
//
// Recovery:
//  1. The metadata log says which extents live; their pages are taken, all others are free.
//  2. The redo log is read from where the metadata says. Of each sub-table, records that are not in
//     its extents yet go to its memtable; several threads do that, each for some of the sub-tables.
//  3. Transactions that the log has as prepared and not as resolved are so again, with their locks.
//  4. A new log segment is begun. Memtables that are full are flushed in the background.

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>

#include "db/db_impl.h"
#include "offload/executors.h"
#include "util/epoch.h"

namespace sluice {

namespace {

// Replays log records, each thread those of some sub-tables.
class Replayer {
 public:
  struct Target {
    SequenceNumber flushed;
    Memtable* memtable;
  };

  Replayer(const std::map<uint32_t, Target>& targets, size_t threads)
      : targets_(targets), next_(threads) {
    for (size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this, i, threads] { Work(i, threads); });
    }
  }
  ~Replayer() { (void)Finish(); }

  void Add(std::string_view payload) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return records_.size() < kQueued; });
    records_.push_back(std::make_shared<const std::string>(payload));
    changed_.notify_all();
  }
  // The sequence number of the last write.
  SequenceNumber Finish() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
    return last_;
  }

 private:
  static constexpr size_t kQueued = 256;

  void Work(size_t self, size_t threads) {
    for (;;) {
      std::shared_ptr<const std::string> record;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || next_[self] < first_ + records_.size(); });
        if (next_[self] == first_ + records_.size()) {
          return;
        }
        record = records_[next_[self]++ - first_];
        while (!records_.empty() && *std::min_element(next_.begin(), next_.end()) > first_) {
          records_.pop_front();
          ++first_;
        }
        changed_.notify_all();
      }
      std::string_view writes = *record;
      SequenceNumber sequence = 0;
      (void)GetVarint64(&writes, &sequence);  // CheckRecord has
      for (BatchWrite write; ReadWrite(&writes, &write); ++sequence) {
        const auto target = targets_.find(write.subtable);
        if (write.subtable % threads == self && target != targets_.end() &&
            sequence > target->second.flushed) {
          target->second.memtable->Add(sequence, write.type, write.key, write.value);
        }
      }
      const std::lock_guard lock(mutex_);
      last_ = std::max(last_, sequence - 1);
    }
  }

  const std::map<uint32_t, Target>& targets_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<const std::string>> records_;
  uint64_t first_ = 0;          // number of the first of records_
  std::vector<uint64_t> next_;  // of each thread
  bool ended_ = false;
  SequenceNumber last_ = 0;
  std::vector<std::thread> threads_;
};

// Ok if the payload, whose record begins at `begin`, is a log record that makes sense. What it says
// of prepared transactions is done to `*prepared`.
Status CheckRecord(std::string_view payload, LogPosition begin, LoggedTransactions* prepared) {
  SequenceNumber sequence;
  if (!GetVarint64(&payload, &sequence)) {
    return Status::Corruption("no sequence number");
  }
  for (BatchEntry entry; !payload.empty();) {
    if (!ReadEntry(&payload, &entry)) {
      return Status::Corruption("malformed write");
    }
    if (entry.type == EntryType::kPrepared) {
      std::string_view entries = entry.value;
      for (BatchEntry inner; !entries.empty();) {
        if (!ReadEntry(&entries, &inner) || inner.type == EntryType::kPrepared ||
            inner.type == EntryType::kResolved) {
          return Status::Corruption("malformed prepared transaction");
        }
      }
      (*prepared)[std::string(entry.key)] = {begin, std::string(entry.value)};
    } else if (entry.type == EntryType::kResolved) {
      prepared->erase(std::string(entry.key));
    }
  }
  return {};
}

Status CheckOptions(const Options& options) {
  if (options.block_bytes < 64 || options.restart_interval == 0 ||
      options.extent_bytes < options.block_bytes || options.memtable_bytes == 0 ||
      options.max_waiting_memtables == 0 || options.transaction_memory_bytes == 0 ||
      options.l0_compaction_runs < 2 || options.l0_stop_runs < options.l0_slowdown_runs ||
      options.task_bytes == 0 || options.compaction_threads == 0 || options.write_queues == 0 ||
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
      tables_(options.table_cache_bytes),
      blocks_(options.block_cache_bytes, options.block_bytes),
      rows_(options.row_cache_bytes),
      reader_(&tables_, &blocks_) {}

DBImpl::~DBImpl() {
  (void)Close();
  subtables_.clear();
  metadata_.reset();
  EpochDrain();
}

Status DB::Open(const Options& options, const std::string& path, std::unique_ptr<DB>* db) {
  SLUICE_RETURN_IF_ERROR(CheckOptions(options));
  auto opened = std::make_unique<DBImpl>(options, path);
  SLUICE_RETURN_IF_ERROR(opened->Recover());
  *db = std::move(opened);
  return {};
}

Status DBImpl::OpenDriver() {
  const Options::Offload& wanted = options_.offload;
  ExecutorOptions executor;
  const double each = wanted.fault_rate / 4;
  executor.fault = {{.hang = each, .lost_interrupt = each, .bus_error = each, .wrong_result = each},
                    UINT64_MAX,
                    wanted.fault_seed};
  OffloadOptions offload;
  if (!wanted.replay_dump_dir.empty()) {
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
  std::vector<std::string> dirs{path_};
  for (size_t level = 0; level < options_.level_paths.size(); ++level) {
    const std::string& dir = options_.level_paths[level];
    if (dir.empty()) {
      continue;
    }
    const auto at = std::find(dirs.begin(), dirs.end(), dir);
    tier_of_level_[level] = at - dirs.begin();
    if (at == dirs.end()) {
      dirs.push_back(dir);
    }
  }
  SLUICE_RETURN_IF_ERROR(ExtentSpace::Open(env_, dirs, &space_));
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

Status DBImpl::Recover() {
  SLUICE_RETURN_IF_ERROR(OpenDriver());
  if (const Status exists = env_->FileExists(path_ + "/CURRENT"); exists.IsNotFound()) {
    if (!options_.create_if_missing) {
      return Status::NotFound(
          fmt::format("{}: no Sluice database; set create_if_missing to make one", path_));
    }
    SLUICE_RETURN_IF_ERROR(env_->CreateDir(path_));
  } else if (!exists.ok()) {
    return exists;
  } else if (options_.error_if_exists) {
    return Status::InvalidArgument(fmt::format("{}: the database exists", path_));
  }
  SLUICE_RETURN_IF_ERROR(env_->LockFile(path_ + "/LOCK", &lock_));
  MetadataEdit first;
  first.created.push_back({kDefaultSubtableId, std::string(kDefaultSubtable)});
  SLUICE_RETURN_IF_ERROR(
      MetadataLog::Open(env_, path_, options_.create_if_missing ? &first : nullptr, &metadata_));
  next_number_ = std::max<uint64_t>(metadata_->state().next_number, 1);
  SLUICE_RETURN_IF_ERROR(OpenSpace());
  for (const auto& [id, subtable] : metadata_->state().subtables) {
    AddSubtable(id, subtable);
  }
  default_subtable_ = subtables_.at(kDefaultSubtableId).get();
  SLUICE_RETURN_IF_ERROR(OpenLog());
  WriteStages* const stages = this;
  writes_ = std::make_unique<WritePipeline>(options_.write_queues, stages);
  threads_.emplace_back([this] { FlushLoop(); });
  for (size_t i = 0; i < options_.compaction_threads; ++i) {
    threads_.emplace_back([this] { CompactionLoop(); });
  }
  return {};
}

void DBImpl::AddSubtable(uint32_t id, const Metadata::Subtable& metadata) {
  auto subtable = std::make_unique<SubtableImpl>(id, metadata.name);
  auto* const version = new Version;
  version->active = std::make_shared<MemtableInfo>(options_.memtable_bytes);
  version->active->log_begin = log_ != nullptr ? log_->end() : metadata_->state().log_start;
  version->flushed = metadata.flushed;
  version->SetRuns(metadata);
  subtable->Install(version);
  subtables_[id] = std::move(subtable);
}

Status DBImpl::ReplayLog(LogContents* contents, LoggedTransactions* prepared) {
  std::map<uint32_t, Replayer::Target> targets;
  for (const auto& [id, subtable] : subtables_) {
    Version& version = *subtable->version();
    targets[id] = {version.flushed, &version.active->table};
    last_sequence_ = std::max(last_sequence_, version.flushed);
  }
  const size_t threads =
      std::min<size_t>(targets.size(), std::max(1u, std::thread::hardware_concurrency()));
  const std::string dir = path_ + "/log";
  Replayer replayer(targets, threads);
  LogPosition begin = metadata_->state().log_start;
  SLUICE_RETURN_IF_ERROR(ReadLog(
      env_, dir, metadata_->state().log_start,
      [&](LogPosition end, std::string_view payload) {
        const Status status = CheckRecord(payload, std::exchange(begin, end), prepared);
        if (!status.ok()) {
          return status.WithContext(fmt::format("{}, record that ends at offset {}",
                                                LogSegmentPath(dir, LogSegment(end)),
                                                LogOffset(end)));
        }
        replayer.Add(payload);
        return status;
      },
      contents));
  last_sequence_ = std::max(last_sequence_, replayer.Finish());
  return {};
}

Status DBImpl::OpenLog() {
  const std::string dir = path_ + "/log";
  SLUICE_RETURN_IF_ERROR(env_->CreateDir(dir));
  LogContents contents;
  LoggedTransactions prepared;
  SLUICE_RETURN_IF_ERROR(ReplayLog(&contents, &prepared));
  visible_.store(last_sequence_);
  log_end_ = contents.end;
  SLUICE_RETURN_IF_ERROR(
      RedoLog::Open(env_, dir, {.segment_bytes = options_.log_segment_bytes}, contents, &log_));
  SLUICE_RETURN_IF_ERROR(RecoverPrepared(prepared));
  // From now on; what was prepared is there again, however much it is.
  transactions_.memory.SetLimit(options_.transaction_memory_bytes);
  for (const auto& [id, subtable] : subtables_) {
    MemtableInfo& active = *subtable->version()->active;
    if (active.table.records() == 0) {
      active.log_begin = log_->end();
    } else if (active.table.memory_bytes() >= options_.memtable_bytes) {
      SwitchMemtable(subtable.get());
    }
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

// The record behind the last write says that all before it is on disk: from now on a damaged record
// is no torn tail.
Status DBImpl::SealLog() {
  SLUICE_RETURN_IF_ERROR(log_->Sync());
  std::string nothing;
  PutVarint(&nothing, last_sequence_ + 1);
  SLUICE_RETURN_IF_ERROR(log_->Append(nothing, &log_end_));
  return log_->Sync();
}

Status DBImpl::Close() {
  if (std::exchange(closed_, true)) {
    return {};
  }
  writes_.reset();
  StopThreads();
  Status status = BackgroundError();
  if (status.ok() && log_ != nullptr) {
    status = SealLog();
  }
  driver_.reset();
  lock_.reset();
  return status;
}

Status DBImpl::CreateSubtable(std::string_view name, Subtable** subtable) {
  if (name.empty()) {
    return Status::InvalidArgument("a sub-table needs a name");
  }
  const ExclusiveWrites exclusive(writes_.get());
  const std::lock_guard metadata_lock(metadata_mutex_);
  if (FindSubtable(name) != nullptr) {
    return Status::InvalidArgument(fmt::format("there is a sub-table '{}'", name));
  }
  MetadataEdit edit;
  const auto id = static_cast<uint32_t>(next_number_.fetch_add(1));
  edit.created.push_back({id, std::string(name)});
  edit.next_number = next_number_.load();
  if (const Status status = metadata_->Apply(edit); !status.ok()) {
    SetBackgroundError(status);
    return status;
  }
  const std::lock_guard lock(mutex_);
  AddSubtable(id, metadata_->state().subtables.at(id));
  *subtable = subtables_.at(id).get();
  return {};
}

Status DBImpl::DropSubtable(Subtable* subtable) {
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
  if (const Status status = metadata_->Apply(edit); !status.ok()) {
    SetBackgroundError(status);
    return status;
  }
  const std::lock_guard lock(mutex_);
  target->dropped = true;
  auto* const empty = new Version;
  empty->active = std::make_shared<MemtableInfo>(options_.memtable_bytes);
  InstallVersion(target, empty);
  return {};
}

std::vector<Subtable*> DBImpl::ListSubtables() {
  const std::lock_guard lock(mutex_);
  std::vector<Subtable*> list;
  for (const auto& [id, subtable] : subtables_) {
    if (!subtable->dropped) {
      list.push_back(subtable.get());
    }
  }
  return list;
}

Subtable* DBImpl::FindSubtable(std::string_view name) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, subtable] : subtables_) {
    if (!subtable->dropped && subtable->name() == name) {
      return subtable.get();
    }
  }
  return nullptr;
}

Status DB::Destroy(const Options& options, const std::string& path) {
  Env* const env = options.env != nullptr ? options.env : Env::Posix();
  std::vector<std::string> names;
  if (const Status status = env->GetChildren(path, &names); !status.ok()) {
    return status.IsNotFound() ? Status() : status;
  }
  const bool ours = std::find(names.begin(), names.end(), "meta") != names.end();
  if (!ours) {
    return names.empty() ? Status()
                         : Status::InvalidArgument(
                               fmt::format("{}: not a Sluice database; nothing is removed", path));
  }
  std::unique_ptr<FileLock> lock;
  SLUICE_RETURN_IF_ERROR(env->LockFile(path + "/LOCK", &lock));
  // CURRENT first: without it there is no database, whatever else is left.
  std::vector<std::string> files{path + "/CURRENT"};
  std::vector<std::string> dirs = options.level_paths;
  dirs.push_back(path);
  const auto add = [&](const std::string& dir, std::string_view suffix) {
    std::vector<std::string> children;
    const Status status = env->GetChildren(dir, &children);
    for (const std::string& name : children) {
      if (name.ends_with(suffix)) {
        files.push_back(fmt::format("{}/{}", dir, name));
      }
    }
    return status.IsNotFound() ? Status() : status;
  };
  SLUICE_RETURN_IF_ERROR(add(path + "/meta", ""));
  SLUICE_RETURN_IF_ERROR(add(path + "/log", ""));
  for (const std::string& dir : dirs) {
    if (!dir.empty()) {
      SLUICE_RETURN_IF_ERROR(add(dir, ".data"));
    }
  }
  files.push_back(path + "/LOCK");
  for (const std::string& file : files) {
    if (const Status status = env->RemoveFile(file); !status.ok() && !status.IsNotFound()) {
      return status;
    }
  }
  lock.reset();
  // Directories, where they are real and empty.
  for (const char* const dir : {"/meta", "/log", ""}) {
    std::error_code ignored;
    std::filesystem::remove(path + dir, ignored);
  }
  return {};
}

}  // namespace sluice
