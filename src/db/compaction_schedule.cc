#include "db/compaction_schedule.h"

#include <algorithm>
#include <utility>

#include "util/check.h"

namespace sluice {

namespace {

// Looked at for one compaction. Of thousands that have one due, each would be looked at thousands of
// times.
constexpr size_t kCandidates = 64;

}  // namespace

std::vector<CompactionSchedule::Candidate> CompactionSchedule::Take(const StateLock&,
                                                                    bool* under_way) {
  std::vector<Candidate> candidates;
  *under_way = false;
  auto at = unchecked_.upper_bound(chosen_);
  for (size_t left = unchecked_.size(); left > 0 && candidates.size() < kCandidates; --left) {
    if (at == unchecked_.end()) {
      at = unchecked_.begin();
    }
    SubtableImpl* const subtable = at->second;
    if (subtable->compacting || subtable->range_next) {
      *under_way = true;
      ++at;
      continue;
    }
    SLUICE_CHECK(cuts_.count(at->first) == 0);  // or what is cut might come back
    subtable->compacting = true;
    candidates.push_back({.subtable = subtable, .version = subtable->PinVersion()});
    at = unchecked_.erase(at);
  }
  taken_ += candidates.size();
  return candidates;
}

SubtableImpl* CompactionSchedule::TakeCuts(const StateLock&) {
  const auto free = std::find_if(cuts_.begin(), cuts_.end(),
                                 [](const auto& entry) { return !entry.second->compacting; });
  if (free == cuts_.end()) {
    return nullptr;
  }
  SubtableImpl* const subtable = free->second;
  subtable->compacting = true;
  cuts_.erase(free);
  return subtable;
}

void CompactionSchedule::Pick(std::vector<Candidate>* candidates, bool device_full,
                              bool warm) const {
  for (Candidate& candidate : *candidates) {
    candidate.pick = PickCompaction(*candidate.version, options_,
                                    {.oldest_snapshot = snapshots_.Oldest(),
                                     .read_credit = candidate.subtable->read_credit.value(),
                                     .device_full = device_full,
                                     .totals = warm ? nullptr : &candidate.subtable->totals},
                                    &candidate.later);
    candidate.version.reset();
  }
}

std::optional<CompactionSchedule::Candidate> CompactionSchedule::Choose(
    const StateLock& lock, std::vector<Candidate>* candidates) {
  const auto rank = [&](const Candidate& candidate) {
    const std::vector<CompactionKind>& order = options_.compaction_order;
    return std::pair(
        candidate.pick ? std::find(order.begin(), order.end(), candidate.pick->kind) - order.begin()
                       : PTRDIFF_MAX,
        candidate.subtable->id() <= chosen_);
  };
  const auto best =
      std::min_element(candidates->begin(), candidates->end(),
                       [&](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
  std::optional<Candidate> choice;
  for (auto at = candidates->begin(); at != candidates->end(); ++at) {
    SubtableImpl* const subtable = at->subtable;
    subtable->compacting = false;
    if (subtable->dropped) {
      continue;
    }
    if (at->pick && at == best) {
      subtable->compacting = true;
      chosen_ = subtable->id();
      subtable->read_credit.Spend(at->pick->read_credit);
      choice = std::move(*at);
      continue;
    }
    if (at->pick) {
      Recheck(lock, subtable);
      continue;
    }
    subtable->nothing_due = true;
    subtable->read_credit.Await(at->later.read_credit);
    const SequenceNumber held_back = at->later.oldest_snapshot;
    held_back_ = std::min(held_back_.load(), held_back);
    if (held_back == kMaxSequence) {
      continue;
    }
    // If that snapshot was released before held_back_ was set, its release asked for no recheck.
    if (snapshots_.Oldest() >= held_back) {
      Recheck(lock, subtable);
    } else {
      held_back_subtables_[subtable->id()] = subtable;
    }
  }
  taken_ -= candidates->size();
  return choice;
}

}  // namespace sluice
