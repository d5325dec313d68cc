// A measured grid as Markdown, for terminals and docs/ alike, and as JSON.

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "grid/cell.h"
#include "grid/grids.h"

namespace sluice::grid {

struct Measured {
  const Grid* grid = nullptr;
  std::vector<Measurement> cells;
  std::vector<std::string> not_built_in;  // configurations of the grid that this program lacks
};

std::string Markdown(const Measured& measured);
// The cells, an object each.
nlohmann::ordered_json CellsJson(const Measured& measured);

}  // namespace sluice::grid
