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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tree/metadata.h"

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
// An edit changes the stretches that its extents overlap. Where it changes at which keys stretches
// begin, each extent above these borders, too, is divided among its stretches anew. The shares are
// rounded to multiples of a small part of a byte, so that adding and subtracting them is exact: the
// estimate does not depend on the edits that led to it.
//
// Keeps the extents of the last call alive. Thread-compatible.
class SpaceEstimate {
 public:
  // The estimate for `subtable`, which edits have made of what the last call got. Costs O(extents
  // that came and went, and stretches below them) and, if the last level got other stretches, moving
  // some bytes for each.
  SpaceUse Update(const Metadata::Subtable& subtable);

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
  using Runs = std::map<RunId, RunIndex>;

  // With `sign` 1 or -1.
  void CountAbove(const Extent& extent, double sign);
  void CountSlice(const RunId& run, const Extent& extent, bool added);
  void UpdateRun(const RunId& id, const RunIndex& before, const RunIndex& after);
  void UpdateStretches(const RunIndex& before, const RunIndex& after, const Runs& above);
  // Gives up stretches [first, end) for those of `fresh`, which begin at these keys.
  void ReplaceStretches(size_t first, size_t end, const std::vector<Stretch>& fresh,
                        std::vector<std::string> begins, const Runs& above);
  // The stretch that has the user key, as far as they are known to begin. The search begins at
  // `hint`.
  size_t StretchOf(std::string_view user_key, size_t hint) const;
  void Touch(size_t first, size_t end) {
    touched_first_ = std::min(touched_first_, first);
    touched_end_ = std::max(touched_end_, end);
  }
  // What is left of the stretches that were touched.
  void Recount();

  Runs runs_;                          // as of the last call
  std::vector<std::string> begins_;    // of the stretches: user keys; the first has no meaning
  std::vector<Stretch> stretches_;     // of the last level, in key order
  size_t last_stretch_ = 0;            // where the last extent above was
  size_t touched_first_ = ~size_t{0};  // since Recount
  size_t touched_end_ = 0;
  uint64_t live_bytes_ = 0;
  // The tables of slices, in each run: a table may have several.
  std::map<RunId, std::unordered_map<uint64_t, SlicedTable>> sliced_;
  uint64_t sliced_bytes_ = 0;  // pages of these
};

}  // namespace sluice
