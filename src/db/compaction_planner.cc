#include "db/compaction_planner.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tree/run_iterator.h"

namespace sluice {

namespace {

// The least user key behind `user_key`.
std::string After(std::string_view user_key) { return std::string(user_key) + '\0'; }

std::string_view Low(const Extent& extent) { return UserKey(extent.smallest); }
std::string_view High(const Extent& extent) { return UserKey(extent.largest); }

// A block, with user keys that bound those in it.
struct BlockSpan {
  const ExtentPtr* extent;
  size_t block;
  std::string before;  // the last key of the block before it in its extent; of the first, `low`
  std::string low;     // as `before`, or its own first key if that was looked up
  std::string high;
  uint64_t bytes;
};

class Planner {
 public:
  Planner(const CompactionPick& pick, const PlanOptions& options, ExtentReader* reader,
          std::vector<CompactionStep>* steps)
      : pick_(pick), options_(options), reader_(*reader), steps_(*steps) {}

  Status Plan(const RunIndex& output_run);

 private:
  // Something that no output extent may span: an extent that stays or is reused.
  struct Fixed {
    ExtentPtr extent;
    bool reused;
  };

  bool MayReuse(const Extent& extent) const {
    return !(pick_.bottommost && extent.tombstones > 0) &&
           !(pick_.rewrite &&
             (extent.shadowed > 0 || extent.bytes < options_.least_bytes_rewritten));
  }
  // Whether a run other than `run` has a record between first and last key of the extent.
  Status HasForeignRecord(size_t run, const Extent& extent, bool* has);
  Status PlanGap(const KeyRange& gap);
  Status SpansInGap(size_t run, const KeyRange& gap, std::vector<BlockSpan>* spans);
  // Shrinks [first, end) of `spans` until no key's versions reach over its ends.
  Status TrimToKeys(const std::vector<BlockSpan>& spans, size_t* first, size_t* end,
                    std::string* first_key);
  Status FirstKey(const BlockSpan& span, std::string* user_key);
  // Of spans in key order, those that have something in `range`.
  static std::span<const BlockSpan> InRange(const std::vector<BlockSpan>& spans,
                                            const KeyRange& range);
  // Steps for what the runs have in `range`.
  void EmitMerges(const std::vector<std::vector<BlockSpan>>& spans, const KeyRange& range);

