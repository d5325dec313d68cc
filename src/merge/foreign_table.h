// Tables that are not LevelDB's, for the CPU executor: it reads and writes them as they are, which saves
// making LevelDB's tables of inputs and others of its outputs.

#pragma once

#include <string_view>
#include <vector>

#include "sluice/executor.h"
#include "sluice/table_format.h"
#include "util/status.h"

namespace sluice {

// An input table, for one thread. Its blocks have the entries of LevelDB's, and its records are values and
// deletions: any other is a fault.
class ForeignTable {
 public:
  virtual ~ForeignTable() = default;

  // The bytes that blocks are in, in some form.
  virtual std::string_view image() const = 0;
  // The contents of an index block as LevelDB has it, whose handles are of `image`.
  virtual std::string_view index() const = 0;
  // The contents of a data block, checked and uncompressed: in `image`, or until the next call.
  // NotSupported: it is compressed in a way that is not understood.
  virtual Status ReadBlock(const BlockHandle& handle, std::string_view* contents) = 0;
};

// Of a run, as MergeRun has tables.
using ForeignRun = std::vector<ForeignTable*>;

// Where output tables go, block by block. An error ends the merge.
class ForeignSink {
 public:
  virtual ~ForeignSink() = default;

  // A data block's contents, with the entries of LevelDB's, and its last internal key.
  virtual Status AddBlock(std::string_view contents, std::string_view last_key) = 0;
  // The table of the blocks since the last one ends. `output` has neither data nor index.
  virtual Status EndTable(const MergeOutput& output) = 0;
};

}  // namespace sluice
