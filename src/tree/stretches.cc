#include "tree/stretches.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice {

size_t Stretches::Of(std::string_view user_key, size_t hint) const {
  const auto begins_behind = [&](size_t i) { return begins_[i] > user_key; };
  // One that begins at or before the key, and one that begins behind it, with ever longer steps.
  size_t low = std::min(hint, begins_.size() - 1);
  size_t high = low + 1;
  for (size_t step = 1; low > 0 && begins_behind(low); step *= 2) {
    high = low;
    low -= std::min(low, step);
  }
  for (size_t step = 1; high < begins_.size() && !begins_behind(high); step *= 2) {
    low = high;
    high = std::min(begins_.size(), high + step);
  }
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (begins_behind(middle) ? high : low) = middle;
  }
  return low;
}

size_t Stretches::Repeated(size_t first, size_t end) const {
  size_t repeated = 0;
  for (size_t i = std::max<size_t>(first, 1); i < std::min(end, begins_.size()); ++i) {
    repeated += begins_[i] == begins_[i - 1] ? 1 : 0;
  }
  return repeated;
}

void Stretches::TellOverlap(const RunId& id, const Extent& extent, bool does,
                            const std::vector<Observer*>& observers) {
  const size_t first = Of(UserKey(extent.smallest), hint_);
  const size_t end = Of(UserKey(extent.largest), first) + 1;
  hint_ = first;
  for (Observer* const observer : observers) {
    observer->Overlaps(id, extent, first, end, does);
  }
}

void Stretches::UpdateRun(const RunId& id, const RunIndex& before, const RunIndex& after,
                          const std::vector<Observer*>& observers) {
  const bool above = id.level < kLastLevel && !begins_.empty();
  const auto tell = [&](const Extent& extent, bool came) {
    for (Observer* const observer : observers) {
      observer->Changed(id, extent, came);
    }
    if (above) {
      TellOverlap(id, extent, came, observers);
    }
  };
  RunIndex::VisitChanges(
      before, after, [&](const ExtentPtr& gone) { tell(*gone, false); },
      [&](const ExtentPtr& come) { tell(*come, true); });
}

void Stretches::Replace(size_t first, size_t end, std::vector<std::string> begins,
                        const std::vector<RunIndex::Summary>& now, const Runs& runs,
                        const std::vector<Observer*>& observers) {
  // The extents above the borders that change: the first one's, too, and with it the end of the
  // stretch before.
  std::vector<std::pair<RunId, const Extent*>> above;
  const size_t from = first - std::min<size_t>(first, 1);
  std::string begin;
  if (from > 0) {
    begin = begins_[from];
    PutFixed64(&begin, FirstTrailer(kMaxSequence));
  }
  for (auto run = runs.begin(); run != runs.end() && run->first.level < kLastLevel; ++run) {
    RunIndex::Iterator at(run->second);
    if (from > 0) {
      at.Seek(begin);
    } else {
      at.SeekToFirst();
    }
    for (; at.Valid() && (end == begins_.size() || UserKey(at.extent()->smallest) < begins_[end]);
         at.Next()) {
      above.emplace_back(run->first, at.extent().get());
    }
  }
  const auto tell = [&](bool does) {
    if (!begins_.empty()) {
      for (const auto& [id, extent] : above) {
        TellOverlap(id, *extent, does, observers);
      }
    }
  };
  tell(false);
  repeated_ -= Repeated(first, end + 1);
  const auto place = [&](size_t i) { return begins_.begin() + static_cast<ptrdiff_t>(i); };
  begins_.erase(place(first), place(end));
  begins_.insert(place(first), std::make_move_iterator(begins.begin()),
                 std::make_move_iterator(begins.end()));
  repeated_ += Repeated(first, first + begins.size() + 1);
  for (Observer* const observer : observers) {
    observer->Replaced(first, end, now);
  }
  tell(true);
}

void Stretches::UpdateLast(const RunIndex& before, const RunIndex& after, const Runs& runs,
                           const std::vector<Observer*>& observers) {
  const auto [first, before_end, after_end] = RunIndex::ChangedLeaves(before, after);
  if (first == before_end && first == after_end) {
    return;
  }
  std::vector<std::string> begins;
  std::vector<RunIndex::Summary> now;
  after.VisitLeaves(
      [&](const Extent& extent, const RunIndex::Summary& summary) {
        begins.emplace_back(UserKey(extent.smallest));
        now.push_back(summary);
      },
      first, after_end);
  if (begins.size() == before_end - first &&
      std::equal(begins.begin(), begins.end(), begins_.begin() + static_cast<ptrdiff_t>(first))) {
    for (Observer* const observer : observers) {
      observer->Rewritten(first, now);
    }
  } else {
    Replace(first, before_end, std::move(begins), now, runs, observers);
  }
}

void Stretches::Update(const Runs& runs, const std::vector<Observer*>& observers) {
  const RunIndex none;
  const auto of = [&](const Runs& all, const RunId& id) -> const RunIndex& {
    const auto found = all.find(id);
    return found == all.end() ? none : found->second;
  };
  for (const auto& [id, run] : runs_) {
    if (id.level <= kLastLevel && !runs.contains(id)) {
      UpdateRun(id, run, none, observers);
    }
  }
  for (const auto& [id, run] : runs) {
    if (id.level <= kLastLevel) {
      UpdateRun(id, of(runs_, id), run, observers);
    }
  }
  constexpr RunId kLast{kLastLevel, 0};
  UpdateLast(of(runs_, kLast), of(runs, kLast), runs, observers);
  runs_ = runs;
}

}  // namespace sluice
