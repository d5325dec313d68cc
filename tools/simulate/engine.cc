#include "simulate/engine.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "compaction/space_limit.h"

namespace sluice::simulate {

namespace {

// Later than every record.
constexpr SequenceNumber kNoSnapshot = kMaxSequence - 1;

// The CPU time of this thread.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

Engine::Engine(const Options& options, const KeyModel* model, const TableShape* shape)
    : Tree(options, model, shape) {
  metadata_.subtables[kSubtable];
}

Status Engine::Apply(const MetadataEdit& edit) {
  tables_.AddedBy(edit);
  NoteDiskBytes();
  const double begin = CpuSeconds();
  SLUICE_RETURN_IF_ERROR(metadata_.Apply(edit));
  const Metadata::Subtable& runs = metadata_.subtables.at(kSubtable);
  version_->SetRuns(runs, totals_.Update(runs));
  counters_.edits.Add(CpuSeconds() - begin);
  tables_.RemovedBy(edit);
  return {};
}

Status Engine::AddFlushed(const std::vector<Extent>& extents) {
  MetadataEdit edit;
  const RunId run{0, next_number_++};
  for (const Extent& extent : extents) {
    edit.added.push_back({kSubtable, run, extent});
  }
  return Apply(edit);
}

Status Engine::Compact(bool* was_due) {
  LaterPick later;
  const double begin = CpuSeconds();
  std::optional<CompactionPick> pick = PickCompaction(
      *version_, options_, {.oldest_snapshot = kNoSnapshot, .totals = &totals_}, &later);
  counters_.picks.Add(CpuSeconds() - begin);
  *was_due = pick.has_value();
  if (!pick) {
    return {};
  }
  SLUICE_RETURN_IF_ERROR(Clip(&*pick));
  while (!pick->inputs.empty()) {
    SLUICE_RETURN_IF_ERROR(CompactPart(&*pick));
  }
  return {};
}

Status Engine::Clip(CompactionPick* pick) {
  const Key begin = pick->range.has_begin ? KeyOf(pick->range.begin) : 0;
  const Key end = pick->range.has_end ? KeyOf(pick->range.end) : kKeySpace;
  MetadataEdit edit;
  std::vector<CompactionInput> clipped;
  for (const CompactionInput& input : pick->inputs) {
    std::vector<ExtentPtr> within;
    for (const ExtentPtr& extent : input.extents) {
      if (BeginOf(*extent) >= begin && EndOf(*extent) <= end) {
        within.push_back(extent);
        continue;
      }
      const auto add = [&](Key from, Key to) {
        Extent slice = tables_.Slice(*extent, from, to);
        if (slice.entries > 0) {
          edit.added.push_back({kSubtable, input.run, slice});
        }
        return slice.entries > 0;
      };
      if (BeginOf(*extent) < begin) {
        add(0, begin);
      }
      if (add(begin, end)) {
        within.push_back(std::make_shared<const Extent>(edit.added.back().extent));
      }
      if (EndOf(*extent) > end) {
        add(end, kKeySpace);
      }
      edit.removed.push_back({kSubtable, input.run, extent->number, extent->smallest});
    }
    if (!within.empty()) {
      clipped.push_back({input.run, std::move(within)});
    }
  }
  if (!edit.removed.empty()) {
    SLUICE_RETURN_IF_ERROR(Apply(edit));
  }
  pick->inputs = std::move(clipped);
  return {};
}

Status Engine::CompactPart(CompactionPick* pick) {
  CompactionResult result;
  SLUICE_RETURN_IF_ERROR(Plan(*pick, &result));
  MetadataEdit edit;
  for (size_t i = 0; i < pick->inputs.size(); ++i) {
    const RunId run = pick->inputs[i].run;
    for (const ExtentPtr& extent : result.inputs[i].extents) {
      edit.removed.push_back({kSubtable, run, extent->number, extent->smallest});
    }
    if (result.inputs[i].rest) {
      edit.added.push_back({kSubtable, run, *result.inputs[i].rest});
    }
  }
  for (const ExtentPtr& extent : result.reused) {
    edit.added.push_back({kSubtable, pick->output, *extent});
  }
  for (const Extent& extent : result.added) {
    edit.added.push_back({kSubtable, pick->output, extent});
  }
  SLUICE_RETURN_IF_ERROR(Apply(edit));
  const auto kind = static_cast<size_t>(pick->kind);
  ++counters_.compactions[kind];
  counters_.bytes_of_kind[kind] += result.bytes_written;
  counters_.compaction_bytes += result.bytes_written;
  counters_.extents_reused += result.reused.size();
  counters_.longest_part_bytes = std::max(counters_.longest_part_bytes, result.bytes_written);
  TakeOut(result, pick);
  return {};
}

Status Engine::Plan(const CompactionPick& pick, CompactionResult* result) {
  RunIndex output_run;
  for (const Version::Run& run : version_->levels[pick.output.level]) {
    if (run.number == pick.output.run) {
      output_run = run.index;
    }
  }
  CompactionPlanner planner(pick, output_run,
                            {.task_bytes = options_.task_bytes,
                             .part_bytes = PartBytes(*version_, options_),
                             .least_bytes_rewritten = options_.extent_bytes / 2},
                            &tables_, &stop_);
  Output output = NewOutput(shape_);
  for (std::optional<CompactionStep> step;;) {
    ExtentPtr damaged;
    SLUICE_RETURN_IF_ERROR(planner.Next(&step, &damaged));
    if (!step) {
      break;
    }
    if (step->begins_extent) {
      output.EndExtent();
    }
    switch (step->kind) {
      case CompactionStep::Kind::kReuse:
        result->reused.push_back(step->extent);
        output.EndExtent();
        break;
      case CompactionStep::Kind::kStay:
        output.EndExtent();
        break;
      case CompactionStep::Kind::kCopy: {
        TableHeadRef head;
        SLUICE_RETURN_IF_ERROR(tables_.OpenHead(*step->blocks.extent, &head));
        tables_.VisitSpans(
            *step->blocks.extent, KeyOf(step->low),
            KeyOf(UserKey(head->last_key(step->blocks.end - 1))) + 1,
            [&](Key from, Key to, const Written& written) { output.Add(from, to, written); });
        break;
      }
      case CompactionStep::Kind::kMerge:
        MergeStep(*step, &output);
        break;
    }
  }
  output.EndExtent();
  result->added = std::move(output.extents());
  result->bytes_written = output.bytes();
  DivideInputs(pick, planner.end(), result);
  return {};
}

void Engine::MergeStep(const CompactionStep& step, Output* output) const {
  std::vector<const Extent*> extents;
  for (const std::vector<BlockRange>& run : step.runs) {
    const Extent* last = nullptr;
    for (const BlockRange& blocks : run) {
      if (last != blocks.extent.get()) {
        extents.push_back(last = blocks.extent.get());
      }
    }
  }
  Merge(extents, step.range.has_begin ? KeyOf(step.range.begin) : 0,
        step.range.has_end ? KeyOf(step.range.end) : kKeySpace,
        [&](Key from, Key to, const Written& written) { output->Add(from, to, written); });
}

void Engine::DivideInputs(const CompactionPick& pick, const std::optional<std::string>& end,
                          CompactionResult* result) const {
  for (const CompactionInput& input : pick.inputs) {
    CompactionResult::Input& done = result->inputs.emplace_back();
    for (const ExtentPtr& extent : input.extents) {
      if (end && BeginOf(*extent) >= KeyOf(*end)) {
        break;
      }
      done.extents.push_back(extent);
      if (end && EndOf(*extent) > KeyOf(*end)) {
        if (Extent rest = tables_.Slice(*extent, KeyOf(*end), kKeySpace); rest.entries > 0) {
          done.rest = std::move(rest);
        }
      }
    }
  }
}

double Engine::Debt() const {
  return static_cast<double>(version_->LevelBytes(0) + version_->LevelBytes(1)) /
         static_cast<double>(UpperBytes(*version_, options_));
}

size_t Engine::RunsAt(Key key) const {
  std::string internal = KeyText(key);
  PutFixed64(&internal, FirstTrailer(kMaxSequence));
  size_t runs = 0;
  for (const std::vector<Version::Run>& level : version_->levels) {
    for (const Version::Run& run : level) {
      const Extent* const extent = run.index.Find(internal);
      runs += extent != nullptr && BeginOf(*extent) <= key ? 1 : 0;
    }
  }
  return runs;
}

uint64_t Engine::Bytes() const {
  uint64_t bytes = 0;
  for (size_t level = 0; level < kLevels; ++level) {
    bytes += version_->LevelBytes(level);
  }
  return bytes;
}

uint64_t Engine::Extents() const {
  uint64_t extents = 0;
  for (const std::vector<Version::Run>& level : version_->levels) {
    for (const Version::Run& run : level) {
      extents += run.index.extents();
    }
  }
  return extents;
}

uint64_t Engine::MetadataBytes() const {
  uint64_t bytes = 0;
  for (const std::vector<Version::Run>& level : version_->levels) {
    for (const Version::Run& run : level) {
      RunIndex::Iterator at(run.index);
      for (at.SeekToFirst(); at.Valid(); at.Next()) {
        bytes += shape_.MetadataBytes(at.extent()->sliced);
      }
    }
  }
  return bytes;
}

}  // namespace sluice::simulate
