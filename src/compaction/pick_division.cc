#include "compaction/pick_division.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace sluice {

std::vector<std::string> BordersOf(const CompactionPick& pick, size_t shares,
                                   uint64_t least_bytes) {
  const KeyRange& range = pick.range;
  // Half of an extent's bytes are taken to lie at either end of it.
  struct End {
    std::string_view key;
    bool begins;
    uint64_t bytes;
  };
  std::vector<End> ends;
  uint64_t bytes = 0;
  for (const CompactionInput& input : pick.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      const uint64_t half = extent->live_bytes() / 2;
      ends.push_back({UserKey(extent->smallest), true, half});
      ends.push_back({UserKey(extent->largest), false, extent->live_bytes() - half});
      bytes += extent->live_bytes();
    }
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.key < b.key; });
  shares = std::min<uint64_t>(shares, bytes / std::max<uint64_t>(least_bytes, 1));
  std::vector<std::string> borders;
  uint64_t before = 0;
  for (const End& end : ends) {
    const bool inside = end.begins && end.key > ends.front().key &&
                        !(range.has_begin && end.key <= range.begin) &&
                        !(range.has_end && end.key >= range.end);
    if (borders.size() + 1 < shares && inside && before >= bytes / shares * (borders.size() + 1) &&
        (borders.empty() || end.key > borders.back())) {
      borders.emplace_back(end.key);
    }
    before += end.bytes;
  }
  return borders;
}

std::vector<CompactionPick> Divide(const CompactionPick& pick,
                                   const std::vector<std::string>& borders) {
  std::vector<CompactionPick> parts(borders.size() + 1);
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = {.kind = pick.kind,
                .inputs = {},
                .output = pick.output,
                .range = pick.range,
                .cuts = pick.cuts,
                .bottommost = pick.bottommost,
                .rewrite = pick.rewrite,
                .relocate = pick.relocate};
    if (i > 0) {
      parts[i].range.has_begin = true;
      parts[i].range.begin = borders[i - 1];
    }
    if (i < borders.size()) {
      parts[i].range.has_end = true;
      parts[i].range.end = borders[i];
    }
  }
  for (const CompactionInput& input : pick.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      const auto border =
          std::upper_bound(borders.begin(), borders.end(), UserKey(extent->smallest));
      std::vector<CompactionInput>& inputs = parts[border - borders.begin()].inputs;
      if (inputs.empty() || inputs.back().run != input.run) {
        inputs.push_back({input.run, {}});
      }
      inputs.back().extents.push_back(extent);
    }
  }
  std::erase_if(parts, [](const CompactionPick& part) { return part.inputs.empty(); });
  return parts;
}

void Join(std::vector<CompactionPick> parts, CompactionPick* pick) {
  for (CompactionInput& input : pick->inputs) {
    input.extents.clear();
    for (CompactionPick& part : parts) {
      for (CompactionInput& left : part.inputs) {
        if (left.run == input.run) {
          std::move(left.extents.begin(), left.extents.end(), std::back_inserter(input.extents));
        }
      }
    }
  }
  std::erase_if(pick->inputs, [](const CompactionInput& input) { return input.extents.empty(); });
}

}  // namespace sluice
