#include "tree/space_use.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tree/extent_space.h"

namespace sluice {

namespace {

uint64_t PageBytes(uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

// A stretch of the last level, and what is above it.
struct Stretch {
  std::string_view begin;  // user key; has no meaning in the first one
  uint64_t weight = 0;     // of the last level
  uint64_t entries = 0;
  double above_weight = 0;
  double above_records = 0;  // without tombstones
  double above_tombstones = 0;

  // What it would have if every record above replaced one of its own, or deleted it.
  uint64_t Left() const {
    if (entries == 0) {
      return weight;
    }
    const double record = static_cast<double>(weight) / static_cast<double>(entries);
    const double lost =
        above_tombstones * record + std::max(0.0, above_records * record - above_weight);
    return weight - std::min(weight, static_cast<uint64_t>(lost));
  }
};

void AddAbove(const RunIndex& run, std::vector<Stretch>* stretches) {
  const auto of = [&](std::string_view user_key, size_t from) {
    while (from + 1 < stretches->size() && (*stretches)[from + 1].begin <= user_key) {
      ++from;
    }
    return from;
  };
  size_t last = 0;
  RunIndex::Iterator at(run);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    const Extent& extent = *at.extent();
    const size_t first = of(UserKey(extent.smallest), last);
    last = of(UserKey(extent.largest), first);
    const auto parts = static_cast<double>(last - first + 1);
    for (size_t i = first; i <= last; ++i) {
      (*stretches)[i].above_weight += static_cast<double>(extent.weight()) / parts;
      (*stretches)[i].above_records +=
          static_cast<double>(extent.entries - std::min(extent.entries, extent.tombstones)) / parts;
      (*stretches)[i].above_tombstones += static_cast<double>(extent.tombstones) / parts;
    }
  }
}

// The pages of the tables of slices, each once: a table may have several, in one run.
uint64_t SlicedPages(const RunIndex& run) {
  std::unordered_map<uint64_t, uint32_t> tables;
  RunIndex::Iterator at(run);
  for (at.SeekToFirst(); at.Valid();) {
    if (at.summary() != nullptr && !at.summary()->sliced) {
      at.NextSummary();
      continue;
    }
    if (at.extent()->sliced) {
      tables.emplace(at.extent()->number, at.extent()->bytes);
    }
    at.Next();
  }
  uint64_t bytes = 0;
  for (const auto& [number, of] : tables) {
    bytes += PageBytes(of);
  }
  return bytes;
}

}  // namespace

SpaceUse EstimateSpace(const Metadata::Subtable& subtable) {
  SpaceUse use;
  std::vector<Stretch> stretches;
  for (const auto& [id, run] : subtable.runs) {
    if (id.level == kAsideLevel) {
      continue;
    }
    use.used_bytes += run.whole_pages() * kPageBytes + SlicedPages(run);
    if (id.level == kLastLevel) {
      run.VisitLeaves([&](const Extent& first, const RunIndex::Summary& summary) {
        stretches.push_back({UserKey(first.smallest), summary.weight, summary.entries});
      });
    }
  }
  for (const auto& [number, values] : subtable.values) {
    use.used_bytes += PageBytes(values.extent->pages.bytes);
    use.live_value_bytes += values.live_bytes;
    use.garbage_bytes += values.extent->pages.bytes - values.live_bytes;
  }
  if (stretches.empty()) {
    return use;
  }
  for (const auto& [id, run] : subtable.runs) {
    if (id.level < kLastLevel) {
      AddAbove(run, &stretches);
    }
  }
  for (const Stretch& stretch : stretches) {
    use.live_bytes += stretch.Left();
  }
  return use;
}

}  // namespace sluice
