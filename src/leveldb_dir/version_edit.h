// Version edits: the records of a MANIFEST.
//
//   edit  := field*
//   field := 1 comparator (lp) | 2 log number | 3 next file number | 4 last sequence
//            | 5 compact pointer: level, internal key (lp) | 6 deleted file: level, number
//            | 7 new file: level, number, bytes, smallest and largest internal key (lp)
//            | 9 previous log number
//   tag, level: varint32; numbers: varint64; lp: length (varint32) and bytes

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/status.h"

namespace sluice {

inline constexpr uint32_t kNumLevels = 7;

// A live table, as the MANIFEST has it.
struct TableFile {
  uint64_t number = 0;
  uint64_t bytes = 0;
  std::string smallest;  // internal keys
  std::string largest;

  bool operator==(const TableFile&) const = default;
};

struct VersionEdit {
  std::optional<std::string> comparator;
  std::optional<uint64_t> log_number;
  std::optional<uint64_t> previous_log_number;
  std::optional<uint64_t> next_file_number;
  std::optional<uint64_t> last_sequence;
  std::vector<std::pair<uint32_t, std::string>> compact_pointers;
  std::vector<std::pair<uint32_t, uint64_t>> deleted_files;  // level, number
  std::vector<std::pair<uint32_t, TableFile>> new_files;

  bool operator==(const VersionEdit&) const = default;

  void AppendTo(std::string* out) const;
  // Corruption if malformed, NotSupported for tags that LevelDB does not have.
  static Status Parse(std::string_view record, VersionEdit* out);
};

}  // namespace sluice
