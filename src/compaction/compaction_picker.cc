#include "compaction/compaction_picker.h"

#include <algorithm>
#include <utility>

#include "compaction/key_windows.h"
#include "compaction/run_totals.h"
#include "compaction/space_limit.h"
#include "compaction/value_picker.h"
#include "tree/extent_space.h"
#include "tree/subtable_format.h"

namespace sluice {

namespace {

constexpr RunId kLast{kLastLevel, 0};

// Extents below this share of their full size are small; so many of them are worth a compaction.
constexpr uint32_t kSmallShare = 4;
constexpr size_t kManySmall = 64;
// Fewer records are not worth a compaction for their tombstones, unless these delete much.
constexpr uint64_t kFewRecords = 1000;
// So many bytes are.
constexpr uint64_t kMuchDeleted = uint64_t{64} << 10;
// Instead of deletion_share.
constexpr double kShareOnFullDevice = 1.0 / 64;

// A run of 1/kRipeShare of UpperBytes is large enough for major compactions.
constexpr uint64_t kRipeShare = 12;
// Windows chosen for few reads may have half of the share that others have, so they have no less of the
// average.
constexpr double kLeastOfAverage = 2.5;
// So many smaller runs of level 1 are merged into one.
constexpr size_t kTierRuns = 4;
// And no more of them at once. A part of a compaction reads some of each run, so the parts of one of
// hundreds of runs, as ingestions leave them, would read several times what they write.
constexpr size_t kMostTierRuns = 16;

// The extents with a key in the range, as far as their bounds tell.
std::vector<ExtentPtr> InRange(const RunIndex& run, const KeyRange& range) {
  std::vector<ExtentPtr> extents;
  RunIndex::Iterator at(run);
  if (range.has_begin) {
    std::string begin = range.begin;
    PutFixed64(&begin, FirstTrailer(kMaxSequence));
    at.Seek(begin);
  } else {
    at.SeekToFirst();
  }
  for (; at.Valid() && !(range.has_end && UserKey(at.extent()->smallest) >= range.end); at.Next()) {
    extents.push_back(at.extent());
  }
  return extents;
}

bool SharesKey(const Extent& before, const Extent& after) {
  return UserKey(before.largest) == UserKey(after.smallest);
}

// Whether an extent of `run` may overlap one of `extents`, by their bounds. The first one usually
// tells.
bool Touches(const RunIndex& run, const std::vector<ExtentPtr>& extents) {
  return std::any_of(extents.begin(), extents.end(), [&](const ExtentPtr& extent) {
    return run.Overlaps(UserKey(extent->smallest), UserKey(extent->largest));
  });
}

std::vector<ExtentPtr> SortedByKey(std::vector<ExtentPtr> extents) {
  std::sort(extents.begin(), extents.end(), [](const ExtentPtr& a, const ExtentPtr& b) {
    return CompareInternalKeys(a->smallest, b->smallest) < 0;
  });
  return extents;
}

// Whether that is deletion_share of so many records.
bool Many(uint64_t superfluous, uint64_t records, const Options& options) {
  return superfluous > 0 &&
         static_cast<double>(superfluous) >= options.deletion_share * static_cast<double>(records);
}

// Many records that only snapshots needed when it was written: what newer versions or tombstones
// hide, and the tombstones. Those that are hidden themselves count twice; they are taken to be few.
bool ManyOldVersions(const Extent& extent, const Options& options) {
  return extent.weight() >= options.extent_bytes / kSmallShare && extent.shadowed > 0 &&
         Many(extent.shadowed + extent.tombstones, extent.entries, options);
}

// The sequence number that the oldest snapshot must reach before no snapshot needs deletion_share of
// the extent's records that are tombstones, or hidden by them; kMaxSequence: never. Tombstones are
// taken to be spread evenly, and to hide a version each if there are so many: other versions may be
// hidden by something that is newer than all of them.
SequenceNumber TombstonesDueAt(const Extent& extent, const Options& options) {
  const uint64_t superfluous = extent.tombstones + std::min(extent.tombstones, extent.shadowed);
  if (!Many(superfluous, extent.entries, options)) {
    return kMaxSequence;
  }
  const double share = std::clamp(options.deletion_share * static_cast<double>(extent.entries) /
                                      static_cast<double>(superfluous),
                                  0.0, 1.0);
  const SequenceNumber spread = extent.newest_tombstone - extent.oldest_tombstone;
  return std::min(
      extent.newest_tombstone,
      extent.oldest_tombstone + static_cast<SequenceNumber>(share * static_cast<double>(spread)));
}

// The sequence number that the oldest snapshot must reach before it is worth rewriting the extent,
// of the last level, to drop tombstones or old versions; kMaxSequence: never.
SequenceNumber WorthRewritingAt(const RunIndex& last, const ExtentPtr& extent,
                                const Options& options) {
  SequenceNumber due = kMaxSequence;
  // However small, if nothing of it may be left.
  const bool all =
      extent->tombstones > 0 && extent->tombstones + extent->shadowed >= extent->entries;
  if (all || ManyOldVersions(*extent, options)) {
    due = 0;
    // What is newer than its first record may be in the extent before.
    for (const ExtentPtr& whole : WithWholeKeys(last, {extent})) {
      due = std::max(due, whole->newest);
    }
  }
  const bool little = extent->entries < kFewRecords && extent->weight() < kMuchDeleted;
  return little ? due : std::min(due, TombstonesDueAt(*extent, options));
}

// Passes summaries that do not `interest`, if one begins where it stands. Returns whether it did.
// `interest` is asked with the summary behind, too, which may be null.
template <typename Interest>
bool PassSummaries(RunIndex::Iterator* at, const Interest& interest) {
  for (bool passed = false;; passed = true) {
    if (at->Valid() && at->large_summary() != nullptr &&
        !interest(*at->large_summary(), at->next_large_summary())) {
      at->NextLargeSummary();
    } else if (at->Valid() && at->summary() != nullptr &&
               !interest(*at->summary(), at->next_summary())) {
      at->NextSummary();
    } else {
      return passed;
    }
  }
}

// Whether the extent's tombstones are deletion_share of the records that `older` runs have there, as
// far as their bounds tell, and these are many bytes, with what they hide in the extent itself. Looks
// at few extents.
bool DeletesMuch(const Extent& extent, const std::vector<const RunIndex*>& older,
                 const Options& options) {
  uint64_t records = 0;
  uint64_t bytes = extent.shadowed > 0 ? extent.weight() : 0;
  for (const RunIndex* run : older) {
    std::string begin(UserKey(extent.smallest));
    PutFixed64(&begin, FirstTrailer(kMaxSequence));
    RunIndex::Iterator at(*run);
    for (at.Seek(begin); at.Valid() && UserKey(at.extent()->smallest) <= UserKey(extent.largest);
         at.Next()) {
      records += at.extent()->entries;
      bytes += at.extent()->weight();
      if (!Many(extent.tombstones, records, options)) {
        return false;
      }
    }
  }
  return bytes >= kMuchDeleted;
}

// What a search for tombstones needs to know.
struct Deletions {
  const Version& version;
  const Options& options;
  SequenceNumber oldest_snapshot;
  SequenceNumber* held_back;  // the oldest snapshot must reach this for more to be found
};

// The first extent of run `i` of an upper level whose tombstones are worth a compaction; not valid if
// there is none.
RunIndex::Iterator WorthDeleting(const Deletions& deletions, size_t level, size_t i) {
  const auto interest = [](const RunIndex::Summary& summary, const RunIndex::Summary*) {
    return summary.tombstones > 0;
  };
  const Version& version = deletions.version;
  std::vector<const RunIndex*> older;
  for (size_t below = level; below < kLevels; ++below) {
    const std::vector<Version::Run>& runs = version.levels[below];
    for (size_t run = below == level ? i + 1 : 0; run < runs.size(); ++run) {
      older.push_back(&runs[run].index);
    }
  }
  RunIndex::Iterator at(version.levels[level][i].index);
  for (at.SeekToFirst(), PassSummaries(&at, interest); at.Valid();
       at.Next(), PassSummaries(&at, interest)) {
    const Extent& extent = *at.extent();
    const SequenceNumber due = TombstonesDueAt(extent, deletions.options);
    if (due == kMaxSequence ||
        (extent.entries < kFewRecords && !DeletesMuch(extent, older, deletions.options))) {
      continue;
    }
    if (due <= deletions.oldest_snapshot) {
      break;
    }
    *deletions.held_back = std::min(*deletions.held_back, due);
  }
  return at;
}

RunId IdOf(uint32_t level, const Version::Run& run) { return {level, run.number}; }

// Compacts what the runs [first, end) of level `level`, newest first, have in the range into one
// run of level 1.
CompactionPick IntoRun(CompactionKind kind, const Version& version, const Options& options,
                       uint32_t level, size_t first, size_t end, KeyRange range = {}) {
  const std::vector<Version::Run>& runs = version.levels[level];
  const std::vector<Version::Run>& level0 = version.levels[0];
  if (level == 1 && !level0.empty() && runs[first].number > level0.back().number) {
    // Before 0.2.0 such a run could be put there, of ingested keys that level 0 has not. Made into one
    // with older runs it would come before level 0, which is newer than these: that goes first.
    return PickLevel0(version, options, CompactionKind::kMinor);
  }
  // The newest one's number is above those of all runs that are older.
  CompactionPick pick{
      .kind = kind, .inputs = {}, .output = {1, runs[first].number}, .range = std::move(range)};
  std::vector<const RunIndex*> older;
  for (uint32_t below = level; below < kLevels; ++below) {
    for (size_t i = below == level ? end : 0; i < version.levels[below].size(); ++i) {
      older.push_back(&version.levels[below][i].index);
    }
  }
  pick.bottommost = true;
  uint64_t bytes = 0;
  for (size_t i = first; i < end; ++i) {
    std::vector<ExtentPtr> extents = InRange(runs[i].index, pick.range);
    if (extents.empty()) {
      continue;
    }
    for (const ExtentPtr& extent : extents) {
      bytes += extent->live_bytes();
    }
    pick.bottommost = pick.bottommost && !TouchesAside(version, extents) &&
                      std::none_of(older.begin(), older.end(),
                                   [&](const RunIndex* run) { return Touches(*run, extents); });
    pick.inputs.push_back({IdOf(level, runs[i]), std::move(extents)});
  }
  pick.cuts = CutsFor(version, options, pick.range, bytes);
  return pick;
}

// Compacts all that these upper runs, newest first, have in the range into the last level.
CompactionPick IntoLast(CompactionKind kind, const Version& version, KeyRange range,
                        const UpperRunList& upper) {
  CompactionPick pick{
      .kind = kind, .inputs = {}, .output = kLast, .range = std::move(range), .bottommost = true};
  const auto add = [&](uint32_t level, const Version::Run& run) {
    std::vector<ExtentPtr> extents = InRange(run.index, pick.range);
    if (!extents.empty()) {
      pick.bottommost = pick.bottommost && !TouchesAside(version, extents);
      pick.inputs.push_back({IdOf(level, run), std::move(extents)});
    }
  };
  for (const auto& [level, i] : upper) {
    add(level, version.levels[level][i]);
  }
  for (const Version::Run& run : version.levels[kLastLevel]) {
    add(kLastLevel, run);
  }
  return pick;
}

// As above, for windows [first, end) and the runs that take part in all of them.
CompactionPick IntoLast(CompactionKind kind, const Version& version,
                        const std::vector<std::string>& begins, const std::vector<Window>& windows,
                        size_t first, size_t end) {
  UpperRunList runs = UpperRuns(version);
  size_t oldest_runs = runs.size();
  for (size_t i = first; i < end; ++i) {
    oldest_runs = std::min(oldest_runs, RunsTakingPart(windows[i], version, runs));
  }
  runs.erase(runs.begin(), runs.end() - static_cast<ptrdiff_t>(oldest_runs));
  return IntoLast(kind, version, RangeOf(begins, first, end), runs);
}

// The first user key in the range at which some extent begins, none of the last level is cut, and
// the extents before have at least `bytes`; none if there is no such key.
std::optional<std::string> EndOfBytes(const Version& version, const KeyRange& range,
                                      uint64_t bytes) {
  struct Cursor {
    RunIndex::Iterator at;
    bool last_level;
  };
  std::string begin = range.begin;
  PutFixed64(&begin, FirstTrailer(kMaxSequence));
  std::vector<Cursor> runs;
  for (size_t level = 0; level < kLevels; ++level) {
    for (const Version::Run& run : version.levels[level]) {
      runs.push_back({RunIndex::Iterator(run.index), level == kLastLevel});
      runs.back().at.Seek(begin);
    }
  }
  const auto key = [](const Cursor& cursor) { return UserKey(cursor.at.extent()->smallest); };
  std::string_view uncut;  // the last level has an extent up to this key
  for (uint64_t before = 0;;) {
    const auto next = std::min_element(runs.begin(), runs.end(), [&](auto& a, auto& b) {
      return a.at.Valid() && (!b.at.Valid() || key(a) < key(b));
    });
    if (next == runs.end() || !next->at.Valid() || (range.has_end && key(*next) >= range.end)) {
      return std::nullopt;
    }
    if (before >= bytes && before > 0 && key(*next) > range.begin && key(*next) > uncut) {
      return std::string(key(*next));
    }
    before += next->at.extent()->live_bytes();
    if (next->last_level) {
      uncut = UserKey(next->at.extent()->largest);
    }
    next->at.Next();
  }
}

std::optional<CompactionPick> PickDeletionInLevel0(const Deletions& deletions) {
  for (size_t i = 0; i < deletions.version.levels[0].size(); ++i) {
    if (WorthDeleting(deletions, 0, i).Valid()) {
      return PickLevel0(deletions.version, deletions.options, CompactionKind::kDeletion);
    }
  }
  return std::nullopt;
}

// A run of level 0 by itself waits for a second one while anything else is due.
std::optional<CompactionPick> PickDeletion(const Deletions& deletions) {
  const Version& version = deletions.version;
  if (version.levels[0].size() > 1) {
    if (std::optional<CompactionPick> pick = PickDeletionInLevel0(deletions)) {
      return pick;
    }
  }
  const std::vector<Version::Run>& level1 = version.levels[1];
  for (size_t i = level1.size(); i-- > 0;) {
    const RunIndex::Iterator at = WorthDeleting(deletions, 1, i);
    if (!at.Valid()) {
      continue;
    }
    // Takes whole extents of the last level.
    KeyRange range{.has_begin = true,
                   .has_end = true,
                   .begin = std::string(UserKey(at.extent()->smallest)),
                   .end = KeyAfter(UserKey(at.extent()->largest))};
    const RunIndex last = version.Last();
    const std::vector<ExtentPtr> below = WithWholeKeys(last, InRange(last, range));
    if (!below.empty()) {
      range.begin = std::min<std::string_view>(range.begin, UserKey(below.front()->smallest));
      range.end = std::max(range.end, KeyAfter(UserKey(below.back()->largest)));
    }
    UpperRunList runs;
    for (size_t run = i; run < level1.size(); ++run) {
      runs.emplace_back(1, run);
    }
    return IntoLast(CompactionKind::kDeletion, version, std::move(range), runs);
  }
  return std::nullopt;
}

std::optional<CompactionPick> PickIntraL1(const Version& version, const Options& options) {
  const std::vector<Version::Run>& level1 = version.levels[1];
  const uint64_t ripe = UpperBytes(version, options) / kRipeShare;
  size_t end = 0;
  // Leaves out a run of more than twice the average size of the newer ones: it would be rewritten
  // for every few of them, the more often the larger the tree is.
  for (uint64_t bytes = 0; end < level1.size(); ++end) {
    const uint64_t more = level1[end].index.weight();
    if (more >= ripe || (end > 0 && more / 2 > bytes / end)) {
      break;
    }
    bytes += more;
  }
  if (end < kTierRuns) {
    return std::nullopt;
  }
  // Of more runs the oldest: what becomes of them is then too large for the next ones.
  const size_t first = end - std::min(end, kMostTierRuns);
  return IntoRun(CompactionKind::kIntraL1, version, options, 1, first, end);
}

// Windows to take down.
struct BestWindows {
  CompactionPick pick;
  double share = 0;  // of their bytes that are in the upper levels
};

// The windows that are best taken down; none if nothing can be.
std::optional<BestWindows> PickBest(const Version& version, const Options& options,
                                    const std::vector<std::string>& begins,
                                    const std::vector<Window>& windows) {
  uint64_t upper = 0;
  uint64_t accesses = 0;
  for (const Window& window : windows) {
    upper += window.upper_bytes;
    accesses += window.accesses;
  }
  // The best window has the fewest bytes to write per byte that leaves the upper levels and, among
  // windows of equal cost, the fewest reads (X-Engine 3.3.3): what is read often is best kept in
  // level 1.
  const auto worth = [&](const Window& window) {
    const double share = static_cast<double>(window.upper_bytes) /
                         static_cast<double>(window.upper_bytes + window.last_bytes + 1);
    const double heat = accesses == 0 || window.upper_bytes == 0
                            ? 0
                            : static_cast<double>(window.accesses) / static_cast<double>(accesses) *
                                  static_cast<double>(upper) /
                                  static_cast<double>(window.upper_bytes);
    return share / (1 + std::min(heat, 1.0));
  };
  size_t best = 0;
  double most = worth(windows[0]);
  for (size_t i = 1; i < windows.size(); ++i) {
    if (const double more = worth(windows[i]); more > most) {
      best = i;
      most = more;
    }
  }
  if (windows[best].upper_bytes == 0) {
    return std::nullopt;
  }
  // Takes in neighbours that are worth nearly as much, so that fewer extents are cut.
  const double enough = 0.9 * most;
  uint64_t upper_size = windows[best].upper_bytes;
  uint64_t size = windows[best].upper_bytes + windows[best].last_bytes;
  size_t first = best;
  size_t end = best + 1;
  const auto grow = [&](size_t at) {
    const uint64_t more = windows[at].upper_bytes + windows[at].last_bytes;
    if (worth(windows[at]) < enough || size + more > 2 * options.compaction_bytes) {
      return false;
    }
    upper_size += windows[at].upper_bytes;
    size += more;
    return true;
  };
  while (end < windows.size() && grow(end)) {
    ++end;
  }
  while (first > 0 && grow(first - 1)) {
    --first;
  }
  return BestWindows{IntoLast(CompactionKind::kMajor, version, begins, windows, first, end),
                     static_cast<double>(upper_size) / static_cast<double>(size)};
}

std::optional<CompactionPick> PickMajor(const Version& version, const Options& options,
                                        RunTotals* totals) {
  const uint64_t bytes = version.LevelWeight(0) + version.LevelWeight(1);
  if (bytes == 0 || bytes <= UpperBytes(version, options)) {
    return std::nullopt;
  }
  const auto with_thin = [&](uint32_t level) {
    const Windows all = MakeWindows(version, UpperRuns(version), level);
    return PickBest(version, options, all.begins, all.windows);
  };
  std::optional<BestWindows> best;
  if (totals == nullptr || !totals->UseWindows([&](const auto& begins, const auto& windows) {
        best = PickBest(version, options, begins, windows);
      })) {
    best = with_thin(kLastLevel);
  }
  // The best windows have more than level 1 has on average, unless a thin run keeps them from it. Such
  // is one that has extents of a load in order, and others of what came after that.
  const auto level1 = static_cast<double>(version.LevelWeight(1));
  const double average =
      level1 / (level1 + static_cast<double>(version.LevelWeight(kLastLevel)) + 1);
  if (!best || best->share < average / kLeastOfAverage) {
    best = with_thin(1);
  }
  if (!best) {
    best = with_thin(0);
  }
  return best ? std::optional(std::move(best->pick)) : std::nullopt;
}

std::optional<CompactionPick> PickSelfMajor(const Version& version, const Options& options,
                                            SequenceNumber oldest_snapshot,
                                            SequenceNumber* held_back) {
  // Small neighbours become fewer if merged, unless they are `full`: an extent may be stored in far
  // fewer bytes than those by which it was cut, because its index is compressed at its end.
  std::vector<ExtentPtr> small;
  std::vector<ExtentPtr> stretch;
  const bool slices_waste = SlicesWasteSpace(version, options);
  std::vector<ExtentPtr> picked;  // extents with what no snapshot needs any more; slices that waste
  const auto take = [&] {
    if (stretch.size() >= 2) {
      small.insert(small.end(), stretch.begin(), stretch.end());
    }
    stretch.clear();
  };
  const RunIndex last = version.Last();
  RunIndex::Iterator at(last);
  const uint32_t least_bytes = options.extent_bytes / kSmallShare;
  const auto interest = [&](const RunIndex::Summary& summary, const RunIndex::Summary* next) {
    return summary.tombstones > 0 || summary.shadowed > 0 || summary.thin_slices > 0 ||
           (slices_waste && summary.sliced) || summary.least_pair_bytes < least_bytes ||
           (!stretch.empty() && summary.first_bytes < least_bytes) ||
           (next != nullptr && std::max(summary.last_bytes, next->first_bytes) < least_bytes);
  };
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    if (PassSummaries(&at, interest)) {
      take();
    }
    if (!at.Valid()) {
      break;
    }
    const SequenceNumber due = WorthRewritingAt(last, at.extent(), options);
    if (due > oldest_snapshot) {
      *held_back = std::min(*held_back, due);
    } else if (!TouchesAside(version, WithWholeKeys(last, {at.extent()}))) {
      picked.push_back(at.extent());
    }  // else it is not a snapshot that holds it back
    if (at.extent()->sliced && at.extent()->live_bytes() < at.extent()->bytes / 2) {
      small.push_back(at.extent());  // it keeps the pages of a much larger table
    }
    if (slices_waste && at.extent()->sliced &&
        at.extent()->live_bytes() < at.extent()->bytes / 8 * 7) {
      picked.push_back(at.extent());
    }
    if (at.extent()->bytes < least_bytes && !at.extent()->full) {
      stretch.push_back(at.extent());
    } else {
      take();
    }
  }
  take();
  if (small.size() >= kManySmall) {
    picked.insert(picked.end(), small.begin(), small.end());
    picked = SortedByKey(std::move(picked));
    picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  }
  if (picked.empty()) {
    return std::nullopt;
  }
  picked = WithWholeKeys(last, std::move(picked));
  CompactionPick pick{
      .kind = CompactionKind::kSelfMajor, .inputs = {}, .output = kLast, .rewrite = true};
  pick.bottommost = !TouchesAside(version, picked);
  pick.inputs.push_back({kLast, std::move(picked)});
  return pick;
}

// Merges runs of level 1 into one in a stretch of windows of up to compaction_bytes: where most
// reads look into several runs, in proportion to the bytes that these have there.
std::optional<CompactionPick> PickWindowsForReads(const Version& version, const Options& options) {
  const std::vector<Version::Run>& level1 = version.levels[1];
  UpperRunList runs;
  for (size_t i = 0; i < level1.size(); ++i) {
    runs.emplace_back(1, i);
  }
  const auto [begins, windows] = MakeWindows(version, runs, /*thin_from=*/kLastLevel);
  const auto taking_part = [&](const Window& window) {
    return RunsTakingPart(window, version, runs);
  };
  const auto worth = [](const Window& window) {
    return window.used_runs < 2 ? 0
                                : static_cast<double>(window.used_runs - 1) *
                                      static_cast<double>(window.accesses + 1) /
                                      static_cast<double>(window.upper_bytes);
  };
  size_t first = 0;
  for (size_t i = 1; i < windows.size(); ++i) {
    if (worth(windows[i]) > worth(windows[first])) {
      first = i;
    }
  }
  const Window& best = windows[first];
  if (best.used_runs < 2) {
    return std::nullopt;
  }
  uint64_t bytes = best.upper_bytes;
  const auto grow = [&](const Window& window) {
    if (window.used_runs < 2 || taking_part(window) < taking_part(best) ||
        bytes + window.upper_bytes > options.compaction_bytes) {
      return false;
    }
    bytes += window.upper_bytes;
    return true;
  };
  size_t end = first + 1;
  while (end < windows.size() && grow(windows[end])) {
    ++end;
  }
  while (first > 0 && grow(windows[first - 1])) {
    --first;
  }
  return IntoRun(CompactionKind::kIntraL1, version, options, 1, level1.size() - taking_part(best),
                 level1.size(), RangeOf(begins, first, end));
}

// Leaves fewer runs for reads to look into, if they have paid for it.
std::optional<CompactionPick> PickForReads(const Version& version, const Options& options,
                                           uint64_t credit, uint64_t* later) {
  const size_t level0_runs = version.levels[0].size();
  const size_t level1_runs = version.levels[1].size();
  const auto pays = [&](uint64_t bytes) {
    *later = bytes;
    return bytes <= credit;
  };
  std::optional<CompactionPick> pick;
  if (level0_runs > 1) {
    if (pays(version.LevelBytes(0))) {
      pick = PickLevel0(version, options, CompactionKind::kMinor);
    }
  } else if (level1_runs > 1 && version.LevelBytes(1) <= options.compaction_bytes) {
    if (pays(version.LevelBytes(1))) {
      pick = IntoRun(CompactionKind::kIntraL1, version, options, 1, 0, level1_runs);
    }
  } else if (level1_runs > 1 && pays(options.compaction_bytes)) {
    pick = PickWindowsForReads(version, options);
    *later = pick ? *later : kNoCredit;
  }
  if (pick) {
    pick->read_credit = *later;
  }
  return pick;
}

// Whether the last level is where the reserve is, in the database's own directory.
bool IsLastAtHome(const Version& version, const Options& options) {
  const size_t level = version.format == nullptr ? kLastLevel : version.format->tiers[kLastLevel];
  return level >= options.level_paths.size() || options.level_paths[level].empty();
}

// A sub-table that fits into an extent, as a whole, if that makes it smaller by kShareOnFullDevice:
// by the pages that small extents do not fill, and by what its tombstones delete. Any other
// compaction would leave pages that are hardly used. Not into a tier, which may be full while there is
// space for level 1.
std::optional<CompactionPick> PickSmallSubtable(const Version& version, const Options& options) {
  if (!IsLastAtHome(version, options)) {
    return std::nullopt;
  }
  uint64_t bytes = 0;
  uint64_t records = 0;
  uint64_t tombstones = 0;
  uint64_t unused = 0;
  for (const std::vector<Version::Run>& level : version.levels) {
    for (const Version::Run& run : level) {
      RunIndex::Iterator at(run.index);
      for (at.SeekToFirst(); at.Valid(); at.Next()) {
        const Extent& extent = *at.extent();
        bytes += extent.live_bytes();
        records += extent.entries;
        tombstones += extent.tombstones;
        unused += extent.bytes - extent.live_bytes() + kPageBytes / 2;
        if (bytes > options.extent_bytes) {
          return std::nullopt;
        }
      }
    }
  }
  const UpperRunList upper = UpperRuns(version);
  const uint64_t deleted = bytes * tombstones / (records + 1);
  if (upper.empty() ||
      static_cast<double>(unused + deleted) < kShareOnFullDevice * static_cast<double>(bytes)) {
    return std::nullopt;
  }
  CompactionPick pick = IntoLast(CompactionKind::kDeletion, version, {}, upper);
  pick.rewrite = true;
  return pick;
}

}  // namespace

