// A part of an extent's records, by a change of metadata alone: a compaction that was carried out
// in parts has merged the others (compaction_planner.h). Pages and table stay as they are until all
// of it is merged.
//
// A slice has all versions of its keys, and its bounds are keys that it has. So a Get needs nothing
// but these, and who walks its blocks (LiveBlocks) leaves out what lies beyond them in the first
// and the last one.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tree/extent.h"
#include "tree/extent_reader.h"
#include "util/status.h"

namespace sluice {

// What `extent`, a slice or not, has of the user keys [begin, end) (empty: no bound). Reads all of
// it. That may be nothing: no entries.
Status MakeSlice(const Extent& extent, std::string_view begin, std::string_view end,
                 ExtentReader* reader, Extent* slice);

// The slices of `extent` between these user keys, ascending, in order; those without records are left
// out. Reads all of it, once.
Status CutExtent(const Extent& extent, const std::vector<std::string>& keys, ExtentReader* reader,
                 std::vector<Extent>* slices);

}  // namespace sluice
