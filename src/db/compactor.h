// Carries out compactions that were picked: cuts them into shares and parts, runs these, and installs
// what they made.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compaction/compaction_job.h"
#include "compaction/compaction_picker.h"
#include "db/db_state.h"

namespace sluice {

// Thread-safe.
class Compactor {
 private:
  // A compaction under way, in shares: ranges of keys that are carried out part by part, by the
  // thread that began the compaction and by idle ones. The mutex guards what changes, except in a
  // share that a thread has taken.
  struct Compaction {
    SubtableImpl* subtable;
    std::vector<CompactionPick> shares{};
    std::vector<CompactionPick*> waiting{};  // shares that are not done, nor taken; the next last
    bool one_part = false;
    bool more = false;  // of one_part
    size_t taken = 0;
    Status status{};     // the first error
    Status set_aside{};  // as Compact's

    // Null if none waits.
    CompactionPick* Take() {
      if (waiting.empty()) {
        return nullptr;
      }
      CompactionPick* const share = waiting.back();
      waiting.pop_back();
      ++taken;
      return share;
    }
  };

 public:
  // The state outlives it.
  explicit Compactor(DbState* db) : db_(*db) {}
  Compactor(const Compactor&) = delete;
  Compactor& operator=(const Compactor&) = delete;

  // Carries out the pick on this thread, in as many shares as there are `threads` that may take
  // one, and takes out of the pick what is done. Also ok if an input could not be read: it is set
  // aside, `*set_aside` says why, and what is left is to be picked again. REQUIRES: the sub-table
  // has no other compaction meanwhile.
  Status Compact(SubtableImpl* subtable, CompactionPick* pick, size_t threads, Status* set_aside);
  // The same with the pick's first part alone. `*more`: the next one is to follow.
  Status CompactOnePart(SubtableImpl* subtable, CompactionPick* pick, Status* set_aside,
                        bool* more);

  struct Share {
    Compaction* compaction;
    CompactionPick* pick;
    bool is_help = false;  // taken by another thread than the compaction's own
  };
  // A share of any compaction under way; none if all are taken. CompactFirstPart must follow.
  std::optional<Share> TakeShare(const StateLock& lock);
  // Compacts the first part of what is left of the share, which then waits again or is done. Throws
  // nothing: the thread that began the compaction waits for this one's end.
  void CompactFirstPart(const Share& share);
  // Threads between TakeShare and the end of that share's part. When a compaction ends, none counts
  // any more that has helped with it, so that the next one is divided among all.
  size_t helping(const StateLock&) const { return helping_; }

 private:
  Status CarryOut(Compaction* compaction, CompactionPick* pick, size_t threads, Status* set_aside);
  // Whether what is left of the compaction is to be picked again after one of level 0, whose runs
  // slow writers down: parts may take so long that these come to a stop otherwise.
  bool MustGiveWay(const StateLock& lock, const Compaction& compaction) const;
  // Cuts the inputs at these user keys by an edit of its own; slices beyond the pick's range stay
  // where they are, and leave the pick.
  Status Cut(SubtableImpl* subtable, const std::vector<std::string>& keys, CompactionPick* pick,
             Status* set_aside);
  // Compacts the first part of what is left of the pick.
  Status CompactPart(SubtableImpl* subtable, CompactionPick* pick, Status* set_aside);
  struct Manner {
    bool plainly = false;  // without reuse, and on the CPU
    bool at_home = false;  // writes to the database's own directory, whatever the level's tier is
  };
  Status RunPick(SubtableImpl* subtable, const CompactionPick& pick, Manner manner,
                 CompactionResult* result);
  Status InstallOutput(SubtableImpl* subtable, CompactionPick* pick,
                       const CompactionResult& result);
  // Takes the extent, an input of `pick`, out of its level: reads still look into it, compactions
  // go on without it.
  Status SetAside(SubtableImpl* subtable, const CompactionPick& pick, const ExtentPtr& extent,
                  const Status& why);

  DbState& db_;
  // Under the mutex of the state.
  std::vector<Compaction*> under_way_;
  size_t helping_ = 0;
};

}  // namespace sluice
