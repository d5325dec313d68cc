// How far a sub-table's compactions are behind: how much writers are to be slowed down for it, from 0 to
// 1, where they stop, and how much of their rate compactions need lest it comes to that. Compactions
// that only the user starts do not count: nothing would end the wait for them.

#pragma once

#include <cstdint>

#include "sluice/options.h"
#include "tree/version.h"

namespace sluice {

// Pressure of the runs that wait for a minor compaction: 0 below l0_slowdown_runs, 1 at
// l0_stop_runs.
double PressureOfRuns(const Version& version, const Options& options);

// Pressure of the data that waits for a major compaction, measured by what levels 0 and 1 may have
// for the sake of write amplification: 0 up to 1.5 times that, 1 at three times.
double PressureOfDebt(const Version& version, const Options& options);

// What the limit on space leaves for memtables beside what is there and what compactions may take
// (space_limit.h); may be negative.
double SpaceLeft(const Version& version, const Options& options);
// Its pressure: 0 while SlowBytes are left beside the bytes of `memtables` there are, 1 when nothing is.
double PressureOfSpace(const Version& version, double left, uint64_t memtables,
                       const Options& options);

// The share of Options::background_bytes_per_second that compactions need: 0 when one becomes due, 1
// where writers would be slowed down for them. `left`: SpaceLeft; `memtables`: bytes that wait to be
// flushed.
double CompactionNeed(const Version& version, double left, uint64_t memtables,
                      const Options& options);

}  // namespace sluice