std::vector<ExtentPtr> WithWholeKeys(const RunIndex& run, std::vector<ExtentPtr> extents) {
  std::vector<ExtentPtr> whole;
  for (ExtentPtr& extent : extents) {
    if (!whole.empty() && CompareInternalKeys(extent->smallest, whole.back()->largest) <= 0) {
      continue;  // came with the one before
    }
    std::vector<ExtentPtr> before;
    RunIndex::Iterator at(run);
    at.Seek(extent->smallest);
    const Extent* first = extent.get();
    for (at.Prev(); at.Valid() && SharesKey(*at.extent(), *first); at.Prev()) {
      if (!whole.empty() && whole.back() == at.extent()) {
        break;
      }
      before.push_back(at.extent());
      first = at.extent().get();
    }
    whole.insert(whole.end(), before.rbegin(), before.rend());
    at.Seek(extent->smallest);
    whole.push_back(std::move(extent));
    for (at.Next(); at.Valid() && SharesKey(*whole.back(), *at.extent()); at.Next()) {
      whole.push_back(at.extent());
    }
  }
  return whole;
}

bool TouchesAside(const Version& version, const std::vector<ExtentPtr>& extents) {
  return std::any_of(version.aside.begin(), version.aside.end(),
                     [&](const RunIndex& aside) { return Touches(aside, extents); });
}

