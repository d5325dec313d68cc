#include "compaction/compaction_planner.h"

#include <algorithm>
#include <utility>

namespace sluice {

namespace {

std::string_view Low(const Extent& extent) { return UserKey(extent.smallest); }
std::string_view High(const Extent& extent) { return UserKey(extent.largest); }

}  // namespace

Status ExtentPlanSource::FindKey(const Extent& extent, const BlockHandle& handle,
                                 std::string_view from, std::string* user_key) {
  BlockRef contents;
  Block block;
  SLUICE_RETURN_IF_ERROR(
      reader_.ReadBlock(extent, handle, /*fill_cache=*/false, &contents, &block));
  BlockIterator at(block);
  if (from.empty()) {
    at.SeekToFirst();
  } else {
    std::string target(from);
    PutFixed64(&target, FirstTrailer(kMaxSequence));
    at.Seek(target);
  }
  if (!at.Valid()) {
    const Status status = at.status();
    return (status.ok() ? Status::Corruption("the block ends before its last key") : status)
        .WithContext(ExtentReader::Describe(extent, handle.offset));
  }
  user_key->assign(UserKey(at.key()));
  return {};
}

CompactionPlanner::CompactionPlanner(const CompactionPick& pick, const RunIndex& output_run,
                                     const PlanOptions& options, PlanSource* source,
                                     const std::atomic<bool>* stop)
    : pick_(pick), options_(options), source_(*source), stop_(*stop), stays_(output_run) {
  std::string_view smallest;
  for (const CompactionInput& input : pick.inputs) {
    runs_.emplace_back().extents = &input.extents;
    if (smallest.empty() || CompareInternalKeys(input.extents.front()->smallest, smallest) < 0) {
      smallest = input.extents.front()->smallest;
    }
    if (input.run == pick.output) {
      in_output_run_ = &input.extents;
    }
  }
  first_key_ = UserKey(smallest);
  stays_.Seek(smallest);
  // Those before have been reached.
  next_cut_ = static_cast<size_t>(std::lower_bound(pick.cuts.begin(), pick.cuts.end(), first_key_) -
                                  pick.cuts.begin());
  if (next_cut_ > 0) {
    at_cut_ = true;
    rest_.has_begin = true;
    rest_.begin = pick.cuts[next_cut_ - 1];
  }
}

Status CompactionPlanner::Next(std::optional<CompactionStep>* step, ExtentPtr* damaged) {
  step->reset();
  while (ready_.empty() && !done_) {
    if (stop_.load(std::memory_order_relaxed)) {
      return Status::Busy("closing");
    }
    if (Status status = Advance(); !status.ok()) {
      *damaged = damaged_;
      return status;
    }
  }
  if (!ready_.empty()) {
    *step = std::move(ready_.front());
    ready_.pop_front();
  }
  return {};
}

Status CompactionPlanner::Advance() {
  const size_t self = Smallest();
  if (self == runs_.size()) {
    EmitMerge(nullptr);
    done_ = true;
    return {};
  }
  Run& run = runs_[self];
  if (bytes_ >= options_.part_bytes && run.Low() > first_key_ && run.Low() > rest_.begin) {
    end_ = run.Low();
    EmitMerge(&*end_);
    done_ = true;
    return {};
  }
  const Extent* const stay = Stay();
  if (stay != nullptr && UserKey(stay->smallest) <= run.Low()) {
    EmitStay();
    return {};
  }
  bool placed = false;
  if (!std::exchange(run.tried, true)) {
    SLUICE_RETURN_IF_ERROR(TryReuse(self, &placed));
  }
  if (!placed) {
    SLUICE_RETURN_IF_ERROR(OpenHead(&run));
    SLUICE_RETURN_IF_ERROR(TryCopy(self, &placed));
  }
  if (!placed) {
    if (passed_bytes_ >= options_.task_bytes && !(rest_.has_begin && run.Low() <= rest_.begin)) {
      const std::string border(run.Low());
      EmitMerge(&border);
    }
    PassBlock(&run);
  }
  return {};
}

size_t CompactionPlanner::Smallest() const {
  size_t smallest = runs_.size();
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (!runs_[i].AtEnd() && (smallest == runs_.size() || runs_[i].Low() < runs_[smallest].Low())) {
      smallest = i;
    }
  }
  return smallest;
}

