// Flush and compaction: who does them when, and how the tree changes.

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "db/compaction_job.h"
#include "db/db_impl.h"
#include "util/epoch.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

// The borders of a task cut two blocks of each run, which are read twice: so many are to lie
// between.
constexpr uint64_t kCpuTaskBytesOfARun = uint64_t{1} << 20;

// Between attempts of automatic compactions while the device is full.
constexpr std::chrono::seconds kCompactionRetry{1};

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

void DBImpl::InstallVersion(const StateLock& lock, SubtableImpl* subtable, const Version* version) {
  const EpochGuard guard;  // what is replaced is looked at once more
  const Version& before = subtable->version(guard);
  subtable->Install(lock, version);
  const auto stays = [&](const MemtablePtr& memtable) {
    return memtable == version->active ||
           std::find(version->waiting.begin(), version->waiting.end(), memtable) !=
               version->waiting.end();
  };
  const auto leave = [&](const MemtablePtr& memtable) {
    if (!stays(memtable)) {
      memtable->table.SetFlushed();
    }
  };
  leave(before.active);
  std::for_each(before.waiting.begin(), before.waiting.end(), leave);
  backlog_.Update(lock, subtable);
  Recheck(lock, subtable);
}

void DBImpl::Recheck(const StateLock&, SubtableImpl* subtable) {
  if (!subtable->dropped) {
    unchecked_[subtable->id()] = subtable;
  }
  work_.notify_all();
  changed_.notify_all();
}

LogPosition DBImpl::LogStart() {
  const StateLock lock(mutex_);
  return std::min({settled_, transactions_.prepared.OldestInLog(), backlog_.OldestLog(lock)});
}

bool DBImpl::MakeSpace(const Status& status) {
  space_->GiveAllBack();
  bool news;
  const bool again = full_.Failed(status, &news);
  {
    // The flush thread, who looks after it, has either not asked yet whether it is full, or waits.
    const StateLock lock(mutex_);
    work_.notify_all();
  }
  if (news) {
    Tell([&](EventListener& listener) { listener.OnBackgroundError(status); });
  }
  return again;
}

void DBImpl::SetBackgroundError(const Status& status) {
  if (status.IsNoSpace()) {
    (void)MakeSpace(status);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!background_error_.ok()) {
      return;
    }
    background_error_ = status;
    failed_.store(true, std::memory_order_release);
    work_.notify_all();
    changed_.notify_all();
  }
  Tell([&](EventListener& listener) { listener.OnBackgroundError(status); });
}

Status DBImpl::BackgroundError() {
  const std::lock_guard lock(mutex_);
  return background_error_;
}

Status DBImpl::ApplyMetadata(const MetadataEdit& edit) {
  const Status status = metadata_->Apply(edit);
  if (!status.ok() && !status.IsNoSpace()) {
    // Nobody knows whether the next Open finds the extents of before or those of after.
    space_->Freeze();
  }
  return status;
}

Status DBImpl::ApplyEdit(SubtableImpl* subtable, MetadataEdit* edit,
                         const std::function<void(Version*)>& change) {
  edit->next_number = next_number_.load();
  SLUICE_RETURN_IF_ERROR(ApplyMetadata(*edit));
  const StateLock lock(mutex_);
  auto* const version = new Version(subtable->version(lock));
  version->SetRuns(metadata_->state().subtables.at(subtable->id()));
  change(version);
  InstallVersion(lock, subtable, version);
  return {};
}

