// The read path (X-Engine 3.1): memtables, row cache, then the runs from the newest on.
//
// A read pins a version first and asks for the visible sequence number then: what it may see is
// either in that version, or came later and need not be seen. The other way round, a flush in
// between could drop what only that sequence number sees. Only iterators need to have all that the
// number shows (SubtableImpl::PinState).

#include <algorithm>
#include <array>
#include <utility>

#include "db/db_impl.h"
#include "mem/memtable_iterator.h"
#include "table/filter.h"
#include "tree/merged_iterator.h"
#include "tree/run_iterator.h"
#include "tree/version_iterator.h"
#include "util/epoch.h"
#include "util/hash.h"
#include "util/thread_owned.h"

namespace sluice {

namespace {

// With more, older runs would be searched in vain for keys that a newer run has.
constexpr size_t kRunsAtOnce = 8;
// Keys of a MultiGet whose blocks are read at once.
constexpr size_t kReadsAtOnce = 32;

Status NotThere() { return Status::NotFound({}); }

// Sets *value if the version is not a tombstone.
Status ValueOf(uint64_t trailer, std::string_view found, std::string* value) {
  if (TrailerType(trailer) == static_cast<uint8_t>(RecordType::kDeletion)) {
    return NotThere();
  }
  value->assign(found);
  return {};
}

// All that a reader of the version must heed; null if there are none.
std::shared_ptr<const RangeDeletions> RangeDeletionsOf(const Version& version) {
  std::shared_ptr<RangeDeletions> all;
  const auto add = [&](const RangeDeletions& some) {
    all = all != nullptr ? all : std::make_shared<RangeDeletions>();
    all->Add(some);
  };
  if (!version.cuts.empty()) {
    add(version.cuts);
  }
  if (version.active->table.has_range_deletions()) {
    add(version.active->table.range_deletions());
  }
  for (const MemtablePtr& memtable : version.waiting) {
    if (memtable->table.has_range_deletions()) {
      add(memtable->table.range_deletions());
    }
  }
  return all;
}

}  // namespace

void DBImpl::Pay(SubtableImpl* subtable, uint64_t bytes) {
  if (subtable->read_credit.Earn(bytes)) {
    const StateLock lock(db_.mutex);
    db_.Recheck(lock, subtable);
  }
}

Status DBImpl::FindInRuns(const View& view, std::string_view key, BlockReads* reads,
                          RunMatch* match) {
  thread_local ThreadOwned<std::string> kept;
  std::string& internal_key = *kept;
  internal_key.assign(key);
  PutFixed64(&internal_key, FirstTrailer(view.snapshot));
  const uint32_t hash = BloomHash(key);
  const SequenceNumber cut =
      view.version.cuts.empty() ? 0 : view.version.cuts.Covering(key, view.snapshot);
  // Most runs do not have the key, which filters in memory tell: they are asked together.
  std::array<ExtentReader::Lookup, kRunsAtOnce> lookups;
  size_t count = 0;
  size_t asked = 0;
  const auto put_off = [reads] { return reads != nullptr && reads->wanted(); };
  const auto search = [&]() -> Status {
    db_.reader.Prepare({lookups.data(), count}, internal_key, hash);
    for (size_t i = 0; i < count && !match->found && !put_off(); ++i) {
      SLUICE_RETURN_IF_ERROR(
          db_.reader.Get(lookups[i], internal_key, hash, view.fill_cache, reads, match));
      match->extent = lookups[i].extent;
    }
    count = 0;
    return {};
  };
  for (const std::vector<Version::Run>& level : view.version.levels) {
    for (const Version::Run& run : level) {
      if (match->found || put_off()) {
        break;
      }
      const Extent* const extent = run.index.Find(internal_key);
      if (extent != nullptr && UserKey(extent->smallest) <= key && extent->newest >= cut) {
        lookups[count++] = {.extent = extent};
        ++asked;
        if (count == lookups.size()) {
          SLUICE_RETURN_IF_ERROR(search());
        }
      }
    }
  }
  SLUICE_RETURN_IF_ERROR(search());
  if (put_off()) {
    return {};
  }
  if (asked > 1) {
    Pay(view.subtable, (asked - 1) * ReadCredit::kGet);
  }
  if (!view.version.aside.empty()) {
    SLUICE_RETURN_IF_ERROR(FindAside(view.version, internal_key, hash, cut, match));
  }
  match->found = match->found && TrailerSequence(match->trailer) >= cut;
  return {};
}

Status DBImpl::FindAside(const Version& version, std::string_view internal_key, uint32_t hash,
                         SequenceNumber cut, RunMatch* match) {
  for (const RunIndex& aside : version.aside) {
    const Extent* const extent = aside.Find(internal_key);
    if (extent == nullptr || UserKey(extent->smallest) > UserKey(internal_key) ||
        extent->newest < cut ||
        (match->found && TrailerSequence(match->trailer) >= extent->newest)) {
      continue;
    }
    RunMatch other;
    SLUICE_RETURN_IF_ERROR(
        db_.reader.Get(*extent, internal_key, hash, /*fill_cache=*/false, &other));
    if (other.found && (!match->found || other.trailer > match->trailer)) {
      *match = other;
      match->extent = extent;
    }
  }
  return {};
}

Status DBImpl::ChangedSince(Subtable* subtable, std::string_view key, SequenceNumber since,
                            bool* changed) {
  *changed = false;
  const uint64_t key_hash = Hash64(key);
  const EpochGuard guard;
  const Version& version = static_cast<SubtableImpl*>(subtable)->version(guard);
  // A range deletion counts as a write of the key, whether there was something to delete or not.
  // One that was flushed is of no interest: all snapshots see it, or else it left tombstones.
  SequenceNumber newest = 0;
  const auto look = [&](const MemtableInfo& memtable) {
    if (const Memtable::Version* const found = memtable.table.Get(key, key_hash, kMaxSequence)) {
      newest = std::max(newest, found->sequence());
    }
    if (memtable.table.has_range_deletions()) {
      newest = std::max(newest, memtable.table.Covering(key, kMaxSequence));
    }
    return newest != 0;
  };
  if (look(*version.active) || std::any_of(version.waiting.begin(), version.waiting.end(),
                                           [&](const auto& memtable) { return look(*memtable); })) {
    *changed = newest > since;
    return {};
  }
  if (version.flushed <= since) {
    return {};
  }
  if (const Cache::Entry* const row = db_.rows.Get(subtable->id(), key, key_hash, kMaxSequence)) {
    *changed = TrailerSequence(row->tag()) > since;
    return {};
  }
  RunMatch match;
  const View view = {.subtable = static_cast<SubtableImpl*>(subtable),
                     .flushes_seen = 0,
                     .version = version,
                     .snapshot = kMaxSequence,
                     .fill_cache = true};
  SLUICE_RETURN_IF_ERROR(FindInRuns(view, key, /*reads=*/nullptr, &match));
  *changed = match.found && TrailerSequence(match.trailer) > since;
  return {};
}

Status DBImpl::RangeChangedSince(Subtable* subtable, std::string_view begin, std::string_view end,
                                 SequenceNumber since, bool* changed) {
  *changed = false;
  const std::shared_ptr<const Version> version = static_cast<SubtableImpl*>(subtable)->PinVersion();
  const auto look = [&](RecordIterator* at) {
    for (at->Seek(begin); !*changed && at->Valid() && (end.empty() || at->user_key() < end);
         at->Next()) {
      *changed = TrailerSequence(at->trailer()) > since;
    }
    return at->status();
  };
  // A range deletion counts as a write of all its keys, as in ChangedSince.
  const auto look_in_memtable = [&](const Memtable& memtable) {
    memtable.range_deletions().ForEach([&](const RangeDeletion& deletion) {
      *changed |= deletion.sequence > since && (end.empty() || deletion.begin < end) &&
                  (deletion.end.empty() || begin < deletion.end);
    });
    MemtableIterator at(&memtable, kMaxSequence);
    return look(&at);
  };
  SLUICE_RETURN_IF_ERROR(look_in_memtable(version->active->table));
  for (const MemtablePtr& memtable : version->waiting) {
    if (!*changed && memtable->last_sequence > since) {
      SLUICE_RETURN_IF_ERROR(look_in_memtable(memtable->table));
    }
  }
  const auto look_in_run = [&](const RunIndex& run) {
    if (*changed || run.empty()) {
      return Status();
    }
    RunIterator at(&db_.reader, run, kMaxSequence, /*fill_cache=*/false);
    return look(&at);
  };
  if (version->flushed <= since) {
    return {};
  }
  for (const std::vector<Version::Run>& level : version->levels) {
    for (const Version::Run& run : level) {
      SLUICE_RETURN_IF_ERROR(look_in_run(run.index));
    }
  }
  for (const RunIndex& aside : version->aside) {
    SLUICE_RETURN_IF_ERROR(look_in_run(aside));
  }
  return {};
}

bool DBImpl::GetFromMemory(const View& view, const RowCache& rows, Lookup* lookup, Status* status) {
  const uint64_t key_hash = Hash64(lookup->key);
  SequenceNumber deleted = 0;  // what is older is deleted by a range deletion of a memtable
  const auto look = [&](const MemtableInfo& memtable) -> const Memtable::Version* {
    if (memtable.table.has_range_deletions()) [[unlikely]] {
      // Rarely is the newest one too new for the reader.
      SequenceNumber covering = memtable.table.Covering(lookup->key, kMaxSequence);
      lookup->in_memtables = lookup->in_memtables || covering != 0;
      if (covering > view.snapshot) {
        covering = memtable.table.Covering(lookup->key, view.snapshot);
      }
      deleted = std::max(deleted, covering);
    }
    const Memtable::Version* const newest = memtable.table.Get(lookup->key, key_hash, kMaxSequence);
    lookup->in_memtables = lookup->in_memtables || newest != nullptr;
    return newest == nullptr ? nullptr : newest->At(view.snapshot);
  };
  const auto value_of = [&](const Memtable::Version& found) {
    return found.sequence() < deleted ? NotThere()
                                      : ValueOf(found.trailer(), found.value(), lookup->value);
  };
  if (const Memtable::Version* const found = look(*view.version.active)) {
    *status = value_of(*found);
    return true;
  }
  for (const MemtablePtr& memtable : view.version.waiting) {
    if (const Memtable::Version* const found = look(*memtable)) {
      *status = value_of(*found);
      return true;
    }
  }
  if (deleted != 0) {
    *status = NotThere();
    return true;
  }
  const Cache::Entry* const row =
      rows.Get(view.subtable->id(), lookup->key, key_hash, view.snapshot);
  if (row != nullptr && !view.subtable->dropped.load(std::memory_order_relaxed)) {
    lookup->value->assign(row->value());
    return true;
  }
  return false;
}

Status DBImpl::GetFromRuns(const View& view, const Lookup& lookup, BlockReads* reads) {
  RunMatch match;
  SLUICE_RETURN_IF_ERROR(FindInRuns(view, lookup.key, reads, &match));
  if (!match.found) {
    return NotThere();
  }
  if (IsValueReference(match.trailer)) {
    SLUICE_RETURN_IF_ERROR(ReadValue(*match.extent, lookup.key, match.value, reads, lookup.value));
    if (reads != nullptr && reads->wanted()) {
      return {};
    }
    match.trailer = MakeTrailer(TrailerSequence(match.trailer), RecordType::kValue);
    match.value = *lookup.value;
  } else {
    SLUICE_RETURN_IF_ERROR(ValueOf(match.trailer, match.value, lookup.value));
  }
  // What was found is the newest version in the extents, unless an old snapshot hid newer ones.
  if (view.fill_cache && !lookup.in_memtables && view.snapshot >= view.version.flushed) {
    db_.rows.Fill(view.subtable->id(), lookup.key, match.trailer, match.value,
                  view.subtable->flushes, view.flushes_seen);
  }
  return {};
}

Status DBImpl::Get(const ReadOptions& options, Subtable* subtable, std::string_view key,
                   std::string* value) {
  SubtableImpl* const target = Resolve(subtable);
  const EpochGuard guard;
  const uint64_t flushes_seen = target->flushes.load(std::memory_order_acquire);
  const Version& version = target->version(guard);
  const View view = {.subtable = target,
                     .flushes_seen = flushes_seen,
                     .version = version,
                     .snapshot = options.snapshot != nullptr
                                     ? options.snapshot->sequence()
                                     : db_.visible.load(std::memory_order_acquire),
                     .fill_cache = options.fill_cache};
  Lookup lookup = {.key = key, .value = value};
  Status status;
  return GetFromMemory(view, db_.rows, &lookup, &status) ? status
                                                         : GetFromRuns(view, lookup, nullptr);
}

std::vector<Status> DBImpl::MultiGet(const ReadOptions& options, Subtable* subtable,
                                     const std::vector<std::string_view>& keys,
                                     std::vector<std::string>* values) {
  SubtableImpl* const target = Resolve(subtable);
  values->resize(keys.size());
  std::vector<Status> statuses(keys.size());
  // The row cache can be ahead of a version, so only a snapshot taken first is one state.
  const Snapshot* const held = options.snapshot == nullptr ? db_.snapshots.Take() : nullptr;
  const uint64_t flushes_seen = target->flushes.load(std::memory_order_acquire);
  const std::shared_ptr<const Version> version = target->PinVersion();
  const View view = {.subtable = target,
                     .flushes_seen = flushes_seen,
                     .version = *version,
                     .snapshot = (held != nullptr ? held : options.snapshot)->sequence(),
                     .fill_cache = options.fill_cache};
  BlockReads reads;
  std::vector<Lookup> waiting;  // for blocks that are not in memory
  const auto finish = [&](const Lookup& lookup) {
    statuses[lookup.number] = GetFromRuns(view, lookup, &reads);
    return !reads.TakeWanted();
  };
  for (size_t i = 0; i < keys.size(); ++i) {
    Lookup lookup = {.key = keys[i], .value = &(*values)[i], .number = i};
    {
      const EpochGuard guard;  // of one lookup: caches must be able to give back what they evict
      if (!GetFromMemory(view, db_.rows, &lookup, &statuses[i]) && !finish(lookup)) {
        waiting.push_back(lookup);
      }
    }
    if (waiting.size() < kReadsAtOnce && i + 1 < keys.size()) {
      continue;
    }
    while (!waiting.empty()) {
      reads.Read();
      std::erase_if(waiting, [&](const Lookup& put_off) {
        const EpochGuard guard;
        return finish(put_off);
      });
    }
    reads.Clear();
  }
  if (held != nullptr) {
    ReleaseSnapshot(held);
  }
  return statuses;
}

void DBImpl::ReleaseSnapshot(const Snapshot* snapshot) {
  db_.snapshots.Release(snapshot);
  if (db_.schedule.MayBeFreed()) {
    const StateLock lock(db_.mutex);
    db_.schedule.RecheckHeldBack(lock);
    db_.work.notify_all();
  }
}

std::unique_ptr<Iterator> DBImpl::IteratorOver(std::unique_ptr<RecordIterator> newest,
                                               const ReadOptions& options, Subtable* subtable) {
  SubtableImpl* const target = Resolve(subtable);
  SubtableImpl::State state =
      options.snapshot != nullptr
          ? SubtableImpl::State{target->PinVersion(), options.snapshot->sequence()}
          : target->PinState([&] { return db_.visible.load(std::memory_order_acquire); });
  std::shared_ptr<const Version> version = std::move(state.version);
  const SequenceNumber snapshot = state.snapshot;
  const std::shared_ptr<const RangeDeletions> deletions = RangeDeletionsOf(*version);
  KeyBounds bounds = {.lower = options.lower_bound, .upper = options.upper_bound};
  const size_t prefix_bytes = version->format->prefix_bytes;
  if (prefix_bytes > 0 && bounds.lower != nullptr && bounds.upper != nullptr) {
    bounds.shared_bytes = SharedPrefixBytes(*bounds.lower, *bounds.upper);
  }
  IteratorParts parts;
  size_t most_parts = 2 + version->waiting.size() + version->aside.size();
  for (const std::vector<Version::Run>& level : version->levels) {
    most_parts += level.size();
  }
  parts.Reserve(most_parts);
  // Not for who has writes of his own.
  const DeadKeys dead =
      newest == nullptr ? DeadKeys{&target->dead_stretches, &db_.given_sequence} : DeadKeys();
  if (newest != nullptr) {
    parts.Add(std::move(newest));
  }
  // `before`: nothing in it is as old. One that came after the snapshot has nothing to show, and a
  // seek would pass over all of it to find out.
  const auto add_memtable = [&](const MemtableInfo& memtable, SequenceNumber before,
                                SequenceNumber last) {
    if (before < snapshot && memtable.table.records() > 0) {
      parts.Add(Covered(
          std::make_unique<MemtableIterator>(&memtable.table, snapshot, bounds.lower, bounds.upper),
          deletions, snapshot, last));
    }
  };
  const auto last_before = [&](size_t waiting) {
    return waiting < version->waiting.size() ? version->waiting[waiting]->last_sequence
                                             : version->flushed;
  };
  add_memtable(*version->active, last_before(0), kMaxSequence);
  for (size_t i = 0; i < version->waiting.size(); ++i) {
    add_memtable(*version->waiting[i], last_before(i + 1), version->waiting[i]->last_sequence);
  }
  const size_t runs = AddRuns(*version, &db_.reader, deletions, snapshot, options.fill_cache,
                              target->seek_reach.data(), bounds, &parts);
  if (runs > 1) {
    // Most runs are passed over at the price of a filter.
    const bool by_filter = prefix_bytes > 0 && bounds.shared_bytes >= prefix_bytes;
    Pay(target, (runs - 1) * (by_filter ? ReadCredit::kGet : ReadCredit::kIterator));
  }
  return std::make_unique<MergedIterator>(std::move(parts), snapshot, dead, bounds,
                                          std::move(version));
}

}  // namespace sluice
