// When values that are stored apart are moved together, so that what overwritten and deleted ones
// take comes free.
//
// A value is garbage once no record in a run refers to it. What newer records in memtables and upper
// levels hide in lower ones is not garbage yet: levels have the size of their values, too
// (Extent::weight), so compactions find it as they would if the values were in the tree.
//
// Once a sub-table's value extents have more garbage than they may (space_limit.h), those with the
// largest shares of it are chosen, and the records that refer to what is left of them are rewritten,
// in the run that they are in, while the values are copied (value_relocation.h). That takes a
// compaction for each run that refers to them; after the last one they are gone. Each makes the live
// bytes of value extents with garbage fewer, so picking comes to an end. On a full device one value
// extent is chosen at a time.

#pragma once

#include <optional>

#include "compaction/compaction_picker.h"
#include "sluice/options.h"
#include "tree/version.h"

namespace sluice {

// None if none is due.
std::optional<CompactionPick> PickValues(const Version& version, const Options& options,
                                         bool device_full);

}  // namespace sluice
