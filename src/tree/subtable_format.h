// How a sub-table's new extents are written, and who merges: its own options, and the database's where it
// has none.
//
// Immutable.

#pragma once

#include <array>
#include <cstdint>

#include "sluice/options.h"
#include "table/codec.h"
#include "tree/metadata_edit.h"

namespace sluice {

struct SubtableFormat {
  SubtableFormat(const SubtableOptions& its_own, const Options& options);

  SubtableOptions own;
  uint32_t block_bytes = 0;
  std::array<Codec, kLevels> codecs{};  // of each level
  int bloom_bits_per_key = 0;
  uint32_t prefix_bytes = 0;
  uint64_t separate_value_bytes = 0;
  bool offload = true;  // its compactions
  // The level whose directory each level has.
  std::array<uint32_t, kLevels> tiers{};
};

}  // namespace sluice
