// The software executor: the reference for all others, and what runs where there is no device.
//
// A merge takes one thread: the caller's. Input blocks may be compressed with Snappy, index blocks
// too; outputs are not compressed. Memory: one output table and its index, and per run an
// uncompressed block and some 40 KB.

#pragma once

#include <vector>

#include "merge/foreign_table.h"
#include "merge/run_reader.h"
#include "sluice/executor.h"

namespace sluice {

// Thread-safe: holds no state.
class CpuExecutor : public Executor {
 public:
  // With `limits`, fails as a device does on what is too long for it.
  explicit CpuExecutor(const RecordLimits& limits = {}) : limits_(limits) {}

  std::string_view name() const override { return "cpu"; }
  size_t max_runs() const override { return SIZE_MAX; }
  size_t max_snapshots() const override { return SIZE_MAX; }
  // The input checksum covers the records as they were taken up for writing or dropping: key and
  // trailer as decoded, the value on its way out. The numbers of records decoded, taken and written
  // must agree, and so must the sums of the keys' checksums when decoded and when taken.
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override;
  // The same for other tables: `runs` takes the place of the task's, which has none, and nothing is
  // compressed or filtered. Faults have offsets as blocks have in ForeignTable::image.
  MergeResult RunForeign(const MergeTask& task, const std::vector<ForeignRun>& runs,
                         ForeignSink* sink) const;
  bool makes_filters() const override { return true; }
  bool compresses() const override { return true; }
  bool takes_xxh3() const override { return true; }
  bool checks_outputs() const override { return true; }

 private:
  const RecordLimits limits_;
};

}  // namespace sluice
