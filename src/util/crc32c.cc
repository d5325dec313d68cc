#include "util/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <climits>

namespace sluice {

uint32_t ExtendCrc32c(uint32_t crc, std::string_view bytes) {
  while (!bytes.empty()) {
    // ISA-L takes an int length and a non-const pointer that it only reads.
    const size_t n = std::min<size_t>(bytes.size(), INT_MAX);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    crc = ~crc32_iscsi(data, static_cast<int>(n), ~crc);
    bytes.remove_prefix(n);
  }
  return crc;
}

}  // namespace sluice
