// Which compaction is due next: policy, apart from how it is done.
//
// The tree is levelled lazily (Dostoevsky, SIGMOD'18): only the last level is one run, and what
// reaches it is merged into it range by range. The levels above it have any number of runs. A minor
// compaction makes one run of level 1 out of all of level 0, and small runs of level 1 become larger
// ones. Once both levels together exceed their share of the last one's size (space_limit.h), a major
// compaction merges all that they have of one range of keys into it: the range where they have most
// in proportion to what the last level has there, because all of that is rewritten. So a record is
// written once for each size of run, and about 1 / (2 * share) times for the last level, however
// large the tree is. docs/engine.md says what differs from X-Engine 3.3.3, and why.
//
// Every decision is a value; nothing here reads a file or changes a tree.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "merge/input_map.h"
#include "sluice/options.h"
#include "tree/metadata_edit.h"
#include "tree/version.h"

namespace sluice {

struct CompactionInput {
  RunId run;
  std::vector<ExtentPtr> extents;  // in key order
};

struct CompactionPick {
  CompactionKind kind = CompactionKind::kManual;
  std::vector<CompactionInput> inputs;  // newest first
  RunId output;
  // What the inputs have beyond these user keys stays where it is.
  KeyRange range{};
  // User keys, sorted: an output extent ends before each, where that is possible. Later compactions
  // of the ranges between them then need not cut extents.
  std::vector<std::string> cuts{};
  bool bottommost = false;  // nothing older than the inputs holds any of their keys
  // How much this spends of what reads have paid for looking into several runs.
  uint64_t read_credit = 0;
  // Merge extents that overlap no others, too, if they are small or may hold superfluous records.
  bool rewrite = false;
  // Numbers of value extents, sorted: what the inputs refer to there is moved (value_picker.h).
  std::vector<uint64_t> relocate{};
  // What the extents that its parts so far have cut keep of the records that are done with.
  uint64_t cut_bytes = 0;
};

// Whether the extent refers to a value extent with one of these numbers, which are sorted.
bool RefersToAny(const Extent& extent, const std::vector<uint64_t>& numbers);

// `extents`, some of `run` in key order, and those with further versions of their first and last
// keys (tree/extent_builder.h): versions of one key sink together.
std::vector<ExtentPtr> WithWholeKeys(const RunIndex& run, std::vector<ExtentPtr> extents);
// Whether an extent that was set aside may overlap `extents`, whose tombstones may then hide its
// records.
bool TouchesAside(const Version& version, const std::vector<ExtentPtr>& extents);
// Whether a compaction of level 0 is due.
bool IsMinorDue(const Version& version, const Options& options);
// All of level 0 into a run of level 1.
CompactionPick PickLevel0(const Version& version, const Options& options, CompactionKind kind);

// The least user key after `user_key`.
std::string KeyAfter(std::string_view user_key);

class RunTotals;

inline constexpr uint64_t kNoCredit = ~uint64_t{0};

// What decides besides the tree and the options.
struct PickInputs {
  // No snapshot is older: records that are visible neither to it nor to later ones can be dropped.
  SequenceNumber oldest_snapshot = kMaxSequence;
  // Reads have paid so many bytes for having to look into several runs (db/read_credit.h).
  uint64_t read_credit = 0;
  // The device is full: no more values are moved at once than must be, and fewer tombstones are worth
  // a compaction.
  bool device_full = false;
  // What is kept of the runs, if it can be told without their extents which windows are due: if none
  // of these was read lately. Flushes that the version does not have yet may be part of it. Null: all
  // extents of levels 0 and 1 are looked at.
  RunTotals* totals = nullptr;
};

// If nothing is due: what would make something due.
struct LaterPick {
  SequenceNumber oldest_snapshot = kMaxSequence;  // the oldest snapshot reaches this
  uint64_t read_credit = kNoCredit;               // or reads have paid this much
};

// The first compaction in Options::compaction_order that is due. For every key in the range, each
// version that stays is newer than all inputs or older than all of them.
//
// Each compaction moves records to a lower level, makes runs, extents or records fewer, or is paid
// for by reads, so picking comes to an end.
std::optional<CompactionPick> PickCompaction(const Version& version, const Options& options,
                                             const PickInputs& inputs, LaterPick* later);

// Halves the access counts that decide which ranges are the coldest. To be called after each flush:
// accesses are thus counted over a number of bytes written, which is what makes compactions due.
void CoolDown(const Version& version);

// Compacts everything in [begin, end) (empty: no bound), and whatever else the last level's extents
// there span, into the last level. To take not much more than `most_bytes`, the pick's range may
// end before `end`, where the next one is to begin. None if the range is empty.
std::optional<CompactionPick> PickRange(const Version& version, std::string_view begin,
                                        std::string_view end, uint64_t most_bytes);

}  // namespace sluice
