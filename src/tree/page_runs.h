// A set of pages, kept as the runs that they form.
//
// Thread-compatible. Costs a logarithm of the number of runs, but for FindFirst.

#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "util/check.h"

namespace sluice {

class PageRuns {
 public:
  struct Run {
    uint64_t first = 0;
    uint64_t pages = 0;
    uint64_t end() const { return first + pages; }
  };

  // REQUIRES: none of them is in the set.
  void Add(uint64_t first, uint64_t pages) {
    // Pages that came free twice would be given to two extents.
    auto [at, added] = runs_.emplace(first, pages);
    SLUICE_CHECK(added);
    pages_ += pages;
    if (const auto next = std::next(at); next != runs_.end()) {
      SLUICE_CHECK(first + pages <= next->first);
      if (first + pages == next->first) {
        at->second += next->second;
        runs_.erase(next);
      }
    }
    if (at != runs_.begin()) {
      const auto before = std::prev(at);
      SLUICE_CHECK(before->first + before->second <= first);
      if (before->first + before->second == first) {
        before->second += at->second;
        runs_.erase(at);
      }
    }
  }
  // Those of them that are in the set.
  void Remove(uint64_t first, uint64_t pages) {
    const uint64_t end = first + pages;
    auto at = runs_.upper_bound(first);
    if (at != runs_.begin()) {
      --at;
    }
    while (at != runs_.end() && at->first < end) {
      const Run run{at->first, at->second};
      if (run.end() <= first) {
        ++at;
        continue;
      }
      at = runs_.erase(at);
      pages_ -= std::min(run.end(), end) - std::max(run.first, first);
      if (run.first < first) {
        runs_[run.first] = first - run.first;
      }
      if (run.end() > end) {
        runs_[end] = run.end() - end;
      }
    }
  }
  // Whether all of them are in the set.
  bool Contains(uint64_t first, uint64_t pages) const {
    const auto at = runs_.upper_bound(first);
    return at != runs_.begin() && std::prev(at)->first + std::prev(at)->second >= first + pages;
  }

  // The first run of at least so many.
  std::optional<Run> FindFirst(uint64_t pages) const {
    for (const auto& [first, count] : runs_) {
      if (count >= pages) {
        return Run{first, count};
      }
    }
    return std::nullopt;
  }
  std::optional<Run> Last() const {
    return runs_.empty() ? std::nullopt
                         : std::optional(Run{runs_.rbegin()->first, runs_.rbegin()->second});
  }
  uint64_t pages() const { return pages_; }

 private:
  std::map<uint64_t, uint64_t> runs_;  // first page -> pages; none adjacent
  uint64_t pages_ = 0;
};

}  // namespace sluice
