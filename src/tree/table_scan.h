// Finds extents in a data file without the metadata that name them, for DB::Repair.
//
// A table ends in a footer, from which its beginning follows; it is an extent's if it begins with a
// page and its properties name a sub-table. What is found need not be alive: pages that came free
// hold what they held until they are written again or given back to the file system. Such an
// extent's records are old versions of what others hold, or were dropped by a compaction.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sluice/env.h"
#include "tree/extent.h"
#include "util/status.h"

namespace sluice {

// Contents of an extent's properties block.
std::string ExtentProperties(uint32_t subtable);

struct FoundExtent {
  uint32_t subtable = 0;
  // `smallest` may be less than the first key, if that cannot be read. No counts.
  Extent extent;
};

// Calls `found` for each extent in the data file `path`, whose number is `number`, ascending. An
// extent whose index cannot be read is not found. Costs one read of the file, and one more of each
// extent.
Status ScanForExtents(Env* env, const std::string& path, uint64_t number,
                      const std::function<void(FoundExtent)>& found);

// The same for value extents (value_extent.h): their numbers, places, lengths and numbers of values.
Status ScanForValueExtents(Env* env, const std::string& path, uint64_t number,
                           const std::function<void(FoundExtent)>& found);

}  // namespace sluice
