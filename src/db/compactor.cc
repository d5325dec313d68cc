#include "db/compactor.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "compaction/pick_division.h"
#include "compaction/pressure.h"
#include "compaction/space_limit.h"
#include "tree/slice.h"
#include "util/cpu_clock.h"
#include "util/epoch.h"
#include "util/no_throw.h"
#include "util/seconds_since.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

// A task's borders cut two blocks of each run, which are read twice: so many bytes of the run are
// to lie between them.
constexpr uint64_t kTaskBytesOfARun = uint64_t{1} << 20;

// Units have so many tasks, one after the other, of each part of a compaction: with fewer they would
// stand still for long as it begins and ends.
constexpr uint64_t kRoundsOfAPart = 4;

// A share has at least the size of so many extents of each run: one extent of each is cut for it,
// and read whole.
constexpr uint64_t kLeastExtentsOfAShare = 2;

// Whether `a` is picked if both are due. If not, a compaction that ended early would be picked
// again, and may have done nothing yet: its first part may leave all as it is.
bool GoesFirst(CompactionKind a, CompactionKind b, const Options& options) {
  const std::vector<CompactionKind>& order = options.compaction_order;
  return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
}

// A part counts the values that it moves, too.
uint64_t PartBytesOf(const CompactionPick& pick, uint64_t part_bytes) {
  uint64_t tables = 0;
  uint64_t values = 0;
  for (const CompactionInput& input :
       pick.relocate.empty() ? std::vector<CompactionInput>() : pick.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      tables += extent->live_bytes();
      for (const ValueShares::Share& share : ValueShares::Of(*extent)) {
        values += std::binary_search(pick.relocate.begin(), pick.relocate.end(),
                                     share.extent->pages.number)
                      ? share.bytes
                      : 0;
      }
    }
  }
  const double share = static_cast<double>(tables + 1) / static_cast<double>(tables + values + 1);
  return static_cast<uint64_t>(share * static_cast<double>(part_bytes));
}

// What the extent's records take elsewhere than in the file `home`, values apart included.
uint64_t BytesInTiers(const Extent& extent, const DataFile* home) {
  uint64_t bytes = extent.place->file() == home ? 0 : extent.live_bytes();
  for (const ValueShares::Share& share : ValueShares::Of(extent)) {
    bytes += share.extent->pages.place->file() == home ? 0 : share.bytes;
  }
  return bytes;
}

// Whether what a compaction wrote to the file `home`, because a tier is full, may stay there. If it
// goes to the last level, then only if it makes room in tiers: all that there is after it would fit
// where they had its inputs, or it moved values out of extents that are garbage for the most part.
// Otherwise what does not fit into a full tier would fill the database's own directory, one
// compaction after the other. Level 1 has what deletions must pass on their way to what they delete,
// and cannot grow like that: writers stop once too much of it waits for major compactions.
bool MayStayAtHome(const CompactionPick& pick, const CompactionResult& result,
                   const DataFile* home) {
  if (pick.output.level != kLastLevel || !pick.relocate.empty()) {
    return true;
  }
  uint64_t before = 0;
  for (const CompactionResult::Input& input : result.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      before += BytesInTiers(*extent, home);
    }
    before -= input.rest ? BytesInTiers(*input.rest, home) : 0;
  }
  uint64_t after = 0;
  for (const Extent& extent : result.added) {
    after += extent.weight();
  }
  for (const ExtentPtr& extent : result.reused) {
    after += extent->weight();
  }
  return after <= before;
}

}  // namespace

Status Compactor::RunPick(SubtableImpl* subtable, const CompactionPick& pick, Manner manner,
                          CompactionResult* result) {
  RunIndex output_run;
  uint64_t part_bytes = 0;
  {
    const StateLock lock(db_.mutex);
    const Version& version = subtable->version(lock);
    part_bytes = PartBytesOf(pick, db_.full.full() || db_.using_reserve > 0 || manner.at_home
                                       ? LeastPartBytes(db_.options)
                                       : PartBytes(version, db_.options));
    for (const Version::Run& run : version.levels[pick.output.level]) {
      if (run.number == pick.output.run) {
        output_run = run.index;
      }
    }
  }
  const bool offload = subtable->format()->offload && !manner.plainly;
  const size_t tasks = offload ? db_.driver->max_tasks() : 0;
  // For the CPU tasks are as small as they can be at no cost: what one reads is still in a cache
  // when it is merged, and its memory serves the next.
  uint64_t task_bytes = kTaskBytesOfARun * pick.inputs.size();
  if (tasks > 0) {
    task_bytes = std::max(task_bytes, part_bytes / (kRoundsOfAPart * tasks));
  }
  task_bytes = std::min(task_bytes, db_.options.task_bytes);
  uint64_t records = 0;
  SequenceNumber newest = 0;
  for (const CompactionInput& input : pick.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      records += extent->entries;
      newest = std::max(newest, extent->newest);
    }
  }
  RunFormat format = db_.FormatOf(*subtable, pick.output.level);
  if (manner.at_home) {
    format.tier = format.values.tier = 0;
  }
  std::set<uint32_t> recoded_levels;
  for (const CompactionInput& input : pick.inputs) {
    if (db_.FormatOf(*subtable, input.run.level).extent.codec != format.extent.codec) {
      recoded_levels.insert(input.run.level);
    }
  }
  const std::vector<SequenceNumber> snapshots = SnapshotsForMerges(
      db_.snapshots.All(), newest, records, offload ? db_.driver->max_unit_snapshots() : SIZE_MAX);
  ExtentWriter writer(db_.space.get(), format.tier, &db_.next_number,
                      ExtentWriter::Use::kCompaction, &db_.limiter);
  return RunCompaction(pick, output_run,
                       {.task_bytes = task_bytes,
                        .reuse = !manner.plainly,
                        .part_bytes = part_bytes,
                        .oldest_snapshot = snapshots.front(),
                        .least_bytes_rewritten = db_.options.extent_bytes / 2,
                        .file = manner.at_home ? nullptr : db_.space->FileOf(format.tier),
                        .recoded_levels = std::move(recoded_levels)},
                       {.extent = format.extent,
                        .block_bytes = format.block_bytes,
                        .restart_interval = format.restart_interval,
                        .snapshots = snapshots,
                        .window = tasks + 1,
                        .offload = offload,
                        .values = format.values},
                       db_.driver.get(), &db_.reader, &writer, &db_.stopping, result);
}