  const CompactionPick& pick_;
  const PlanOptions& options_;
  ExtentReader& reader_;
  std::vector<CompactionStep>& steps_;
  std::vector<RunIndex> runs_;                    // of the inputs
  std::vector<std::vector<ExtentPtr>> changing_;  // of each run, what is not reused
};

Status Planner::HasForeignRecord(size_t run, const Extent& extent, bool* has) {
  *has = false;
  for (size_t other = 0; other < runs_.size() && !*has; ++other) {
    if (other == run) {
      continue;
    }
    const std::vector<ExtentPtr>& extents = pick_.inputs[other].extents;
    auto at = std::partition_point(extents.begin(), extents.end(),
                                   [&](const ExtentPtr& e) { return High(*e) < Low(extent); });
    if (at == extents.end() || Low(**at) > High(extent)) {
      continue;
    }
    if (Low(**at) >= Low(extent) || High(**at) <= High(extent)) {
      *has = true;  // its first or last key
      continue;
    }
    RunIterator records(&reader_, runs_[other], kMaxSequence, /*fill_cache=*/false);
    records.Seek(Low(extent));
    SLUICE_RETURN_IF_ERROR(records.status());
    *has = records.Valid() && records.user_key() <= High(extent);
  }
  return {};
}

Status Planner::FirstKey(const BlockSpan& span, std::string* user_key) {
  TableHeadRef head;
  SLUICE_RETURN_IF_ERROR(reader_.OpenHead(**span.extent, &head));
  BlockRef contents;
  Block block;
  SLUICE_RETURN_IF_ERROR(reader_.ReadBlock(**span.extent, head->block(span.block),
                                           /*fill_cache=*/false, &contents, &block));
  BlockIterator at(block);
  at.SeekToFirst();
  SLUICE_RETURN_IF_ERROR(at.status());
  user_key->assign(at.Valid() ? UserKey(at.key()) : std::string_view());
  return {};
}

Status Planner::SpansInGap(size_t run, const KeyRange& gap, std::vector<BlockSpan>* spans) {
  for (const ExtentPtr& extent : changing_[run]) {
    if (!gap.Overlaps(Low(*extent), High(*extent))) {
      continue;
    }
    TableHeadRef head;
    SLUICE_RETURN_IF_ERROR(reader_.OpenHead(*extent, &head));
    for (size_t i = 0; i < head->blocks(); ++i) {
      const std::string_view low = i == 0 ? Low(*extent) : UserKey(head->last_key(i - 1));
      const std::string_view high = UserKey(head->last_key(i));
      if (gap.Overlaps(low, high)) {
        spans->push_back({&extent, i, std::string(low), std::string(low), std::string(high),
                          head->block(i).size + kBlockTrailerBytes});
      }
    }
  }
  return {};
}

Status Planner::TrimToKeys(const std::vector<BlockSpan>& spans, size_t* first, size_t* end,
                           std::string* first_key) {
  for (; *first < *end; ++*first) {
    SLUICE_RETURN_IF_ERROR(FirstKey(spans[*first], first_key));
    if (spans[*first].block == 0 || *first_key != spans[*first].before) {
      break;
    }
  }
  while (*first < *end && *end < spans.size() && spans[*end].extent == spans[*end - 1].extent) {
    std::string next_key;
    SLUICE_RETURN_IF_ERROR(FirstKey(spans[*end], &next_key));
    if (next_key != spans[*end - 1].high) {
      break;
    }
    --*end;
  }
  return {};
}

std::span<const BlockSpan> Planner::InRange(const std::vector<BlockSpan>& spans,
                                            const KeyRange& range) {
  const auto first = std::partition_point(spans.begin(), spans.end(), [&](const BlockSpan& span) {
    return range.has_begin && span.high < range.begin;
  });
  const auto end = std::partition_point(first, spans.end(), [&](const BlockSpan& span) {
    return !range.has_end || span.low < range.end;
  });
  return {first, end};
}

void Planner::EmitMerges(const std::vector<std::vector<BlockSpan>>& spans, const KeyRange& range) {
  InputMap map;
  for (const std::vector<BlockSpan>& run : spans) {
    for (const BlockSpan& span : InRange(run, range)) {
      map.Add(range.has_begin ? std::max(span.low, range.begin) : span.low, span.bytes);
    }
  }
  if (map.total_bytes() == 0) {
    return;
  }
  map.Sort();
  for (KeyRange part : map.Split(options_.task_bytes)) {
    if (!part.has_begin) {
      part.has_begin = range.has_begin;
      part.begin = range.begin;
    }
    if (!part.has_end) {
      part.has_end = range.has_end;
      part.end = range.end;
    }
    CompactionStep step{.kind = CompactionStep::Kind::kMerge, .range = part};
    for (const std::vector<BlockSpan>& run : spans) {
      std::vector<BlockRange> pieces;
      for (const BlockSpan& span : InRange(run, part)) {
        if (!pieces.empty() && pieces.back().extent == *span.extent &&
            pieces.back().end == span.block) {
          ++pieces.back().end;
        } else {
          pieces.push_back({*span.extent, span.block, span.block + 1});
        }
      }
      if (!pieces.empty()) {
        step.runs.push_back(std::move(pieces));
      }
    }
    if (!step.runs.empty()) {
      steps_.push_back(std::move(step));
    }
  }
}

Status Planner::PlanGap(const KeyRange& gap) {
  std::vector<std::vector<BlockSpan>> spans(runs_.size());
  for (size_t run = 0; run < runs_.size(); ++run) {
    SLUICE_RETURN_IF_ERROR(SpansInGap(run, gap, &spans[run]));
  }
  struct Copy {
    BlockRange blocks;
    std::string first_key;
    std::string last_key;
  };
  std::vector<Copy> copies;
  for (size_t run = 0; run < runs_.size(); ++run) {
    const auto overlaps = [&](std::string_view low, std::string_view high) {
      for (size_t other = 0; other < runs_.size(); ++other) {
        const auto at = std::partition_point(spans[other].begin(), spans[other].end(),
                                             [&](const BlockSpan& s) { return s.high < low; });
        if (other != run && at != spans[other].end() && at->low <= high) {
          return true;
        }
      }
      return false;
    };
    // Reads the block only if its first key decides.
    const auto overlaps_nothing = [&](BlockSpan* span, bool* nothing) -> Status {
      *nothing = !overlaps(span->high, span->high);
      if (*nothing && overlaps(span->low, span->high)) {
        SLUICE_RETURN_IF_ERROR(FirstKey(*span, &span->low));
        *nothing = !overlaps(span->low, span->high);
      }
      return {};
    };
    const auto inside = [&](const BlockSpan& span) {
      return !(gap.has_begin && span.low < gap.begin) && !(gap.has_end && span.high >= gap.end);
    };
    for (size_t i = 0; i < spans[run].size();) {
      size_t first = i;
      const BlockSpan& start = spans[run][first];
      for (bool nothing = true; i < spans[run].size() && spans[run][i].extent == start.extent &&
                                MayReuse(**start.extent) && inside(spans[run][i]);
           ++i) {
        SLUICE_RETURN_IF_ERROR(overlaps_nothing(&spans[run][i], &nothing));
        if (!nothing) {
          break;
        }
      }
      size_t end = i;
      std::string first_key;
      if (end - first >= options_.least_blocks_copied) {
        SLUICE_RETURN_IF_ERROR(TrimToKeys(spans[run], &first, &end, &first_key));
        if (first < end && end - first >= options_.least_blocks_copied) {
          copies.push_back({{*start.extent, spans[run][first].block, spans[run][end - 1].block + 1},
                            std::move(first_key),
                            spans[run][end - 1].high});
        }
      }
      i = std::max(i, first + 1);
    }
  }
  std::sort(copies.begin(), copies.end(),
            [](const Copy& a, const Copy& b) { return a.first_key < b.first_key; });
  KeyRange range = gap;
  for (Copy& copy : copies) {
    range.has_end = true;
    range.end = copy.first_key;
    EmitMerges(spans, range);
    steps_.push_back({.kind = CompactionStep::Kind::kCopy, .blocks = std::move(copy.blocks)});
    range.has_begin = true;
    range.begin = After(copy.last_key);
  }
  range.has_end = gap.has_end;
  range.end = gap.end;
  EmitMerges(spans, range);
  return {};
}

Status Planner::Plan(const RunIndex& output_run) {
  std::vector<Fixed> fixed;
  for (const CompactionInput& input : pick_.inputs) {
    SLUICE_RETURN_IF_ERROR(RunIndex().Edit({}, input.extents, &runs_.emplace_back()));
  }
  std::vector<uint64_t> in_output_run;  // numbers of inputs that are
  for (size_t run = 0; run < runs_.size(); ++run) {
    changing_.emplace_back();
    for (const ExtentPtr& extent : pick_.inputs[run].extents) {
      bool merge = !MayReuse(*extent) ||
                   (options_.file != nullptr && extent->place->file() != options_.file);
      if (!merge) {
        SLUICE_RETURN_IF_ERROR(HasForeignRecord(run, *extent, &merge));
      }
      if (merge) {
        changing_[run].push_back(extent);
      } else {
        fixed.push_back({extent, true});
      }
      if (pick_.inputs[run].run == pick_.output) {
        in_output_run.push_back(extent->number);
      }
    }
  }
  std::sort(in_output_run.begin(), in_output_run.end());
  RunIndex::Iterator at(output_run);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    if (!std::binary_search(in_output_run.begin(), in_output_run.end(), at.extent()->number)) {
      fixed.push_back({at.extent(), false});
    }
  }
  std::sort(fixed.begin(), fixed.end(), [](const Fixed& a, const Fixed& b) {
    return CompareInternalKeys(a.extent->smallest, b.extent->smallest) < 0;
  });
  KeyRange gap;
  for (const Fixed& next : fixed) {
    gap.has_end = true;
    gap.end = Low(*next.extent);
    SLUICE_RETURN_IF_ERROR(PlanGap(gap));
    steps_.push_back(
        {.kind = next.reused ? CompactionStep::Kind::kReuse : CompactionStep::Kind::kStay,
         .extent = next.extent});
    gap.has_begin = true;
    gap.begin = After(High(*next.extent));
  }
  gap.has_end = false;
  gap.end.clear();
  return PlanGap(gap);
}

}  // namespace

Status PlanCompaction(const CompactionPick& pick, const RunIndex& output_run,
                      const PlanOptions& options, ExtentReader* reader,
                      std::vector<CompactionStep>* steps) {
  return Planner(pick, options, reader, steps).Plan(output_run);
}

}  // namespace sluice