const Extent* CompactionPlanner::Stay() {
  const auto is_input = [&](const std::string& smallest) {
    while (in_output_run_ != nullptr && next_input_ < in_output_run_->size() &&
           CompareInternalKeys((*in_output_run_)[next_input_]->smallest, smallest) < 0) {
      ++next_input_;
    }
    return in_output_run_ != nullptr && next_input_ < in_output_run_->size() &&
           (*in_output_run_)[next_input_]->smallest == smallest;
  };
  while (stays_.Valid() && is_input(stays_.extent()->smallest)) {
    stays_.Next();
  }
  return stays_.Valid() ? stays_.extent().get() : nullptr;
}

bool CompactionPlanner::MayReuse(const Extent& extent) const {
  return options_.reuse && !RefersToAny(extent, pick_.relocate) &&
         !(pick_.bottommost && extent.tombstones > 0 &&
           extent.oldest_tombstone <= options_.oldest_snapshot) &&
         !(pick_.rewrite && (extent.shadowed > 0 || extent.bytes < options_.least_bytes_rewritten));
}

Status CompactionPlanner::HasForeignRecord(size_t self, std::string_view low, std::string_view high,
                                           bool* has) {
  const Extent* const stay = Stay();
  *has = stay != nullptr && Low(*stay) <= high;
  for (size_t i = 0; i < runs_.size() && !*has; ++i) {
    Run& run = runs_[i];
    if (i == self) {
      continue;
    }
    // The block that has the run's first record at or after `low`, if that may be in the range.
    const auto waiting = std::find_if(run.waiting.begin(), run.waiting.end(),
                                      [&](const BlockSpan& span) { return span.high >= low; });
    std::string found;
    if (waiting != run.waiting.end()) {
      if (waiting->low <= high) {
        TableHeadRef head;
        damaged_ = waiting->extent;
        SLUICE_RETURN_IF_ERROR(source_.OpenHead(*waiting->extent, &head));
        SLUICE_RETURN_IF_ERROR(FindKey(waiting->extent, head->block(waiting->block), low, &found));
        *has = found <= high;
      }
    } else if (!run.AtEnd() && run.Low() <= high) {
      *has = run.AtExtent();
      if (!*has) {
        SLUICE_RETURN_IF_ERROR(FindKey(run.extent(), run.head->block(run.block), low, &found));
        *has = found <= high;
      }
    }
  }
  return {};
}

Status CompactionPlanner::TryReuse(size_t self, bool* reused) {
  Run& run = runs_[self];
  if (run.at > 0 && run.GoesOn(run.at - 1)) {
    return {};
  }
  size_t end = run.at;
  do {
    const Extent& extent = *(*run.extents)[end];
    if (extent.sliced || !MayReuse(extent) ||
        options_.recoded_levels.contains(pick_.inputs[self].run.level) ||
        (options_.file != nullptr && extent.place->file() != options_.file)) {
      return {};
    }
  } while (run.GoesOn(end++));
  const std::string low(Low(*run.extent()));
  const std::string high(High(*(*run.extents)[end - 1]));
  bool has = false;
  SLUICE_RETURN_IF_ERROR(HasForeignRecord(self, low, high, &has));
  if (has) {
    return {};
  }
  EmitMerge(&low);
  for (; run.at < end; ++run.at) {
    ready_.push_back({.kind = CompactionStep::Kind::kReuse, .run = self, .extent = run.extent()});
  }
  run.tried = false;
  MoveBehind(high);
  *reused = true;
  return {};
}

