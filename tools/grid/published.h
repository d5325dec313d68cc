// What the papers report for the shapes of a cell, and what they say beyond that.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grid/cell.h"

namespace sluice::grid {

// The clock that turns our cycles into rates; FCAE's and FAST'20's units run at it.
inline constexpr double kClockMhz = 200;

struct Published {
  std::string_view source;
  std::string_view unit;  // of the next two
  double value = 0;
  double measured = 0;
  double speedup = 0;            // of ours over theirs
  double cycles_per_record = 0;  // `value` in cycles of their unit
};

// None where no paper prints a figure for such a cell.
std::optional<Published> FindPublished(std::string_view grid, const Measurement& measurement);

// Markdown: what `grid`'s paper says that no single cell can be set against; empty for the grids
// that are ours alone.
std::string PublishedNotes(std::string_view grid, const std::vector<Measurement>& measurements);

}  // namespace sluice::grid
