#include "db/background_work.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "compaction/flush_job.h"
#include "compaction/space_limit.h"
#include "db/range_cuts.h"
#include "db/range_walk.h"
#include "util/epoch.h"
#include "util/no_throw.h"
#include "util/seconds_since.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

// The time between attempts of automatic compactions while the device is full.
constexpr std::chrono::seconds kCompactionRetry{1};

}  // namespace

// While a compaction uses the reserve, none of it is filled again.
class BackgroundWork::Reserve {
 public:
  explicit Reserve(BackgroundWork* work) : work_(*work) {}
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
  ~Reserve() {
    if (used_) {
      const StateLock lock(work_.db_.mutex);
      --work_.db_.using_reserve;
      ++work_.db_.space_users_ended;
      work_.db_.work.notify_all();
      work_.db_.changed.notify_all();
    }
  }

  void Use() {
    if (!std::exchange(used_, true)) {
      const StateLock lock(work_.db_.mutex);
      ++work_.db_.using_reserve;
    }
  }

 private:
  BackgroundWork& work_;
  bool used_ = false;
};

void BackgroundWork::Start() {
  for (size_t i = 0; i < db_.options.flush_threads; ++i) {
    threads_.emplace_back([this] { FlushLoop(); });
  }
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
  db_.limiter.Stop();
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

Status BackgroundWork::FlushSubtable(SubtableImpl* subtable, RateLimiter* limiter) {
  RunFormat format = db_.FormatOf(*subtable, 0);
  Status status = FlushAs(format, subtable, limiter);
  if (status.IsNoSpace() && format.in_tiers()) {
    // A tier may be full. The database's own directory has the reserve, and behind this flush may wait
    // deletions that make room in the tier. Compactions take the run to where it belongs, but leave
    // large values in its records.
    format.tier = 0;
    format.values.least_bytes = 0;
    status = FlushAs(format, subtable, limiter);
  }
  if (status.IsNoSpace() && !db_.full.full()) {
    (void)db_.full.GiveUpForFlushes();  // or the log has had that done a moment ago
    status = FlushAs(format, subtable, limiter);
  }
  return status;
}

Status BackgroundWork::FlushAs(const RunFormat& format, SubtableImpl* subtable,
                               RateLimiter* limiter) {
  const Clock::time_point begin = Clock::now();
  std::vector<MemtablePtr> memtables;
  std::vector<SequenceNumber> snapshots;
  std::optional<FlushRanges> ranges;
  {
    const std::shared_ptr<const Version> version = subtable->PinVersion();
    memtables = version->waiting;
    snapshots = db_.snapshots.All();
    if (std::any_of(memtables.begin(), memtables.end(), [](const MemtablePtr& memtable) {
          return memtable->table.has_range_deletions();
        })) {
      ranges.emplace(version, &db_.reader, db_.options.extent_bytes, snapshots.front());
      ranges->Plan();
    }
  }
  if (memtables.empty()) {
    return {};  // the sub-table was dropped just now
  }
  ExtentWriter writer(db_.space.get(), format.tier, &db_.next_number, ExtentWriter::Use::kFlush,
                      limiter);
  FlushResult result;
  SLUICE_RETURN_IF_ERROR(
      FlushMemtables(memtables, snapshots, ranges ? &*ranges : nullptr, format, &writer, &result));
  // The row cache learns of these records before they leave the memtables.
  if (db_.rows.BeginFlush(&subtable->flushes)) {
    for (auto memtable = memtables.rbegin(); memtable != memtables.rend(); ++memtable) {
      Memtable::Iterator at(&(*memtable)->table);
      for (at.SeekToFirst(); at.Valid(); at.Next()) {
        const Memtable::Version& newest = *at.VersionAt(kMaxSequence);
        db_.rows.Flushed(subtable->id(), at.user_key(), newest.trailer(), newest.value());
      }
    }
    if (ranges) {
      db_.rows.FlushedRanges(subtable->id(), ranges->all());
    }
  }
  // If a transaction is resolved by now, its resolution becomes durable with this sync: only then
  // may the log be given up from which it would be prepared again.
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
  for (const RangeDeletion& cut : ranges ? ranges->cuts() : std::vector<RangeDeletion>()) {
    edit.cuts.push_back({subtable->id(), cut});
  }
  ranges.reset();  // it keeps the version
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
  CoolDownIfWarm(*subtable->PinVersion());
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

void BackgroundWork::CoolDownIfWarm(const Version& version) {
  constexpr uint32_t kHalvings = 32;  // leave nothing of a count of accesses
  if (db_.reader.TakeAccessed()) {
    db_.flushes_to_cool = kHalvings;
  }
  if (uint32_t left = db_.flushes_to_cool.load(); left > 0) {
    CoolDown(version);  // takes time in proportion to the extents of levels 0 and 1
    db_.flushes_to_cool.compare_exchange_strong(left, left - 1);
  }
}

Status BackgroundWork::ReleaseLog(LogPosition prepared) {
  LogPosition start;
  {
    const MutexLock metadata_lock(db_.metadata_mutex);
    // The position where recovery begins to read must be on disk.
    start = std::min({db_.LogStart(), prepared, db_.log->durable()});
    if (start <= db_.metadata->state().log_start || db_.log_holders != 0) {
      return {};
    }
    MetadataEdit release;
    release.log_start = start;
    // If there is no space for this edit, the next flush makes it.
    const Status status = db_.ApplyMetadata(release);
    if (!status.ok()) {
      return status.IsNoSpace() ? Status() : status;
    }
  }
  // Without the lock, for a file system may take tens of milliseconds to remove a segment. Whoever
  // holds the log from now on begins at `start` or behind it.
  return db_.log->Release(start);
}

Status BackgroundWork::ReleaseUnneededLog() {
  const LogPosition prepared = db_.transactions.prepared.OldestInLog();
  SLUICE_RETURN_IF_ERROR(db_.log->Sync());
  return ReleaseLog(prepared);
}

void BackgroundWork::FlushLoop() {
  ::pthread_setname_np(::pthread_self(), "slc-flush");
  StateLock lock(db_.mutex);
  for (;;) {
    if (db_.stopping || !db_.background_error.ok()) {
      return;
    }
    if (filling_) {
      db_.work.wait(lock);
      continue;
    }
    SubtableImpl* const next = db_.backlog.NextFlush(lock);
    if (db_.full.full() && FullDevice::Clock::now() < db_.full.next_attempt()) {
      db_.work.wait_until(lock, db_.full.next_attempt());
      continue;
    }
    // Nothing is flushed meanwhile, which needs the space itself.
    if (MustFill(lock) && db_.using_reserve == 0) {
      filling_ = true;
      lock.unlock();
      EpochReclaim();
      db_.space->GiveAllBack();
      Status status = ReleaseUnneededLog();
      if (status.ok()) {
        status = db_.FillReserve();
      }
      if (!status.ok()) {
        db_.SetBackgroundError(status);
      }
      lock.lock();
      filling_ = false;
      db_.work.notify_all();
      db_.changed.notify_all();
      continue;
    }
    if (next == nullptr) {
      db_.work.wait(lock);
      continue;
    }
    next->flushing = true;
    ++db_.flushing;
    ++working_;
    lock.unlock();
    const Status status = NoThrow([&] { return FlushSubtable(next, &db_.limiter); });
    if (!status.ok()) {
      db_.SetBackgroundError(status.WithContext(fmt::format("flush of '{}'", next->name())));
    }
    db_.GrowReserve();
    EpochReclaim();  // a version may be the last to hold memtables and extents
    lock.lock();
    next->flushing = false;
    --db_.flushing;
    if (db_.IsAllFlushed(lock)) {
      db_.full.FlushesDone();
    }
    ++db_.space_users_ended;
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
    // First, or one compaction after the other would use the reserve; and one of them at a time.
    if (MustFill(lock) || (db_.full.full() && db_.using_reserve > 0)) {
      db_.work.wait(lock);
      continue;
    }
    if (SubtableImpl* const subtable = db_.schedule.TakeCuts(lock)) {
      ++working_;
      ++busy_;
      lock.unlock();
      const Status status = CutRanges(subtable);
      lock.lock();
      if (status.IsNoSpace()) {
        db_.compactions_full = status;
        next_compaction_ = FullDevice::Clock::now() + kCompactionRetry;
      }
      subtable->compacting = false;
      --working_;
      --busy_;
      db_.Recheck(lock, subtable);
      continue;
    }
    bool under_way = false;
    std::optional<CompactionSchedule::Candidate> next;
    if (db_.options.automatic_compactions) {
      std::vector<CompactionSchedule::Candidate> candidates = db_.schedule.Take(lock, &under_way);
      if (!candidates.empty()) {
        const bool full = db_.full.full() || !db_.compactions_full.ok();
        const bool warm = db_.reader.accessed() || db_.flushes_to_cool.load() > 0;
        lock.unlock();
        db_.schedule.Pick(&candidates, full, warm);
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
      if (const std::optional<Compactor::Share> share = compactor_.TakeShare(lock)) {
        lock.unlock();
        compactor_.CompactFirstPart(*share);
        lock.lock();
        continue;
      }
      if (!under_way) {
        // The compaction that failed is not due any more, or its sub-table was dropped.
        db_.compactions_full = {};
      }
      db_.changed.notify_all();
      db_.work.wait(lock);
      continue;
    }
    SubtableImpl* const subtable = next->subtable;
    ++working_;
    ++busy_;
    const size_t threads = 1 + IdleThreads(lock);
    lock.unlock();
    Status set_aside;
    const Status status =
        NoThrow([&] { return Compact(subtable, &*next->pick, threads, &set_aside, false); });
    next.reset();
    EpochReclaim();
    if (!status.ok() && !status.IsNoSpace() && !db_.stopping) {
      db_.SetBackgroundError(
          status.WithContext(fmt::format("compaction of '{}'", subtable->name())));
    }
    lock.lock();
    // Writes go on: only flushes need the space that is left.
    db_.compactions_full = status.IsNoSpace() ? status : Status();
    next_compaction_ = FullDevice::Clock::now() + kCompactionRetry;
    subtable->compacting = false;
    subtable->range_next = subtable->ranges_waiting > 0;  // or CompactRange might wait for ever
    --working_;
    --busy_;
    db_.Recheck(lock, subtable);
  }
}

// Between two parts the reserve is filled again if it can be, for which writes wait.
Status BackgroundWork::Compact(SubtableImpl* subtable, CompactionPick* pick, size_t threads,
                               Status* set_aside, bool needed) {
  for (;;) {
    bool more = false;
    const Status status = CompactOrPart(subtable, pick, threads, set_aside, needed, &more);
    if (!more) {
      return status;
    }
    StateLock lock(db_.mutex);
    while (MustFill(lock) && db_.background_error.ok() && !db_.stopping) {
      db_.changed.wait(lock);
    }
    if (!db_.background_error.ok() || db_.stopping) {
      return status;
    }
  }
}

Status BackgroundWork::CompactOrPart(SubtableImpl* subtable, CompactionPick* pick, size_t threads,
                                     Status* set_aside, bool needed, bool* more) {
  const bool full = db_.full.full();
  Reserve reserve(this);
  std::optional<RateLimiter::Hurry> hurry;
  if (full) {
    hurry.emplace(&db_.limiter);
    // So that deletions find as much space as without this compaction.
    reserve.Use();
    (void)db_.full.GiveUpForCompaction(/*alone=*/false);
  }
  Status status = full ? compactor_.CompactOnePart(subtable, pick, set_aside, more)
                       : compactor_.Compact(subtable, pick, threads, set_aside);
  // What is given up is of no use to one that writes to a full tier.
  const bool at_home = !db_.FormatOf(*subtable, pick->output.level).in_tiers();
  while (status.IsNoSpace() && (needed || at_home || db_.full.full())) {
    if (pick->relocate.size() > 1) {
      break;  // on a full device one is picked
    }
    reserve.Use();
    if (!hurry) {
      hurry.emplace(&db_.limiter);  // writers wait for it
    }
    if (at_home) {
      db_.SetFull(status);
    }
    const bool alone = db_.IsAllFlushed(StateLock(db_.mutex));
    if (!(needed && db_.MakeSpace(status)) && !db_.full.GiveUpForCompaction(alone)) {
      break;
    }
    status = compactor_.CompactOnePart(subtable, pick, set_aside, more);
  }
  return status;
}

bool BackgroundWork::MustFill(const StateLock& lock) const {
  return db_.full.full() && FullDevice::Clock::now() >= db_.full.next_attempt() &&
         db_.IsAllFlushed(lock);
}

Status BackgroundWork::CutRanges(SubtableImpl* subtable) {
  const Status status = NoThrow([&] { return CarryOutCuts(&db_, subtable); });
  EpochReclaim();
  if (!status.ok()) {
    if (!status.IsNoSpace() && !db_.stopping) {
      db_.SetBackgroundError(
          status.WithContext(fmt::format("range deletions of '{}'", subtable->name())));
    }
    const StateLock lock(db_.mutex);
    if (!subtable->dropped) {
      db_.schedule.AddCuts(lock, subtable);
    }
  }
  return status;
}

Status BackgroundWork::VersionWithoutCuts(SubtableImpl* subtable,
                                          std::shared_ptr<const Version>* version) {
  for (;;) {
    {
      const StateLock lock(db_.mutex);
      if (!db_.schedule.TakeCuts(lock, *subtable)) {
        *version = subtable->PinVersion();
        return {};
      }
    }
    SLUICE_RETURN_IF_ERROR(CutRanges(subtable));
  }
}

Status BackgroundWork::WaitForFlush(SubtableImpl* subtable, const MemtablePtr& memtable) {
  StateLock lock(db_.mutex);
  uint64_t failures = db_.full.failures();
  db_.full.RetryNow();
  db_.work.notify_all();
  bool beside_compaction =
      false;  // which had space that it gives back: a failure counts without it
  const auto flushed = [&] {
    const std::vector<MemtablePtr>& waiting = subtable->version(lock).waiting;
    return subtable->dropped ||
           std::find(waiting.begin(), waiting.end(), memtable) == waiting.end();
  };
  while (db_.background_error.ok() && !db_.stopping && !flushed()) {
    if (db_.full.failures() != failures) {
      if (busy_ == 0 && !beside_compaction) {
        break;
      }
      beside_compaction = busy_ > 0;
      if (!beside_compaction) {
        failures = db_.full.failures();
        db_.full.RetryNow();
        db_.work.notify_all();
      }
    }
    db_.changed.wait(lock);
  }
  return db_.background_error.ok() && !db_.stopping && !flushed() ? db_.full.last_failure()
                                                                  : db_.background_error;
}

// Ends a compaction that a caller's thread began, whatever that throws.
class BackgroundWork::Turn {
 public:
  Turn(BackgroundWork* work, SubtableImpl* subtable) : work_(*work), subtable_(*subtable) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    const StateLock lock(work_.db_.mutex);
    subtable_.compacting = false;
    --work_.working_;
    work_.db_.Recheck(lock, &subtable_);
  }

 private:
  BackgroundWork& work_;
  SubtableImpl& subtable_;
};

Status BackgroundWork::CompactRange(SubtableImpl* target, std::string_view begin,
                                    std::string_view end) {
  const RateLimiter::Hurry hurry(&db_.limiter);
  RangeWalk walk(&db_, begin, end);
  while (!walk.done()) {
    bool behind = false;
    size_t threads = 1;
    {
      StateLock lock(db_.mutex);
      ++target->ranges_waiting;
      while ((target->compacting || MustFill(lock)) && db_.background_error.ok() && !db_.stopping) {
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
      behind = db_.options.automatic_compactions && target->backlog.behind;
      threads += IdleThreads(lock);
    }
    Status status;
    Status set_aside;
    {
      const Turn turn(this, target);
      status = NoThrow([&] {
        std::shared_ptr<const Version> version;
        Status cut = VersionWithoutCuts(target, &version);
        while (cut.IsNoSpace() && db_.MakeSpace(cut)) {
          cut = VersionWithoutCuts(target, &version);
        }
        SLUICE_RETURN_IF_ERROR(cut);
        std::optional<CompactionPick> pick = walk.Pick(*version, behind);
        version.reset();
        return pick ? walk.Note(*pick, Compact(target, &*pick, threads, &set_aside, true))
                    : Status();
      });
      EpochReclaim();
      if (!status.ok() && !status.IsNoSpace()) {
        db_.SetBackgroundError(
            status.WithContext(fmt::format("compaction of '{}'", target->name())));
      }
      db_.full.RetryNow();
    }
    SLUICE_RETURN_IF_ERROR(status);
    walk.GoOn(set_aside);
  }
  return walk.damage();
}

Status BackgroundWork::WaitUntilIdle() {
  const RateLimiter::Hurry hurry(&db_.limiter);
  StateLock lock(db_.mutex);
  // Only failures from here on count; what failed before is tried again.
  const uint64_t failures = db_.full.failures();
  db_.full.RetryNow();
  db_.compactions_full = {};
  db_.work.notify_all();
  while (db_.background_error.ok() && !db_.stopping && db_.full.failures() == failures &&
         db_.compactions_full.ok() &&
         (working_ > 0 || db_.backlog.NextFlush(lock) != nullptr || db_.schedule.HasCuts(lock) ||
          (!db_.schedule.AllChecked(lock) && db_.options.automatic_compactions))) {
    db_.changed.wait(lock);
  }
  if (db_.background_error.ok() && db_.full.failures() != failures) {
    return db_.full.last_failure();
  }
  return db_.background_error.ok() ? db_.compactions_full : db_.background_error;
}

}  // namespace sluice