Status Compactor::Compact(SubtableImpl* subtable, CompactionPick* pick, size_t threads,
                          Status* set_aside) {
  Compaction compaction{.subtable = subtable};
  return CarryOut(&compaction, pick, threads, set_aside);
}

Status Compactor::CompactOnePart(SubtableImpl* subtable, CompactionPick* pick, Status* set_aside,
                                 bool* more) {
  Compaction compaction{.subtable = subtable, .one_part = true};
  const Status status = CarryOut(&compaction, pick, 1, set_aside);
  *more = compaction.more;
  return status;
}

Status Compactor::CarryOut(Compaction* carried_out, CompactionPick* pick, size_t threads,
                           Status* set_aside) {
  Compaction& compaction = *carried_out;
  SubtableImpl* const subtable = compaction.subtable;
  const std::vector<std::string> borders = BordersOf(
      *pick, threads, kLeastExtentsOfAShare * db_.options.extent_bytes * pick->inputs.size());
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
  compaction.shares = Divide(*pick, borders);
  // Or what a part is done with would keep its pages until all parts are.
  for (CompactionInput& input : pick->inputs) {
    input.extents.clear();
  }
  compaction.waiting.reserve(compaction.shares.size());
  std::for_each(compaction.shares.rbegin(), compaction.shares.rend(),
                [&](CompactionPick& share) { compaction.waiting.push_back(&share); });
  {
    const StateLock lock(db_.mutex);
    under_way_.push_back(&compaction);
    db_.work.notify_all();
  }
  for (;;) {
    CompactionPick* share = nullptr;
    {
      StateLock lock(db_.mutex);
      while (compaction.waiting.empty() && compaction.taken > 0) {
        db_.changed.wait(lock);
      }
      share = compaction.Take();
      if (share == nullptr) {
        std::erase(under_way_, &compaction);
        // Of those that end early.
        for (CompactionPick& ended : compaction.shares) {
          subtable->backlog.cut_bytes -= std::exchange(ended.cut_bytes, 0);
        }
        db_.backlog.Update(lock, subtable);
        break;
      }
    }
    CompactFirstPart({&compaction, share});
  }
  Join(std::move(compaction.shares), pick);
  *set_aside = compaction.set_aside;
  return compaction.status;
}

std::optional<Compactor::Share> Compactor::TakeShare(const StateLock& lock) {
  lock.AssertHeld();
  for (Compaction* const compaction : under_way_) {
    if (CompactionPick* const pick = compaction->Take()) {
      ++helping_;
      return Share{compaction, pick, /*is_help=*/true};
    }
  }
  return std::nullopt;
}

void Compactor::CompactFirstPart(const Share& share) {
  Compaction* const compaction = share.compaction;
  Status set_aside;
  Status status =
      NoThrow([&] { return CompactPart(compaction->subtable, share.pick, &set_aside); });
  if (LimitsSpace(db_.options)) {
    EpochWait();  // the next part must not take space while readers keep this one's
  } else {
    EpochReclaim();
  }
  const StateLock lock(db_.mutex);
  --compaction->taken;
  helping_ -= share.is_help ? 1 : 0;
  if (compaction->status.ok()) {
    compaction->status = std::move(status);
  }
  if (compaction->set_aside.ok()) {
    compaction->set_aside = std::move(set_aside);
  }
  if (!compaction->status.ok() || !compaction->set_aside.ok() || compaction->subtable->dropped ||
      MustGiveWay(lock, *compaction)) {
    compaction->waiting.clear();
  } else if (!share.pick->inputs.empty()) {
    compaction->more = compaction->one_part;
    if (!compaction->one_part) {
      compaction->waiting.push_back(share.pick);
      db_.work.notify_all();
    }
  }
  db_.changed.notify_all();
}

