// A database's statistics, for people: the shape of its trees.

#pragma once

#include <string>

#include "sluice/statistics.h"

namespace sluice::tools {

// Several lines.
std::string ShapeText(const Statistics& statistics);

}  // namespace sluice::tools
