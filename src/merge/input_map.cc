#include "merge/input_map.h"

#include <algorithm>

namespace sluice {

void InputMap::Sort() {
  std::ranges::sort(pieces_);
  sums_.clear();
  uint64_t sum = 0;
  for (const auto& [key, bytes] : pieces_) {
    sums_.push_back(sum += bytes);
  }
}

uint64_t InputMap::BytesUpTo(std::string_view user_key) const {
  const auto above =
      std::upper_bound(pieces_.begin(), pieces_.end(), user_key,
                       [](std::string_view key, const auto& piece) { return key < piece.first; });
  return above == pieces_.begin() ? 0 : sums_[above - pieces_.begin() - 1];
}

std::vector<KeyRange> InputMap::Split(uint64_t bytes) const {
  std::vector<KeyRange> ranges(1);
  const uint64_t count = total_bytes_ / bytes + (total_bytes_ % bytes != 0 ? 1 : 0);
  // Where range number `i` should begin.
  const auto border = [&](uint64_t i) {
    return static_cast<uint64_t>(static_cast<double>(total_bytes_) * static_cast<double>(i) /
                                 static_cast<double>(count));
  };
  uint64_t next = 1;
  uint64_t before = 0;  // bytes of the pieces at lower keys
  for (size_t i = 0; i < pieces_.size();) {
    // All pieces that start at one key go to one range.
    const std::string& key = pieces_[i].first;
    while (i < pieces_.size() && pieces_[i].first == key) {
      ++i;
    }
    // A border that is nearer to this key's start than to its end falls before it.
    const auto falls_here = [&] {
      return next < count && 2 * border(next) < before + sums_[i - 1];
    };
    if (falls_here() && before > 0) {
      ranges.back().has_end = true;
      ranges.back().end = key;
      ranges.push_back({.has_begin = true, .has_end = false, .begin = key, .end = {}});
    }
    while (falls_here()) {
      ++next;
    }
    before = sums_[i - 1];
  }
  return ranges;
}

}  // namespace sluice
