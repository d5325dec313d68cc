// Checks a compaction's plan, step by step, before each step is carried out: every block of every
// input is covered exactly once, in key order, by a reuse, a copy or merges, and no gap between
// steps holds a block. Always on, and apart from the planner, whose mistakes it must not share: it
// knows the inputs and the steps, no more.
//
// Ranges cannot show that a block which spans a reused extent has no record inside it; the balance
// of records does (compaction_job.h).
//
// Thread-compatible. Costs a comparison or two per block; holds one extent's head per run.

#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/compaction_planner.h"
#include "tree/extent_reader.h"
#include "util/status.h"

namespace sluice {

class PlanChecker {
 public:
  // Both outlive this.
  PlanChecker(const CompactionPick& pick, ExtentReader* reader);

  // Corruption if the step must not follow those before; other errors are of reading heads.
  Status Check(const CompactionStep& step);
  // After the last step: Corruption if something before `end` is left, or anything if it is null.
  Status Finish(const std::string* end);

 private:
  struct Run {
    const std::vector<ExtentPtr>* extents = nullptr;
    size_t at = 0;     // the first block that is not covered whole
    size_t block = 0;  // of extent `at`
    TableHeadRef head;
    LiveBlocks blocks;  // once the head is there

    bool AtEnd() const { return at == extents->size(); }
    const ExtentPtr& extent() const { return (*extents)[at]; }
    std::string_view Low() const { return LowOf(*extent(), head.get(), blocks, block); }
    std::string_view High() const { return HighOf(*extent(), *head.get(), blocks, block); }
  };

  // User keys that bound those in a block.
  static std::string_view LowOf(const Extent& extent, const TableHead* head,
                                const LiveBlocks& blocks, size_t block) {
    return UserKey(block == blocks.first ? std::string_view(extent.smallest)
                                         : head->last_key(block - 1));
  }
  static std::string_view HighOf(const Extent& extent, const TableHead& head,
                                 const LiveBlocks& blocks, size_t block) {
    return UserKey(block + 1 == blocks.end ? std::string_view(extent.largest)
                                           : head.last_key(block));
  }

  Status Open(Run* run);
  Status Step(Run* run);  // over a block
  static void NextExtent(Run* run);
  Status CheckMerge(const CompactionStep& step);
  Status CheckCopy(const CompactionStep& step);
  Status CheckReuse(const CompactionStep& step);
  // A merge's range must not cover records in these blocks that only the extent's table has.
  static Status CheckSlice(const BlockRange& blocks, const LiveBlocks& live, const KeyRange& range);
  // Everything before `key` must be covered; the position becomes `key`.
  Status MoveTo(std::string_view key);
  // No run but `self` (runs_.size(): what stays) may begin a block within [low, high], nor end one
  // there.
  Status CheckAlone(size_t self, std::string_view low, std::string_view high);
  Status CoverTo(std::string_view high);

  ExtentReader& reader_;
  std::deque<Run> runs_;
  bool has_position_ = false;
  std::string position_;  // everything below it is covered
  BlockRange owed_;       // a block that the next copy, before any merge in it, must begin with
  // The last step was an extent of this input, or of what stays (runs_.size()), whole: the next
  // extent there may go on with the same user key.
  size_t unmerged_run_ = ~size_t{0};
};

}  // namespace sluice
