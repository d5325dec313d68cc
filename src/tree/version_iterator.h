// What a version's runs have, to be merged.

#pragma once

#include <memory>

#include "mem/range_deletions.h"
#include "sluice/iterator.h"
#include "table/record_iterator.h"
#include "tree/extent_reader.h"
#include "tree/key_bounds.h"
#include "tree/merged_iterator.h"
#include "tree/version.h"

namespace sluice {

// `part` with tombstones where `deletions` (null: there are none) cover it; `newest` as for
// CoveredIterator.
std::unique_ptr<RecordIterator> Covered(std::unique_ptr<RecordIterator> part,
                                        const std::shared_ptr<const RangeDeletions>& deletions,
                                        SequenceNumber snapshot, SequenceNumber newest);

// Adds an iterator over each run that is not empty, Covered by `deletions`: if there are any, not as
// runs, whose seeks read at once. Runs with nothing within `bounds` are left out. The reader outlives
// them, and so does `reach`, of each level; it may be null. Returns how many of the runs belong to a
// level.
size_t AddRuns(const Version& version, ExtentReader* reader,
               const std::shared_ptr<const RangeDeletions>& deletions, SequenceNumber snapshot,
               bool fill_cache, SeekReach* reach, const KeyBounds& bounds, IteratorParts* parts);

// The newest state of the runs, without memtables; past the block cache.
std::unique_ptr<Iterator> NewIteratorOverRuns(std::shared_ptr<const Version> version,
                                              ExtentReader* reader);

}  // namespace sluice
