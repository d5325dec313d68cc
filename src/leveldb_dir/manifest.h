// The state of a LevelDB database as its MANIFEST tells it.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leveldb_dir/version_edit.h"
#include "table/internal_key.h"
#include "util/status.h"

namespace sluice {

// The order of keys that Sluice knows; databases with any other are not supported.
inline constexpr std::string_view kBytewiseComparator = "leveldb.BytewiseComparator";

struct DatabaseState {
  std::string comparator;
  // Logs with at least this number, and the one numbered previous_log_number (0: none), hold
  // writes that no table has.
  uint64_t log_number = 0;
  uint64_t previous_log_number = 0;
  uint64_t next_file_number = 0;
  SequenceNumber last_sequence = 0;
  // Level 0 by file number ascending, others by key. Within each of the others no tables overlap.
  std::array<std::vector<TableFile>, kNumLevels> levels;

  bool operator==(const DatabaseState&) const = default;
};

// Replays the edits in `manifest`, the whole file. Errors name an offset in it, not the file.
Status ReadManifest(std::string_view manifest, DatabaseState* state);

// A MANIFEST that leads to `state` in one edit.
std::string WriteManifest(const DatabaseState& state);

}  // namespace sluice
