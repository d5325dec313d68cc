// Cycles per record over the value length, measured, promised and published, drawn by gnuplot.

#pragma once

#include <string>

#include "grid/report.h"
#include "util/status.h"

namespace sluice::grid {

// The format follows the name: .svg or .png. A panel per configuration; of several latencies the
// lowest, of several shapes the first. InvalidArgument for another name, IoError if gnuplot is
// missing or fails.
Status Plot(const Measured& measured, const std::string& path);

}  // namespace sluice::grid
