// A sub-table's own options: their ranges, and how the metadata log stores them.
//
//   options := (tag (varint) | value)*   the tags of VisitOptions; value: a varint, or
//                                        length-prefixed, a byte for each level
//
// What is not there is not set.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/options.h"

namespace sluice {

inline constexpr uint32_t kLeastBlockBytes = 64;
inline constexpr uint32_t kMaxExtentBytes = uint32_t{1} << 30;

// Calls visit(tag, name, field) for each option of `options`. Tags are on disk: never change one.
template <typename Options, typename Visit>
void VisitOptions(Options& options, const Visit& visit) {
  visit(1, "block_bytes", options.block_bytes);
  visit(2, "compression", options.compression);
  visit(3, "compression_per_level", options.compression_per_level);
  visit(4, "zstd_level", options.zstd_level);
  visit(5, "zstd_dictionary_bytes", options.zstd_dictionary_bytes);
  visit(6, "bloom_bits_per_key", options.bloom_bits_per_key);
  visit(7, "prefix_bytes", options.prefix_bytes);
  visit(8, "separate_value_bytes", options.separate_value_bytes);
  visit(9, "offload", options.offload);
  visit(10, "level_tiers", options.level_tiers);
}

// The largest that zstd_dictionary_bytes may be; 0: extents are too small for dictionaries.
uint32_t MostDictionaryBytes(uint32_t extent_bytes);
// The name of an option that is out of its range, for extents of `extent_bytes`; null if none is.
const char* OutOfRange(const SubtableOptions& options, uint32_t extent_bytes);
// What extents of `extent_bytes` permit of options that were in range for larger ones: in range.
SubtableOptions CutTo(SubtableOptions options, uint32_t extent_bytes);
// What a database's own options say of the same.
SubtableOptions DefaultsOf(const Options& options);

void AppendOptions(const SubtableOptions& options, std::string* out);
// False if `in` is not what AppendOptions wrote, or has what is out of its range whatever the size of
// extents.
bool ParseOptions(std::string_view in, SubtableOptions* options);

}  // namespace sluice
