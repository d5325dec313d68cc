// The ranges of keys that compactions into the last level are picked by: windows, of some 100 MiB of
// it each, between the first keys of two leaves of its index. Edits leave these where they are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "merge/input_map.h"
#include "sluice/options.h"
#include "tree/version.h"

namespace sluice {

// Runs of levels 0 and 1, newest first: level, and index within it.
using UpperRunList = std::vector<std::pair<uint32_t, size_t>>;

// All of them.
UpperRunList UpperRuns(const Version& version);

// What a compaction of a window would have to do.
struct Window {
  std::string begin;         // user key; has no meaning in the first window
  uint64_t last_bytes = 0;   // of the last level
  uint64_t upper_bytes = 0;  // of the runs that take part
  uint64_t accesses = 0;     // of these
  size_t oldest_runs = 0;    // so many upper runs take part, the oldest ones
  size_t used_runs = 0;      // so many of these have records here
  bool closed = false;       // no newer runs may take part
};

// In each window the runs from the oldest one on take part, up to one whose extents span many
// windows, because these would be cut into pieces as small as a window; with `take_thin`, all do.
// Costs O(extents of `runs`).
std::vector<Window> MakeWindows(const Version& version, const UpperRunList& runs, bool take_thin);

// The keys of windows [first, end).
KeyRange RangeOf(const std::vector<Window>& windows, size_t first, size_t end);

// Where a run of `bytes` in the range is best cut into extents: where windows begin, as long as no
// two cuts have less than half an extent between them.
std::vector<std::string> CutsFor(const Version& version, const Options& options,
                                 const KeyRange& range, uint64_t bytes);

}  // namespace sluice
