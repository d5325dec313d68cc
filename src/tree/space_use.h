// What a sub-table takes of the device, and what it would take if nothing were there twice.
//
// The second is an estimate, from the metadata alone. The last level is one run, so it holds each key
// once. What the levels above hold replaces some of that, delete it, or comes on top, and which of
// these is known only once it is merged. So in each stretch of the last level (stretches.h) every
// record above is taken to replace one of average size, and a tombstone to delete one: the stretch
// loses what such records have more than those above, and gains nothing. Where all records have one
// size and none is a tombstone, nothing is lost, and the estimate is the size of the last level.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "tree/metadata.h"
#include "tree/stretches.h"

namespace sluice {

struct SpaceUse {
  uint64_t used_bytes = 0;        // pages of all extents and value extents; of a slice's table all
  uint64_t live_value_bytes = 0;  // of value extents: what records refer to
  uint64_t garbage_bytes = 0;     // and the rest
  uint64_t live_bytes = 0;        // after a full compaction, with the values apart

  friend bool operator==(const SpaceUse&, const SpaceUse&) = default;
};

// Keeps the estimate of one sub-table from edit to edit. Extents that are set aside do not count: no
// compaction can make them fewer.
//
// An extent counts in equal shares in the stretches that it overlaps. These are rounded to multiples
// of a small part of a byte, so that adding and subtracting them is exact: the estimate does not
// depend on the edits that led to it.
//
// Thread-compatible.
class SpaceEstimate final : public Stretches::Observer {
 public:
  // The estimate for what the stretches have told, which is that of `subtable`. Costs O(runs, and
  // stretches that were changed since the last call).
  SpaceUse Use(const Metadata::Subtable& subtable);

  void Changed(const RunId& run, const Extent& extent, bool came) override;
  void Overlaps(const RunId& run, const Extent& extent, size_t first, size_t end,
                bool does) override;
  void Rewritten(size_t first, const std::vector<RunIndex::Summary>& now) override;
  void Replaced(size_t first, size_t end, const std::vector<RunIndex::Summary>& now) override;

 private:
  // A stretch of the last level, and what is above it.
  struct Stretch {
    uint64_t weight = 0;  // of the last level
    double record = 0;    // the average of its records
    double above_weight = 0;
    double above_records = 0;  // without tombstones
    double above_tombstones = 0;
    uint64_t left = 0;  // if every record above replaced one of its own, or deleted it
  };
  struct SlicedTable {
    size_t slices = 0;
    uint64_t pages_bytes = 0;
  };

  static void SetLast(const RunIndex::Summary& summary, Stretch* stretch);
  void Touch(size_t first, size_t end) {
    touched_first_ = std::min(touched_first_, first);
    touched_end_ = std::max(touched_end_, end);
  }
  // What is left of the stretches that were touched.
  void Recount();

  std::vector<Stretch> stretches_;
  size_t touched_first_ = ~size_t{0};  // since Recount
  size_t touched_end_ = 0;
  uint64_t live_bytes_ = 0;
  // The tables of slices, in each run: a table may have several.
  std::map<RunId, std::unordered_map<uint64_t, SlicedTable>> sliced_;
  uint64_t sliced_bytes_ = 0;  // pages of these
};

}  // namespace sluice
