// A database that exists as metadata only: what the engine's own picker picks and its planner plans
// is applied to the engine's own versions, as BackgroundWork does it.
//
// Left out: time (who calls Compact lets compactions keep up), reads and with them temperature,
// tombstones, snapshots, compression.

#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compaction/compaction_job.h"
#include "compaction/compaction_picker.h"
#include "compaction/run_totals.h"
#include "simulate/tree.h"
#include "tree/metadata.h"
#include "tree/version.h"

namespace sluice::simulate {

// Thread-compatible.
class Engine final : public Tree {
 public:
  // Both outlive this.
  Engine(const Options& options, const KeyModel* model, const TableShape* shape);
  ~Engine() override { version_->Unref(); }

  Status Compact(bool* was_due) override;
  uint64_t Bytes() const override;
  uint64_t Extents() const override;
  uint64_t MetadataBytes() const override;
  // What levels 0 and 1 have of what they may have.
  double Debt() const override;
  size_t RunsAt(Key key) const override;

 private:
  Status AddFlushed(const std::vector<Extent>& extents) override;
  Status Clip(CompactionPick* pick);
  Status CompactPart(CompactionPick* pick);
  Status Plan(const CompactionPick& pick, CompactionResult* result);
  void MergeStep(const CompactionStep& step, Output* output) const;
  void DivideInputs(const CompactionPick& pick, const std::optional<std::string>& end,
                    CompactionResult* result) const;
  Status Apply(const MetadataEdit& edit);

  Metadata metadata_;
  RunTotals totals_;
  Version* const version_ = new Version;
  const std::atomic<bool> stop_{false};
};

}  // namespace sluice::simulate