size_t CompactionPlanner::CopyEnd(size_t self) {
  const Run& run = runs_[self];
  const Extent* const stay = Stay();
  bool has_limit = stay != nullptr;
  std::string_view limit = has_limit ? Low(*stay) : std::string_view();
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (i != self && !runs_[i].AtEnd() && (!has_limit || runs_[i].Low() < limit)) {
      has_limit = true;
      limit = runs_[i].Low();
    }
  }
  size_t end = run.block;
  // The last block of a slice may have more records than the slice.
  const size_t blocks = run.blocks.end - run.extent()->sliced;
  while (end < blocks && (!has_limit || UserKey(run.head->last_key(end)) < limit)) {
    ++end;
  }
  return end;
}

bool CompactionPlanner::OthersWaitBelow(size_t self, std::string_view user_key) const {
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (i != self && !runs_[i].waiting.empty() && runs_[i].waiting.back().high >= user_key) {
      return false;
    }
  }
  return true;
}

Status CompactionPlanner::TryCopy(size_t self, bool* copied) {
  Run& run = runs_[self];
  const size_t first = run.block;
  size_t end = CopyEnd(self);
  const auto enough = [&] { return end >= first + options_.least_blocks_copied && end > first; };
  // The block is read only if its first key decides. The first one of a slice may have more records
  // than the slice.
  if (!MayReuse(*run.extent()) || !enough() || (run.extent()->sliced && run.AtExtent()) ||
      !OthersWaitBelow(self, UserKey(run.head->last_key(first)))) {
    return {};
  }
  std::string low(Low(*run.extent()));
  if (first > 0) {
    SLUICE_RETURN_IF_ERROR(FindKey(run.extent(), run.head->block(first), {}, &low));
  }
  // No key's versions may reach over the ends.
  if (!OthersWaitBelow(self, low) ||
      (first > 0 ? low == run.Low() : run.at > 0 && run.GoesOn(run.at - 1))) {
    return {};
  }
  const auto goes_on = [&](bool* does) -> Status {
    if (end == run.blocks.end) {
      *does = run.GoesOn(run.at);
      return {};
    }
    std::string next;
    SLUICE_RETURN_IF_ERROR(FindKey(run.extent(), run.head->block(end), {}, &next));
    *does = next == UserKey(run.head->last_key(end - 1));
    return {};
  };
  for (bool does = true; enough(); --end) {
    SLUICE_RETURN_IF_ERROR(goes_on(&does));
    if (!does) {
      break;
    }
  }
  if (!enough()) {
    return {};
  }
  EmitMerge(&low);
  const std::string high(UserKey(run.head->last_key(end - 1)));
  for (size_t block = first; block < end; ++block) {
    bytes_ += run.head->block(block).size + kBlockTrailerBytes;
  }
  ready_.push_back({.kind = CompactionStep::Kind::kCopy,
                    .run = self,
                    .blocks = {run.extent(), first, end},
                    .low = std::move(low),
                    .begins_extent = std::exchange(at_cut_, false)});
  MoveTo(&run, end);
  MoveBehind(high);
  *copied = true;
  return {};
}

Status CompactionPlanner::FindKey(const ExtentPtr& extent, const BlockHandle& handle,
                                  std::string_view from, std::string* user_key) {
  damaged_ = extent;
  SLUICE_RETURN_IF_ERROR(source_.FindKey(*extent, handle, from, user_key));
  damaged_.reset();
  return {};
}

Status CompactionPlanner::OpenHead(Run* run) {
  if (run->head.get() != nullptr) {
    return {};
  }
  damaged_ = run->extent();
  SLUICE_RETURN_IF_ERROR(source_.OpenHead(*run->extent(), &run->head));
  run->blocks = LiveBlocks(*run->extent(), *run->head.get());
  run->block = run->blocks.first;
  if (run->blocks.first >= run->blocks.end) {
    return Status::Corruption(ExtentReader::Describe(*run->extent(), 0) + ": no blocks");
  }
  damaged_.reset();
  return {};
}

