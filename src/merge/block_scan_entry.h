// What the vectorised forms of ScanAscending share.

#pragma once

#include <cstdint>

#include "table/format.h"
#include "table/internal_key.h"

namespace sluice::internal {

// The lengths that lead an entry, and what its user key has in all.
struct ScannedLengths {
  uint64_t shared;
  uint64_t unshared;
  uint64_t user_bytes;
  uint32_t value_bytes;
};

// Reads those of the entry at `p`, and returns what follows them; nullptr if it shares more than
// `may_share` bytes with the key before, or reaches past the limit, or if its user key is longer than
// `most_user_bytes`. REQUIRES: these are less than 120, and four bytes can be read at `limit`.
[[gnu::always_inline]] inline const char* ReadLengths(const char* p, const char* limit,
                                                      uint64_t may_share, uint64_t most_user_bytes,
                                                      ScannedLengths* lengths) {
  const uint32_t header = DecodeFixed32(p);
  lengths->shared = header & 0xff;
  lengths->unshared = header >> 8 & 0xff;
  lengths->value_bytes = header >> 16 & 0xff;
  p += 3;
  if (lengths->value_bytes >= 0x80) {
    lengths->value_bytes = (lengths->value_bytes & 0x7f) | header >> 24 << 7;
    ++p;
    if (header >> 24 >= 0x80 &&
        (p = DecodeVarint32(p - 2, limit, &lengths->value_bytes)) == nullptr) {
      return nullptr;
    }
  }
  // Of lengths of two bytes the first is at least 0x80, and then the key is too long. An entry with
  // too few bytes of its own for a trailer has a part of the last key, which does not ascend.
  lengths->user_bytes = lengths->shared + lengths->unshared - kTrailerBytes;
  const bool fits = lengths->shared <= may_share && lengths->user_bytes <= most_user_bytes &&
                    static_cast<int64_t>(lengths->unshared + lengths->value_bytes) <= limit - p;
  return fits ? p : nullptr;
}

}  // namespace sluice::internal
