// The ranges of keys that compactions into the last level are picked by: windows, which are the
// stretches of its index (tree/stretches.h), of some 100 MiB each. Edits leave most of their borders
// where they are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "merge/input_map.h"
#include "sluice/options.h"
#include "tree/stretches.h"
#include "tree/version.h"

namespace sluice {

// Runs of levels 0 and 1, newest first: level, and index within it.
using UpperRunList = std::vector<std::pair<uint32_t, size_t>>;

// All of them.
UpperRunList UpperRuns(const Version& version);

// What a compaction of a window would have to do.
struct Window {
  uint64_t last_bytes = 0;   // of the last level
  uint64_t upper_bytes = 0;  // of the runs that take part
  uint64_t accesses = 0;     // of these
  RunId closed_by{};         // if `closed`: this run does not take part, nor do newer ones
  uint32_t used_runs = 0;    // so many of those that do have records here
  bool closed = false;
  bool stale = false;  // KeyWindows is to count anew

  friend bool operator==(const Window&, const Window&) = default;
};

struct Windows {
  std::vector<std::string> begins;  // user keys; the first has no meaning
  std::vector<Window> windows;
};

// In each window the runs from the oldest one on take part, up to one whose extents span many
// windows, because these would be cut into pieces as small as a window. Those of level `thin_from` and
// below take part all the same. Costs O(extents of `runs`).
Windows MakeWindows(const Version& version, const UpperRunList& runs, uint32_t thin_from);

// How many of these runs, the oldest ones, take part in the window.
size_t RunsTakingPart(const Window& window, const Version& version, const UpperRunList& runs);

// The keys of windows [first, end) of those that begin there.
KeyRange RangeOf(const std::vector<std::string>& begins, size_t first, size_t end);

// Where a run of `bytes` in the range is best cut into extents: where windows begin, as long as no
// two cuts have less than half an extent between them.
std::vector<std::string> CutsFor(const Version& version, const Options& options,
                                 const KeyRange& range, uint64_t bytes);

// Keeps the windows, of all upper runs, from edit to edit: as MakeWindows would make them, no
// thin run taking part, and without accesses. An edit makes stale what it may have changed: where an extent
// came or went that takes part, or that decides which ones do. In a large tree the extents of all but
// the oldest runs do not.
//
// Thread-compatible.
class KeyWindows final : public Stretches::Observer {
 public:
  // Outlives this, and tells it what changes.
  explicit KeyWindows(const Stretches* stretches) : stretches_(*stretches) {}

  // Null if there are none, or some that MakeWindows would take for one: then it is to be asked.
  // Costs O(windows), and searching the runs for those that are stale.
  const std::vector<Window>* Current();

  void Overlaps(const RunId& run, const Extent& extent, size_t first, size_t end,
                bool does) override;
  void Rewritten(size_t first, const std::vector<RunIndex::Summary>& now) override;
  void Replaced(size_t first, size_t end, const std::vector<RunIndex::Summary>& now) override;

 private:
  void Count(size_t i, Window* window) const;
  // What the run has in window `i`; false if its extents span many windows there.
  bool CountRun(size_t i, const RunIndex& run, Window* window) const;

  const Stretches& stretches_;
  std::vector<Window> windows_;
};

}  // namespace sluice
