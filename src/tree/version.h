// A metasnapshot (X-Engine 3.1.3): what a sub-table consists of at one instant, memtables and runs.
//
// Immutable, and shares all it can with the one before. Readers find the current one without a
// lock: a Get under an EpochGuard, an iterator with a reference taken under one.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "log/log_format.h"
#include "mem/memtable.h"
#include "tree/metadata.h"
#include "tree/run_index.h"
#include "tree/space_use.h"
#include "tree/subtable_format.h"

namespace sluice {

inline constexpr LogPosition kNoLog = ~LogPosition{0};

// A memtable and the part of the log that it needs.
struct MemtableInfo {
  MemtableInfo(size_t expected_bytes, MemtableMemory* all) : table(expected_bytes, all) {}

  Memtable table;
  // The log has none of its records before this; kNoLog: it has no records. Changed under the
  // database's mutex.
  std::atomic<LogPosition> log_begin{kNoLog};
  std::atomic<bool> full{false};  // the backlog has noted that it is
  // No later memtable has a sequence number up to this one. Set when the memtable stops being the
  // active one.
  SequenceNumber last_sequence = 0;
};
using MemtablePtr = std::shared_ptr<MemtableInfo>;

struct Version {
  struct Run {
    uint64_t number = 0;
    RunIndex index;
  };

  std::shared_ptr<const SubtableFormat> format;  // of new extents
  SequenceNumber flushed = 0;                    // nothing in the runs is newer
  MemtablePtr active;
  std::vector<MemtablePtr> waiting;  // for their flush, newest first
  // Runs of each level, newest first; a level's versions of a key are newer than those of the
  // levels below. The last level has one run, or none.
  std::array<std::vector<Run>, kLevels> levels;
  std::vector<RunIndex> aside;  // set aside (kAsideLevel)
  // As in the metadata. Of the keys that a cut covers, a run has records that are all older than
  // the cut, or all newer.
  RangeDeletions cuts;
  // What the runs, and those set aside, refer to, by number; null: nothing.
  std::shared_ptr<const std::vector<ValueUse>> values;
  SpaceUse space;  // of the runs and values

  void Ref() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() const {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

  // Takes over the runs of `subtable`, and what cuts them. `use`: of it.
  void SetRuns(const Metadata::Subtable& subtable, const SpaceUse& use) {
    levels = {};
    space = use;
    aside.clear();
    cuts = subtable.cuts;
    SetValues(subtable);
    for (const auto& [id, run] : subtable.runs) {
      if (id.level == kAsideLevel) {
        aside.push_back(run);
      } else {
        levels[id.level].insert(levels[id.level].begin(), {id.run, run});
      }
    }
  }
  uint64_t LevelBytes(size_t level) const {
    uint64_t bytes = 0;
    for (const Run& run : levels[level]) {
      bytes += run.index.bytes();
    }
    return bytes;
  }
  // With the values apart (Extent::weight).
  uint64_t LevelWeight(size_t level) const {
    uint64_t weight = 0;
    for (const Run& run : levels[level]) {
      weight += run.index.weight();
    }
    return weight;
  }
  // The run of the last level.
  RunIndex Last() const {
    return levels[kLastLevel].empty() ? RunIndex() : levels[kLastLevel][0].index;
  }

  Version() = default;
  // The copy has one reference.
  Version(const Version& other)
      : format(other.format),
        flushed(other.flushed),
        active(other.active),
        waiting(other.waiting),
        levels(other.levels),
        aside(other.aside),
        cuts(other.cuts),
        values(other.values),
        space(other.space) {}
  Version& operator=(const Version&) = delete;

 private:
  ~Version() = default;

  void SetValues(const Metadata::Subtable& subtable) {
    if (subtable.values.empty()) {
      values.reset();
      return;
    }
    auto all = std::make_shared<std::vector<ValueUse>>();
    all->reserve(subtable.values.size());
    for (const auto& [number, use] : subtable.values) {
      all->push_back(use);
    }
    values = std::move(all);
  }

  mutable std::atomic<uint32_t> references_{1};
};

}  // namespace sluice
