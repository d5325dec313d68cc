#include "tree/subtable_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "table/codec.h"
#include "tree/metadata_edit.h"
#include "util/coding.h"

namespace sluice {

namespace {

constexpr int kMostBloomBits = 64;
constexpr uint32_t kMostPrefixBytes = 255;
constexpr uint32_t kLeastDictionaryBytes = 256;
constexpr int kMostZstdLevel = 22;

bool IsKnown(Compression compression) { return CompressionName(compression) != "unknown"; }

template <typename T>
std::string TextOf(T value) {
  return fmt::format("{}", value);
}
std::string TextOf(Compression compression) { return std::string(CompressionName(compression)); }
template <typename T>
std::string TextOf(const std::vector<T>& levels) {
  std::string text;
  for (const T of_level : levels) {
    text.append(text.empty() ? "" : ",").append(TextOf(of_level));
  }
  return text;
}

template <typename T>
void Put(T value, std::string* out) {
  PutVarint(out, static_cast<uint64_t>(value));
}
template <typename T>
void Put(const std::vector<T>& levels, std::string* out) {
  std::string bytes;
  for (const T of_level : levels) {
    bytes += static_cast<char>(of_level);
  }
  PutLengthPrefixed(out, bytes);
}

template <typename T>
bool Get(std::string_view* in, T* value) {
  uint64_t number;
  *value = {};
  if (!GetVarint64(in, &number)) {
    return false;
  }
  *value = static_cast<T>(number);
  return static_cast<uint64_t>(*value) == number;
}
template <typename T>
bool Get(std::string_view* in, std::vector<T>* levels) {
  std::string_view bytes;
  if (!GetLengthPrefixed(in, &bytes)) {
    return false;
  }
  for (const char byte : bytes) {
    levels->push_back(static_cast<T>(static_cast<uint8_t>(byte)));
  }
  return true;
}

}  // namespace

uint32_t MostDictionaryBytes(uint32_t extent_bytes) {
  // An extent has the size of so many dictionaries at least, or it would hold little else.
  constexpr uint32_t kLeastDictionariesOfAnExtent = 8;
  const uint32_t most =
      std::min<uint32_t>(kMostDictionaryBytes, extent_bytes / kLeastDictionariesOfAnExtent);
  return most >= kLeastDictionaryBytes ? most : 0;
}

const char* OutOfRange(const SubtableOptions& options, uint32_t extent_bytes) {
  const auto within = [](const auto& option, auto least, auto most) {
    return !option || (*option >= least && *option <= most);
  };
  const auto for_levels = [](const auto& option, const auto& fits) {
    return !option ||
           (option->size() <= kLevels && std::all_of(option->begin(), option->end(), fits));
  };
  const auto is_level = [](uint32_t level) { return level < kLevels; };
  const std::pair<const char*, bool> in_range[] = {
      {"block_bytes", within(options.block_bytes, kLeastBlockBytes, extent_bytes)},
      {"compression", !options.compression || IsKnown(*options.compression)},
      {"compression_per_level", for_levels(options.compression_per_level, IsKnown)},
      {"zstd_level", within(options.zstd_level, 1, kMostZstdLevel)},
      {"zstd_dictionary_bytes", options.zstd_dictionary_bytes == 0U ||
                                    within(options.zstd_dictionary_bytes, kLeastDictionaryBytes,
                                           MostDictionaryBytes(extent_bytes))},
      {"bloom_bits_per_key", within(options.bloom_bits_per_key, 0, kMostBloomBits)},
      {"prefix_bytes", within(options.prefix_bytes, 0U, kMostPrefixBytes)},
      {"level_tiers", for_levels(options.level_tiers, is_level)},
  };
  for (const auto& [name, fits] : in_range) {
    if (!fits) {
      return name;
    }
  }
  return nullptr;
}

SubtableOptions CutTo(SubtableOptions options, uint32_t extent_bytes) {
  if (options.block_bytes) {
    options.block_bytes = std::min(*options.block_bytes, extent_bytes);
  }
  if (options.zstd_dictionary_bytes) {
    options.zstd_dictionary_bytes =
        std::min(*options.zstd_dictionary_bytes, MostDictionaryBytes(extent_bytes));
  }
  return options;
}

SubtableOptions DefaultsOf(const Options& options) {
  return {.block_bytes = options.block_bytes,
          .compression = options.compression,
          .compression_per_level = options.compression_per_level,
          .zstd_level = options.zstd_level,
          .zstd_dictionary_bytes = options.zstd_dictionary_bytes,
          .bloom_bits_per_key = options.bloom_bits_per_key,
          .prefix_bytes = options.prefix_bytes,
          .separate_value_bytes = options.separate_value_bytes,
          .offload = options.offload};
}

void AppendOptions(const SubtableOptions& options, std::string* out) {
  VisitOptions(options, [&](uint32_t tag, const char*, const auto& option) {
    if (option) {
      PutVarint(out, tag);
      Put(*option, out);
    }
  });
}

bool ParseOptions(std::string_view in, SubtableOptions* options) {
  *options = {};
  while (!in.empty()) {
    uint32_t tag;
    if (!GetVarint32(&in, &tag)) {
      return false;
    }
    bool read = false;
    VisitOptions(*options, [&](uint32_t of, const char*, auto& option) {
      if (of == tag && !option) {
        read = Get(&in, &option.emplace());
      }
    });
    if (!read) {
      return false;
    }
  }
  return OutOfRange(*options, kMaxExtentBytes) == nullptr;
}

std::string SubtableOptions::ToString() const {
  std::string text;
  VisitOptions(*this, [&](uint32_t, const char* name, const auto& option) {
    if (option) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, TextOf(*option));
    }
  });
  return text;
}

}  // namespace sluice