Status DBImpl::FlushSubtable(SubtableImpl* subtable) {
  const Clock::time_point begin = Clock::now();
  std::vector<MemtablePtr> memtables;
  {
    const StateLock lock(mutex_);
    memtables = subtable->version(lock).waiting;
  }
  if (memtables.empty()) {
    return {};  // it was dropped just now
  }
  ExtentWriter writer(space_.get(), TierOf(0), &next_number_);
  FlushResult result;
  SLUICE_RETURN_IF_ERROR(FlushMemtables(
      memtables, snapshots_.All(),
      {MakeExtentFormat(), options_.block_bytes, options_.restart_interval}, &writer, &result));
  // Before anybody can miss these records in the memtables.
  if (rows_.BeginFlush(&subtable->flushes)) {
    for (auto memtable = memtables.rbegin(); memtable != memtables.rend(); ++memtable) {
      Memtable::Iterator at(&(*memtable)->table);
      for (at.SeekToFirst(); at.Valid(); at.Next()) {
        const Memtable::Version& newest = *at.VersionAt(kMaxSequence);
        rows_.Flushed(subtable->id(), at.user_key(), newest.trailer(), newest.value());
      }
    }
  }
  // Of a transaction that is resolved by now, what resolved it becomes durable with this sync: only
  // then may the log be given up from which it would be prepared again.
  const LogPosition prepared = transactions_.prepared.OldestInLog();
  // A batch across sub-tables must not be durable in the extents of one and lost in the log of
  // another.
  SLUICE_RETURN_IF_ERROR(log_->Sync());
  MetadataEdit edit;
  const RunId run{0, next_number_.fetch_add(1)};
  for (const Extent& extent : result.extents) {
    edit.added.push_back({subtable->id(), run, extent});
  }
  edit.flushed.push_back({subtable->id(), memtables.front()->last_sequence});
  const size_t flushed = memtables.size();
  {
    const std::lock_guard metadata_lock(metadata_mutex_);
    if (subtable->dropped) {
      return {};
    }
    SLUICE_RETURN_IF_ERROR(ApplyEdit(subtable, &edit, [&](Version* version) {
      version->waiting.resize(version->waiting.size() - flushed);
      version->flushed = memtables.front()->last_sequence;
      CoolDown(*version);
    }));
  }
  counters_.flushes.fetch_add(1);
  counters_.flush_bytes.fetch_add(writer.bytes());
  Tell([&](EventListener& listener) {
    listener.OnFlush({.subtable = subtable->name(),
                      .input_records = result.input_records,
                      .output_records = result.output_records,
                      .output_bytes = writer.bytes(),
                      .extents = result.extents.size(),
                      .seconds = SecondsSince(begin)});
  });
  return ReleaseLog(prepared);
}

Status DBImpl::ReleaseLog(LogPosition prepared) {
  const std::lock_guard metadata_lock(metadata_mutex_);
  // Where recovery begins to read must be on disk.
  const LogPosition start = std::min({LogStart(), prepared, log_->durable()});
  if (start > metadata_->state().log_start && checkpoints_ == 0) {
    MetadataEdit release;
    release.log_start = start;
    // Where there is no space to say so, the next flush will.
    const Status status = ApplyMetadata(release);
    if (!status.ok()) {
      return status.IsNoSpace() ? Status() : status;
    }
    SLUICE_RETURN_IF_ERROR(log_->Release(start));
  }
  return {};
}

Status DBImpl::RunPick(SubtableImpl* subtable, const CompactionPick& pick, bool reuse,
                       CompactionResult* result) {
  RunIndex output_run;
  {
    const StateLock lock(mutex_);
    const Version& version = subtable->version(lock);
    if (pick.output.level > 0) {
      output_run = version.levels[pick.output.level];
    }
  }
  const size_t tier = TierOf(pick.output.level);
  const size_t units = driver_->stats().units.size();
  // With no units to share them tasks are as small as costs nothing: what one reads is in a cache
  // still when it is merged, and its memory serves the next.
  const uint64_t task_bytes =
      units > 0 ? options_.task_bytes
                : std::min(options_.task_bytes, kCpuTaskBytesOfARun * pick.inputs.size());
  uint64_t records = 0;
  for (const CompactionInput& input : pick.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      records += extent->entries;
    }
  }
  const std::vector<SequenceNumber> snapshots =
      SnapshotsForMerges(snapshots_.All(), records, driver_->max_unit_snapshots());
  ExtentWriter writer(space_.get(), tier, &next_number_);
  return RunCompaction(pick, output_run,
                       {.task_bytes = task_bytes,
                        .reuse = reuse,
                        .oldest_snapshot = snapshots.front(),
                        .least_bytes_rewritten = options_.extent_bytes / 2,
                        .file = space_->FileOf(tier)},
                       {.extent = MakeExtentFormat(),
                        .block_bytes = options_.block_bytes,
                        .restart_interval = options_.restart_interval,
                        .snapshots = snapshots,
                        .window = units + 1},
                       driver_.get(), &reader_, &writer, &stopping_, result);
}

