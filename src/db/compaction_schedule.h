// Which sub-tables a compaction may be due in, and which compaction comes next.
//
// A sub-table with nothing due is looked at again only after it has changed, so any number of idle
// ones costs nothing. One whose compaction only a snapshot holds back is looked at again once that
// snapshot is released.
//
//   std::vector<CompactionSchedule::Candidate> candidates = schedule.Take(lock, &under_way);
//   schedule.Pick(&candidates);  // without the mutex: if extents were read, it looks at many
//   std::optional<CompactionSchedule::Candidate> next = schedule.Choose(lock, &candidates);

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "compaction/compaction_picker.h"
#include "db/snapshots.h"
#include "db/state_mutex.h"
#include "db/subtable_impl.h"
#include "sluice/options.h"

namespace sluice {

// Functions that take a lock require the database's mutex.
class CompactionSchedule {
 public:
  CompactionSchedule(const Options& options, const Snapshots& snapshots)
      : options_(options), snapshots_(snapshots) {}

  // Something has changed in the sub-table.
  void Recheck(const StateLock&, SubtableImpl* subtable) {
    if (!subtable->dropped) {
      subtable->nothing_due = false;
      unchecked_[subtable->id()] = subtable;
    }
  }
  void Forget(const StateLock&, const SubtableImpl& subtable) {
    unchecked_.erase(subtable.id());
    cuts_.erase(subtable.id());
    held_back_subtables_.erase(subtable.id());
  }
  // Whether the release of a snapshot may have made a compaction due. Costs two loads.
  bool MayBeFreed() const {
    const SequenceNumber held_back = held_back_.load();
    return held_back != kMaxSequence && snapshots_.Oldest() >= held_back;
  }
  // To be called if so: the sub-tables that were held back are looked at again.
  void RecheckHeldBack(const StateLock&) {
    held_back_ = kMaxSequence;  // set anew when they are looked at
    for (const auto& [id, subtable] : held_back_subtables_) {
      subtable->nothing_due = false;
    }
    unchecked_.merge(held_back_subtables_);
    held_back_subtables_.clear();
  }

  // The sub-table has cuts to be carried out (range_cuts.h), before any compaction begins.
  void AddCuts(const StateLock&, SubtableImpl* subtable) { cuts_[subtable->id()] = subtable; }
  // A sub-table that has, and that nobody compacts; it counts as compacting, and its cuts as
  // carried out. Null if there is none.
  SubtableImpl* TakeCuts(const StateLock& lock);
  // The same for this one: whether it has cuts. REQUIRES: it counts as compacting.
  bool TakeCuts(const StateLock&, const SubtableImpl& subtable) {
    return cuts_.erase(subtable.id()) != 0;
  }

  struct Candidate {
    SubtableImpl* subtable;
    std::shared_ptr<const Version> version;  // until Pick
    std::optional<CompactionPick> pick{};
    LaterPick later{};
  };
  // Some sub-tables to look at, in turn, which nobody else compacts until Choose; none if there are
  // none. `*under_way`: some were left out because a compaction is under way in them, or a CompactRange
  // is about to begin.
  // REQUIRES: TakeCuts has just found nothing, under the same lock.
  std::vector<Candidate> Take(const StateLock& lock, bool* under_way);
  // Picks what is due in each. Takes no lock: only flushes change the sub-tables meanwhile, and
  // what they add is newer than all that is picked. `device_full`: PickInputs. `warm`: extents may
  // have counted accesses.
  void Pick(std::vector<Candidate>* candidates, bool device_full, bool warm) const;
  // The candidate whose pick comes first by Options::compaction_order, if there is any; sub-tables whose
  // picks are of the same kind take turns. It counts as compacting. Puts the others back; those with
  // nothing due are not looked at again before something changes.
  std::optional<Candidate> Choose(const StateLock& lock, std::vector<Candidate>* candidates);
  // Nothing is due, as far as is known.
  bool AllChecked(const StateLock&) const { return unchecked_.empty() && taken_ == 0; }
  bool HasCuts(const StateLock&) const { return !cuts_.empty(); }

 private:
  const Options& options_;
  const Snapshots& snapshots_;
  // By id.
  std::map<uint32_t, SubtableImpl*> unchecked_;
  std::map<uint32_t, SubtableImpl*> held_back_subtables_;
  std::map<uint32_t, SubtableImpl*> cuts_;
  size_t taken_ = 0;     // candidates between Take and Choose
  uint32_t chosen_ = 0;  // the last one's id
  // Once the oldest snapshot is at least this, one of held_back_subtables_ has a compaction due.
  std::atomic<SequenceNumber> held_back_{kMaxSequence};
};

}  // namespace sluice
