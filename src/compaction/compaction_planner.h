// Plans which parts of a compaction have to be merged at all (X-Engine 3.3.2, data reuse; its
// Figure 8 is in testdata/planner.txt).
//
//  1. An extent is reused, by a change of metadata alone, if no other run has a record between its
//     first and last key. That looks at records, not at key ranges: a block or extent of another
//     run that only spans it, because its keys are sparse, is split there. Slices are not reused:
//     they would keep their whole tables (tree/slice.h); nor are extents whose compression is to
//     change.
//  2. Blocks that overlap no other run's, and between which no other run has anything, are copied,
//     as bytes if their compression is the output's.
//  3. What is left is merged, in tasks of similar size.
//
// The plan is made in one sweep over the blocks of all runs in key order, a step at a time, while
// earlier steps are being carried out: its time is linear in the blocks, and it holds the block
// spans of one merge step. Invariant of the sweep: everything below the position that it has
// reached is in a step, and nothing at or above it is, except in blocks that span the position.
//
// Versions of one user key may lie in several extents of a run (tree/extent_builder.h). Such
// extents are reused together or not at all.
//
// A plan may cover a part of the pick only, the records before some user key: a large compaction is
// carried out in parts, each installed by itself. Extents that reach over the end of a part lose
// the records before it (tree/slice.h). A merge never covers both records of a slice and records
// that its table has beyond the slice: ranges end where slices begin and end.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/compaction_picker.h"
#include "merge/input_map.h"
#include "tree/extent_reader.h"
#include "tree/run_index.h"
#include "util/status.h"

namespace sluice {

// Adjacent blocks of an extent.
struct BlockRange {
  ExtentPtr extent;
  size_t first = 0;
  size_t end = 0;

  friend bool operator==(const BlockRange&, const BlockRange&) = default;
};

struct CompactionStep {
  enum class Kind {
    kReuse,  // `extent` as it is
    kStay,   // `extent`, of the output run and no input: an output extent must not span it
    kCopy,   // `blocks`
    kMerge,  // `runs`' records in `range`
  };

  Kind kind = Kind::kMerge;
  size_t run = 0;              // of kReuse and kCopy: the input's index
  ExtentPtr extent{};          // of kReuse and kStay
  BlockRange blocks{};         // of kCopy
  std::string low{};           // of kCopy: the first user key in `blocks`; the job checks it
  KeyRange range{};            // of kMerge
  bool begins_extent = false;  // of kCopy and kMerge: the output extent before ends here
  // For kMerge, by input: all blocks that may have a record in `range`.
  std::vector<std::vector<BlockRange>> runs{};
};

struct PlanOptions {
  uint64_t task_bytes = uint64_t{64} << 20;  // of input, of one merge step
  bool reuse = true;                         // else all is merged
  // The plan ends once it takes so many bytes of blocks, where it can.
  uint64_t part_bytes = ~uint64_t{0};
  // Newer tombstones stay in any case, so extents that have no older ones can be reused.
  SequenceNumber oldest_snapshot = kMaxSequence;
  // Fewer blocks in a row are merged, not copied: a seam costs part of a block, and a task more.
  size_t least_blocks_copied = 4;
  // Smaller extents are not reused by a pick that rewrites.
  uint64_t least_bytes_rewritten = 0;
  // The file that the output's level lies in; extents in others are copied, not reused. Null: any.
  const DataFile* file = nullptr;
  // Levels of another compression than the output's, whose extents are not reused either.
  std::set<uint32_t> recoded_levels{};
};

// Tells a planner what it has to know of the inputs' tables.
class PlanSource {
 public:
  virtual ~PlanSource() = default;

  virtual Status OpenHead(const Extent& extent, TableHeadRef* head) = 0;
  // The first user key in the block that is at or after `from`. Corruption if there is none.
  virtual Status FindKey(const Extent& extent, const BlockHandle& handle, std::string_view from,
                         std::string* user_key) = 0;
};

// Reads the tables. Thread-safe.
class ExtentPlanSource final : public PlanSource {
 public:
  explicit ExtentPlanSource(ExtentReader* reader) : reader_(*reader) {}

  Status OpenHead(const Extent& extent, TableHeadRef* head) override {
    return reader_.OpenHead(extent, head);
  }
  Status FindKey(const Extent& extent, const BlockHandle& handle, std::string_view from,
                 std::string* user_key) override;

 private:
  ExtentReader& reader_;
};

// Thread-compatible.
class CompactionPlanner {
 public:
  // `output_run`: all of the output's run as it is. `pick`, `source` and `stop` outlive this.
  CompactionPlanner(const CompactionPick& pick, const RunIndex& output_run,
                    const PlanOptions& options, PlanSource* source, const std::atomic<bool>* stop);

