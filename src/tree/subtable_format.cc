#include "tree/subtable_format.h"

#include <vector>

#include "tree/subtable_options.h"

namespace sluice {

SubtableFormat::SubtableFormat(const SubtableOptions& its_own, const Options& options)
    : own(its_own) {
  const SubtableOptions cut = CutTo(own, options.extent_bytes);
  block_bytes = cut.block_bytes.value_or(options.block_bytes);
  bloom_bits_per_key = cut.bloom_bits_per_key.value_or(options.bloom_bits_per_key);
  prefix_bytes = cut.prefix_bytes.value_or(options.prefix_bytes);
  separate_value_bytes = cut.separate_value_bytes.value_or(options.separate_value_bytes);
  offload = cut.offload.value_or(options.offload);
  const Compression compression = cut.compression.value_or(options.compression);
  std::vector<Compression> of_levels;
  if (cut.compression_per_level) {
    of_levels = *cut.compression_per_level;
  } else if (!cut.compression) {
    of_levels = options.compression_per_level;
  }
  of_levels.resize(kLevels, compression);
  for (uint32_t level = 0; level < kLevels; ++level) {
    codecs[level] = {.type = of_levels[level],
                     .zstd_level = cut.zstd_level.value_or(options.zstd_level)};
  }
  for (uint32_t level = 0; level < kLevels; ++level) {
    tiers[level] =
        cut.level_tiers && level < cut.level_tiers->size() ? (*cut.level_tiers)[level] : level;
  }
  codecs[kLastLevel].dictionary_bytes =
      cut.zstd_dictionary_bytes.value_or(options.zstd_dictionary_bytes);
}

}  // namespace sluice
