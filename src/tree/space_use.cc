#include "tree/space_use.h"

#include <cmath>

#include "tree/extent_space.h"

namespace sluice {

namespace {

uint64_t PageBytes(uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

// Sums of multiples of this are exact up to 2 TiB.
constexpr double kGrain = 1.0 / 4096;

double PartOf(uint64_t of, size_t parts) {
  return std::round(static_cast<double>(of) / static_cast<double>(parts) / kGrain) * kGrain;
}

}  // namespace

void SpaceEstimate::Changed(const RunId& run, const Extent& extent, bool came) {
  if (!extent.sliced) {
    return;
  }
  auto& tables = sliced_[run];
  SlicedTable& table = tables[extent.number];
  if (came) {
    if (table.slices++ == 0) {
      table.pages_bytes = PageBytes(extent.bytes);
      sliced_bytes_ += table.pages_bytes;
    }
  } else if (--table.slices == 0) {
    sliced_bytes_ -= table.pages_bytes;
    tables.erase(extent.number);
    if (tables.empty()) {
      sliced_.erase(run);
    }
  }
}

void SpaceEstimate::Overlaps(const RunId& /*run*/, const Extent& extent, size_t first, size_t end,
                             bool does) {
  const double sign = does ? 1 : -1;
  const uint64_t tombstones = std::min(extent.entries, extent.tombstones);
  const double weight = sign * PartOf(extent.weight(), end - first);
  const double records = sign * PartOf(extent.entries - tombstones, end - first);
  const double deleted = sign * PartOf(extent.tombstones, end - first);
  for (size_t i = first; i < end; ++i) {
    stretches_[i].above_weight += weight;
    stretches_[i].above_records += records;
    stretches_[i].above_tombstones += deleted;
  }
  Touch(first, end);
}

void SpaceEstimate::SetLast(const RunIndex::Summary& summary, Stretch* stretch) {
  stretch->weight = summary.weight;
  stretch->record = summary.entries == 0 ? 0
                                         : static_cast<double>(summary.weight) /
                                               static_cast<double>(summary.entries);
}

void SpaceEstimate::Rewritten(size_t first, const std::vector<RunIndex::Summary>& now) {
  for (size_t i = 0; i < now.size(); ++i) {
    SetLast(now[i], &stretches_[first + i]);
  }
  Touch(first, first + now.size());
}

void SpaceEstimate::Replaced(size_t first, size_t end, const std::vector<RunIndex::Summary>& now) {
  Recount();  // while what was touched is where it was
  for (size_t i = first; i < end; ++i) {
    live_bytes_ -= stretches_[i].left;
  }
  std::vector<Stretch> fresh(now.size());
  for (size_t i = 0; i < now.size(); ++i) {
    SetLast(now[i], &fresh[i]);
  }
  const auto place = [&](size_t i) { return stretches_.begin() + static_cast<ptrdiff_t>(i); };
  stretches_.erase(place(first), place(end));
  stretches_.insert(place(first), fresh.begin(), fresh.end());
  Touch(first, first + now.size());
}

void SpaceEstimate::Recount() {
  for (size_t i = touched_first_; i < touched_end_; ++i) {
    Stretch& stretch = stretches_[i];
    live_bytes_ -= stretch.left;
    const double lost =
        stretch.above_tombstones * stretch.record +
        std::max(0.0, stretch.above_records * stretch.record - stretch.above_weight);
    stretch.left = stretch.weight - std::min(stretch.weight, static_cast<uint64_t>(lost));
    live_bytes_ += stretch.left;
  }
  touched_first_ = ~size_t{0};
  touched_end_ = 0;
}

SpaceUse SpaceEstimate::Use(const Metadata::Subtable& subtable) {
  Recount();
  SpaceUse use{.used_bytes = sliced_bytes_, .live_bytes = live_bytes_};
  for (const auto& [id, run] : subtable.runs) {
    if (id.level <= kLastLevel) {
      use.used_bytes += run.whole_pages() * kPageBytes;
    }
  }
  for (const auto& [number, values] : subtable.values) {
    use.used_bytes += PageBytes(values.extent->pages.bytes);
    use.live_value_bytes += values.live_bytes;
    use.garbage_bytes += values.extent->pages.bytes - values.live_bytes;
  }
  return use;
}

}  // namespace sluice
