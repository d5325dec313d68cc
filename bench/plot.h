// Throughput over time and latency by percentile, drawn by gnuplot.

#pragma once

#include <string>
#include <vector>

#include "bench/report.h"

namespace sluice::bench {

// The format follows the name: .svg or .png. A row of two panels per workload, a curve per engine,
// of its median run. InvalidArgument for another name, IoError if gnuplot is missing or fails.
Status Plot(const BenchSettings& settings, const std::vector<Run>& runs, const std::string& path);

}  // namespace sluice::bench
