// A fast 64-bit hash for tables in memory: XXH3. Not for what is stored.

#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

// All bits are good. Some 3 ns for a short key.
uint64_t Hash64(std::string_view bytes);

}  // namespace sluice
