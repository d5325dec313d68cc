// A simulated database: levels of tables, flushed into and compacted by some policy.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "simulate/key_model.h"
#include "simulate/output.h"
#include "simulate/table_shape.h"
#include "simulate/tables.h"
#include "sluice/options.h"
#include "tree/metadata_edit.h"
#include "util/status.h"

namespace sluice::simulate {

// The CPU time of some calls.
struct CallTimes {
  uint64_t calls = 0;
  double seconds = 0;
  double longest_seconds = 0;

  void Add(double more) {
    ++calls;
    seconds += more;
    longest_seconds = std::max(longest_seconds, more);
  }
};

struct TreeCounters {
  uint64_t flushes = 0;
  uint64_t flush_bytes = 0;
  uint64_t compaction_bytes = 0;    // written
  uint64_t longest_part_bytes = 0;  // written by the largest compaction that installs at once
  uint64_t most_disk_bytes = 0;     // while a compaction has its inputs and its outputs
  uint64_t extents_reused = 0;      // or moved
  std::array<uint64_t, kCompactionKinds> compactions{};    // the engine's: parts, by CompactionKind
  std::array<uint64_t, kCompactionKinds> bytes_of_kind{};  // written
  // The engine's: PickCompaction, and changing the metadata with all that depends on it, which flushes
  // and parts of compactions do under a mutex.
  CallTimes picks;
  CallTimes edits;

  // Bytes written per byte flushed.
  double WriteAmplification() const {
    return flush_bytes == 0 ? 0
                            : static_cast<double>(flush_bytes + compaction_bytes) /
                                  static_cast<double>(flush_bytes);
  }
};

// Thread-compatible.
class Tree {
 public:
  virtual ~Tree() = default;
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  // A run of what a memtable has of [begin, end).
  Status Flush(Key begin, Key end, const Written& written);
  // Carries out the compaction that is due, if one is.
  virtual Status Compact(bool* was_due) = 0;

  const TreeCounters& counters() const { return counters_; }
  // The most bytes of the device since the last call, while a compaction has its inputs and its
  // outputs.
  uint64_t TakeMostDiskBytes() { return std::exchange(most_disk_bytes_, 0); }
  const Tables& tables() const { return tables_; }
  // The size of all extents, without the dead parts of slices.
  virtual uint64_t Bytes() const = 0;
  virtual uint64_t Extents() const = 0;
  // What the process holds of them.
  virtual uint64_t MetadataBytes() const = 0;
  // What waits to be compacted, of what may.
  virtual double Debt() const = 0;
  // How many runs there are at a key.
  virtual size_t RunsAt(Key key) const = 0;

 protected:
  static constexpr uint32_t kSubtable = 0;

  // Model and shape outlive this.
  Tree(const Options& options, const KeyModel* model, const TableShape* shape)
      : options_(options), model_(*model), shape_(*shape), tables_(model, shape) {}

  virtual Status AddFlushed(const std::vector<Extent>& extents) = 0;
  // Calls visit(begin, end, written) for what the extents have of [begin, end), in order.
  void Merge(const std::vector<const Extent*>& extents, Key begin, Key end,
             const std::function<void(Key, Key, const Written&)>& visit) const;
  Output NewOutput(const TableShape& shape) { return {&tables_, &shape, &random_, &next_number_}; }

  const Options options_;
  const KeyModel& model_;
  const TableShape& shape_;
  Tables tables_;
  std::mt19937_64 random_{1};
  uint64_t next_number_ = 1;
  TreeCounters counters_;
  uint64_t most_disk_bytes_ = 0;

  // To be called when tables were added, before others are removed for them.
  void NoteDiskBytes() {
    most_disk_bytes_ = std::max(most_disk_bytes_, tables_.disk_bytes());
    counters_.most_disk_bytes = std::max(counters_.most_disk_bytes, most_disk_bytes_);
  }
};

}  // namespace sluice::simulate
