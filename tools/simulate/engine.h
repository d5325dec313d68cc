// A database that exists as metadata only: what the engine's own picker picks and its planner plans
// is applied to the engine's own versions, as BackgroundWork does it.
//
// Left out: time (who calls Compact lets compactions keep up), reads and with them temperature,
// tombstones, snapshots, compression.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "compaction/compaction_job.h"
#include "compaction/compaction_picker.h"
#include "simulate/output.h"
#include "simulate/tables.h"
#include "tree/metadata.h"
#include "tree/version.h"

namespace sluice::simulate {

struct EngineCounters {
  uint64_t flushes = 0;
  uint64_t flush_bytes = 0;
  uint64_t compaction_bytes = 0;            // written
  std::array<uint64_t, 6> compactions{};    // parts, by CompactionKind
  std::array<uint64_t, 6> bytes_of_kind{};  // written
  uint64_t extents_reused = 0;
  uint64_t longest_part_bytes = 0;  // written
  uint64_t most_disk_bytes = 0;
  // Of PickCompaction, which the engine calls under a mutex; on the CPU.
  uint64_t picks = 0;
  double pick_seconds = 0;
  double longest_pick_seconds = 0;

  // Bytes written per byte flushed.
  double WriteAmplification() const {
    return flush_bytes == 0 ? 0
                            : static_cast<double>(flush_bytes + compaction_bytes) /
                                  static_cast<double>(flush_bytes);
  }
};

// Thread-compatible.
class Engine {
 public:
  // Both outlive this.
  Engine(const Options& options, const KeyModel* model, const TableShape* shape);
  ~Engine() { version_->Unref(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // A run of what a memtable has of [begin, end).
  Status Flush(Key begin, Key end, const Written& written);
  // Carries out the compaction that is due, if one is.
  Status Compact(bool* was_due);

  const Version& version() const { return *version_; }
  const EngineCounters& counters() const { return counters_; }
  const Tables& tables() const { return tables_; }
  // What levels 0 and 1 have of what they may have.
  double Debt() const;
  // How many runs there are at a key.
  size_t RunsAt(Key key) const;
  uint64_t Extents() const;
  uint64_t MetadataBytes() const;

 private:
  Status Clip(CompactionPick* pick);
  Status CompactPart(CompactionPick* pick);
  Status Plan(const CompactionPick& pick, CompactionResult* result);
  void Merge(const CompactionStep& step, Output* output) const;
  void DivideInputs(const CompactionPick& pick, const std::optional<std::string>& end,
                    CompactionResult* result) const;
  Status Apply(const MetadataEdit& edit);
  Output NewOutput() { return {&tables_, &shape_, &random_, &next_number_}; }

  const Options options_;
  const KeyModel& model_;
  const TableShape& shape_;
  Tables tables_;
  Metadata metadata_;
  Version* const version_ = new Version;
  std::mt19937_64 random_{1};
  uint64_t next_number_ = 1;
  const std::atomic<bool> stop_{false};
  EngineCounters counters_;
};

}  // namespace sluice::simulate
