// Drawing with gnuplot.

#pragma once

#include <string>
#include <string_view>

#include "util/status.h"

namespace sluice::tools {

// A string in a script.
std::string GnuplotQuote(std::string_view text);

// Draws `script`, which leaves out terminal and output, on a sheet of so many pixels. The format
// follows the name: .svg or .png. InvalidArgument for another name, IoError if gnuplot is missing
// or fails.
Status RunGnuplot(const std::string& script, size_t width, size_t height, const std::string& path);
// The error that RunGnuplot would give for this name.
Status CheckPlotName(const std::string& path);

}  // namespace sluice::tools
