#include "db/background_work.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "compaction/flush_job.h"
#include "compaction/pick_division.h"
#include "tree/slice.h"
#include "util/epoch.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

// The borders of a task cut two blocks of each run, which are read twice: so many are to lie
// between.
constexpr uint64_t kCpuTaskBytesOfARun = uint64_t{1} << 20;

// A part of a compaction has at least the size of so many extents: in place of small extents each
// must leave fewer, or what makes them fewer would never end.
constexpr uint64_t kLeastExtentsOfAPart = 4;

// CompactRange picks so many parts for each thread at once. Between two picks other compactions get
// their turn, if writers wait for them.
constexpr uint64_t kPartsOfARange = 2;

// Between attempts of automatic compactions while the device is full.
constexpr std::chrono::seconds kCompactionRetry{1};

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

void BackgroundWork::Start() {
  threads_.emplace_back([this] { FlushLoop(); });
  for (size_t i = 0; i < db_.options.compaction_threads; ++i) {
    threads_.emplace_back([this] { CompactionLoop(); });
  }
}

void BackgroundWork::Stop() {
  {
    const MutexLock lock(db_.mutex);
    db_.stopping = true;
    db_.work.notify_all();
    db_.changed.notify_all();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

Status BackgroundWork::FlushSubtable(SubtableImpl* subtable) {
  const Clock::time_point begin = Clock::now();
  std::vector<MemtablePtr> memtables;
  {
    const StateLock lock(db_.mutex);
    memtables = subtable->version(lock).waiting;
  }
  if (memtables.empty()) {
    return {};  // it was dropped just now
  }
  ExtentWriter writer(db_.space.get(), db_.TierOf(0), &db_.next_number);
  FlushResult result;
  SLUICE_RETURN_IF_ERROR(FlushMemtables(memtables, db_.snapshots.All(),
                                        {db_.MakeExtentFormat(subtable->id(), 0),
                                         db_.options.block_bytes, db_.options.restart_interval},
                                        &writer, &result));
  // Before anybody can miss these records in the memtables.
  if (db_.rows.BeginFlush(&subtable->flushes)) {
    for (auto memtable = memtables.rbegin(); memtable != memtables.rend(); ++memtable) {
      Memtable::Iterator at(&(*memtable)->table);
      for (at.SeekToFirst(); at.Valid(); at.Next()) {
        const Memtable::Version& newest = *at.VersionAt(kMaxSequence);
        db_.rows.Flushed(subtable->id(), at.user_key(), newest.trailer(), newest.value());
      }
    }
  }
  // Of a transaction that is resolved by now, what resolved it becomes durable with this sync: only
  // then may the log be given up from which it would be prepared again.
  const LogPosition prepared = db_.transactions.prepared.OldestInLog();
  // A batch across sub-tables must not be durable in the extents of one and lost in the log of
  // another.
  SLUICE_RETURN_IF_ERROR(db_.log->Sync());
  MetadataEdit edit;
  const RunId run{0, db_.next_number.fetch_add(1)};
  for (const Extent& extent : result.extents) {
    edit.added.push_back({subtable->id(), run, extent});
  }
  edit.flushed.push_back({subtable->id(), memtables.front()->last_sequence});
  const size_t flushed = memtables.size();
  {
    const MutexLock metadata_lock(db_.metadata_mutex);
    if (subtable->dropped) {
      return {};
    }
    SLUICE_RETURN_IF_ERROR(db_.ApplyEdit(subtable, &edit, [&](Version* version) {
      version->waiting.resize(version->waiting.size() - flushed);
      version->flushed = memtables.front()->last_sequence;
    }));
  }
  CoolDown(*subtable->PinVersion());  // without locks: that takes time in proportion to the extents
  db_.counters.flushes.fetch_add(1);
  db_.counters.flush_bytes.fetch_add(writer.bytes());
  db_.Tell([&](EventListener& listener) {
    listener.OnFlush({.subtable = subtable->name(),
                      .input_records = result.input_records,
                      .output_records = result.output_records,
                      .output_bytes = writer.bytes(),
                      .extents = result.extents.size(),
                      .seconds = SecondsSince(begin)});
  });
  return ReleaseLog(prepared);
}

Status BackgroundWork::ReleaseLog(LogPosition prepared) {
  const MutexLock metadata_lock(db_.metadata_mutex);
  // Where recovery begins to read must be on disk.
  const LogPosition start = std::min({db_.LogStart(), prepared, db_.log->durable()});
  if (start > db_.metadata->state().log_start && db_.log_holders == 0) {
    MetadataEdit release;
    release.log_start = start;
    // Where there is no space to say so, the next flush will.
    const Status status = db_.ApplyMetadata(release);
    if (!status.ok()) {
      return status.IsNoSpace() ? Status() : status;
    }
    SLUICE_RETURN_IF_ERROR(db_.log->Release(start));
  }
  return {};
}

uint64_t BackgroundWork::PartBytes() const {
  return std::max(db_.options.compaction_bytes, kLeastExtentsOfAPart * db_.options.extent_bytes);
}

Status BackgroundWork::RunPick(SubtableImpl* subtable, const CompactionPick& pick, bool reuse,
                               CompactionResult* result) {
  RunIndex output_run;
  {
    const StateLock lock(db_.mutex);
    const Version& version = subtable->version(lock);
    for (const Version::Run& run : version.levels[pick.output.level]) {
      if (run.number == pick.output.run) {
        output_run = run.index;
      }
    }
  }
  const size_t tier = db_.TierOf(pick.output.level);
  const size_t units = db_.driver->stats().units.size();
  // With no units to share them tasks are as small as costs nothing: what one reads is in a cache
  // still when it is merged, and its memory serves the next.
  const uint64_t task_bytes =
      units > 0 ? db_.options.task_bytes
                : std::min(db_.options.task_bytes, kCpuTaskBytesOfARun * pick.inputs.size());
  uint64_t records = 0;
  for (const CompactionInput& input : pick.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      records += extent->entries;
    }
  }
  std::set<uint32_t> recoded_levels;
  for (const CompactionInput& input : pick.inputs) {
    if (db_.CodecOf(input.run.level) != db_.CodecOf(pick.output.level)) {
      recoded_levels.insert(input.run.level);
    }
  }
  const std::vector<SequenceNumber> snapshots =
      SnapshotsForMerges(db_.snapshots.All(), records, db_.driver->max_unit_snapshots());
  ExtentWriter writer(db_.space.get(), tier, &db_.next_number);
  return RunCompaction(pick, output_run,
                       {.task_bytes = task_bytes,
                        .reuse = reuse,
                        .part_bytes = PartBytes(),
                        .oldest_snapshot = snapshots.front(),
                        .least_bytes_rewritten = db_.options.extent_bytes / 2,
                        .file = db_.space->FileOf(tier),
                        .recoded_levels = std::move(recoded_levels)},
                       {.extent = db_.MakeExtentFormat(subtable->id(), pick.output.level),
                        .block_bytes = db_.options.block_bytes,
                        .restart_interval = db_.options.restart_interval,
                        .snapshots = snapshots,
                        .window = units + 1},
                       db_.driver.get(), &db_.reader, &writer, &db_.stopping, result);
}

Status BackgroundWork::Compact(SubtableImpl* subtable, CompactionPick* pick, Status* set_aside) {
  size_t threads = 1;
  {
    const StateLock lock(db_.mutex);
    threads += idle_;
  }
  // To cut an extent, all of it is read: the shares are to be larger than what is cut for them.
  const std::vector<std::string> borders = BordersOf(
      *pick, threads, kLeastExtentsOfAPart * db_.options.extent_bytes * pick->inputs.size());
  std::vector<std::string> cuts = borders;
  if (pick->range.has_begin) {
    cuts.insert(cuts.begin(), pick->range.begin);
  }
  if (pick->range.has_end) {
    cuts.push_back(pick->range.end);
  }
  if (Status status = Cut(subtable, cuts, pick, set_aside); !status.ok() || !set_aside->ok()) {
    return status;
  }
  SharedCompaction compaction{.subtable = subtable, .shares = Divide(*pick, borders)};
  for (CompactionPick& share : compaction.shares) {
    compaction.waiting.push_back(&share);
  }
  {
    const StateLock lock(db_.mutex);
    shared_.push_back(&compaction);
    db_.work.notify_all();
  }
  for (;;) {
    CompactionPick* share = nullptr;
    {
      StateLock lock(db_.mutex);
      while (compaction.waiting.empty() && compaction.taken > 0) {
        db_.changed.wait(lock);
      }
      share = TakeShare(lock, &compaction);
      if (share == nullptr) {
        std::erase(shared_, &compaction);
        break;
      }
    }
    CompactShare(&compaction, share);
  }
  Join(std::move(compaction.shares), pick);
  *set_aside = compaction.set_aside;
  return compaction.status;
}

CompactionPick* BackgroundWork::TakeShare(const StateLock&, SharedCompaction* compaction) {
  if (compaction->waiting.empty()) {
    return nullptr;
  }
  CompactionPick* const share = compaction->waiting.front();
  compaction->waiting.pop_front();
  ++compaction->taken;
  return share;
}

void BackgroundWork::CompactShare(SharedCompaction* compaction, CompactionPick* share) {
  Status set_aside;
  const Status status = CompactPart(compaction->subtable, share, &set_aside);
  EpochReclaim();
  const StateLock lock(db_.mutex);
  --compaction->taken;
  if (compaction->status.ok()) {
    compaction->status = status;
  }
  if (compaction->set_aside.ok()) {
    compaction->set_aside = set_aside;
  }
  if (!compaction->status.ok() || !compaction->set_aside.ok() || compaction->subtable->dropped) {
    compaction->waiting.clear();
  } else if (!share->inputs.empty()) {
    compaction->waiting.push_front(share);
    db_.work.notify_all();
  }
  db_.changed.notify_all();
}

Status BackgroundWork::Cut(SubtableImpl* subtable, const std::vector<std::string>& keys,
                           CompactionPick* pick, Status* set_aside) {
  const KeyRange& range = pick->range;
  MetadataEdit edit;
  std::vector<CompactionInput> cut;  // the pick's, once the edit has taken effect
  for (const CompactionInput& input : pick->inputs) {
    std::vector<ExtentPtr> within;
    for (const ExtentPtr& extent : input.extents) {
      const std::string_view largest = UserKey(extent->largest);
      auto key = std::upper_bound(keys.begin(), keys.end(), UserKey(extent->smallest));
      const auto is_last = [&] { return key == keys.end() || *key > largest; };
      if (is_last()) {
        within.push_back(extent);
        continue;
      }
      edit.removed.push_back({subtable->id(), input.run, extent->number, extent->smallest});
      for (std::string_view from;; ++key) {
        const std::string_view to = is_last() ? std::string_view() : *key;
        Extent slice;
        if (Status status = MakeSlice(*extent, from, to, &db_.reader, &slice); !status.ok()) {
          if (!status.IsCorruption() && status.code() != Status::Code::kIoError) {
            return status;
          }
          *set_aside = status;
          return SetAside(subtable, *pick, extent, status);
        }
        // All bounds are keys that the extent has, or it would be looked at for nothing again.
        if (slice.entries > 0) {
          edit.added.push_back({subtable->id(), input.run, slice});
          if (!(range.has_begin && UserKey(slice.smallest) < range.begin) &&
              !(range.has_end && UserKey(slice.smallest) >= range.end)) {
            within.push_back(std::make_shared<const Extent>(slice));
          }
        }
        if (is_last()) {
          break;
        }
        from = to;
      }
    }
    if (!within.empty()) {
      cut.push_back({input.run, std::move(within)});
    }
  }
  if (!edit.removed.empty()) {
    const MutexLock metadata_lock(db_.metadata_mutex);
    if (!subtable->dropped) {
      SLUICE_RETURN_IF_ERROR(db_.ApplyEdit(subtable, &edit, [](Version*) {}));
    }
  }
  pick->inputs = std::move(cut);
  return {};
}

Status BackgroundWork::CompactPart(SubtableImpl* subtable, CompactionPick* pick,
                                   Status* set_aside) {
  const Clock::time_point begin = Clock::now();
  CompactionResult result;
  Status status;
  for (const bool reuse : {true, false}) {
    result = {};
    status = RunPick(subtable, *pick, reuse, &result);
    if (!result.unsound) {
      break;
    }
    db_.counters.compactions_abandoned.fetch_add(1);
    db_.Tell(
        [&](EventListener& listener) { listener.OnCompactionAbandoned(subtable->name(), status); });
  }
  if (result.damaged != nullptr &&
      (status.IsCorruption() || status.code() == Status::Code::kIoError)) {
    *set_aside = status;
    return SetAside(subtable, *pick, result.damaged, status);
  }
  SLUICE_RETURN_IF_ERROR(status);
  SLUICE_RETURN_IF_ERROR(InstallOutput(subtable, *pick, result));
  db_.counters.compactions[static_cast<size_t>(pick->kind)].fetch_add(1);
  db_.counters.compaction_bytes_read.fetch_add(result.bytes_read);
  db_.counters.compaction_bytes_written.fetch_add(result.bytes_written);
  db_.counters.extents_reused.fetch_add(result.reused.size());
  db_.counters.blocks_copied.fetch_add(result.copied_blocks);
  CompactionEvent event{.subtable = subtable->name(),
                        .kind = pick->kind,
                        .output_level = static_cast<int>(pick->output.level)};
  for (const CompactionResult::Input& input : result.inputs) {
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
  db_.Tell([&](EventListener& listener) { listener.OnCompaction(event); });
  TakeOut(result, pick);
  return {};
}

Status BackgroundWork::InstallOutput(SubtableImpl* subtable, const CompactionPick& pick,
                                     const CompactionResult& result) {
  MetadataEdit edit;
  for (size_t i = 0; i < pick.inputs.size(); ++i) {
    const RunId run = pick.inputs[i].run;
    for (const ExtentPtr& extent : result.inputs[i].extents) {
      edit.removed.push_back({subtable->id(), run, extent->number, extent->smallest});
    }
    if (result.inputs[i].rest) {
      edit.added.push_back({subtable->id(), run, *result.inputs[i].rest});
    }
  }
  for (const ExtentPtr& extent : result.reused) {
    edit.added.push_back({subtable->id(), pick.output, *extent});
  }
  for (const Extent& extent : result.added) {
    edit.added.push_back({subtable->id(), pick.output, extent});
  }
  const MutexLock metadata_lock(db_.metadata_mutex);
  return subtable->dropped ? Status() : db_.ApplyEdit(subtable, &edit, [](Version*) {});
}

Status BackgroundWork::SetAside(SubtableImpl* subtable, const CompactionPick& pick,
                                const ExtentPtr& extent, const Status& why) {
  const auto from = std::find_if(pick.inputs.begin(), pick.inputs.end(), [&](const auto& input) {
    return std::find(input.extents.begin(), input.extents.end(), extent) != input.extents.end();
  });
  MetadataEdit edit;
  edit.removed.push_back({subtable->id(), from->run, extent->number, extent->smallest});
  edit.added.push_back({subtable->id(), {kAsideLevel, extent->number}, *extent});
  {
    const MutexLock metadata_lock(db_.metadata_mutex);
    if (subtable->dropped) {
      return {};
    }
    SLUICE_RETURN_IF_ERROR(db_.ApplyEdit(subtable, &edit, [](Version*) {}));
  }
  db_.Tell([&](EventListener& listener) {
    listener.OnSetAside({.subtable = subtable->name(),
                         .extent = extent->number,
                         .level = static_cast<int>(from->run.level),
                         .bytes = extent->bytes,
                         .records = extent->entries,
                         .reason = why});
  });
  return {};
}

void BackgroundWork::FlushLoop() {
  ::pthread_setname_np(::pthread_self(), "slc-flush");
  StateLock lock(db_.mutex);
  for (;;) {
    SubtableImpl* const next = db_.backlog.NextFlush(lock);
    if (db_.stopping || !db_.background_error.ok()) {
      return;
    }
    if (db_.full.full() && FullDevice::Clock::now() < db_.full.next_attempt()) {
      db_.work.wait_until(lock, db_.full.next_attempt());
      continue;
    }
    if (next == nullptr && db_.full.full()) {
      lock.unlock();
      EpochReclaim();
      db_.space->GiveAllBack();
      if (const Status status = db_.full.Fill(); !status.ok()) {
        db_.SetBackgroundError(status);
      }
      lock.lock();
      db_.changed.notify_all();
      continue;
    }
    if (next == nullptr) {
      db_.work.wait(lock);
      continue;
    }
    next->flushing = true;
    ++working_;
    lock.unlock();
    const Status status = FlushSubtable(next);
    if (!status.ok()) {
      db_.SetBackgroundError(status.WithContext(fmt::format("flush of '{}'", next->name())));
    }
    EpochReclaim();  // a version may be the last to hold memtables and extents
    lock.lock();
    next->flushing = false;
    --working_;
    db_.changed.notify_all();
  }
}

void BackgroundWork::CompactionLoop() {
  ::pthread_setname_np(::pthread_self(), "slc-compact");
  StateLock lock(db_.mutex);
  for (;;) {
    if (db_.stopping || !db_.background_error.ok()) {
      return;
    }
    if (!db_.compactions_full.ok() && FullDevice::Clock::now() < next_compaction_) {
      db_.changed.notify_all();
      db_.work.wait_until(lock, next_compaction_);
      continue;
    }
    bool under_way = false;
    std::optional<CompactionSchedule::Candidate> next;
    if (db_.options.automatic_compactions) {
      std::vector<CompactionSchedule::Candidate> candidates = db_.schedule.Take(lock, &under_way);
      if (!candidates.empty()) {
        lock.unlock();
        db_.schedule.Pick(&candidates);
        lock.lock();
        next = db_.schedule.Choose(lock, &candidates);
        db_.work.notify_all();
        db_.changed.notify_all();
        if (!next || db_.stopping || !db_.background_error.ok()) {
          if (next) {
            next->subtable->compacting = false;
          }
          continue;
        }
      }
    }
    if (!next) {
      const auto shared =
          std::find_if(shared_.begin(), shared_.end(),
                       [](const SharedCompaction* at) { return !at->waiting.empty(); });
      if (shared != shared_.end()) {
        SharedCompaction* const compaction = *shared;
        CompactionPick* const share = TakeShare(lock, compaction);
        lock.unlock();
        CompactShare(compaction, share);
        lock.lock();
        continue;
      }
      if (!under_way) {
        // What failed is not due any more, or its sub-table was dropped.
        db_.compactions_full = {};
      }
      db_.changed.notify_all();
      ++idle_;
      db_.work.wait(lock);
      --idle_;
      continue;
    }
    SubtableImpl* const subtable = next->subtable;
    ++working_;
    lock.unlock();
    Status set_aside;
    const Status status = Compact(subtable, &*next->pick, &set_aside);
    next.reset();
    EpochReclaim();
    if (!status.ok() && !status.IsNoSpace() && !db_.stopping) {
      db_.SetBackgroundError(
          status.WithContext(fmt::format("compaction of '{}'", subtable->name())));
    }
    lock.lock();
    // Writes go on: it is flushes that need what is left.
    db_.compactions_full = status.IsNoSpace() ? status : Status();
    next_compaction_ = FullDevice::Clock::now() + kCompactionRetry;
    subtable->compacting = false;
    subtable->range_next = subtable->ranges_waiting > 0;  // or it might wait for ever
    --working_;
    db_.Recheck(lock, subtable);
  }
}

Status BackgroundWork::WaitForFlush(SubtableImpl* subtable, const MemtablePtr& memtable) {
  StateLock lock(db_.mutex);
  const uint64_t failures = db_.full.failures();
  db_.full.RetryNow();
  db_.work.notify_all();
  const auto flushed = [&] {
    const std::vector<MemtablePtr>& waiting = subtable->version(lock).waiting;
    return subtable->dropped ||
           std::find(waiting.begin(), waiting.end(), memtable) == waiting.end();
  };
  while (db_.background_error.ok() && !db_.stopping && !flushed() &&
         db_.full.failures() == failures) {
    db_.changed.wait(lock);
  }
  return db_.background_error.ok() && !db_.stopping && !flushed() ? db_.full.last_failure()
                                                                  : db_.background_error;
}

Status BackgroundWork::CompactRange(SubtableImpl* target, std::string_view begin,
                                    std::string_view end) {
  std::string from(begin);
  // What cannot be read is set aside; the rest is compacted all the same.
  Status damage;
  for (bool done = false; !done;) {
    bool behind = false;
    {
      StateLock lock(db_.mutex);
      ++target->ranges_waiting;
      while (target->compacting && db_.background_error.ok() && !db_.stopping) {
        db_.changed.wait(lock);
      }
      --target->ranges_waiting;
      target->range_next = false;
      db_.work.notify_all();
      if (!db_.background_error.ok() || db_.stopping) {
        return db_.stopping ? Status::Busy("closing") : db_.background_error;
      }
      target->compacting = true;
      ++working_;
      behind = target->backlog.behind;
    }
    std::optional<CompactionPick> pick;
    if (behind) {
      // Writers wait for something else: this thread does that first.
      LaterPick later;
      pick = PickCompaction(*target->PinVersion(), db_.options, {db_.snapshots.Oldest()}, &later);
    }
    const bool for_writers = pick.has_value();
    std::string next;
    if (!pick) {
      const uint64_t bytes = kPartsOfARange * PartBytes() * (1 + db_.options.compaction_threads);
      pick = PickRange(*target->PinVersion(), from, end, bytes);
      done = !pick || !pick->range.has_end || (!end.empty() && pick->range.end >= end);
      next = done ? std::string() : pick->range.end;
    }
    Status set_aside;
    Status status;
    if (pick) {
      status = Compact(target, &*pick, &set_aside);
      while (status.IsNoSpace() && db_.MakeSpace(status)) {
        status = Compact(target, &*pick, &set_aside);
      }
      pick.reset();
      EpochReclaim();
    }
    if (!status.ok() && !status.IsNoSpace()) {
      db_.SetBackgroundError(status.WithContext(fmt::format("compaction of '{}'", target->name())));
    }
    db_.full.RetryNow();
    {
      const StateLock lock(db_.mutex);
      target->compacting = false;
      --working_;
      db_.Recheck(lock, target);
    }
    SLUICE_RETURN_IF_ERROR(status);
    if (!set_aside.ok() && !for_writers) {
      damage = set_aside;
      done = false;  // what is left is picked again
    } else if (!next.empty()) {
      from = std::move(next);
    }
  }
  return damage;
}

Status BackgroundWork::WaitUntilIdle() {
  StateLock lock(db_.mutex);
  // What fails from here on tells; what failed before is tried again.
  const uint64_t failures = db_.full.failures();
  db_.full.RetryNow();
  db_.compactions_full = {};
  db_.work.notify_all();
  while (db_.background_error.ok() && !db_.stopping && db_.full.failures() == failures &&
         db_.compactions_full.ok() &&
         (working_ > 0 || db_.backlog.NextFlush(lock) != nullptr ||
          (!db_.schedule.AllChecked(lock) && db_.options.automatic_compactions))) {
    db_.changed.wait(lock);
  }
  if (db_.background_error.ok() && db_.full.failures() != failures) {
    return db_.full.last_failure();
  }
  return db_.background_error.ok() ? db_.compactions_full : db_.background_error;
}

}  // namespace sluice
