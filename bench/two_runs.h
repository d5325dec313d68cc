// Two sorted runs, ten to one, for benchmarks of their compaction (X-Engine 4.4, Figure 16).
//
// The paper varies how much of the small run is "distinct", says that the rest, several versions of
// a record each, "are highly skewed, similar to [...] strong hot spots", and of hot records that
// they lie together (1). It does not say where the distinct ones lie; if they lay one by one
// between the big run's, every block of it would have to be merged. So here the distinct share of
// the small run are new keys in 16 stretches, at places drawn uniformly, as rows are inserted in
// the order of a key; the others are updates, by Zipf, of 16 hot ranges that have the same share of
// the big run. Both runs have as much in common: 10% or 1%.

#pragma once

#include <cstdint>
#include <functional>

#include "bench/settings.h"

namespace sluice::bench {

struct TwoRuns {
  double distinct = 1;  // share of the small run
  // Not in stretches, but each at a place of its own: everything has to be merged.
  bool scattered = false;
};

// InvalidArgument if the small run needs more than one memtable.
Status CheckTwoRuns(const BenchSettings& settings);

// Fills a new database with them: settings.num records, compacted, and a tenth of that, flushed.
// `*records`: of both as they were written.
Status BuildTwoRuns(const BenchSettings& settings, const TwoRuns& runs, uint64_t seed,
                    Engine* engine, const std::function<void(uint64_t, uint64_t)>& progress,
                    uint64_t* records);

}  // namespace sluice::bench