Status DBImpl::Compact(SubtableImpl* subtable, const CompactionPick& pick, Status* set_aside) {
  const Clock::time_point begin = Clock::now();
  CompactionResult result;
  Status status;
  for (const bool reuse : {true, false}) {
    result = {};
    status = RunPick(subtable, pick, reuse, &result);
    if (!result.unsound) {
      break;
    }
    counters_.compactions_abandoned.fetch_add(1);
    Tell(
        [&](EventListener& listener) { listener.OnCompactionAbandoned(subtable->name(), status); });
  }
  if (result.damaged != nullptr &&
      (status.IsCorruption() || status.code() == Status::Code::kIoError)) {
    *set_aside = status;
    return SetAside(subtable, pick, result.damaged, status);
  }
  SLUICE_RETURN_IF_ERROR(status);
  SLUICE_RETURN_IF_ERROR(InstallOutput(subtable, pick, result));
  counters_.compactions[static_cast<size_t>(pick.kind)].fetch_add(1);
  counters_.compaction_bytes_read.fetch_add(result.bytes_read);
  counters_.compaction_bytes_written.fetch_add(result.bytes_written);
  counters_.extents_reused.fetch_add(result.reused.size());
  counters_.blocks_copied.fetch_add(result.copied_blocks);
  CompactionEvent event{.subtable = subtable->name(),
                        .kind = pick.kind,
                        .output_level = static_cast<int>(pick.output.level)};
  for (const CompactionInput& input : pick.inputs) {
    event.input_extents += input.extents.size();
  }
  event.reused_extents = result.reused.size();
  event.output_extents = result.added.size();
  event.copied_blocks = result.copied_blocks;
  event.input_bytes = result.bytes_read;
  event.output_bytes = result.bytes_written;
  event.input_records = result.records.merged;
  event.output_records = result.records.merged_out;
  event.seconds = SecondsSince(begin);
  Tell([&](EventListener& listener) { listener.OnCompaction(event); });
  return {};
}

Status DBImpl::InstallOutput(SubtableImpl* subtable, const CompactionPick& pick,
                             const CompactionResult& result) {
  MetadataEdit edit;
  for (const CompactionInput& input : pick.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      edit.removed.push_back({subtable->id(), input.run, extent->number, extent->smallest});
    }
  }
  for (const ExtentPtr& extent : result.reused) {
    edit.added.push_back({subtable->id(), pick.output, *extent});
  }
  for (const Extent& extent : result.added) {
    edit.added.push_back({subtable->id(), pick.output, extent});
  }
  const std::lock_guard metadata_lock(metadata_mutex_);
  return subtable->dropped ? Status() : ApplyEdit(subtable, &edit, [](Version*) {});
}

Status DBImpl::SetAside(SubtableImpl* subtable, const CompactionPick& pick, const ExtentPtr& extent,
                        const Status& why) {
  const auto from = std::find_if(pick.inputs.begin(), pick.inputs.end(), [&](const auto& input) {
    return std::find(input.extents.begin(), input.extents.end(), extent) != input.extents.end();
  });
  MetadataEdit edit;
  edit.removed.push_back({subtable->id(), from->run, extent->number, extent->smallest});
  edit.added.push_back({subtable->id(), {kAsideLevel, extent->number}, *extent});
  {
    const std::lock_guard metadata_lock(metadata_mutex_);
    if (subtable->dropped) {
      return {};
    }
    SLUICE_RETURN_IF_ERROR(ApplyEdit(subtable, &edit, [](Version*) {}));
  }
  Tell([&](EventListener& listener) {
    listener.OnSetAside({.subtable = subtable->name(),
                         .extent = extent->number,
                         .level = static_cast<int>(from->run.level),
                         .bytes = extent->bytes,
                         .records = extent->entries,
                         .reason = why});
  });
  return {};
}

