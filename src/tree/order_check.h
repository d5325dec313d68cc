// Whether the runs of a sub-table are in order: of each key, what a newer run holds is newer than
// all that the runs after it hold. Reads rely on it, since they stop at the first run that has a
// version they see.
//
// Costs a read of all blocks, past the caches.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tree/extent_reader.h"
#include "tree/version.h"
#include "util/status.h"

namespace sluice {

// For messages: at most 64 bytes, others than plain characters as \xNN.
std::string ShowKey(std::string_view key);

// Corruption that names key, runs and sequence numbers, or that of a block. `progress` (may be
// null) gets the stored bytes of each block as it is read.
Status CheckRunOrder(const Version& version, ExtentReader* reader,
                     const std::function<void(uint64_t bytes)>& progress);

}  // namespace sluice
