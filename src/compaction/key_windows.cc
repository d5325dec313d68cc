#include "compaction/key_windows.h"

#include <algorithm>
#include <string_view>

#include "tree/extent_space.h"

namespace sluice {

namespace {

// A run whose extents span more windows than this takes no part in a major compaction of one
// window: its extents would be cut into pieces as small as a window.
constexpr size_t kMostWindows = 4;

}  // namespace

UpperRunList UpperRuns(const Version& version) {
  UpperRunList runs;
  for (uint32_t level = 0; level < kLastLevel; ++level) {
    for (size_t i = 0; i < version.levels[level].size(); ++i) {
      runs.emplace_back(level, i);
    }
  }
  return runs;
}

std::vector<Window> MakeWindows(const Version& version, const UpperRunList& runs, bool take_thin) {
  std::vector<Window> windows;
  version.Last().VisitLeaves([&](const Extent& first, const RunIndex::Summary& summary) {
    if (windows.empty() || windows.back().begin != UserKey(first.smallest)) {
      windows.push_back({.begin = std::string(UserKey(first.smallest))});
    }
    windows.back().last_bytes += summary.weight;
  });
  if (windows.empty()) {
    windows.emplace_back();
  }
  // The window of a key that is in window `from` or a later one.
  const auto window_of = [&](std::string_view user_key, size_t from) -> size_t {
    while (from + 1 < windows.size() && windows[from + 1].begin <= user_key) {
      ++from;
    }
    return from;
  };
  struct Part {
    uint64_t bytes = 0;
    uint64_t accesses = 0;
    bool thin = false;
  };
  std::vector<Part> parts;
  size_t taken = 0;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    parts.assign(windows.size(), {});
    RunIndex::Iterator at(version.levels[run->first][run->second].index);
    size_t last = 0;
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      const Extent& extent = *at.extent();
      const size_t first = window_of(UserKey(extent.smallest), last);
      last = window_of(UserKey(extent.largest), first);
      for (size_t i = first; i <= last; ++i) {
        parts[i].bytes += extent.weight() / (last - first + 1) + 1;
        parts[i].accesses += extent.place->accesses() / (last - first + 1);
        parts[i].thin = parts[i].thin || last - first >= kMostWindows;
      }
    }
    ++taken;
    for (size_t i = 0; i < windows.size(); ++i) {
      Window& window = windows[i];
      window.closed = window.closed || (!take_thin && parts[i].thin);
      if (!window.closed) {
        window.upper_bytes += parts[i].bytes;
        window.accesses += parts[i].accesses;
        window.oldest_runs = taken;
        window.used_runs += parts[i].bytes > 0 ? 1 : 0;
      }
    }
  }
  return windows;
}

KeyRange RangeOf(const std::vector<Window>& windows, size_t first, size_t end) {
  KeyRange range;
  if (range.has_begin = first > 0; range.has_begin) {
    range.begin = windows[first].begin;
  }
  if (range.has_end = end < windows.size(); range.has_end) {
    range.end = windows[end].begin;
  }
  return range;
}

std::vector<std::string> CutsFor(const Version& version, const Options& options,
                                 const KeyRange& range, uint64_t bytes) {
  const RunIndex last = version.Last();
  const size_t first = range.has_begin ? last.LeavesBefore(range.begin) : 0;
  const size_t end = range.has_end ? last.LeavesBefore(range.end) : last.leaves();
  size_t step = 1;
  while ((end - first) * uint64_t{options.extent_bytes} / 2 > step * bytes) {
    step *= 2;
  }
  std::vector<std::string> cuts;
  last.VisitLeaves([&](const Extent& extent,
                       const RunIndex::Summary&) { cuts.emplace_back(UserKey(extent.smallest)); },
                   first + step, end, step);
  return cuts;
}

}  // namespace sluice
