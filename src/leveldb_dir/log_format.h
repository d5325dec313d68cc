// LevelDB's record log, the format of its write-ahead logs and of its MANIFEST.
//
//   log    := block*                       32 KiB each, the last one shorter
//   block  := fragment* | zeros            zeros where fewer than 7 bytes are left
//   fragment := masked CRC32C of type and payload (fixed32) | payload bytes (LE16) | type | payload
//   record := full | first middle* last    joined payloads

#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

inline constexpr size_t kLogBlockBytes = 32768;
inline constexpr size_t kLogHeaderBytes = 7;

enum class LogFragment : uint8_t { kZero = 0, kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

}  // namespace sluice
