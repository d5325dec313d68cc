/// @file
/// How blocks are compressed; the numbers are those of LevelDB's table format.

#pragma once

#include <cstdint>

namespace sluice {

/// Kinds of compression.
enum class Compression : uint8_t {
  kNone = 0,    ///< blocks are stored as they are
  kSnappy = 1,  ///< Snappy
};

}  // namespace sluice