bool Compactor::MustGiveWay(const StateLock& lock, const Compaction& compaction) const {
  const Version& version = compaction.subtable->version(lock);
  const CompactionKind kind = compaction.shares.front().kind;
  switch (kind) {
    case CompactionKind::kIntraL1:
    case CompactionKind::kMajor:
    case CompactionKind::kSelfMajor:
      return PressureOfRuns(version, db_.options) > 0 && IsMinorDue(version, db_.options) &&
             GoesFirst(CompactionKind::kMinor, kind, db_.options);
    default:
      return false;
  }
}

Status Compactor::Cut(SubtableImpl* subtable, const std::vector<std::string>& keys,
                      CompactionPick* pick, Status* set_aside) {
  const KeyRange& range = pick->range;
  MetadataEdit edit;
  std::vector<CompactionInput> cut;  // the pick's, once the edit has taken effect
  for (const CompactionInput& input : pick->inputs) {
    std::vector<ExtentPtr> within;
    for (const ExtentPtr& extent : input.extents) {
      const auto first = std::upper_bound(keys.begin(), keys.end(), UserKey(extent->smallest));
      const auto end = std::upper_bound(first, keys.end(), UserKey(extent->largest));
      if (first == end) {
        within.push_back(extent);
        continue;
      }
      // It has records on both sides of a cut, because its bounds are keys that it has.
      std::vector<Extent> slices;
      if (Status status = CutExtent(*extent, {first, end}, &db_.reader, &slices); !status.ok()) {
        if (!IsOfTheInput(status)) {
          return status;
        }
        *set_aside = status;
        return SetAside(subtable, *pick, extent, status);
      }
      edit.removed.push_back({subtable->id(), input.run, extent->number, extent->smallest});
      for (const Extent& slice : slices) {
        edit.added.push_back({subtable->id(), input.run, slice});
        if (!(range.has_begin && UserKey(slice.smallest) < range.begin) &&
            !(range.has_end && UserKey(slice.smallest) >= range.end)) {
          within.push_back(std::make_shared<const Extent>(slice));
        }
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

Status Compactor::CompactPart(SubtableImpl* subtable, CompactionPick* pick, Status* set_aside) {
  const Clock::time_point begin = Clock::now();
  CompactionResult result;
  Status status;
  Status full_tier;
  Manner manner;
  for (bool again = true; again;) {
    result = {};
    const double cpu_seconds = ThreadCpuSeconds();
    status = RunPick(subtable, *pick, manner, &result);
    db_.counters.compaction_cpu_microseconds.fetch_add(
        static_cast<uint64_t>(1e6 * (ThreadCpuSeconds() - cpu_seconds)));
    again = false;
    if (status.ok() && manner.at_home && !MayStayAtHome(*pick, result, db_.space->FileOf(0))) {
      status = full_tier;
    } else if (result.unsound) {
      db_.counters.compactions_abandoned.fetch_add(1);
      db_.Tell([&](EventListener& listener) {
        listener.OnCompactionAbandoned(subtable->name(), status);
      });
      again = !std::exchange(manner.plainly, true);
    } else if (status.IsNoSpace() && db_.FormatOf(*subtable, pick->output.level).in_tiers()) {
      // What it frees may make room in the tier: the next part then goes there.
      again = !std::exchange(manner.at_home, true);
      full_tier = again ? status : full_tier;
    }
  }
  if (result.damaged != nullptr && IsOfTheInput(status)) {
    *set_aside = status;
    return SetAside(subtable, *pick, result.damaged, status);
  }
  SLUICE_RETURN_IF_ERROR(status);
  SLUICE_RETURN_IF_ERROR(InstallOutput(subtable, pick, result));
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

Status Compactor::InstallOutput(SubtableImpl* subtable, CompactionPick* pick,
                                const CompactionResult& result) {
  MetadataEdit edit;
  uint64_t cut_bytes = 0;
  for (size_t i = 0; i < pick->inputs.size(); ++i) {
    const RunId run = pick->inputs[i].run;
    for (const ExtentPtr& extent : result.inputs[i].extents) {
      edit.removed.push_back({subtable->id(), run, extent->number, extent->smallest});
    }
    if (result.inputs[i].rest) {
      edit.added.push_back({subtable->id(), run, *result.inputs[i].rest});
      cut_bytes += result.inputs[i].rest->bytes - result.inputs[i].rest->live_bytes();
    }
  }
  for (const ExtentPtr& extent : result.reused) {
    edit.added.push_back({subtable->id(), pick->output, *extent});
  }
  for (const Extent& extent : result.added) {
    edit.added.push_back({subtable->id(), pick->output, extent});
  }
  const MutexLock metadata_lock(db_.metadata_mutex);
  return subtable->dropped ? Status() : db_.ApplyEdit(subtable, &edit, [&](Version*) {
    subtable->backlog.cut_bytes += cut_bytes - std::exchange(pick->cut_bytes, cut_bytes);
  });
}

Status Compactor::SetAside(SubtableImpl* subtable, const CompactionPick& pick,
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

}  // namespace sluice
