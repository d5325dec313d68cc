#include "leveldb/input_map.h"

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
  uint64_t in_range = 0;
  for (size_t i = 0; i < pieces_.size();) {
    // All pieces that start at one key go to one range.
    const std::string& key = pieces_[i].first;
    uint64_t at_key = 0;
    for (; i < pieces_.size() && pieces_[i].first == key; ++i) {
      at_key += pieces_[i].second;
    }
    if (in_range > 0 && in_range + at_key > bytes) {
      ranges.back().has_end = true;
      ranges.back().end = key;
      ranges.push_back({.has_begin = true, .has_end = false, .begin = key, .end = {}});
      in_range = 0;
    }
    in_range += at_key;
  }
  return ranges;
}

}  // namespace sluice