void DBImpl::ReleaseSnapshot(const Snapshot* snapshot) {
  snapshots_.Release(snapshot);
  if (held_back_.load() == kMaxSequence || snapshots_.Oldest() < held_back_.load()) {
    return;
  }
  const StateLock lock(mutex_);
  held_back_ = kMaxSequence;  // whoever looks at the sub-tables again knows
  unchecked_.merge(held_back_subtables_);
  held_back_subtables_.clear();
  work_.notify_all();
}

void DBImpl::FlushLoop() {
  ::pthread_setname_np(::pthread_self(), "slc-flush");
  StateLock lock(mutex_);
  for (;;) {
    SubtableImpl* const next = backlog_.NextFlush(lock);
    if (stopping_ || !background_error_.ok()) {
      return;
    }
    if (full_.full() && FullDevice::Clock::now() < full_.next_attempt()) {
      work_.wait_until(lock, full_.next_attempt());
      continue;
    }
    if (next == nullptr && full_.full()) {
      lock.unlock();
      EpochReclaim();
      space_->GiveAllBack();
      if (const Status status = full_.Fill(); !status.ok()) {
        SetBackgroundError(status);
      }
      lock.lock();
      changed_.notify_all();
      continue;
    }
    if (next == nullptr) {
      work_.wait(lock);
      continue;
    }
    next->flushing = true;
    ++working_;
    lock.unlock();
    const Status status = FlushSubtable(next);
    if (!status.ok()) {
      SetBackgroundError(status.WithContext(fmt::format("flush of '{}'", next->name())));
    }
    EpochReclaim();  // a version may be the last to hold memtables and extents
    lock.lock();
    next->flushing = false;
    --working_;
    changed_.notify_all();
  }
}

void DBImpl::CompactionLoop() {
  ::pthread_setname_np(::pthread_self(), "slc-compact");
  StateLock lock(mutex_);
  for (;;) {
    if (stopping_ || !background_error_.ok()) {
      return;
    }
    if (!compactions_full_.ok() && FullDevice::Clock::now() < next_compaction_) {
      changed_.notify_all();
      work_.wait_until(lock, next_compaction_);
      continue;
    }
    SubtableImpl* next = nullptr;
    std::optional<CompactionPick> pick;
    bool retry = false;
    bool some_under_way = false;
    for (auto at = unchecked_.begin(); at != unchecked_.end() && options_.automatic_compactions;) {
      SubtableImpl* const subtable = at->second;
      if (subtable->compacting) {
        some_under_way = true;
        ++at;
        continue;
      }
      SequenceNumber held_back;
      std::optional<CompactionPick> candidate =
          PickCompaction(subtable->version(lock), options_, snapshots_.Oldest(), &held_back);
      if (!candidate) {
        held_back_ = std::min(held_back_.load(), held_back);
        // A snapshot that was released before it could see that has not called for another look.
        if (held_back == kMaxSequence || snapshots_.Oldest() < held_back) {
          if (held_back != kMaxSequence) {
            held_back_subtables_[at->first] = subtable;
          }
          at = unchecked_.erase(at);
        } else {
          retry = true;
          ++at;
        }
        continue;
      }
      ++at;
      const auto rank = [&](const CompactionPick& p) {
        return std::find(options_.compaction_order.begin(), options_.compaction_order.end(),
                         p.kind);
      };
      if (!pick || rank(*candidate) < rank(*pick)) {
        next = subtable;
        pick = std::move(candidate);
      }
    }
    if (next == nullptr && retry) {
      continue;
    }
    if (next == nullptr) {
      if (!some_under_way) {
        compactions_full_ = {};  // what failed is not due any more, or its sub-table was dropped
      }
      changed_.notify_all();
      work_.wait(lock);
      continue;
    }
    next->compacting = true;
    ++working_;
    lock.unlock();
    Status set_aside;
    const Status status = Compact(next, *pick, &set_aside);
    pick.reset();
    EpochReclaim();
    if (!status.ok() && !status.IsNoSpace() && !stopping_) {
      SetBackgroundError(status.WithContext(fmt::format("compaction of '{}'", next->name())));
    }
    lock.lock();
    // Writes go on: it is flushes that need what is left.
    compactions_full_ = status.IsNoSpace() ? status : Status();
    next_compaction_ = FullDevice::Clock::now() + kCompactionRetry;
    next->compacting = false;
    --working_;
    Recheck(lock, next);
  }
}

