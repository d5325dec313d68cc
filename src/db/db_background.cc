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

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

void DBImpl::InstallVersion(SubtableImpl* subtable, Version* version) {
  subtable->Install(version);
  subtable->checked = false;
  bool behind = false;
  for (const auto& [id, other] : subtables_) {
    const Version& now = *other->version();
    behind =
        behind || (!other->dropped && (now.waiting.size() + 1 >= options_.max_waiting_memtables ||
                                       now.l0.size() >= options_.l0_slowdown_runs));
  }
  behind_.store(behind, std::memory_order_relaxed);
  work_.notify_all();
  changed_.notify_all();
}

LogPosition DBImpl::LogStart() {
  const std::lock_guard lock(mutex_);
  LogPosition start = transactions_.prepared.OldestInLog();
  for (const auto& [id, subtable] : subtables_) {
    if (subtable->dropped) {
      continue;
    }
    const Version& version = *subtable->version();
    for (const MemtablePtr& memtable : version.waiting) {
      start = std::min(start, memtable->log_begin);
    }
    start = std::min(start, version.active->log_begin);
  }
  return start;
}

void DBImpl::SetBackgroundError(const Status& status) {
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

Status DBImpl::ApplyEdit(SubtableImpl* subtable, MetadataEdit* edit,
                         const std::function<void(Version*)>& change) {
  edit->next_number = next_number_.load();
  SLUICE_RETURN_IF_ERROR(metadata_->Apply(*edit));
  const std::lock_guard lock(mutex_);
  auto* const version = new Version(*subtable->version());
  version->SetRuns(metadata_->state().subtables.at(subtable->id()));
  change(version);
  InstallVersion(subtable, version);
  return {};
}

Status DBImpl::FlushSubtable(SubtableImpl* subtable) {
  const Clock::time_point begin = Clock::now();
  std::vector<MemtablePtr> memtables;
  {
    const std::lock_guard lock(mutex_);
    memtables = subtable->version()->waiting;
  }
  ExtentWriter writer(space_.get(), TierOf(0), &next_number_);
  FlushResult result;
  SLUICE_RETURN_IF_ERROR(FlushMemtables(
      memtables, snapshots_.Oldest(),
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
  const std::lock_guard metadata_lock(metadata_mutex_);
  if (subtable->dropped) {
    return {};
  }
  const RunId run{0, next_number_.fetch_add(1)};
  for (const Extent& extent : result.extents) {
    edit.added.push_back({subtable->id(), run, extent});
  }
  edit.flushed.push_back({subtable->id(), memtables.front()->last_sequence});
  const size_t flushed = memtables.size();
  SLUICE_RETURN_IF_ERROR(ApplyEdit(subtable, &edit, [&](Version* version) {
    version->waiting.resize(version->waiting.size() - flushed);
    version->flushed = memtables.front()->last_sequence;
    CoolDown(*version);
  }));
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
  // The log before the oldest memtable left, or prepared transaction, is not needed any more.
  const LogPosition start = std::min(LogStart(), prepared);
  if (start > metadata_->state().log_start && checkpoints_ == 0) {
    MetadataEdit release;
    release.log_start = start;
    SLUICE_RETURN_IF_ERROR(metadata_->Apply(release));
    SLUICE_RETURN_IF_ERROR(log_->Release(start));
  }
  return {};
}

Status DBImpl::Compact(SubtableImpl* subtable, const CompactionPick& pick) {
  const Clock::time_point begin = Clock::now();
  RunIndex output_run;
  {
    const std::lock_guard lock(mutex_);
    const Version& version = *subtable->version();
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
  std::vector<CompactionStep> steps;
  SLUICE_RETURN_IF_ERROR(PlanCompaction(pick, output_run,
                                        {.task_bytes = task_bytes,
                                         .least_bytes_rewritten = options_.extent_bytes / 2,
                                         .file = space_->FileOf(tier)},
                                        &reader_, &steps));
  ExtentWriter writer(space_.get(), tier, &next_number_);
  CompactionResult result;
  SLUICE_RETURN_IF_ERROR(RunCompaction(pick, steps,
                                       {.extent = MakeExtentFormat(),
                                        .block_bytes = options_.block_bytes,
                                        .restart_interval = options_.restart_interval,
                                        .oldest_snapshot = snapshots_.Oldest(),
                                        .window = units + 1},
                                       driver_.get(), &reader_, &writer, &stopping_, &result));

  MetadataEdit edit;
  CompactionEvent event{.subtable = subtable->name(),
                        .kind = pick.kind,
                        .output_level = static_cast<int>(pick.output.level)};
  for (const CompactionInput& input : pick.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      ++event.input_extents;
      edit.removed.push_back({subtable->id(), input.run, extent->number, extent->smallest});
    }
  }
  for (const ExtentPtr& extent : result.reused) {
    edit.added.push_back({subtable->id(), pick.output, *extent});
  }
  for (const Extent& extent : result.added) {
    edit.added.push_back({subtable->id(), pick.output, extent});
  }
  {
    const std::lock_guard metadata_lock(metadata_mutex_);
    if (subtable->dropped) {
      return {};
    }
    SLUICE_RETURN_IF_ERROR(ApplyEdit(subtable, &edit, [](Version*) {}));
  }
  counters_.compactions[static_cast<size_t>(pick.kind)].fetch_add(1);
  counters_.compaction_bytes_read.fetch_add(result.bytes_read);
  counters_.compaction_bytes_written.fetch_add(result.bytes_written);
  counters_.extents_reused.fetch_add(result.reused.size());
  counters_.blocks_copied.fetch_add(result.copied_blocks);
  event.reused_extents = result.reused.size();
  event.output_extents = result.added.size();
  event.copied_blocks = result.copied_blocks;
  event.input_bytes = result.bytes_read;
  event.output_bytes = result.bytes_written;
  event.input_records = result.input_records;
  event.output_records = result.output_records;
  event.seconds = SecondsSince(begin);
  Tell([&](EventListener& listener) { listener.OnCompaction(event); });
  return {};
}

void DBImpl::FlushLoop() {
  ::pthread_setname_np(::pthread_self(), "slc-flush");
  std::unique_lock lock(mutex_);
  for (;;) {
    SubtableImpl* next = nullptr;
    for (const auto& [id, subtable] : subtables_) {
      // The one whose log goes back furthest.
      if (!subtable->dropped && !subtable->version()->waiting.empty() &&
          (next == nullptr || subtable->version()->waiting.back()->log_begin <
                                  next->version()->waiting.back()->log_begin)) {
        next = subtable.get();
      }
    }
    if (stopping_ || !background_error_.ok()) {
      return;
    }
    if (next == nullptr) {
      work_.wait(lock);
      continue;
    }
    next->flushing = true;
    lock.unlock();
    const Status status = FlushSubtable(next);
    if (!status.ok()) {
      SetBackgroundError(status.WithContext(fmt::format("flush of '{}'", next->name())));
    }
    EpochReclaim();  // a version may be the last to hold memtables and extents
    lock.lock();
    next->flushing = false;
    changed_.notify_all();
  }
}

void DBImpl::CompactionLoop() {
  ::pthread_setname_np(::pthread_self(), "slc-compact");
  std::unique_lock lock(mutex_);
  for (;;) {
    if (stopping_ || !background_error_.ok()) {
      return;
    }
    SubtableImpl* next = nullptr;
    std::optional<CompactionPick> pick;
    for (const auto& [id, subtable] : subtables_) {
      if (subtable->dropped || subtable->compacting || subtable->checked ||
          !options_.automatic_compactions) {
        continue;
      }
      std::optional<CompactionPick> candidate = PickCompaction(*subtable->version(), options_);
      if (!candidate) {
        subtable->checked = true;
        continue;
      }
      const auto rank = [&](const CompactionPick& p) {
        return std::find(options_.compaction_order.begin(), options_.compaction_order.end(),
                         p.kind);
      };
      if (!pick || rank(*candidate) < rank(*pick)) {
        next = subtable.get();
        pick = std::move(candidate);
      }
    }
    if (next == nullptr) {
      changed_.notify_all();
      work_.wait(lock);
      continue;
    }
    next->compacting = true;
    lock.unlock();
    const Status status = Compact(next, *pick);
    pick.reset();
    EpochReclaim();
    if (!status.ok() && !stopping_) {
      SetBackgroundError(status.WithContext(fmt::format("compaction of '{}'", next->name())));
    }
    lock.lock();
    next->compacting = false;
    next->checked = false;
    work_.notify_all();
    changed_.notify_all();
  }
}

Status DBImpl::Flush(Subtable* subtable) {
  SubtableImpl* const target = Resolve(subtable);
  MemtablePtr last;
  {
    const ExclusiveWrites exclusive(writes_.get());
    if (target->dropped) {
      return Status::InvalidArgument(fmt::format("sub-table '{}' is dropped", target->name()));
    }
    if (target->version()->active->table.records() > 0) {
      SwitchMemtable(target);
    }
    if (target->version()->waiting.empty()) {
      return {};
    }
    last = target->version()->waiting.front();
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    const std::vector<MemtablePtr>& waiting = target->version()->waiting;
    return !background_error_.ok() || stopping_ || target->dropped ||
           std::find(waiting.begin(), waiting.end(), last) == waiting.end();
  });
  return background_error_;
}

Status DBImpl::CompactRange(Subtable* subtable, std::string_view begin, std::string_view end) {
  SubtableImpl* const target = Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(Flush(target));
  std::optional<CompactionPick> pick;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock,
                  [&] { return !target->compacting || !background_error_.ok() || stopping_; });
    if (!background_error_.ok()) {
      return background_error_;
    }
    pick = PickRange(*target->version(), begin, end);
    if (!pick) {
      return {};
    }
    target->compacting = true;
  }
  const Status status = Compact(target, *pick);
  pick.reset();
  EpochReclaim();
  if (!status.ok()) {
    SetBackgroundError(status.WithContext(fmt::format("compaction of '{}'", target->name())));
  }
  const std::lock_guard lock(mutex_);
  target->compacting = false;
  target->checked = false;
  work_.notify_all();
  changed_.notify_all();
  return status;
}

Status DBImpl::WaitForBackgroundWork() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    if (!background_error_.ok() || stopping_) {
      return true;
    }
    return std::all_of(subtables_.begin(), subtables_.end(), [&](const auto& entry) {
      const SubtableImpl& subtable = *entry.second;
      return subtable.dropped ||
             (!subtable.flushing && !subtable.compacting && subtable.version()->waiting.empty() &&
              (subtable.checked || !options_.automatic_compactions));
    });
  });
  return background_error_;
}

}  // namespace sluice
