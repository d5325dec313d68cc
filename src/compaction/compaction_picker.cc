#include "compaction/compaction_picker.h"

#include <algorithm>
#include <utility>

#include "tree/extent_space.h"

namespace sluice {

namespace {

constexpr RunId kLevel1{1, 0};
constexpr RunId kLevel2{2, 0};

// Extents below this share of their full size are small; so many of them are worth a compaction.
constexpr uint32_t kSmallShare = 4;
constexpr size_t kManySmall = 64;
// Fewer records are not worth a compaction for their tombstones.
constexpr uint64_t kFewRecords = 1000;

std::vector<ExtentPtr> All(const RunIndex& run) {
  std::vector<ExtentPtr> extents;
  RunIndex::Iterator at(run);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    extents.push_back(at.extent());
  }
  return extents;
}

bool SharesKey(const Extent& before, const Extent& after) {
  return UserKey(before.largest) == UserKey(after.smallest);
}

// `extents`, some of `run` in key order, and those that hold further versions of their first and
// last keys (tree/extent_builder.h): versions of one key sink together.
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
      if (!whole.empty() && whole.back()->number == at.extent()->number) {
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

// The extents of `run` that share a user key's range with one of `with`, both in key order.
std::vector<ExtentPtr> Overlapping(const RunIndex& run, const std::vector<ExtentPtr>& with) {
  std::vector<ExtentPtr> extents;
  auto other = with.begin();
  RunIndex::Iterator at(run);
  for (at.SeekToFirst(); at.Valid() && other != with.end();) {
    const Extent& extent = *at.extent();
    if (UserKey((*other)->largest) < UserKey(extent.smallest)) {
      ++other;
    } else {
      if (UserKey((*other)->smallest) <= UserKey(extent.largest)) {
        extents.push_back(at.extent());
      }
      at.Next();
    }
  }
  return WithWholeKeys(run, std::move(extents));
}

// Whether `run` has anything between the keys of `extents`; coarse.
bool Touches(const RunIndex& run, const std::vector<ExtentPtr>& extents) {
  return !Overlapping(run, extents).empty();
}

// Whether something that was set aside has a key among those of `extents`; then a tombstone of
// theirs may hide what it holds.
bool TouchesAside(const Version& version, const std::vector<ExtentPtr>& extents) {
  return std::any_of(version.aside.begin(), version.aside.end(),
                     [&](const RunIndex& aside) { return Touches(aside, extents); });
}

std::vector<ExtentPtr> SortedByKey(std::vector<ExtentPtr> extents) {
  std::sort(extents.begin(), extents.end(), [](const ExtentPtr& a, const ExtentPtr& b) {
    return CompareInternalKeys(a->smallest, b->smallest) < 0;
  });
  return extents;
}

bool ManyTombstones(const Extent& extent, const Options& options) {
  return extent.entries >= kFewRecords &&
         static_cast<double>(extent.tombstones) >=
             options.deletion_share * static_cast<double>(extent.entries);
}

// The sequence number that the oldest snapshot must have reached for so many of the extent's
// tombstones to go, those of the last level, that rewriting it is worth it; kMaxSequence: never.
// Their sequence numbers are taken to be spread evenly.
SequenceNumber WorthRewritingAt(const Extent& extent, const Options& options) {
  if (!ManyTombstones(extent, options)) {
    return kMaxSequence;
  }
  const double share = std::min(1.0, options.deletion_share * static_cast<double>(extent.entries) /
                                         static_cast<double>(extent.tombstones));
  const SequenceNumber spread = extent.newest_tombstone - extent.oldest_tombstone;
  return std::min(
      extent.newest_tombstone,
      extent.oldest_tombstone + static_cast<SequenceNumber>(share * static_cast<double>(spread)));
}

std::vector<ExtentPtr> WithManyTombstones(const RunIndex& run, const Options& options) {
  std::vector<ExtentPtr> extents;
  RunIndex::Iterator at(run);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    if (ManyTombstones(*at.extent(), options)) {
      extents.push_back(at.extent());
    }
  }
  return extents;
}

std::vector<CompactionInput> Level0(const Version& version) {
  std::vector<CompactionInput> inputs;
  for (const Version::Run& run : version.l0) {
    inputs.push_back({{0, run.number}, All(run.index)});
  }
  return inputs;
}

CompactionPick IntoLevel1(CompactionKind kind, const Version& version) {
  CompactionPick pick{.kind = kind, .inputs = Level0(version), .output = kLevel1};
  std::vector<ExtentPtr> above;
  for (const CompactionInput& input : pick.inputs) {
    above.insert(above.end(), input.extents.begin(), input.extents.end());
  }
  above = SortedByKey(std::move(above));
  // Overlapping wants extents that do not overlap each other: one range for all is coarse, and
  // costs nothing where data is reused.
  std::vector<ExtentPtr> below;
  for (const CompactionInput& input : pick.inputs) {
    for (ExtentPtr& extent : Overlapping(version.levels[1], input.extents)) {
      below.push_back(std::move(extent));
    }
  }
  below = SortedByKey(std::move(below));
  below.erase(std::unique(below.begin(), below.end()), below.end());
  pick.bottommost = true;
  if (!below.empty()) {
    pick.inputs.push_back({kLevel1, std::move(below)});
  }
  for (const CompactionInput& input : pick.inputs) {
    pick.bottommost = pick.bottommost && !Touches(version.levels[2], input.extents) &&
                      !TouchesAside(version, input.extents);
  }
  return pick;
}

CompactionPick IntoLevel2(CompactionKind kind, const Version& version,
                          std::vector<ExtentPtr> from_level1) {
  CompactionPick pick{.kind = kind, .inputs = {}, .output = kLevel2};
  pick.bottommost = !TouchesAside(version, from_level1);
  std::vector<ExtentPtr> below = Overlapping(version.levels[2], from_level1);
  pick.bottommost = pick.bottommost && !TouchesAside(version, below);
  pick.inputs.push_back({kLevel1, std::move(from_level1)});
  if (!below.empty()) {
    pick.inputs.push_back({kLevel2, std::move(below)});
  }
  return pick;
}

std::optional<CompactionPick> PickDeletion(const Version& version, const Options& options) {
  for (const Version::Run& run : version.l0) {
    if (version.l0.size() > 1 && !WithManyTombstones(run.index, options).empty()) {
      return IntoLevel1(CompactionKind::kDeletion, version);
    }
  }
  if (std::vector<ExtentPtr> extents =
          WithWholeKeys(version.levels[1], WithManyTombstones(version.levels[1], options));
      !extents.empty()) {
    return IntoLevel2(CompactionKind::kDeletion, version, std::move(extents));
  }
  return std::nullopt;
}

std::optional<CompactionPick> PickIntraL0(const Version& version, const Options& options) {
  if (version.l0.size() < options.l0_compaction_runs || version.L0Bytes() >= options.l1_bytes / 2) {
    return std::nullopt;
  }
  // The newest runs that are of a size: what was merged before is not merged again with every few
  // that come after it.
  CompactionPick pick{.kind = CompactionKind::kIntraL0, .inputs = {}, .output = {}};
  uint64_t bytes = 0;
  for (const Version::Run& run : version.l0) {
    if (pick.inputs.size() >= 2 && run.index.bytes() > 2 * bytes / pick.inputs.size()) {
      break;
    }
    bytes += run.index.bytes();
    pick.inputs.push_back({{0, run.number}, All(run.index)});
  }
  if (pick.inputs.size() < options.l0_compaction_runs) {
    return std::nullopt;
  }
  // Newer runs come above it, older ones stay below it.
  pick.output = pick.inputs.front().run;
  return pick;
}

std::optional<CompactionPick> PickMinor(const Version& version, const Options& options) {
  // Where writers are stopped by the runs, something must be due that makes them fewer.
  const size_t most = std::min(2 * options.l0_compaction_runs, options.l0_stop_runs);
  const bool many = version.l0.size() >= std::min(options.l0_compaction_runs, most);
  if (!many || (version.L0Bytes() < options.l1_bytes / 2 && version.l0.size() < most)) {
    return std::nullopt;
  }
  return IntoLevel1(CompactionKind::kMinor, version);
}

std::optional<CompactionPick> PickMajor(const Version& version, const Options& options) {
  const RunIndex& level1 = version.levels[1];
  if (level1.bytes() < options.l1_bytes) {
    return std::nullopt;
  }
  // The coldest, until half of the level is free again (X-Engine C).
  std::vector<std::pair<uint32_t, ExtentPtr>> by_accesses;  // which readers count on meanwhile
  for (ExtentPtr& extent : All(level1)) {
    const uint32_t accesses = extent->place->accesses();
    by_accesses.emplace_back(accesses, std::move(extent));
  }
  std::stable_sort(by_accesses.begin(), by_accesses.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ExtentPtr> extents;
  uint64_t bytes = 0;
  for (auto& [accesses, extent] : by_accesses) {
    if (extents.size() == options.major_extents || bytes >= level1.bytes() - options.l1_bytes / 2) {
      break;
    }
    bytes += extent->bytes;
    extents.push_back(std::move(extent));
  }
  return IntoLevel2(CompactionKind::kMajor, version,
                    WithWholeKeys(level1, SortedByKey(std::move(extents))));
}

std::optional<CompactionPick> PickSelfMajor(const Version& version, const Options& options,
                                            SequenceNumber oldest_snapshot,
                                            SequenceNumber* held_back) {
  // Neighbours that are small: of those that none is full, so they become fewer. What is stored of
  // an extent may be a small part of the size by which it was cut: its index is compressed at its
  // end.
  std::vector<ExtentPtr> small;
  std::vector<ExtentPtr> stretch;
  std::vector<ExtentPtr> picked;  // those with tombstones that nobody needs
  const auto take = [&] {
    if (stretch.size() >= 2) {
      small.insert(small.end(), stretch.begin(), stretch.end());
    }
    stretch.clear();
  };
  RunIndex::Iterator at(version.levels[2]);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    const SequenceNumber due = WorthRewritingAt(*at.extent(), options);
    if (due > oldest_snapshot) {
      *held_back = std::min(*held_back, due);
    } else if (!TouchesAside(version, WithWholeKeys(version.levels[2], {at.extent()}))) {
      picked.push_back(at.extent());
    }  // else it is no snapshot that holds it back
    if (at.extent()->bytes < options.extent_bytes / kSmallShare && !at.extent()->full) {
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
  picked = WithWholeKeys(version.levels[2], std::move(picked));
  CompactionPick pick{
      .kind = CompactionKind::kSelfMajor, .inputs = {}, .output = kLevel2, .rewrite = true};
  pick.bottommost = !TouchesAside(version, picked);
  pick.inputs.push_back({kLevel2, std::move(picked)});
  return pick;
}

}  // namespace

std::optional<CompactionPick> PickCompaction(const Version& version, const Options& options,
                                             SequenceNumber oldest_snapshot,
                                             SequenceNumber* held_back) {
  *held_back = kMaxSequence;
  for (const CompactionKind kind : options.compaction_order) {
    std::optional<CompactionPick> pick;
    switch (kind) {
      case CompactionKind::kDeletion:
        pick = PickDeletion(version, options);
        break;
      case CompactionKind::kIntraL0:
        pick = PickIntraL0(version, options);
        break;
      case CompactionKind::kMinor:
        pick = PickMinor(version, options);
        break;
      case CompactionKind::kMajor:
        pick = PickMajor(version, options);
        break;
      case CompactionKind::kSelfMajor:
        pick = PickSelfMajor(version, options, oldest_snapshot, held_back);
        break;
      case CompactionKind::kManual:
        break;
    }
    if (pick) {
      return pick;
    }
  }
  return std::nullopt;
}

void CoolDown(const Version& version) {
  const auto cool = [](const RunIndex& run) {
    RunIndex::Iterator at(run);
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      at.extent()->place->Halve();
    }
  };
  for (const Version::Run& run : version.l0) {
    cool(run.index);  // a minor compaction may reuse its extents
  }
  cool(version.levels[1]);
}

std::optional<CompactionPick> PickRange(const Version& version, std::string_view begin,
                                        std::string_view end) {
  // What has a key in the range, and then what overlaps that in a level below: a newer version must
  // never sink under an older one that stays.
  const auto in_range = [&](const RunIndex& run) {
    std::vector<ExtentPtr> extents;
    for (ExtentPtr& extent : All(run)) {
      if (UserKey(extent->largest) >= begin && (end.empty() || UserKey(extent->smallest) < end)) {
        extents.push_back(std::move(extent));
      }
    }
    return WithWholeKeys(run, std::move(extents));
  };
  CompactionPick pick{.kind = CompactionKind::kManual,
                      .inputs = {},
                      .output = kLevel2,
                      .bottommost = true,
                      .rewrite = true};
  bool any_l0 = false;
  for (const Version::Run& run : version.l0) {
    any_l0 = any_l0 || !in_range(run.index).empty();
  }
  std::vector<ExtentPtr> above;  // not in key order, may overlap
  if (any_l0) {
    pick.inputs = Level0(version);  // whole: its runs overlap each other
    for (const CompactionInput& input : pick.inputs) {
      above.insert(above.end(), input.extents.begin(), input.extents.end());
    }
  }
  for (int level = 1; level < kLevels; ++level) {
    std::vector<ExtentPtr> extents = in_range(version.levels[level]);
    for (const CompactionInput& input : pick.inputs) {
      for (ExtentPtr& extent : Overlapping(version.levels[level], input.extents)) {
        extents.push_back(std::move(extent));
      }
    }
    extents = SortedByKey(std::move(extents));
    extents.erase(std::unique(extents.begin(), extents.end()), extents.end());
    if (!extents.empty()) {
      pick.inputs.push_back({level == 1 ? kLevel1 : kLevel2, std::move(extents)});
    }
  }
  if (pick.inputs.empty()) {
    return std::nullopt;
  }
  for (const CompactionInput& input : pick.inputs) {
    pick.bottommost = pick.bottommost && !TouchesAside(version, input.extents);
  }
  return pick;
}

}  // namespace sluice
