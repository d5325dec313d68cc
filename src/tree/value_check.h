// Checks that what an extent refers to (value_extent.h) is there, whole, and its own.

#pragma once

#include <string_view>

#include "tree/extent.h"
#include "util/status.h"

namespace sluice {

// Reads every value that the extent's records refer to, and compares the sums with those that the
// metadata has. `table`: its bytes, verified. Errors name file and offset.
Status CheckValues(const Extent& extent, std::string_view table);

}  // namespace sluice
