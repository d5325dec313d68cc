#include "db/compaction_schedule.h"

#include <algorithm>
#include <utility>

namespace sluice {

std::optional<CompactionSchedule::Choice> CompactionSchedule::Next(const StateLock& lock,
                                                                   bool* under_way) {
  const auto rank = [&](const CompactionPick& pick) {
    return std::find(options_.compaction_order.begin(), options_.compaction_order.end(), pick.kind);
  };
  std::optional<Choice> best;
  bool retry = true;
  while (retry && !best) {
    retry = false;
    *under_way = false;
    for (auto at = unchecked_.begin(); at != unchecked_.end();) {
      SubtableImpl* const subtable = at->second;
      if (subtable->compacting || subtable->range_next) {
        *under_way = true;
        ++at;
        continue;
      }
      LaterPick later;
      std::optional<CompactionPick> pick =
          PickCompaction(subtable->version(lock), options_,
                         {snapshots_.Oldest(), subtable->read_credit.value()}, &later);
      if (pick) {
        ++at;
        if (!best || rank(*pick) < rank(best->pick)) {
          best = {subtable, std::move(*pick)};
        }
        continue;
      }
      subtable->read_credit.Await(later.read_credit);
      const SequenceNumber held_back = later.oldest_snapshot;
      held_back_ = std::min(held_back_.load(), held_back);
      // A snapshot that was released before it could see that has not called for another look.
      if (held_back != kMaxSequence && snapshots_.Oldest() >= held_back) {
        retry = true;
        ++at;
        continue;
      }
      if (held_back != kMaxSequence) {
        held_back_subtables_[at->first] = subtable;
      }
      at = unchecked_.erase(at);
    }
  }
  if (best) {
    best->subtable->read_credit.Spend(best->pick.read_credit);
  }
  return best;
}

}  // namespace sluice
