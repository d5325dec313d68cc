#include "compaction/value_picker.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "compaction/space_limit.h"
#include "tree/value_extent.h"

namespace sluice {

namespace {

// What is chosen leaves garbage of this share of the most, so that the next time does not come at
// once.
constexpr double kGarbageLeft = 0.75;
// Value extents with less than this part of the greatest share of garbage are not worth it.
constexpr double kLeastShare = 0.5;

// The header is none: an extent with one small value would count as garbage wherever it was moved.
uint64_t Garbage(const ValueUse& use) {
  const uint64_t bytes = use.extent->pages.bytes;
  return bytes - std::min(bytes, use.live_bytes + kValueExtentHeaderBytes);
}

double GarbageShare(const ValueUse& use) {
  return static_cast<double>(Garbage(use)) / static_cast<double>(use.extent->pages.bytes);
}

// Those that no compaction can free.
std::set<uint64_t> HeldAside(const Version& version) {
  std::set<uint64_t> held;
  for (const RunIndex& aside : version.aside) {
    RunIndex::Iterator at(aside);
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      for (const ValueShares::Share& share : ValueShares::Of(*at.extent())) {
        held.insert(share.extent->pages.number);
      }
    }
  }
  return held;
}

// The numbers, sorted, of what is to be freed.
std::vector<uint64_t> Victims(const Version& version, const Options& options, bool device_full) {
  const std::set<uint64_t> held = HeldAside(version);
  uint64_t bytes = 0;
  uint64_t garbage = 0;
  std::vector<std::pair<double, const ValueUse*>> candidates;
  for (const ValueUse& use : *version.values) {
    if (use.extent->damaged.load(std::memory_order_relaxed) ||
        held.contains(use.extent->pages.number)) {
      continue;  // it stays, so that it must not make others go
    }
    bytes += use.extent->pages.bytes;
    garbage += Garbage(use);
    candidates.emplace_back(GarbageShare(use), &use);
  }
  const uint64_t most_garbage = MostGarbage(options, bytes);
  if (garbage < options.extent_bytes || garbage <= most_garbage) {
    return {};
  }
  const double most_share = static_cast<double>(most_garbage) / static_cast<double>(bytes);
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first
                              : a.second->extent->pages.number < b.second->extent->pages.number;
  });
  const uint64_t most_moved = device_full ? 0 : MostValuesMoved(version, options);
  std::vector<uint64_t> victims;
  uint64_t moved = 0;
  for (const auto& [share, use] : candidates) {
    if (share < kLeastShare * most_share ||
        static_cast<double>(garbage) <= kGarbageLeft * most_share * static_cast<double>(bytes) ||
        moved > most_moved) {
      break;
    }
    moved += use->live_bytes;
    garbage -= Garbage(*use);
    bytes -= Garbage(*use);
    victims.push_back(use->extent->pages.number);
  }
  std::sort(victims.begin(), victims.end());
  return victims;
}

std::vector<ExtentPtr> ThatRefer(const RunIndex& run, const std::vector<uint64_t>& victims) {
  std::vector<ExtentPtr> extents;
  RunIndex::Iterator at(run);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    if (RefersToAny(*at.extent(), victims)) {
      extents.push_back(at.extent());
    }
  }
  return WithWholeKeys(run, std::move(extents));
}

}  // namespace

bool RefersToAny(const Extent& extent, const std::vector<uint64_t>& numbers) {
  auto number = numbers.begin();
  for (const ValueShares::Share& share : ValueShares::Of(extent)) {
    number = std::lower_bound(number, numbers.end(), share.extent->pages.number);
    if (number == numbers.end()) {
      return false;
    }
    if (*number == share.extent->pages.number) {
      return true;
    }
  }
  return false;
}

std::optional<CompactionPick> PickValues(const Version& version, const Options& options,
                                         bool device_full) {
  if (version.values == nullptr) {
    return std::nullopt;
  }
  std::vector<uint64_t> victims = Victims(version, options, device_full);
  if (victims.empty()) {
    return std::nullopt;
  }
  const auto finish = [&](CompactionPick pick) {
    pick.relocate = std::move(victims);
    pick.rewrite = true;
    return pick;
  };
  if (std::any_of(version.levels[0].begin(), version.levels[0].end(),
                  [&](const auto& run) { return !ThatRefer(run.index, victims).empty(); })) {
    return finish(PickLevel0(version, options, CompactionKind::kValues));
  }
  for (uint32_t level = 1; level < kLevels; ++level) {
    for (const Version::Run& run : version.levels[level]) {
      if (std::vector<ExtentPtr> extents = ThatRefer(run.index, victims); !extents.empty()) {
        const RunId id{level, run.number};
        CompactionPick pick{.kind = CompactionKind::kValues, .inputs = {}, .output = id};
        pick.bottommost = level == kLastLevel && !TouchesAside(version, extents);
        pick.inputs.push_back({id, std::move(extents)});
        return finish(std::move(pick));
      }
    }
  }
  return std::nullopt;
}

}  // namespace sluice
