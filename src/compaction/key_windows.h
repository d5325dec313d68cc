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
  std::string begin;         // user key; of the first window without meaning
  uint64_t last_bytes = 0;   // of the last level
  uint64_t upper_bytes = 0;  // of the runs that take part
  uint64_t accesses = 0;     // of these
  size_t oldest_runs = 0;    // so many of the upper runs take part, from the oldest on
  size_t used_runs = 0;      // and so many of these have something here
  bool closed = false;       // and no newer ones may
};

// A window takes part with its runs from the oldest one on, up to one whose extents reach over many
// windows: these would be cut into pieces that small. All do with `take_thin`. Costs O(extents of
// `runs`).
std::vector<Window> MakeWindows(const Version& version, const UpperRunList& runs, bool take_thin);

// Of the windows from `first` to before `end`.
KeyRange RangeOf(const std::vector<Window>& windows, size_t first, size_t end);

// Where a run of so many bytes in the range is best cut into extents: where windows begin, but for
// those between which it would have less than half an extent.
std::vector<std::string> CutsFor(const Version& version, const Options& options,
                                 const KeyRange& range, uint64_t bytes);

}  // namespace sluice
