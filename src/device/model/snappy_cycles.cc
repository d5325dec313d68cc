#include "device/model/snappy_cycles.h"

#include <algorithm>

#include "util/coding.h"

namespace sluice::model {

namespace {

// One header (github.com/google/snappy/blob/main/format_description.txt).
struct Element {
  bool literal = false;
  uint64_t header = 0;  // bytes
  uint64_t length = 0;
  uint64_t offset = 0;  // of a copy
};

// REQUIRES: text is not empty. Bytes behind its end read as 0.
Element Parse(std::string_view text) {
  const auto byte = [&](size_t i) -> uint64_t {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
  };
  const uint64_t tag = byte(0);
  const uint64_t code = tag >> 2;
  Element e;
  switch (tag & 3) {
    case 0:
      e.literal = true;
      e.header = code < 60 ? 1 : code - 58;
      e.length = code + 1;
      if (code >= 60) {
        e.length = 1;
        for (size_t i = 1; i < e.header; ++i) {
          e.length += byte(i) << (8 * (i - 1));
        }
      }
      break;
    case 1:
      e = {false, 2, (code & 7) + 4, tag >> 5 << 8 | byte(1)};
      break;
    case 2:
      e = {false, 3, code + 1, byte(1) | byte(2) << 8};
      break;
    default:
      e = {false, 5, code + 1, byte(1) | byte(2) << 8 | byte(3) << 16 | byte(4) << 24};
      break;
  }
  return e;
}

// Pieces of a copy: none is longer than its offset, which doubles from one to the next.
uint64_t CopyPieces(uint64_t length, uint64_t offset, uint64_t v) {
  uint64_t pieces = 0;
  for (; length > 0; ++pieces) {
    length -= std::min(length, std::clamp<uint64_t>(offset, 1, v));
    offset = std::min(2 * offset, v);
  }
  return pieces;
}

}  // namespace

uint64_t SnappyPieces(std::string_view block, uint64_t v) {
  uint32_t held = 0;
  uint64_t pieces = 0;
  if (!GetVarint32(&block, &held)) {
    return 0;
  }
  while (!block.empty()) {
    const Element e = Parse(block);
    uint64_t taken = e.header + (e.literal ? e.length : 0);
    if (!e.literal) {
      pieces += CopyPieces(e.length, e.offset, v);
    } else if (e.header > 1) {
      pieces += 1 + (e.length + v - 1) / v;
    } else {
      pieces += 1 + (e.length - std::min(e.length, v - 1) + v - 1) / v;
      // A copy whose header the parser sees behind a short literal, eight bytes at a time.
      const std::string_view rest = block.substr(std::min<size_t>(taken, block.size()));
      const Element copy = rest.empty() ? Element{.literal = true} : Parse(rest);
      if (!copy.literal && copy.header < 5 && taken + copy.header <= 8 && block.size() >= 8) {
        const uint64_t now = copy.offset < v ? 0 : std::min(copy.length, v - e.length);
        pieces += CopyPieces(copy.length - now, copy.offset, v);
        taken += copy.header;
      }
    }
    block.remove_prefix(std::min<size_t>(taken, block.size()));
  }
  return pieces;
}

bool SnappyReachesTooFar(std::string_view block) {
  uint32_t held = 0;
  bool far = false;
  if (!GetVarint32(&block, &held)) {
    return false;
  }
  while (!block.empty() && !far) {
    const Element e = Parse(block);
    far = !e.literal && e.offset > kSnappyHistoryBytes;
    block.remove_prefix(std::min<size_t>(e.header + (e.literal ? e.length : 0), block.size()));
  }
  return far;
}

}  // namespace sluice::model
