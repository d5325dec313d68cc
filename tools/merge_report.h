// What a merge did, as JSON fields and as lines for people; shared by `unit run` and `compact`.

#pragma once

#include "command.h"
#include "sluice/executor.h"

namespace sluice::tools {

// The cycles of a simulated unit are counted; the clock is the one that its rates assume.
inline double UnitSeconds(const MergeStats& stats, double clock_mhz) {
  return static_cast<double>(stats.cycles) / (clock_mhz * 1e6);
}

// Sets the fields of MergeStats (of checksums the output's, in hex), clock_mhz, and the seconds:
// `seconds` is what the merge takes where it runs, a unit's cycles at its clock; `wall_seconds`
// what it took here, simulation and all.
void AddStats(const MergeStats& stats, double clock_mhz, double wall_seconds, Json* object);

// Records, bytes, rates, and of a device its cycles and stalls.
void AddStatsLines(const MergeStats& stats, double clock_mhz, double wall_seconds, Lines* lines);

}  // namespace sluice::tools
