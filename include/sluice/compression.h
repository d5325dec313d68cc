// How blocks are compressed; the numbers are those of LevelDB's table format.

#pragma once

#include <cstdint>

namespace sluice {

enum class Compression : uint8_t { kNone = 0, kSnappy = 1 };

}  // namespace sluice
