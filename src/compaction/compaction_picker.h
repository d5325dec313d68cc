// Which compaction is due next (X-Engine 3.3.3): policy, apart from how it is done.
//
// Three levels. Level 0 has runs, newest first; levels 1 and 2 are one run each. Every decision is
// a value; nothing here reads a file or changes a tree.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/options.h"
#include "tree/metadata_edit.h"
#include "tree/version.h"

namespace sluice {

struct CompactionInput {
  RunId run;
  std::vector<ExtentPtr> extents;  // in key order
};

struct CompactionPick {
  CompactionKind kind = CompactionKind::kManual;
  std::vector<CompactionInput> inputs;  // newest first
  RunId output;
  bool bottommost = false;  // nothing older than the inputs holds any of their keys
  // Merge even where nothing overlaps what is small, or may hold what nobody needs any more.
  bool rewrite = false;
};

// The first in `order` that is due. Level 0 is picked whole, and none of the inputs is ever older
// than an extent that stays in its level or above and shares a key with it.
//
// Each moves extents to a lower level or makes runs, extents or records fewer, so picking comes to
// an end. `oldest_snapshot`: what older versions there are, it and later ones do not need.
// `*held_back`: from which oldest snapshot on more would be due; kMaxSequence: from none.
std::optional<CompactionPick> PickCompaction(const Version& version, const Options& options,
                                             SequenceNumber oldest_snapshot,
                                             SequenceNumber* held_back);

// Halves the access counts that decide which extents are the coldest. To be called after each
// flush: a window of access is so measured in bytes written, which are what makes compactions due.
void CoolDown(const Version& version);

// Everything that overlaps [begin, end) (empty: no bound), into the last level. Nothing if there is
// nothing above it and nothing to drop in it.
std::optional<CompactionPick> PickRange(const Version& version, std::string_view begin,
                                        std::string_view end);

}  // namespace sluice
