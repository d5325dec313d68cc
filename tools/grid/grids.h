// The named grids: which cells each has.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grid/cell.h"

namespace sluice::grid {

struct Grid {
  std::string_view name;
  std::string_view about;
  std::vector<Cell> cells;
};

// quick, full, fcae, fast20, thesis.
const std::vector<Grid>& Grids();

}  // namespace sluice::grid
