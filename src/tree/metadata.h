// What a database consists of: its sub-tables and their extents, by level and run.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tree/metadata_edit.h"
#include "tree/run_index.h"
#include "tree/value_extent.h"
#include "util/status.h"

namespace sluice {

// What a sub-table's extents refer to of a value extent.
struct ValueUse {
  ValueExtentPtr extent;
  uint64_t live_bytes = 0;
  uint64_t extents = 0;  // so many refer to it
};

struct Metadata {
  struct Subtable {
    std::string name;
    SubtableOptions options{};
    SequenceNumber flushed = 0;
    std::map<RunId, RunIndex> runs{};  // none is empty
    // Range deletions that extents are still to be cut by, but which hold already: a record in an
    // extent that one of them covers, and that is older, is not there (db/range_cuts.h).
    RangeDeletions cuts{};
    // By number, in step with the runs.
    std::map<uint64_t, ValueUse> values{};
  };

  std::map<uint32_t, Subtable> subtables;  // by id
  uint64_t log_start = 0;
  uint64_t next_number = 1;
  uint32_t next_subtable = 1;
  std::string database;

  // Corruption, and an unspecified state, if the edit names what is not there or adds what is.
  Status Apply(const MetadataEdit& edit);
  // The edit that makes this out of whatever was before.
  MetadataEdit ToEdit() const;
};

}  // namespace sluice
