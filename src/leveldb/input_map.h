// How a database's bytes lie over its keys: what big compactions are split by, and progress is
// measured with.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

// User keys from `begin` (if has_begin) to below `end` (if has_end).
struct KeyRange {
  bool has_begin = false;
  bool has_end = false;
  std::string begin;
  std::string end;

  // Whether any key in [smallest, largest] lies in the range.
  bool Overlaps(std::string_view smallest, std::string_view largest) const {
    return !(has_begin && largest < begin) && !(has_end && smallest >= end);
  }
};

class InputMap {
 public:
  // `bytes` of input start at `user_key`.
  void Add(std::string_view user_key, uint64_t bytes) {
    pieces_.emplace_back(user_key, bytes);
    total_bytes_ += bytes;
  }
  // To be called after the last Add and before what follows.
  void Sort();

  uint64_t total_bytes() const { return total_bytes_; }
  // Bytes of the pieces that start at or below `user_key`.
  uint64_t BytesUpTo(std::string_view user_key) const;
  // Ranges that cover all keys, in order, each with about `bytes` of input or, where a single
  // piece or user key has more, as few as possible. One range if there is no input.
  std::vector<KeyRange> Split(uint64_t bytes) const;

 private:
  std::vector<std::pair<std::string, uint64_t>> pieces_;
  std::vector<uint64_t> sums_;  // bytes of pieces 0..i
  uint64_t total_bytes_ = 0;
};

}  // namespace sluice
