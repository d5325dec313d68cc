// What a compaction does with values that are stored apart (tree/value_extent.h).
//
// As a rule it moves references only. A pick that is made to free value extents of which little is
// alive (PickValues) names them: then the values that its records still refer to there are copied
// into new value extents, and the references are changed where they stand in the blocks of the
// output, since all have the same size. Executors, which merge before, know nothing of it.
//
// A value that cannot be read stays where it is, and its value extent is not chosen again.
//
// Thread-compatible.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "compaction/compaction_picker.h"
#include "tree/value_writer.h"
#include "util/status.h"

namespace sluice {

class ValueRelocation {
 public:
  // The pick outlives it.
  ValueRelocation(const CompactionPick& pick, const ValueFormat& format, ExtentWriter* writer);

  // Whether values may have to be copied.
  bool active() const { return !pick_.relocate.empty(); }
  // Finds the value extents that records of the output may refer to; null: an input is damaged.
  ValueExtentPtr Find(uint64_t number) const;
  // Copies the values that the block's records refer to. `*contents` are the block's afterwards: the
  // same, or valid until the next call.
  Status Relocate(std::string_view* contents);
  // To be called before the ExtentWriter's Finish.
  Status Finish() { return writer_.Finish(); }

  uint64_t bytes_read() const { return bytes_read_; }

 private:
  bool IsToMove(uint64_t number) const;

  const CompactionPick& pick_;
  ValueWriter writer_;
  std::unordered_map<uint64_t, ValueExtentPtr> inputs_;  // that the inputs refer to, by number
  uint64_t bytes_read_ = 0;
  std::string patched_;
  std::string record_;
  std::string moved_;
};

}  // namespace sluice
