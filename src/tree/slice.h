// A slice is a part of an extent's records, made by a change of metadata alone: a compaction that
// is carried out in parts has merged the others (compaction_planner.h). Pages and table stay as
// they are until all of the extent is merged.
//
// A slice has all versions of its keys, and its bounds are keys that it has. So a Get needs no more
// than the bounds, and walking the blocks of a slice (LiveBlocks) means to skip records beyond the
// bounds in the first and the last one.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tree/extent.h"
#include "tree/extent_reader.h"
#include "util/status.h"

namespace sluice {

// The slice of `extent`, itself a slice or not, with the user keys [begin, end) (empty: no bound);
// it may have no entries. Reads all of the slice, a MiB at once.
Status MakeSlice(const Extent& extent, std::string_view begin, std::string_view end,
                 ExtentReader* reader, Extent* slice);

// The slices into which these user keys, ascending, cut `extent`, in order; those without records
// are left out. Reads all of the extent once.
Status CutExtent(const Extent& extent, const std::vector<std::string>& keys, ExtentReader* reader,
                 std::vector<Extent>* slices);

// The same, without every other slice, the first one or the second. Of what is left out it reads
// little more than the blocks at its ends.
Status CutOutOfExtent(const Extent& extent, const std::vector<std::string>& keys, bool first,
                      ExtentReader* reader, std::vector<Extent>* slices);

}  // namespace sluice