bool IsMinorDue(const Version& version, const Options& options) {
  const size_t runs = version.levels[0].size();
  // If their number stops writers, a compaction that makes the runs fewer must be due.
  if (runs >= options.l0_stop_runs || runs / 2 >= options.l0_compaction_runs) {
    return true;
  }
  const uint64_t upper = UpperBytes(version, options);
  const uint64_t bytes = version.LevelWeight(0);
  return runs >= options.l0_compaction_runs && bytes / runs < upper / kRipeShare &&
         bytes + version.LevelWeight(1) <= upper;
}

CompactionPick PickLevel0(const Version& version, const Options& options, CompactionKind kind) {
  return IntoRun(kind, version, options, 0, 0, version.levels[0].size());
}

std::string KeyAfter(std::string_view user_key) { return std::string(user_key) + '\0'; }

std::optional<CompactionPick> PickCompaction(const Version& version, const Options& options,
                                             const PickInputs& inputs, LaterPick* later) {
  *later = {};
  const Deletions deletions{version, options, inputs.oldest_snapshot, &later->oldest_snapshot};
  const auto allowed = [&](CompactionKind kind) {
    return std::find(options.compaction_order.begin(), options.compaction_order.end(), kind) !=
           options.compaction_order.end();
  };
  if (inputs.device_full && allowed(CompactionKind::kDeletion)) {
    if (std::optional<CompactionPick> pick = PickSmallSubtable(version, options)) {
      return pick;
    }
  }
  for (const CompactionKind kind : options.compaction_order) {
    std::optional<CompactionPick> pick;
    switch (kind) {
      case CompactionKind::kDeletion:
        pick = PickDeletion(deletions);
        break;
      case CompactionKind::kMinor:
        if (IsMinorDue(version, options)) {
          pick = PickLevel0(version, options, CompactionKind::kMinor);
        }
        break;
      case CompactionKind::kIntraL1:
        pick = PickIntraL1(version, options);
        break;
      case CompactionKind::kMajor:
        pick = PickMajor(version, options, inputs.totals);
        break;
      case CompactionKind::kSelfMajor:
        pick = PickSelfMajor(version, options, inputs.oldest_snapshot, &later->oldest_snapshot);
        break;
      case CompactionKind::kValues:
        pick = PickValues(version, options, inputs.device_full);
        break;
      case CompactionKind::kManual:
        break;
    }
    if (pick) {
      return pick;
    }
  }
  if (allowed(CompactionKind::kDeletion) && version.levels[0].size() == 1) {
    if (std::optional<CompactionPick> pick = PickDeletionInLevel0(deletions)) {
      return pick;
    }
  }
  if (inputs.device_full && allowed(CompactionKind::kDeletion) &&
      options.deletion_share > kShareOnFullDevice) {
    // Deletions are what makes space, so few are worth a compaction.
    Options eager = options;
    eager.deletion_share = kShareOnFullDevice;
    LaterPick ignored;
    const Deletions few{version, eager, inputs.oldest_snapshot, &ignored.oldest_snapshot};
    std::optional<CompactionPick> pick = PickDeletion(few);
    if (!pick && version.levels[0].size() == 1) {
      pick = PickDeletionInLevel0(few);
    }
    if (pick) {
      return pick;
    }
  }
  return allowed(CompactionKind::kMinor) && allowed(CompactionKind::kIntraL1)
             ? PickForReads(version, options, inputs.read_credit, &later->read_credit)
             : std::nullopt;
}

