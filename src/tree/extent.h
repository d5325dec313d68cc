// Extents (X-Engine 3.1.1): LevelDB tables of at most 2 MiB, each in a slot of a data file.

#pragma once

#include <cstdint>
#include <string>

#include "table/internal_key.h"

namespace sluice {

inline constexpr uint32_t kExtentBytes = 2 << 20;

// Where an extent lies.
struct ExtentAddress {
  uint32_t file = 0;  // number of the data file
  uint32_t slot = 0;  // in units of kExtentBytes

  friend bool operator==(const ExtentAddress&, const ExtentAddress&) = default;
  friend auto operator<=>(const ExtentAddress&, const ExtentAddress&) = default;
};

// All that is known of an extent without reading it. Immutable once made.
struct Extent {
  uint64_t number = 0;  // never given twice
  ExtentAddress address{};
  uint32_t bytes = 0;      // of the table; it starts where the slot does
  std::string smallest{};  // internal keys
  std::string largest{};
  uint64_t entries = 0;
  uint64_t tombstones = 0;

  friend bool operator==(const Extent&, const Extent&) = default;
};

}  // namespace sluice
