// The tag of a record, cu_tag_pkg in plain C++.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/executor.h"

namespace sluice::dv {

inline uint16_t FoldTag(uint64_t word) {
  return static_cast<uint16_t>(word ^ word >> 16 ^ word >> 32 ^ word >> 48);
}

inline uint16_t RecordTag(std::string_view user_key, uint64_t trailer, uint32_t value_bytes) {
  uint16_t spread = 0;
  for (int i = 0; i < 16; ++i) {
    spread |= static_cast<uint16_t>((trailer >> (23 - i) & 1) << (i + 1) % 16);
  }
  return FoldTag(RecordChecksum(user_key, trailer, {}) ^ value_bytes) ^ spread;
}

// Without what the lengths add, as the verdict has it.
inline uint16_t VerdictTag(std::string_view user_key, uint64_t trailer) {
  return RecordTag(user_key, trailer, 0) ^ static_cast<uint16_t>(user_key.size() + 8);
}

}  // namespace sluice::dv
