// Making ingested runs part of the tree.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "db/db_impl.h"
#include "util/epoch.h"
#include "util/mutex.h"

namespace sluice {

namespace {

// As deep as nothing older is above, and into the one run of the last level where nothing is at all.
// Nor must a compaction be about to put an extent across the run there, or a range deletion have to
// tell what is older there from what is newer. Into level 1 only while level 0 is empty: a run made of
// this one and of older ones would have a number above those of level 0, and hide what these have of
// the older ones' keys once it is in level 1, too.
uint32_t LevelFor(const Version& version, const std::vector<Extent>& extents, bool compacting) {
  const std::string_view first = UserKey(extents.front().smallest);
  const std::string_view last = UserKey(extents.back().largest);
  const auto overlaps = [&](uint32_t level) {
    return std::any_of(
        version.levels[level].begin(), version.levels[level].end(), [&](const Version::Run& run) {
          return run.index.Overlaps(first, last) &&
                 std::any_of(extents.begin(), extents.end(), [&](const Extent& extent) {
                   return run.index.Overlaps(UserKey(extent.smallest), UserKey(extent.largest));
                 });
        });
  };
  if (overlaps(0)) {
    return 0;
  }
  if (!compacting && version.cuts.empty() && !overlaps(1) && !overlaps(kLastLevel)) {
    return kLastLevel;
  }
  return version.levels[0].empty() ? 1 : 0;
}

// The row cache forgets what it has of the keys from the first to the last one.
void ForgetRows(RowCache* rows, SubtableImpl* subtable, const std::vector<Extent>& extents,
                SequenceNumber sequence) {
  if (rows->BeginFlush(&subtable->flushes)) {
    RangeDeletions range;
    range.Add({std::string(UserKey(extents.front().smallest)),
               std::string(UserKey(extents.back().largest)) + '\0', sequence});
    rows->FlushedRanges(subtable->id(), range);
  }
}

// While it lives, no compaction of the sub-tables that it holds begins.
class CompactionHold {
 public:
  explicit CompactionHold(DbState* db) : db_(*db) {}
  CompactionHold(const CompactionHold&) = delete;
  CompactionHold& operator=(const CompactionHold&) = delete;
  ~CompactionHold() {
    const StateLock lock(db_.mutex);
    for (SubtableImpl* const subtable : held_) {
      subtable->compacting = false;
      db_.Recheck(lock, subtable);
    }
  }

  // False if one is under way.
  bool Hold(SubtableImpl* subtable) {
    held_.reserve(held_.size() + 1);
    const StateLock lock(db_.mutex);
    if (std::exchange(subtable->compacting, true)) {
      return false;
    }
    held_.push_back(subtable);
    return true;
  }

 private:
  DbState& db_;
  std::vector<SubtableImpl*> held_;
};

}  // namespace

Status DBImpl::NewIngestion(std::unique_ptr<Ingestion>* ingestion) {
  SLUICE_RETURN_IF_ERROR(db_.CheckWritable());
  SLUICE_RETURN_IF_ERROR(db_.BackgroundError());
  auto begun = std::make_unique<IngestionImpl>(
      &db_,
      [this](SubtableImpl** target, Subtable* subtable, std::string_view key,
             std::string_view value) {
        *target = Resolve(subtable);
        return CheckWrite(**target, key, value);
      },
      [this](const std::vector<IngestedRun>& runs, SequenceNumber sequence) {
        return Ingest(runs, sequence);
      });
  SLUICE_RETURN_IF_ERROR(begun->Begin());
  *ingestion = std::move(begun);
  return {};
}

Status DBImpl::Ingest(const std::vector<IngestedRun>& runs, SequenceNumber sequence) {
  writes_.WaitAsWriters();
  // What is in memtables is older, but would be found first. Most of it is flushed before writes
  // have to wait.
  for (const IngestedRun& run : runs) {
    SLUICE_RETURN_IF_ERROR(Flush(run.subtable));
  }
  const ExclusiveWrites exclusive(writes_.pipeline());
  if (sequence <= db_.last_sequence) {
    return Status::Busy("more was written meanwhile than an ingestion leaves room for");
  }
  std::vector<MemtablePtr> last(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(SwitchToFlush(runs[i].subtable, &last[i]));
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    if (last[i] != nullptr) {
      SLUICE_RETURN_IF_ERROR(background_.WaitForFlush(runs[i].subtable, last[i]));
    }
  }
  if (db_.stopping) {
    return Status::Busy("closing");
  }
  // Whatever was written before is to be there after a loss of power, too, if this is.
  if (const Status status = db_.log->Sync(); !status.ok()) {
    db_.SetBackgroundError(status);
    return status;
  }
  return Install(runs, sequence);
}

Status DBImpl::Install(const std::vector<IngestedRun>& runs, SequenceNumber sequence) {
  const MutexLock metadata_lock(db_.metadata_mutex);
  SLUICE_RETURN_IF_ERROR(db_.BackgroundError());
  MetadataEdit edit;
  CompactionHold hold(&db_);
  for (const IngestedRun& run : runs) {
    const uint32_t id = run.subtable->id();
    const bool compacting = !hold.Hold(run.subtable);
    RunId where{LevelFor(*run.subtable->PinVersion(), run.extents, compacting)};
    where.run = where.level == kLastLevel ? 0 : db_.next_number.fetch_add(1);
    edit.flushed.push_back({id, sequence});
    for (const Extent& extent : run.extents) {
      edit.added.push_back({id, where, extent});
    }
  }
  edit.next_number = db_.next_number.load();
  const Status status = db_.ApplyMetadata(edit);
  if (status.ok()) {
    // The metadata has it. Without the memory to follow, the process ends.
    [&]() noexcept { Show(runs, sequence); }();
  } else if (!status.IsNoSpace()) {
    db_.SetBackgroundError(status);  // it is unknown whether the next Open finds it
  }
  return status;
}

// In an order in which no reader sees a part of it, or takes what was there for what is:
//
//   1. Versions with the runs: nobody may see these as yet. Later writes go to new memtables, so that
//      readers of the old versions see neither them nor the runs.
//   2. What is remembered of the keys is forgotten. Rows that readers of old versions have found can
//      no longer be filled in, and those of new versions may not be yet (DBImpl::GetFromRuns).
//   3. All become visible.
void DBImpl::Show(const std::vector<IngestedRun>& runs, SequenceNumber sequence) {
  db_.given_sequence.store(sequence, std::memory_order_seq_cst);  // dead_stretches.h
  for (const IngestedRun& run : runs) {
    const Metadata::Subtable& state = db_.metadata->state().subtables.at(run.subtable->id());
    const SpaceUse use = run.subtable->totals.Update(state);
    {
      const StateLock lock(db_.mutex);
      auto* const version = new Version(run.subtable->version(lock));
      version->SetRuns(state, use);
      version->flushed = sequence;
      version->active = db_.NewMemtable();
      db_.InstallVersion(lock, run.subtable, version);
      db_.NoteSpace(lock);
    }
    run.subtable->dead_stretches.Clear();
    ForgetRows(&db_.rows, run.subtable, run.extents, sequence);
  }
  db_.last_sequence = sequence;
  db_.visible.store(sequence, std::memory_order_release);
}

}  // namespace sluice
