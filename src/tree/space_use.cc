#include "tree/space_use.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "tree/extent_space.h"

namespace sluice {

namespace {

uint64_t PageBytes(uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

// Sums of multiples of this are exact up to 2 TiB.
constexpr double kGrain = 1.0 / 4096;

double Share(uint64_t of, size_t parts) {
  return std::round(static_cast<double>(of) / static_cast<double>(parts) / kGrain) * kGrain;
}

}  // namespace

size_t SpaceEstimate::StretchOf(std::string_view user_key, size_t hint) const {
  const auto begins_behind = [&](size_t i) { return begins_[i] > user_key; };
  // One that begins at or before the key, and one that begins behind it, with ever longer steps.
  size_t low = std::min(hint, begins_.size() - 1);
  size_t high = low + 1;
  for (size_t step = 1; low > 0 && begins_behind(low); step *= 2) {
    high = low;
    low -= std::min(low, step);
  }
  for (size_t step = 1; high < begins_.size() && !begins_behind(high); step *= 2) {
    low = high;
    high = std::min(begins_.size(), high + step);
  }
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (begins_behind(middle) ? high : low) = middle;
  }
  return low;
}

void SpaceEstimate::CountAbove(const Extent& extent, double sign) {
  const size_t first = StretchOf(UserKey(extent.smallest), last_stretch_);
  const size_t end = StretchOf(UserKey(extent.largest), first) + 1;
  last_stretch_ = first;
  const uint64_t tombstones = std::min(extent.entries, extent.tombstones);
  const double weight = sign * Share(extent.weight(), end - first);
  const double records = sign * Share(extent.entries - tombstones, end - first);
  const double deleted = sign * Share(extent.tombstones, end - first);
  for (size_t i = first; i < end; ++i) {
    stretches_[i].above_weight += weight;
    stretches_[i].above_records += records;
    stretches_[i].above_tombstones += deleted;
  }
  Touch(first, end);
}

void SpaceEstimate::CountSlice(const RunId& run, const Extent& extent, bool added) {
  if (!extent.sliced) {
    return;
  }
  auto& tables = sliced_[run];
  SlicedTable& table = tables[extent.number];
  if (added) {
    if (table.slices++ == 0) {
      table.pages_bytes = PageBytes(extent.bytes);
      sliced_bytes_ += table.pages_bytes;
    }
  } else if (--table.slices == 0) {
    sliced_bytes_ -= table.pages_bytes;
    tables.erase(extent.number);
  }
}

void SpaceEstimate::UpdateRun(const RunId& id, const RunIndex& before, const RunIndex& after) {
  const bool above = id.level < kLastLevel && !stretches_.empty();
  const auto count = [&](const Extent& extent, int sign) {
    CountSlice(id, extent, sign > 0);
    if (above) {
      CountAbove(extent, sign);
    }
  };
  RunIndex::VisitChanges(
      before, after, [&](const ExtentPtr& gone) { count(*gone, -1); },
      [&](const ExtentPtr& come) { count(*come, 1); });
  if (after.empty()) {
    sliced_.erase(id);
  }
}

void SpaceEstimate::ReplaceStretches(size_t first, size_t end, const std::vector<Stretch>& fresh,
                                     std::vector<std::string> begins, const Runs& above) {
  // The extents above the borders that change: the first one's, too, and with it the end of the
  // stretch before.
  std::vector<const Extent*> divided;
  const size_t from = first - std::min<size_t>(first, 1);
  std::string begin;
  if (from > 0) {
    begin = begins_[from];
    PutFixed64(&begin, MakeTrailer(kMaxSequence, RecordType{0xff}));
  }
  for (const auto& [id, run] : above) {
    if (id.level >= kLastLevel) {
      break;
    }
    RunIndex::Iterator at(run);
    if (from > 0) {
      at.Seek(begin);
    } else {
      at.SeekToFirst();
    }
    for (; at.Valid() && (end == begins_.size() || UserKey(at.extent()->smallest) < begins_[end]);
         at.Next()) {
      divided.push_back(at.extent().get());
    }
  }
  if (!stretches_.empty()) {
    for (const Extent* const extent : divided) {
      CountAbove(*extent, -1);
    }
  }
  for (size_t i = first; i < end; ++i) {
    live_bytes_ -= stretches_[i].left;
  }
  // What was touched before lies elsewhere now.
  const size_t fresh_end = first + fresh.size();
  const auto moved = [&](size_t at) {
    return at < end ? std::min(at, first) : at - end + fresh_end;
  };
  if (touched_first_ < touched_end_) {
    touched_first_ = moved(touched_first_);
    touched_end_ = touched_end_ <= first ? touched_end_ : moved(std::max(touched_end_, end));
  }
  const auto place = [&](auto& all, size_t i) { return all.begin() + static_cast<ptrdiff_t>(i); };
  stretches_.erase(place(stretches_, first), place(stretches_, end));
  stretches_.insert(place(stretches_, first), fresh.begin(), fresh.end());
  begins_.erase(place(begins_, first), place(begins_, end));
  begins_.insert(place(begins_, first), std::make_move_iterator(begins.begin()),
                 std::make_move_iterator(begins.end()));
  if (!stretches_.empty()) {
    for (const Extent* const extent : divided) {
      CountAbove(*extent, 1);
    }
  }
}

void SpaceEstimate::UpdateStretches(const RunIndex& before, const RunIndex& after,
                                    const Runs& above) {
  const RunIndex::LeafChange change = RunIndex::ChangedLeaves(before, after);
  std::vector<Stretch> fresh;
  std::vector<std::string> begins;
  after.VisitLeaves(
      [&](const Extent& first, const RunIndex::Summary& summary) {
        fresh.push_back({.weight = summary.weight,
                         .record = summary.entries == 0
                                       ? 0
                                       : static_cast<double>(summary.weight) /
                                             static_cast<double>(summary.entries)});
        begins.emplace_back(UserKey(first.smallest));
      },
      change.first, change.after_end);
  if (fresh.size() == change.before_end - change.first &&
      std::equal(begins.begin(), begins.end(),
                 begins_.begin() + static_cast<ptrdiff_t>(change.first))) {
    for (size_t i = 0; i < fresh.size(); ++i) {
      stretches_[change.first + i].weight = fresh[i].weight;
      stretches_[change.first + i].record = fresh[i].record;
    }
  } else {
    ReplaceStretches(change.first, change.before_end, fresh, std::move(begins), above);
  }
  if (change.first < change.after_end) {
    Touch(change.first, change.after_end);
  }
}

void SpaceEstimate::Recount() {
  for (size_t i = touched_first_; i < std::min(touched_end_, stretches_.size()); ++i) {
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

SpaceUse SpaceEstimate::Update(const Metadata::Subtable& subtable) {
  const RunIndex none;
  const auto of = [&](const Runs& runs, const RunId& id) -> const RunIndex& {
    const auto found = runs.find(id);
    return found == runs.end() ? none : found->second;
  };
  for (const auto& [id, run] : runs_) {
    if (id.level <= kLastLevel && !subtable.runs.contains(id)) {
      UpdateRun(id, run, none);
    }
  }
  SpaceUse use;
  for (const auto& [id, run] : subtable.runs) {
    if (id.level <= kLastLevel) {
      UpdateRun(id, of(runs_, id), run);
      use.used_bytes += run.whole_pages() * kPageBytes;
    }
  }
  constexpr RunId kLast{kLastLevel, 0};
  UpdateStretches(of(runs_, kLast), of(subtable.runs, kLast), subtable.runs);
  Recount();
  runs_ = subtable.runs;
  for (const auto& [number, values] : subtable.values) {
    use.used_bytes += PageBytes(values.extent->pages.bytes);
    use.live_value_bytes += values.live_bytes;
    use.garbage_bytes += values.extent->pages.bytes - values.live_bytes;
  }
  use.used_bytes += sliced_bytes_;
  use.live_bytes = live_bytes_;
  return use;
}

}  // namespace sluice
