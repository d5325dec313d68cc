// CRC32C (Castagnoli), and the masking that LevelDB applies to stored ones.

#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

// The CRC of (bytes whose CRC is `crc`) followed by `bytes`. About 12 GB/s.
uint32_t ExtendCrc32c(uint32_t crc, std::string_view bytes);

inline uint32_t Crc32c(std::string_view bytes) { return ExtendCrc32c(0, bytes); }

inline constexpr uint32_t kCrcMaskDelta = 0xa282ead8u;

// A CRC stored beside the data it covers is masked, so that the CRC of a string that holds CRCs
// stays meaningful.
inline uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + kCrcMaskDelta; }

inline uint32_t UnmaskCrc(uint32_t masked) {
  const uint32_t rotated = masked - kCrcMaskDelta;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace sluice
