#include "reference.h"

#include <cstdint>

namespace sluice::dv {
namespace {

// Reads `n` bytes as a little-endian number. False if there are fewer.
bool Take(std::string_view* in, size_t n, uint32_t* number) {
  if (in->size() < n) {
    return false;
  }
  *number = 0;
  for (size_t i = 0; i < n; ++i) {
    *number |= uint32_t{static_cast<uint8_t>((*in)[i])} << (8 * i);
  }
  in->remove_prefix(n);
  return true;
}

bool TakeVarint(std::string_view* in, uint32_t* number) {
  uint64_t sum = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    uint32_t byte;
    if (!Take(in, 1, &byte)) {
      return false;
    }
    sum |= uint64_t{byte & 0x7f} << shift;
    if (byte < 0x80) {
      *number = static_cast<uint32_t>(sum);
      return sum <= UINT32_MAX;
    }
  }
  return false;
}

struct Element {
  bool literal;
  uint32_t length;
  uint32_t offset;
};

bool TakeElement(std::string_view* in, Element* element) {
  uint32_t tag;
  if (!Take(in, 1, &tag)) {
    return false;
  }
  const uint32_t code = tag >> 2;
  *element = {.literal = (tag & 3) == 0, .length = code + 1, .offset = 0};
  switch (tag & 3) {
    case 0: {
      uint32_t length = code;
      // The library counts modulo 2^32 here.
      const bool whole = code < 60 || Take(in, code - 59, &length);
      element->length = length + 1;
      return whole;
    }
    case 1: {
      uint32_t low;
      const bool whole = Take(in, 1, &low);
      element->length = (code & 7) + 4;
      element->offset = (tag >> 5) << 8 | low;
      return whole;
    }
    case 2:
      return Take(in, 2, &element->offset);
    default:
      return Take(in, 4, &element->offset);
  }
}

}  // namespace

Decoded SnappyDecode(std::string_view block, size_t history) {
  Decoded out{Verdict::kCorrupt, {}};
  uint32_t due;
  if (!TakeVarint(&block, &due)) {
    return out;
  }
  while (!block.empty()) {
    Element element;
    if (!TakeElement(&block, &element) || element.length > due - out.bytes.size()) {
      return out;
    }
    if (element.literal) {
      const std::string_view bytes = block.substr(0, element.length);
      out.bytes += bytes;
      block.remove_prefix(bytes.size());
      if (bytes.size() < element.length) {
        return out;
      }
      continue;
    }
    if (element.offset == 0 || element.offset > out.bytes.size()) {
      return out;
    }
    if (element.offset > history) {
      out.verdict = Verdict::kFar;
      return out;
    }
    for (uint32_t i = 0; i < element.length; ++i) {
      out.bytes += out.bytes[out.bytes.size() - element.offset];
    }
  }
  if (out.bytes.size() == due) {
    out.verdict = Verdict::kWhole;
  }
  return out;
}

}  // namespace sluice::dv
