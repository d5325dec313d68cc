// The gate: every cell within the contract, and no cell's cycles other than they were.
//
// A baseline file is JSON: `cycles` has each cell's jobs by name, `below_contract` the cells that
// are known to miss the contract; all others have to meet it. A better figure is a difference too:
// whoever makes it accepts it, and the baseline's history tells what each change was worth.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "grid/cell.h"
#include "util/status.h"

namespace sluice::grid {

struct Baseline {
  std::map<std::string, std::vector<uint64_t>> cycles;
  std::set<std::string> below_contract;
};

Baseline MakeBaseline(const std::vector<Measurement>& measurements);

// IoError if the file cannot be read or written, Corruption if it is no baseline.
Status ReadBaseline(const std::string& path, Baseline* baseline);
Status WriteBaseline(const std::string& path, const Baseline& baseline);

// What is wrong with `now`, a sentence each; empty if nothing is. Of `then` only the cells count whose
// configuration and latency are in `now`: a run over some of them can be checked too.
std::vector<std::string> Compare(const Baseline& then, const Baseline& now);

}  // namespace sluice::grid
