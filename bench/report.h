// What the bench measured, for people and for programs.

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench.h"

namespace sluice::bench {

// One workload with so many threads: the runs of each engine, in the order of settings.engines.
struct Comparison {
  std::string workload;
  int threads;
  std::vector<const Run*> median;  // by operations per second; of an even number the slower
};
std::vector<Comparison> Compare(const BenchSettings& settings, const std::vector<Run>& runs);

// The table that grows with each run: its head, and a run's lines. A run of several kinds of
// operation has a line for each below its own.
std::string TableHead();
std::string TableLines(const Run& run);

// For the median runs: CPU seconds by kind of thread, bytes written and read; and, of several
// engines, operations per second with the first engine's share of each other's.
std::string Summary(const BenchSettings& settings, const std::vector<Run>& runs);

// {"settings": ..., "runs": [...], "comparison": [...]}
nlohmann::ordered_json ToJson(const BenchSettings& settings, const std::vector<Run>& runs);

}  // namespace sluice::bench
