#include "db/db_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "util/epoch.h"

namespace sluice {

namespace {

// The reserve is for both logs, when the database is opened and when deletions and their flush need
// space. The redo log's own part is this large at most, and smaller if its segments are small.
constexpr uint64_t kReserveBytes = uint64_t{512} << 10;
// Compactions, which make space, write so many extents before they free any: the least part, or what
// is alive of one value extent with the extents that refer to it; and one for each run, which a part
// leaves in the middle of an extent. Small databases have as much of that as is a small share of
// them, but some MiB at least, or a quarter of themselves.
constexpr uint64_t kReserveExtents = 6;
constexpr uint64_t kDataPerReserve = 16;
constexpr uint64_t kSmallDataPerReserve = 4;
constexpr uint64_t kMostOfSmallData = uint64_t{16} << 20;

}  // namespace

DbState::DbState(const Options& with, std::string where)
    : options(with),
      path(std::move(where)),
      env(options.env != nullptr ? options.env : Env::Posix()),
      full(env, path, kReserveBytes + std::min(kReserveBytes, 2 * options.log_segment_bytes)),
      tables(options.table_cache_bytes),
      blocks(options.block_cache_bytes, options.block_bytes),
      rows(options.row_cache_bytes),
      reader(&tables, &blocks) {}

RunFormat DbState::FormatOf(const SubtableImpl& subtable, uint32_t level) const {
  const std::shared_ptr<const SubtableFormat> format = subtable.format();
  // Values move between levels as references: they have the last level's place and compression.
  Codec of_values = format->codecs[kLastLevel];
  of_values.dictionary_bytes = 0;
  return {.extent = {options.extent_bytes, format->codecs[level], format->bloom_bits_per_key,
                     subtable.id(), format->prefix_bytes},
          .block_bytes = format->block_bytes,
          .restart_interval = options.restart_interval,
          .tier = tier_of_level[format->tiers[level]],
          .values = {format->separate_value_bytes, kExtentsOfAValueExtent * options.extent_bytes,
                     tier_of_level[format->tiers[kLastLevel]], subtable.id(), of_values}};
}

Status DbState::CheckWritable() const {
  if (options.read_only) {
    return Status::InvalidArgument(fmt::format("{}: opened read-only", path));
  }
  if (made.IsCopy()) {
    return Status::Busy(fmt::format("{}: opened before this process was forked", path));
  }
  // Another may have it open by now, whose files these are.
  return stopping.load(std::memory_order_relaxed) ? Status::Busy("the database is closed")
                                                  : Status();
}

void DbState::SetBackgroundError(const Status& status) {
  if (status.IsNoSpace()) {
    (void)MakeSpace(status, FullDevice::Need::kFlush);
    return;
  }
  {
    const MutexLock lock(mutex);
    if (!background_error.ok()) {
      return;
    }
    background_error = status;
    failed.store(true, std::memory_order_release);
    work.notify_all();
    changed.notify_all();
  }
  Tell([&](EventListener& listener) { listener.OnBackgroundError(status); });
}

Status DbState::BackgroundError() {
  const MutexLock lock(mutex);
  return background_error;
}

bool DbState::MakeSpace(const Status& status, FullDevice::Need need) {
  space->GiveAllBack();
  const bool again = full.Failed(status, need, backlog.UnflushedBytes());
  if (again && log != nullptr) {
    log->EndSegment();  // what it has comes free once memtables do not need it
  }
  {
    // The flush thread, which retries, has either not checked yet whether the device is full, or
    // waits.
    const StateLock lock(mutex);
    work.notify_all();
  }
  TellIfFull();
  return again;
}

void DbState::SetFull(const Status& status) { full.SetFull(status, backlog.UnflushedBytes()); }

void DbState::TellIfFull() {
  const Status status = full.TakeNews();
  if (status.ok()) {
    return;
  }
  {
    const StateLock lock(mutex);
    for (const auto& [id, subtable] : subtables.all()) {
      Recheck(lock, subtable.get());  // what makes little space is worth a compaction now
    }
  }
  Tell([&](EventListener& listener) { listener.OnBackgroundError(status); });
}

bool DbState::WaitForSpace(bool* tried) {
  StateLock lock(mutex);
  const uint64_t ended = space_users_ended;
  const bool any = flushing + using_reserve > 0;
  while (flushing + using_reserve > 0 && space_users_ended == ended && background_error.ok() &&
         !stopping && !closing) {
    changed.wait(lock);
  }
  if (!background_error.ok() || stopping || closing) {
    return false;
  }
  return any || !std::exchange(*tried, true);
}

void DbState::PlanReserve() {
  const uint64_t most = (kReserveExtents + options.l0_compaction_runs) * options.extent_bytes;
  const uint64_t data = space->used_bytes();
  full.ReserveForCompactions(std::max(std::min(data / kDataPerReserve, most),
                                      std::min(data / kSmallDataPerReserve, kMostOfSmallData)));
}

void DbState::GrowReserve() {
  if (!full.full()) {
    PlanReserve();
    full.FillForCompactions();
  }
}

bool DbState::IsAllFlushed(const StateLock& lock) const {
  return backlog.NextFlush(lock) == nullptr && flushing == 0;
}

bool DbState::CompactionsDue(const StateLock& lock) const {
  return options.automatic_compactions && compactions_full.ok() && !schedule.AllChecked(lock);
}

Status DbState::FillReserve() {
  const bool due = CompactionsDue(StateLock(mutex));
  Status status = full.Fill(backlog.UnflushedBytes(), due);
  if (status.ok() && full.full()) {
    const MutexLock lock(metadata_mutex);
    if (RewriteMetadata()) {
      status = full.Fill(backlog.UnflushedBytes(), due);
    }
  }
  TellIfFull();
  return status;
}

bool DbState::RewriteMetadata() {
  if (!metadata->worth_rewriting()) {
    return false;
  }
  (void)full.GiveUpForMetadata();
  const Status status = metadata->Rewrite();
  if (!status.ok() && !status.IsNoSpace()) {
    space->Freeze();
    SetBackgroundError(status);
    return false;
  }
  (void)full.ReserveForMetadata(metadata->whole_bytes());
  return status.ok();
}

Status DbState::ApplyMetadata(const MetadataEdit& edit) {
  Status status = metadata->Apply(edit);
  if (status.IsNoSpace() && RewriteMetadata()) {
    status = metadata->Apply(edit);
  }
  if (!status.ok() && !status.IsNoSpace()) {
    // It is unknown whether the next Open finds the extents from before the edit or those after it.
    space->Freeze();
    return status;
  }
  if (!full.full()) {
    (void)full.ReserveForMetadata(metadata->whole_bytes());
  }
  return status;
}

Status DbState::ApplyGrowth(const MetadataEdit& edit) {
  SLUICE_RETURN_IF_ERROR(full.status());
  std::string payload;
  edit.AppendTo(&payload);
  SLUICE_RETURN_IF_ERROR(
      full.ReserveForMetadata(metadata->whole_bytes() + payload.size() + payload.size() / 4));
  const Status status = ApplyMetadata(edit);
  if (!status.ok() && !status.IsNoSpace()) {
    SetBackgroundError(status);
  }
  return status;
}

Status DbState::ApplyOrMakeSpace(const MetadataEdit& edit) {
  Status status = ApplyMetadata(edit);
  while (status.IsNoSpace() && MakeSpace(status)) {
    status = ApplyMetadata(edit);
  }
  if (!status.ok() && !status.IsNoSpace()) {
    SetBackgroundError(status);
  }
  return status;
}

Status DbState::ApplyEdit(SubtableImpl* subtable, MetadataEdit* edit,
                          const std::function<void(Version*)>& change) {
  edit->next_number = next_number.load();
  SLUICE_RETURN_IF_ERROR(ApplyMetadata(*edit));
  const Metadata::Subtable& runs = metadata->state().subtables.at(subtable->id());
  const SpaceUse space_use = subtable->totals.Update(runs);
  const StateLock lock(mutex);
  auto* const version = new Version(subtable->version(lock));
  version->SetRuns(runs, space_use);
  change(version);
  InstallVersion(lock, subtable, version);
  NoteSpace(lock);
  // Those that are added as others are done are left over, because they cannot be.
  if (!edit->cuts.empty() && edit->cuts_done.empty()) {
    schedule.AddCuts(lock, subtable);
  }
  return {};
}

void DbState::NoteSpace(const StateLock& lock) {
  // With less than so many memtables of live data the figure says little.
  constexpr uint64_t kLeastMemtables = 20;
  const uint64_t live = backlog.live_bytes(lock);
  if (live >= kLeastMemtables * options.memtable_bytes) {
    most_space_amplification =
        std::max(most_space_amplification,
                 static_cast<double>(space->used_bytes()) / static_cast<double>(live));
  }
}

void DbState::InstallVersion(const StateLock& lock, SubtableImpl* subtable,
                             const Version* version) noexcept {
  const EpochGuard guard;  // the replaced version is still read below
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
  backlog.Update(lock, subtable);
  limiter.SetNeed(backlog.compaction_need(lock));
  Recheck(lock, subtable);
}

void DbState::SwitchMemtable(const StateLock& lock, SubtableImpl* subtable) {
  settled = log->end();
  auto* const version = new Version(subtable->version(lock));
  version->active->last_sequence = last_sequence;
  version->waiting.insert(version->waiting.begin(), version->active);
  version->active = NewMemtable();
  InstallVersion(lock, subtable, version);
}

void DbState::BeginLogSegment(const StateLock&) {
  if (log->BeginIfEnded(&log_end)) {
    backlog.SetLogEnd(log_end);
    settled = log_end;
    work.notify_all();
  }
}

void DbState::Recheck(const StateLock& lock, SubtableImpl* subtable) {
  schedule.Recheck(lock, subtable);
  work.notify_all();
  changed.notify_all();
}

LogPosition DbState::LogStart() {
  const StateLock lock(mutex);
  return std::min({settled, transactions.prepared.OldestInLog(), backlog.OldestLog(lock)});
}

}  // namespace sluice
