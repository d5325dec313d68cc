#include "compaction/plan_checker.h"

#include <fmt/format.h>

#include <utility>

namespace sluice {

namespace {

Status Unsound(std::string_view what) {
  return Status::Corruption(fmt::format("compaction plan: {}", what));
}

}  // namespace

PlanChecker::PlanChecker(const CompactionPick& pick, ExtentReader* reader) : reader_(*reader) {
  for (const CompactionInput& input : pick.inputs) {
    runs_.emplace_back().extents = &input.extents;
  }
}

Status PlanChecker::Open(Run* run) {
  if (run->head.get() != nullptr) {
    return {};
  }
  SLUICE_RETURN_IF_ERROR(reader_.OpenHead(*run->extent(), &run->head));
  run->blocks = LiveBlocks(*run->extent(), *run->head.get());
  run->block = run->blocks.first;
  return {};
}

Status PlanChecker::Step(Run* run) {
  SLUICE_RETURN_IF_ERROR(Open(run));
  if (++run->block >= run->blocks.end) {
    NextExtent(run);
  }
  return {};
}

void PlanChecker::NextExtent(Run* run) {
  ++run->at;
  run->block = 0;
  run->blocks = {};
  run->head.Reset(nullptr);
}

Status PlanChecker::Check(const CompactionStep& step) {
  const BlockRange owed = std::exchange(owed_, {});
  const bool copies_owed = step.kind == CompactionStep::Kind::kCopy &&
                           step.blocks.extent == owed.extent && step.blocks.first == owed.first;
  Status status;
  switch (step.kind) {
    case CompactionStep::Kind::kMerge:
      status = CheckMerge(step);
      break;
    case CompactionStep::Kind::kCopy:
      status = CheckCopy(step);
      break;
    case CompactionStep::Kind::kReuse:
      status = CheckReuse(step);
      break;
    case CompactionStep::Kind::kStay:
      if (status = CheckAlone(runs_.size(), UserKey(step.extent->smallest),
                              UserKey(step.extent->largest));
          status.ok()) {
        status = CoverTo(UserKey(step.extent->largest));
      }
      break;
  }
  if (status.ok() && owed.extent != nullptr && owed != owed_ && !copies_owed) {
    status = Unsound(
        fmt::format("extent {}, block {} is left out of a merge", owed.extent->number, owed.first));
  }
  unmerged_run_ = step.kind == CompactionStep::Kind::kReuse  ? step.run
                  : step.kind == CompactionStep::Kind::kStay ? runs_.size()
                                                             : ~size_t{0};
  return status;
}

Status PlanChecker::MoveTo(std::string_view key) {
  if (has_position_ && key == position_) {
    return {};
  }
  if (has_position_ && key < position_) {
    return Unsound("a step begins within what is covered");
  }
  for (const Run& run : runs_) {
    if (!run.AtEnd() && run.Low() < key) {
      return Unsound(
          fmt::format("extent {}, block {} is in no step", run.extent()->number, run.block));
    }
  }
  has_position_ = true;
  position_.assign(key);
  return {};
}

Status PlanChecker::CheckMerge(const CompactionStep& step) {
  const KeyRange& range = step.range;
  if (range.has_begin) {
    SLUICE_RETURN_IF_ERROR(MoveTo(range.begin));
  } else if (has_position_) {
    return Unsound("a merge without a beginning is not the first step");
  }
  if ((range.has_begin && range.has_end && range.begin >= range.end) ||
      step.runs.size() != runs_.size()) {
    return Unsound("a malformed merge");
  }
  for (size_t i = 0; i < runs_.size(); ++i) {
    Run& run = runs_[i];
    const std::vector<BlockRange>& pieces = step.runs[i];
    std::vector<BlockRange> expected;
    size_t at = run.at;
    size_t block = run.block;
    TableHeadRef head;  // of extent `at`
    head.Reset(run.head.get());
    LiveBlocks blocks = run.blocks;
    for (; at < run.extents->size(); ++at) {
      const ExtentPtr& extent = (*run.extents)[at];
      if (head.get() == nullptr) {
        if (range.has_end && UserKey(extent->smallest) >= range.end) {
          break;
        }
        SLUICE_RETURN_IF_ERROR(reader_.OpenHead(*extent, &head));
        blocks = LiveBlocks(*extent, *head.get());
        block = blocks.first;
      }
      size_t end = block;
      while (end < blocks.end &&
             !(range.has_end && LowOf(*extent, head.get(), blocks, end) >= range.end)) {
        ++end;
      }
      if (end > block) {
        expected.push_back({extent, block, end});
        SLUICE_RETURN_IF_ERROR(CheckSlice(expected.back(), blocks, range));
      }
      // Passes the blocks that are covered whole.
      while (run.at == at && block < end &&
             !(range.has_end && HighOf(*extent, *head.get(), blocks, block) >= range.end)) {
        SLUICE_RETURN_IF_ERROR(Step(&run));
        ++block;
      }
      if (end < blocks.end) {
        break;
      }
      head.Reset(nullptr);
    }
    if (pieces != expected) {
      // The range may end where the last block begins if a copy of that follows, because the copy
      // checks that its first key is not smaller.
      if (owed_.extent != nullptr || expected.empty()) {
        return Unsound(fmt::format("a merge does not take what run {} has in its range", i));
      }
      BlockRange& last = expected.back();
      owed_ = {last.extent, last.end - 1, last.end};
      if (--last.end == last.first) {
        expected.pop_back();
      }
      if (pieces != expected || owed_.first == 0 || !range.has_end) {
        return Unsound(fmt::format("a merge does not take what run {} has in its range", i));
      }
    }
  }
  has_position_ = range.has_end;
  position_ = range.end;
  return range.has_end ? Status() : Finish(nullptr);
}

Status PlanChecker::CheckSlice(const BlockRange& blocks, const LiveBlocks& live,
                               const KeyRange& range) {
  const Extent& extent = *blocks.extent;
  if (extent.sliced && ((blocks.first == live.first &&
                         !(range.has_begin && range.begin >= UserKey(extent.smallest))) ||
                        (blocks.end == live.end &&
                         !(range.has_end && range.end <= KeyAfter(UserKey(extent.largest)))))) {
    return Unsound(
        fmt::format("a merge takes records beyond the slice of extent {}", extent.number));
  }
  return {};
}

Status PlanChecker::CheckAlone(size_t self, std::string_view low, std::string_view high) {
  SLUICE_RETURN_IF_ERROR(self == unmerged_run_ && has_position_ && position_ == KeyAfter(low)
                             ? Status()
                             : MoveTo(low));
  for (size_t i = 0; i < runs_.size(); ++i) {
    Run& run = runs_[i];
    if (i == self || run.AtEnd() || run.Low() > high) {
      continue;
    }
    SLUICE_RETURN_IF_ERROR(Open(&run));
    if (run.Low() >= low || run.High() <= high) {
      return Unsound(
          fmt::format("extent {} is among the keys of what is not merged", run.extent()->number));
    }
  }
  return {};
}

Status PlanChecker::CheckCopy(const CompactionStep& step) {
  const BlockRange& blocks = step.blocks;
  if (step.run >= runs_.size() || runs_[step.run].AtEnd()) {
    return Unsound("a copy of what is covered");
  }
  Run& run = runs_[step.run];
  SLUICE_RETURN_IF_ERROR(Open(&run));
  if (run.extent() != blocks.extent || run.block != blocks.first || blocks.first >= blocks.end ||
      blocks.end > run.blocks.end || step.low < run.Low() ||
      (run.block > 0 && step.low == run.Low()) ||
      (run.extent()->sliced &&
       (blocks.first == run.blocks.first || blocks.end == run.blocks.end))) {
    return Unsound(fmt::format("a copy out of order: extent {}, blocks {} to {}",
                               blocks.extent->number, blocks.first, blocks.end));
  }
  const std::string high(UserKey(run.head->last_key(blocks.end - 1)));
  // This is strict: other runs' blocks may not even span what is copied. Their bounds say where
  // they begin, and the position where they end.
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (i != step.run && !runs_[i].AtEnd() && runs_[i].Low() <= high) {
      return Unsound(
          fmt::format("extent {} overlaps blocks that are copied", runs_[i].extent()->number));
    }
  }
  // This run has no keys between the block before and `low`.
  if (has_position_ && step.low < position_) {
    return Unsound("a copy begins within what is covered");
  }
  for (size_t block = blocks.first; block < blocks.end; ++block) {
    SLUICE_RETURN_IF_ERROR(Step(&run));
  }
  has_position_ = true;
  position_ = KeyAfter(high);
  return {};
}

Status PlanChecker::CheckReuse(const CompactionStep& step) {
  if (step.run >= runs_.size() || runs_[step.run].AtEnd() ||
      runs_[step.run].extent() != step.extent ||
      runs_[step.run].block != runs_[step.run].blocks.first) {
    return Unsound(fmt::format("extent {} is reused out of order", step.extent->number));
  }
  SLUICE_RETURN_IF_ERROR(
      CheckAlone(step.run, UserKey(step.extent->smallest), UserKey(step.extent->largest)));
  NextExtent(&runs_[step.run]);
  return CoverTo(UserKey(step.extent->largest));
}

Status PlanChecker::CoverTo(std::string_view high) {
  has_position_ = true;
  position_ = KeyAfter(high);
  return {};
}

Status PlanChecker::Finish(const std::string* end) {
  if (owed_.extent != nullptr) {
    return Unsound("a block is left out of the last merge");
  }
  if (end != nullptr) {
    return MoveTo(*end);
  }
  for (const Run& run : runs_) {
    if (!run.AtEnd()) {
      return Unsound(
          fmt::format("extent {}, block {} is in no step", run.extent()->number, run.block));
    }
  }
  return {};
}

}  // namespace sluice
