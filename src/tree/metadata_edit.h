// One atomic change of what a database consists of, as the metadata log stores it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mem/range_deletions.h"
#include "sluice/options.h"
#include "table/internal_key.h"
#include "tree/extent.h"
#include "util/status.h"

namespace sluice {

inline constexpr uint32_t kLevels = 3;
inline constexpr uint32_t kLastLevel = kLevels - 1;
// Not a level: extents that a compaction could not read, each a run of its own. What they hold is
// found by its sequence numbers, not by its place among the levels.
inline constexpr uint32_t kAsideLevel = 3;

// A sorted sequence of extents: one of those of level 0 or 1, newer ones with higher numbers, or all
// of the last level, as run 0.
struct RunId {
  uint32_t level = 0;
  uint64_t run = 0;

  friend bool operator==(const RunId&, const RunId&) = default;
  friend auto operator<=>(const RunId&, const RunId&) = default;
};

struct MetadataEdit {
  struct Subtable {
    uint32_t id = 0;
    std::string name{};
    friend bool operator==(const Subtable&, const Subtable&) = default;
  };
  // The sub-table's own options, in place of those it had.
  struct Options {
    uint32_t subtable = 0;
    SubtableOptions options{};
    friend bool operator==(const Options&, const Options&) = default;
  };
  // The log's records of a sub-table up to this sequence number are in its extents.
  struct Flushed {
    uint32_t subtable = 0;
    SequenceNumber sequence = 0;
    friend bool operator==(const Flushed&, const Flushed&) = default;
  };
  // A range deletion that waits to be carried out (Metadata::Subtable::cuts).
  struct Cut {
    uint32_t subtable = 0;
    RangeDeletion deletion{};
    friend bool operator==(const Cut&, const Cut&) = default;
  };
  // The cuts of a sub-table up to this sequence number are carried out.
  struct CutsDone {
    uint32_t subtable = 0;
    SequenceNumber sequence = 0;
    friend bool operator==(const CutsDone&, const CutsDone&) = default;
  };
  struct Removed {
    uint32_t subtable = 0;
    RunId run{};
    uint64_t extent = 0;     // its number
    std::string smallest{};  // and where to look for it
    friend bool operator==(const Removed&, const Removed&) = default;
  };
  struct Added {
    uint32_t subtable = 0;
    RunId run{};
    Extent extent{};
    friend bool operator==(const Added&, const Added&) = default;
  };

  // In this order they take effect. An extent that moves is removed and added.
  bool whole = false;               // nothing of before stays
  std::vector<uint32_t> dropped{};  // sub-tables, with all their extents
  std::vector<Subtable> created{};
  std::vector<Options> options{};
  std::vector<Flushed> flushed{};
  std::vector<CutsDone> cuts_done{};
  std::vector<Cut> cuts{};
  std::vector<Removed> removed{};
  std::vector<Added> added{};
  std::optional<uint64_t> log_start{};  // where a recovery starts to read the redo log
  // Above all numbers of extents, runs and directories given so far.
  std::optional<uint64_t> next_number{};
  std::optional<uint32_t> next_subtable{};  // above all ids of sub-tables given so far
  std::optional<std::string> database{};    // whose metadata this is (data_dir.h)

  void AppendTo(std::string* out) const;
  // Corruption if `in` is not what AppendTo wrote.
  Status ReadFrom(std::string_view in);

  friend bool operator==(const MetadataEdit&, const MetadataEdit&) = default;
};

}  // namespace sluice
