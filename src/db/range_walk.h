// What a CompactRange goes through: its range part by part, and then values to be moved. What a full
// tier has no room for is left for a second round: other keys, and values, may make room.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "compaction/compaction_picker.h"
#include "compaction/space_limit.h"
#include "compaction/value_picker.h"
#include "db/db_state.h"
#include "util/status.h"

namespace sluice {

class RangeWalk {
 public:
  RangeWalk(DbState* db, std::string_view begin, std::string_view end)
      : db_(*db), begin_(begin), end_(end), from_(begin) {}

  bool done() const { return done_; }
  // What could not be read, and is set aside; the rest is compacted all the same.
  const Status& damage() const { return damage_; }

  // What is next, if anything is. `behind`: writers wait for another compaction, so this thread carries
  // out both by turns, that one first.
  std::optional<CompactionPick> Pick(const Version& version, bool behind) {
    const bool device_full = no_space_ || !refused_.ok() || db_.full.full();
    std::optional<CompactionPick> pick;
    next_.clear();
    if (behind && !for_writers_) {
      LaterPick later;
      pick = PickCompaction(version, db_.options,
                            {.oldest_snapshot = db_.snapshots.Oldest(), .device_full = device_full},
                            &later);
    }
    for_writers_ = pick.has_value();
    if (pick) {
      return pick;
    }
    if (!range_done_) {
      const uint64_t bytes =
          kPartsAtOnce * PartBytes(version, db_.options) * (1 + db_.options.compaction_threads);
      pick = PickRange(version, from_, end_, bytes);
      range_done_ = !pick || !pick->range.has_end || (!end_.empty() && pick->range.end >= end_);
      next_ = range_done_ ? std::string() : pick->range.end;
    } else {
      pick = PickValues(version, db_.options, device_full);
    }
    done_ = range_done_ && (!pick || version.values == nullptr);
    return pick;
  }

  // What became of the pick: an error ends the walk.
  Status Note(const CompactionPick& pick, const Status& compacted) {
    if (!compacted.IsNoSpace()) {
      return compacted;
    }
    if (pick.relocate.size() > 1) {
      no_space_ = true;  // for several value extents at once
      return {};
    }
    if (!db_.HasTiers() || (again_ && !for_writers_)) {
      return compacted;
    }
    if (!for_writers_) {
      refused_ = compacted;
      done_ = range_done_ && !pick.relocate.empty();
    }
    return {};
  }

  void GoOn(const Status& set_aside) {
    if (!set_aside.ok() && !for_writers_) {
      damage_ = set_aside;
      done_ = range_done_ = false;  // what is left is picked again
    } else if (!next_.empty()) {
      from_ = std::move(next_);
    }
    if (done_ && !refused_.ok()) {
      again_ = true;
      refused_ = {};
      from_.assign(begin_);
      done_ = range_done_ = false;
    }
  }

 private:
  // So many parts for each thread are picked at once. Between two picks other compactions get their
  // turn, if writers wait for them.
  static constexpr uint64_t kPartsAtOnce = 2;

  DbState& db_;
  const std::string_view begin_;
  const std::string_view end_;
  std::string from_;
  std::string next_;  // where the pick ends; empty: with the range
  bool for_writers_ = false;
  bool no_space_ = false;
  bool range_done_ = false;  // but not yet the values that it left to be moved
  Status refused_;
  bool again_ = false;
  bool done_ = false;
  Status damage_;
};

}  // namespace sluice
