#include "tree/subtable_format.h"

#include <algorithm>
#include <vector>

#include "tree/subtable_options.h"

namespace sluice {

SubtableFormat::SubtableFormat(const SubtableOptions& its_own, const Options& options)
    : own(its_own),
      block_bytes(std::min(own.block_bytes.value_or(options.block_bytes), options.extent_bytes)),
      bloom_bits_per_key(own.bloom_bits_per_key.value_or(options.bloom_bits_per_key)),
      prefix_bytes(own.prefix_bytes.value_or(options.prefix_bytes)),
      separate_value_bytes(own.separate_value_bytes.value_or(options.separate_value_bytes)) {
  const Compression compression = own.compression.value_or(options.compression);
  std::vector<Compression> of_levels;
  if (own.compression_per_level) {
    of_levels = *own.compression_per_level;
  } else if (!own.compression) {
    of_levels = options.compression_per_level;
  }
  of_levels.resize(kLevels, compression);
  for (uint32_t level = 0; level < kLevels; ++level) {
    codecs[level] = {.type = of_levels[level],
                     .zstd_level = own.zstd_level.value_or(options.zstd_level)};
  }
  codecs[kLastLevel].dictionary_bytes =
      std::min(own.zstd_dictionary_bytes.value_or(options.zstd_dictionary_bytes),
               MostDictionaryBytes(options.extent_bytes));
}

}  // namespace sluice
