// Divides a pick into several, each with a range of keys of its own, for threads to carry out side
// by side.
//
// They are compactions by themselves: what one takes and makes lies in its range, and all of them
// are in the same runs, so that it does not matter which of them takes effect first.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compaction/compaction_picker.h"

namespace sluice {

// User keys, ascending, that divide the pick's inputs into at most `shares` parts of similar size and
// of `least_bytes` at least, as far as the extents' bounds tell. All are keys at which an extent
// begins, and in the pick's range.
std::vector<std::string> BordersOf(const CompactionPick& pick, size_t shares, uint64_t least_bytes);

// The parts in key order, without those that have no inputs. REQUIRES: no extent has keys on both
// sides of a border.
std::vector<CompactionPick> Divide(const CompactionPick& pick,
                                   const std::vector<std::string>& borders);

// Makes what is left of the inputs of the parts, which are in key order, the inputs of `pick`.
void Join(std::vector<CompactionPick> parts, CompactionPick* pick);

}  // namespace sluice
