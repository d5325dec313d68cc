// How the bytes of a merge's inputs are spread over its keys: for splitting big merges into tasks
// of similar size (FAST'20 3.2.1, builder threads), and for measuring progress.

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
  // To be called after the last Add and before the calls below.
  void Sort();

  uint64_t total_bytes() const { return total_bytes_; }
  // Bytes of the pieces that start at or below `user_key`.
  uint64_t BytesUpTo(std::string_view user_key) const;
  // Ranges that cover all keys, in order, and are as equal in bytes as borders between pieces
  // allow: one for every `bytes` (> 0) of input, or fewer where one user key has more. One range if
  // there is no input.
  std::vector<KeyRange> Split(uint64_t bytes) const;

 private:
  std::vector<std::pair<std::string, uint64_t>> pieces_;
  std::vector<uint64_t> sums_;  // bytes of pieces 0..i
  uint64_t total_bytes_ = 0;
};

}  // namespace sluice
