// Extents (X-Engine 3.1.1): LevelDB tables of about 2 MiB, each in one piece of a data file.
//
// The paper gives each a slot of 2 MiB. Here an extent takes as many pages of 4 KiB as it needs:
// small ones waste no space, and one with a longer record is as long as that needs.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "table/internal_key.h"

namespace sluice {

inline constexpr uint32_t kPageBytes = 4096;

// Where an extent lies.
struct ExtentAddress {
  uint64_t file = 0;  // number of the data file
  uint64_t page = 0;

  friend bool operator==(const ExtentAddress&, const ExtentAddress&) = default;
  friend auto operator<=>(const ExtentAddress&, const ExtentAddress&) = default;
};

class ExtentPlace;
struct ValueShares;

// All that is known of an extent without reading it. Immutable once made.
struct Extent {
  uint64_t number = 0;  // never given twice
  ExtentAddress address{};
  uint32_t bytes = 0;      // of the table; it starts where the first page does
  std::string smallest{};  // internal keys
  std::string largest{};
  uint64_t entries = 0;
  uint64_t tombstones = 0;
  uint64_t shadowed = 0;  // entries that are not the newest of their key here
  // Sequence numbers: no entry is newer; those of the tombstones, if there are any, lie between.
  SequenceNumber newest = 0;
  SequenceNumber oldest_tombstone = 0;
  SequenceNumber newest_tombstone = 0;
  // A slice (slice.h): only the table's records from `smallest` to `largest` belong to it, all
  // versions of their keys; the others were merged elsewhere. `bytes` still counts the whole table.
  bool sliced = false;
  uint32_t slice_bytes = 0;     // of a slice: bytes of the blocks that have its records
  std::string table_largest{};  // of a slice: the table's last key
  // What its records refer to (value_extent.h): null if none does; and the bytes of that together.
  std::shared_ptr<const ValueShares> values{};
  uint64_t value_bytes = 0;
  // Its pages (extent_space.h), as long as the process knows the extent: not part of the value, and
  // set once, as the extent is made or read from the metadata.
  mutable std::shared_ptr<ExtentPlace> place{};
  // It ended because the next block did not fit, as far as this process knows. Not part of the
  // value either, since options may change from one process to the next.
  bool full = false;
  // No entry is older, as far as this process knows; nor does this matter to the next one, for
  // snapshots end with the process.
  SequenceNumber oldest = 0;

  const std::string& last_of_table() const { return sliced ? table_largest : largest; }
  uint32_t live_bytes() const { return sliced ? slice_bytes : bytes; }
  // With what its records refer to: decides which compactions are due, as if all were here.
  uint64_t weight() const { return live_bytes() + value_bytes; }

  // Counts one of its records; `shadowed`: that has the user key of the record before.
  void Count(std::string_view internal_key, bool is_shadowed) {
    const SequenceNumber sequence = TrailerSequence(Trailer(internal_key));
    shadowed += is_shadowed;
    oldest = entries == 0 ? sequence : std::min(oldest, sequence);
    ++entries;
    newest = std::max(newest, sequence);
    if (TrailerType(Trailer(internal_key)) == static_cast<uint8_t>(RecordType::kDeletion)) {
      oldest_tombstone = tombstones == 0 ? sequence : std::min(oldest_tombstone, sequence);
      newest_tombstone = std::max(newest_tombstone, sequence);
      ++tombstones;
    }
  }

  friend bool SameValues(const Extent& a, const Extent& b);
  friend bool operator==(const Extent& a, const Extent& b) {
    return a.number == b.number && a.address == b.address && a.bytes == b.bytes &&
           a.smallest == b.smallest && a.largest == b.largest && a.entries == b.entries &&
           a.tombstones == b.tombstones && a.shadowed == b.shadowed && a.newest == b.newest &&
           a.oldest_tombstone == b.oldest_tombstone && a.newest_tombstone == b.newest_tombstone &&
           a.sliced == b.sliced && a.slice_bytes == b.slice_bytes &&
           a.table_largest == b.table_largest && SameValues(a, b);
  }
};

}  // namespace sluice
