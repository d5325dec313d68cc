// What a database consists of: its sub-tables and their extents, by level and run.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tree/metadata_edit.h"
#include "tree/run_index.h"
#include "util/status.h"

namespace sluice {

struct Metadata {
  struct Subtable {
    std::string name;
    SequenceNumber flushed = 0;
    std::map<RunId, RunIndex> runs;  // none is empty
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