void CoolDown(const Version& version) {
  for (const auto& [level, i] : UpperRuns(version)) {
    RunIndex::Iterator at(version.levels[level][i].index);
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      at.extent()->place->Halve();
    }
  }
}

std::optional<CompactionPick> PickRange(const Version& version, std::string_view begin,
                                        std::string_view end, uint64_t most_bytes) {
  if (!end.empty() && begin >= end) {
    return std::nullopt;
  }
  KeyRange range{.has_begin = !begin.empty(),
                 .has_end = !end.empty(),
                 .begin = std::string(begin),
                 .end = std::string(end)};
  if (std::optional<std::string> stop = EndOfBytes(version, range, most_bytes)) {
    range.has_end = true;
    range.end = std::move(*stop);
  }
  // Takes whole extents of the last level: slices of them would stay, and keep their tables.
  const RunIndex last = version.Last();
  const std::vector<ExtentPtr> below = WithWholeKeys(last, InRange(last, range));
  if (!below.empty() && range.has_begin) {
    range.begin = std::min(begin, UserKey(below.front()->smallest));
  }
  if (!below.empty() && range.has_end) {
    range.end = std::max(range.end, KeyAfter(UserKey(below.back()->largest)));
  }
  CompactionPick pick =
      IntoLast(CompactionKind::kManual, version, std::move(range), UpperRuns(version));
  pick.rewrite = true;
  return pick.inputs.empty() ? std::nullopt : std::optional(std::move(pick));
}

}  // namespace sluice
