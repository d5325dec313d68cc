// The hash that RocksDB's filters are made of: XXH3 with 64 bits as it was before its first release
// (xxHash 0.7.2), with another result for the empty string.

#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

uint64_t RocksHash64(std::string_view bytes);

}  // namespace sluice
