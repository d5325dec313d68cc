// Databases with the policies of other engines, to compare ours with. Their tables are intervals as
// the engine's are; what is compacted is merged whole, or moved.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "simulate/tree.h"

namespace sluice::simulate {

enum class Policy {
  kSluice,
  // RocksDB's leveled compaction with dynamic level bytes: of a level that is too large, the file
  // that overlaps the least of the next level for its size, and outputs that end where files of the
  // level after that do (CompactionPicker, kMinOverlappingRatio, CompactionOutputs of 8 and later).
  kLeveled,
  // Lazy levelling (Dostoevsky, SIGMOD'18): a level that is full becomes one run of the next level;
  // the last level is one run.
  kLazyLeveling,
  // Spooky (VLDB'22): levels of one run, merged whole; into the last level by its files, with which
  // those of the level above are aligned.
  kSpooky,
};

// "sluice", "leveled", "lazy-leveling", "spooky"; InvalidArgument for others.
Status ParsePolicy(std::string_view text, Policy* policy);

// Model and shape outlive the tree. Of the options, memtable_bytes is the size of a file, too, and l1_bytes
// that of the first level below level 0. A level is 10 times as large as the one above, with Spooky
// 5 times.
std::unique_ptr<Tree> MakeTree(Policy policy, const Options& options, const RecordSize& record,
                               const KeyModel* model, const TableShape* shape);

}  // namespace sluice::simulate
