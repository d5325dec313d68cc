// A plain decoder of Snappy's block format, which says what cu_snappy_decoder must say, and where
// the library stands for everything but offsets that are too far for the module.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::dv {

enum class Verdict { kWhole, kCorrupt, kFar };

struct Decoded {
  Verdict verdict;
  std::string bytes;  // all that was made before what was wrong
};

// As if copies could reach back `history` bytes at most.
Decoded SnappyDecode(std::string_view block, size_t history);

}  // namespace sluice::dv
