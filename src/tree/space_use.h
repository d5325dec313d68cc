// What a sub-table takes of the device, and what it would take if nothing were there twice.
//
// The second is an estimate, from the metadata alone. The last level is one run, so it holds each key
// once. What the levels above hold replaces some of that, delete it, or comes on top, and which of
// these is known only once it is merged. So in each stretch of the last level (a leaf of its index)
// every record above is taken to replace one of average size, and a tombstone to delete one: the
// stretch loses what such records have more than those above, and gains nothing. Where all records
// have one size and none is a tombstone, nothing is lost, and the estimate is the size of the last
// level.

#pragma once

#include <cstdint>

#include "tree/metadata.h"

namespace sluice {

struct SpaceUse {
  uint64_t used_bytes = 0;        // pages of all extents and value extents; of a slice's table all
  uint64_t live_value_bytes = 0;  // of value extents: what records refer to
  uint64_t garbage_bytes = 0;     // and the rest
  uint64_t live_bytes = 0;        // after a full compaction, with the values apart

  friend bool operator==(const SpaceUse&, const SpaceUse&) = default;
};

// Extents that are set aside do not count: no compaction can make them fewer. Costs O(extents of
// levels 0 and 1, and leaves of the last).
SpaceUse EstimateSpace(const Metadata::Subtable& subtable);

}  // namespace sluice