Status DBImpl::Flush(Subtable* subtable) {
  SLUICE_RETURN_IF_ERROR(CheckWritable());
  SubtableImpl* const target = Resolve(subtable);
  MemtablePtr last;
  {
    const ExclusiveWrites exclusive(writes_.get());
    if (target->dropped) {
      return Status::InvalidArgument(fmt::format("sub-table '{}' is dropped", target->name()));
    }
    const StateLock lock(mutex_);
    if (target->version(lock).active->table.records() > 0) {
      SwitchMemtable(lock, target);
    }
    if (target->version(lock).waiting.empty()) {
      return {};
    }
    last = target->version(lock).waiting.front();
  }
  StateLock lock(mutex_);
  const uint64_t failures = full_.failures();
  full_.RetryNow();
  work_.notify_all();
  const auto flushed = [&] {
    const std::vector<MemtablePtr>& waiting = target->version(lock).waiting;
    return target->dropped || std::find(waiting.begin(), waiting.end(), last) == waiting.end();
  };
  changed_.wait(lock, [&] {
    return !background_error_.ok() || stopping_ || flushed() || full_.failures() != failures;
  });
  return background_error_.ok() && !stopping_ && !flushed() ? full_.last_failure()
                                                            : background_error_;
}

Status DBImpl::CompactRange(Subtable* subtable, std::string_view begin, std::string_view end) {
  SubtableImpl* const target = Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(Flush(target));
  // What cannot be read is set aside; the rest is compacted all the same.
  for (Status damage;;) {
    std::optional<CompactionPick> pick;
    {
      StateLock lock(mutex_);
      changed_.wait(lock,
                    [&] { return !target->compacting || !background_error_.ok() || stopping_; });
      if (!background_error_.ok()) {
        return background_error_;
      }
      pick = PickRange(target->version(lock), begin, end);
      if (!pick) {
        return damage;
      }
      target->compacting = true;
      ++working_;
    }
    Status set_aside;
    Status status = Compact(target, *pick, &set_aside);
    while (status.IsNoSpace() && MakeSpace(status)) {
      status = Compact(target, *pick, &set_aside);
    }
    pick.reset();
    EpochReclaim();
    if (!status.ok() && !status.IsNoSpace()) {
      SetBackgroundError(status.WithContext(fmt::format("compaction of '{}'", target->name())));
    }
    full_.RetryNow();
    const StateLock lock(mutex_);
    target->compacting = false;
    --working_;
    Recheck(lock, target);
    if (!status.ok() || set_aside.ok()) {
      return status.ok() ? damage : status;
    }
    damage = set_aside;
  }
}

Status DBImpl::WaitForBackgroundWork() {
  if (options_.read_only) {
    return {};
  }
  StateLock lock(mutex_);
  // What fails from here on tells; what failed before is tried again.
  const uint64_t failures = full_.failures();
  full_.RetryNow();
  compactions_full_ = {};
  work_.notify_all();
  changed_.wait(lock, [&] {
    if (!background_error_.ok() || stopping_ || full_.failures() != failures ||
        !compactions_full_.ok()) {
      return true;
    }
    return working_ == 0 && backlog_.NextFlush(lock) == nullptr &&
           (unchecked_.empty() || !options_.automatic_compactions);
  });
  if (background_error_.ok() && full_.failures() != failures) {
    return full_.last_failure();
  }
  return background_error_.ok() ? compactions_full_ : background_error_;
}

}  // namespace sluice
