#include "tree/version_iterator.h"

#include <utility>

#include "tree/covered_iterator.h"
#include "tree/run_iterator.h"

namespace sluice {

namespace {

// By the bounds of its extents.
bool MayHaveKeys(const RunIndex& run, const KeyBounds& bounds) {
  if (run.empty() || (bounds.lower == nullptr && bounds.upper == nullptr)) {
    return !run.empty();
  }
  KeyBuffer begin;
  SetSeekTarget(bounds.lower != nullptr ? std::string_view(*bounds.lower) : std::string_view(),
                kMaxSequence, &begin);
  const Extent* const first = run.Find(begin.view());
  return first != nullptr && !bounds.AllBehind(UserKey(first->smallest));
}

}  // namespace

std::unique_ptr<RecordIterator> Covered(std::unique_ptr<RecordIterator> part,
                                        const std::shared_ptr<const RangeDeletions>& deletions,
                                        SequenceNumber snapshot, SequenceNumber newest) {
  return deletions == nullptr
             ? std::move(part)
             : std::make_unique<CoveredIterator>(std::move(part), deletions, snapshot, newest);
}

size_t AddRuns(const Version& version, ExtentReader* reader,
               const std::shared_ptr<const RangeDeletions>& deletions, SequenceNumber snapshot,
               bool fill_cache, SeekReach* reach, const KeyBounds& bounds, IteratorParts* parts) {
  size_t runs = 0;
  const auto add = [&](const RunIndex& run, SeekReach* of_level) {
    if (!MayHaveKeys(run, bounds)) {
      return;
    }
    ++runs;
    auto at = std::make_unique<RunIterator>(reader, run, snapshot, fill_cache, of_level, bounds);
    if (deletions == nullptr) {
      parts->AddRun(std::move(at));
    } else {
      // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the parts own it
      parts->Add(Covered(std::move(at), deletions, snapshot, /*newest=*/0));
    }
  };
  for (size_t level = 0; level < version.levels.size(); ++level) {
    for (const Version::Run& run : version.levels[level]) {
      add(run.index, reach == nullptr ? nullptr : reach + level);
    }
  }
  const size_t of_levels = runs;
  for (const RunIndex& aside : version.aside) {
    add(aside, nullptr);
  }
  return of_levels;
}

std::unique_ptr<Iterator> NewIteratorOverRuns(std::shared_ptr<const Version> version,
                                              ExtentReader* reader) {
  std::shared_ptr<const RangeDeletions> cuts;
  if (!version->cuts.empty()) {
    cuts = std::make_shared<const RangeDeletions>(version->cuts);
  }
  IteratorParts parts;
  AddRuns(*version, reader, cuts, kMaxSequence, /*fill_cache=*/false, /*reach=*/nullptr, {},
          &parts);
  return std::make_unique<MergedIterator>(std::move(parts), kMaxSequence, DeadKeys(), KeyBounds(),
                                          std::move(version));
}

}  // namespace sluice