void CompactionPlanner::PassBlock(Run* run) {
  const uint64_t bytes = run->head->block(run->block).size + kBlockTrailerBytes;
  run->waiting.push_back({run->extent(), run->block, std::string(run->Low()),
                          std::string(run->High(run->block)), bytes});
  if (run->extent()->sliced && run->AtExtent()) {
    borders_.emplace(run->Low());
  }
  if (run->extent()->sliced && run->block + 1 == run->blocks.end) {
    borders_.insert(KeyAfter(run->High(run->block)));
  }
  passed_bytes_ += bytes;
  bytes_ += bytes;
  MoveTo(run, run->block + 1);
}

void CompactionPlanner::MoveTo(Run* run, size_t block) {
  run->block = block;
  if (block == run->blocks.end) {
    ++run->at;
    run->block = 0;
    run->blocks = {};
    run->tried = false;
    run->head.Reset(nullptr);
  }
}

void CompactionPlanner::EmitStay() {
  const std::string low(Low(*stays_.extent()));
  EmitMerge(&low);
  ready_.push_back({.kind = CompactionStep::Kind::kStay, .extent = stays_.extent()});
  MoveBehind(High(*stays_.extent()));
  stays_.Next();
}

void CompactionPlanner::EmitMerge(const std::string* end) {
  for (std::optional<std::string> border; (border = TakeBorder(end));) {
    if (!rest_.has_begin || *border > rest_.begin) {
      EmitMergeStep(&*border);
    }
  }
  EmitMergeStep(end);
}

std::optional<std::string> CompactionPlanner::TakeBorder(const std::string* end) {
  const bool has_cut = next_cut_ < pick_.cuts.size();
  const bool is_cut = has_cut && (borders_.empty() || pick_.cuts[next_cut_] < *borders_.begin());
  if (!is_cut && borders_.empty()) {
    return std::nullopt;
  }
  const std::string& border = is_cut ? pick_.cuts[next_cut_] : *borders_.begin();
  if (end != nullptr && border >= *end) {
    return std::nullopt;
  }
  if (is_cut) {
    return pick_.cuts[next_cut_++];
  }
  return std::move(borders_.extract(borders_.begin()).value());
}

void CompactionPlanner::EmitMergeStep(const std::string* end) {
  rest_.has_end = end != nullptr;
  rest_.end = end != nullptr ? *end : std::string();
  CompactionStep step{.kind = CompactionStep::Kind::kMerge, .range = rest_};
  // Where the last step has ended with the key before, nothing is left, whatever spans the position.
  const bool is_empty = end != nullptr && rest_.has_begin && rest_.begin == *end;
  bool any = false;
  for (Run& run : runs_) {
    std::vector<BlockRange>& pieces = step.runs.emplace_back();
    for (const BlockSpan& span : run.waiting) {
      if (end != nullptr && span.low >= *end) {
        break;
      }
      if (!pieces.empty() && pieces.back().extent == span.extent &&
          pieces.back().end == span.block) {
        ++pieces.back().end;
      } else {
        pieces.push_back({span.extent, span.block, span.block + 1});
      }
    }
    any = any || (!pieces.empty() && !is_empty);
    while (!run.waiting.empty() && (end == nullptr || run.waiting.front().high < *end)) {
      run.waiting.pop_front();
    }
  }
  if (any) {
    step.begins_extent = std::exchange(at_cut_, false);
    ready_.push_back(std::move(step));
  }
  at_cut_ =
      at_cut_ || (end != nullptr && std::binary_search(pick_.cuts.begin(), pick_.cuts.end(), *end));
  passed_bytes_ = 0;
  rest_.has_begin = true;
  rest_.begin = std::exchange(rest_.end, {});
  rest_.has_end = false;
}

void CompactionPlanner::MoveBehind(std::string_view user_key) {
  rest_.has_begin = true;
  rest_.begin = KeyAfter(user_key);
  for (Run& run : runs_) {
    while (!run.waiting.empty() && run.waiting.front().high < rest_.begin) {
      run.waiting.pop_front();
    }
  }
}

}  // namespace sluice
