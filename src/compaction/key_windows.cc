#include "compaction/key_windows.h"

#include <algorithm>
#include <string_view>

#include "tree/extent_space.h"

namespace sluice {

namespace {

// A run whose extents span more windows than this takes no part in a major compaction of one
// window: its extents would be cut into pieces as small as a window.
constexpr size_t kMostWindows = 4;

bool IsThin(size_t windows) { return windows > kMostWindows; }

// What a window gets of an extent that overlaps so many of them.
uint64_t BytesOfWindow(const Extent& extent, size_t windows) {
  return extent.weight() / windows + 1;
}

bool IsNewer(const RunId& a, const RunId& b) {
  return a.level != b.level ? a.level < b.level : a.run > b.run;
}

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

Windows MakeWindows(const Version& version, const UpperRunList& runs, uint32_t thin_from) {
  Windows made;
  std::vector<std::string>& begins = made.begins;
  std::vector<Window>& windows = made.windows;
  version.Last().VisitLeaves([&](const Extent& first, const RunIndex::Summary& summary) {
    if (begins.empty() || begins.back() != UserKey(first.smallest)) {
      begins.emplace_back(UserKey(first.smallest));
      windows.emplace_back();
    }
    windows.back().last_bytes += summary.weight;
  });
  if (windows.empty()) {
    begins.emplace_back();
    windows.emplace_back();
  }
  // The window of a key that is in window `from` or a later one.
  const auto window_of = [&](std::string_view user_key, size_t from) -> size_t {
    while (from + 1 < windows.size() && begins[from + 1] <= user_key) {
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
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const Version::Run& of = version.levels[run->first][run->second];
    parts.assign(windows.size(), {});
    RunIndex::Iterator at(of.index);
    size_t last = 0;
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      const Extent& extent = *at.extent();
      const size_t first = window_of(UserKey(extent.smallest), last);
      last = window_of(UserKey(extent.largest), first);
      const uint64_t bytes = BytesOfWindow(extent, last - first + 1);
      const uint64_t accesses = extent.place->accesses() / (last - first + 1);
      for (size_t i = first; i <= last; ++i) {
        parts[i].bytes += bytes;
        parts[i].accesses += accesses;
        parts[i].thin = parts[i].thin || IsThin(last - first + 1);
      }
    }
    for (size_t i = 0; i < windows.size(); ++i) {
      Window& window = windows[i];
      if (window.closed) {
        continue;
      }
      if (parts[i].thin && run->first < thin_from) {
        window.closed = true;
        window.closed_by = {run->first, of.number};
        continue;
      }
      window.upper_bytes += parts[i].bytes;
      window.accesses += parts[i].accesses;
      window.used_runs += parts[i].bytes > 0 ? 1 : 0;
    }
  }
  return made;
}

size_t RunsTakingPart(const Window& window, const Version& version, const UpperRunList& runs) {
  if (!window.closed) {
    return runs.size();
  }
  const auto oldest = std::find_if(runs.begin(), runs.end(), [&](const auto& run) {
    return IsNewer(window.closed_by, {run.first, version.levels[run.first][run.second].number});
  });
  return static_cast<size_t>(runs.end() - oldest);
}

KeyRange RangeOf(const std::vector<std::string>& begins, size_t first, size_t end) {
  KeyRange range;
  if (range.has_begin = first > 0; range.has_begin) {
    range.begin = begins[first];
  }
  if (range.has_end = end < begins.size(); range.has_end) {
    range.end = begins[end];
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

bool KeyWindows::CountRun(size_t i, const RunIndex& run, Window* window) const {
  const std::vector<std::string>& begins = stretches_.begins();
  RunIndex::Iterator at(run);
  if (i > 0) {
    std::string begin = begins[i];
    PutFixed64(&begin, FirstTrailer(kMaxSequence));
    at.Seek(begin);
  } else {
    at.SeekToFirst();
  }
  uint64_t bytes = 0;
  for (; at.Valid(); at.Next()) {
    const Extent& extent = *at.extent();
    const std::string_view smallest = UserKey(extent.smallest);
    if (i + 1 < begins.size() && smallest >= begins[i + 1]) {
      break;
    }
    const size_t first = stretches_.Of(smallest, i);
    const size_t windows = stretches_.Of(UserKey(extent.largest), i) - first + 1;
    if (IsThin(windows)) {
      return false;
    }
    bytes += BytesOfWindow(extent, windows);
  }
  window->upper_bytes += bytes;
  window->used_runs += bytes > 0 ? 1 : 0;
  return true;
}

void KeyWindows::Count(size_t i, Window* window) const {
  *window = {.last_bytes = window->last_bytes};
  const Runs& runs = stretches_.runs();
  const auto end_of = [&](uint32_t level) { return runs.lower_bound({level + 1, 0}); };
  for (uint32_t level = kLastLevel; level-- > 0 && !window->closed;) {  // from the oldest on
    for (auto run = runs.lower_bound({level, 0}); run != end_of(level) && !window->closed; ++run) {
      if (!CountRun(i, run->second, window)) {
        window->closed = true;
        window->closed_by = run->first;
      }
    }
  }
}

const std::vector<Window>* KeyWindows::Current() {
  if (windows_.empty() || !stretches_.distinct()) {
    return nullptr;
  }
  for (size_t i = 0; i < windows_.size(); ++i) {
    if (windows_[i].stale) {
      Count(i, &windows_[i]);
    }
  }
  return &windows_;
}

void KeyWindows::Overlaps(const RunId& run, const Extent& /*extent*/, size_t first, size_t end,
                          bool /*does*/) {
  for (size_t i = first; i < end; ++i) {
    Window& window = windows_[i];
    window.stale = window.stale || !window.closed || !IsNewer(run, window.closed_by);
  }
}

void KeyWindows::Rewritten(size_t first, const std::vector<RunIndex::Summary>& now) {
  for (size_t i = 0; i < now.size(); ++i) {
    windows_[first + i].last_bytes = now[i].weight;
  }
}

void KeyWindows::Replaced(size_t first, size_t end, const std::vector<RunIndex::Summary>& now) {
  const auto place = [&](size_t i) { return windows_.begin() + static_cast<ptrdiff_t>(i); };
  windows_.erase(place(first), place(end));
  windows_.insert(place(first), now.size(), {.stale = true});
  Rewritten(first, now);
}

}  // namespace sluice