  // The next step in key order; none when there are no more. Reads blocks where ranges alone do not
  // tell. Errors are those of a read, of the extent `*damaged`, or Busy soon after `*stop` was set.
  Status Next(std::optional<CompactionStep>* step, ExtentPtr* damaged);
  // After the last step: the user key that the plan ends before; none if it covers the whole pick.
  const std::optional<std::string>& end() const { return end_; }

 private:
  // A block that is to be merged, with user keys that bound those in it.
  struct BlockSpan {
    ExtentPtr extent;
    size_t block;
    std::string low;
    std::string high;
    uint64_t bytes;
  };
  struct Run {
    const std::vector<ExtentPtr>* extents = nullptr;
    size_t at = 0;  // extent
    size_t block = 0;
    LiveBlocks blocks;              // of extent `at`, once it is looked into
    bool tried = false;             // whether extent `at` can be reused
    TableHeadRef head;              // of extent `at`, once it is looked into
    std::deque<BlockSpan> waiting;  // passed, and not all of it in a step

    bool AtEnd() const { return at == extents->size(); }
    const ExtentPtr& extent() const { return (*extents)[at]; }
    bool AtExtent() const { return block == blocks.first; }  // at its first record
    // No record from here on has a smaller user key.
    std::string_view Low() const {
      return UserKey(AtExtent() ? std::string_view(extent()->smallest) : head->last_key(block - 1));
    }
    // No record of extent `at`'s block `i` has a larger one.
    std::string_view High(size_t i) const {
      return UserKey(i + 1 == blocks.end ? std::string_view(extent()->largest) : head->last_key(i));
    }
    // Whether the versions of extent `i`'s last user key go on in the next one.
    bool GoesOn(size_t i) const {
      return i + 1 < extents->size() &&
             UserKey((*extents)[i]->largest) == UserKey((*extents)[i + 1]->smallest);
    }
  };

  // Takes the sweep a bit further: adds steps to ready_ or passes a block.
  Status Advance();
  // The run whose next record has the smallest key; runs_.size() if all are at their ends.
  size_t Smallest() const;
  bool MayReuse(const Extent& extent) const;
  // Whether a run other than `self`, or what stays, has a record in [low, high].
  Status HasForeignRecord(size_t self, std::string_view low, std::string_view high, bool* has);
  // Where the blocks, from the one that the run is at, meet the next one of another run.
  size_t CopyEnd(size_t self);
  // Whether all blocks that other runs have passed, and no step has yet, end below `user_key`.
  bool OthersWaitBelow(size_t self, std::string_view user_key) const;
  Status TryReuse(size_t self, bool* reused);
  Status TryCopy(size_t self, bool* copied);
  // As the source's.
  Status FindKey(const ExtentPtr& extent, const BlockHandle& handle, std::string_view from,
                 std::string* user_key);
  Status OpenHead(Run* run);
  void PassBlock(Run* run);
  static void MoveTo(Run* run, size_t block);
  void EmitStay();
  // Steps for what waits below `end` (null: for all); the position becomes `end`.
  void EmitMerge(const std::string* end);
  void EmitMergeStep(const std::string* end);
  // The next border below `end` (null: any), or the pick's next cut.
  std::optional<std::string> TakeBorder(const std::string* end);
  // The position becomes the key behind `user_key`.
  void MoveBehind(std::string_view user_key);
  const Extent* Stay();  // the next one; null if there is none

  const CompactionPick& pick_;
  const PlanOptions options_;
  PlanSource& source_;
  const std::atomic<bool>& stop_;
  std::deque<Run> runs_;
  RunIndex::Iterator stays_;  // in the output run; those that are inputs are skipped
  const std::vector<ExtentPtr>* in_output_run_ = nullptr;  // the inputs that are
  size_t next_input_ = 0;          // of these, the first that does not begin before stays_
  KeyRange rest_;                  // what no step covers; its begin is the position
  std::set<std::string> borders_;  // where slices that are passed begin and end
  size_t next_cut_ = 0;            // the pick's first that was not reached
  bool at_cut_ = false;            // a cut was reached since the last step
  uint64_t passed_bytes_ = 0;      // since the last merge step
  uint64_t bytes_ = 0;             // of the blocks in all steps
  std::string first_key_;          // of the inputs
  std::optional<std::string> end_;
  bool done_ = false;
  ExtentPtr damaged_;
  std::deque<CompactionStep> ready_;
};

}  // namespace sluice
