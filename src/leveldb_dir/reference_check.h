// References to values kept elsewhere: the engine's tables may have them, and an executor merges
// them, but no LevelDB wrote any.

#pragma once

#include <string>
#include <string_view>

#include "merge/input_map.h"
#include "table/format.h"
#include "util/status.h"

namespace sluice {

// Corruption, with the path and the offset, if a data block of the table that may hold keys in
// `range` has a reference. What else is wrong with the table is left to the merge, which names it.
// Costs: reads those blocks, and decompresses them.
Status CheckNoReferences(std::string_view image, const BlockHandle& index, const KeyRange& range,
                         const std::string& path);

}  // namespace sluice
