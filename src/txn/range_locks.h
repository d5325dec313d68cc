// The locks of a sub-table in which ranges are locked: who has what, rows as well as ranges, and who
// waits in which order. LockTable waits, counts and searches for cycles.
//
// Two requests exclude each other if they overlap, are of different owners, and one of them is
// exclusive. There is one line for the sub-table. Whoever is in it waits for the holders that its
// request excludes, and for those before it that it excludes. Who wants another lock stands behind
// all that wait, except those who wait for a lock that it has, be it through others in line: they
// wait for it anyway, and behind them it would be in a deadlock at once. For rows this is the line
// of LockTable: among those who want the same row, the order is the same.
//
// An owner's ranges that overlap or touch become one, in each mode: a scan that locks as it goes has
// one range. Rows are kept beside the ranges that cover them: the locks of rows outlive
// those of ranges when the transaction prepares.
//
// Compatible with threads in this way: everything with `mutex` held. What changes anything while
// somebody is in line, or becomes so, also with the lock table's mutex of waits, with which alone
// the search for cycles calls WaitsFor.

#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "txn/interval_tree.h"
#include "txn/key_span.h"
#include "txn/lock_table.h"
#include "util/mutex.h"

namespace sluice {

// A lock that `owner` has, or waits for.
struct LockTable::RangeHold {
  RangeHold(Owner* of, const KeySpan& what, LockMode how);

  KeySpan range() const {
    const std::string_view all = keys;
    return is_row ? KeySpan::Row(all)
                  : KeySpan::Between(all.substr(0, begin_bytes), all.substr(begin_bytes));
  }
  bool Excludes(const RangeHold& other) const {
    return owner != other.owner &&
           (mode == LockMode::kExclusive || other.mode == LockMode::kExclusive) &&
           range().Overlaps(other.range());
  }
  size_t bytes() const { return BytesOf(keys); }

  Owner* const owner;
  LockMode mode;
  const bool is_row;
  const uint32_t begin_bytes;
  uint32_t times = 1;   // as in Hold; of a range it does not matter
  uint64_t number = 0;  // its place in line; then that among those that were given
  const std::string keys;
  RangeHold* left = nullptr;
  RangeHold* right = nullptr;
  const RangeHold* last = nullptr;
};

class LockTable::RangeLocks {
 public:
  using HoldPtr = std::unique_ptr<RangeHold>;
  // What owners gave back.
  struct Freed {
    size_t locks = 0;
    size_t bytes = 0;
  };

  explicit RangeLocks(uint32_t subtable) : subtable_(subtable) {}

  uint32_t subtable() const { return subtable_; }
  bool InLine() const { return !line_.empty(); }
  // Whether nobody has anything here, nor waits for it. Owners count until ReleaseAll.
  bool IsIdle() const { return own_.empty() && line_.empty(); }

  // The owner's lock of the row; null if it has none.
  RangeHold* FindRow(const Owner* owner, std::string_view key) const;
  // Whether one of its ranges, in this mode or exclusive, has all of these keys.
  bool Covers(const Owner* owner, const KeySpan& range, LockMode mode) const;
  // Whether it can be given now.
  bool MayHave(const RangeHold& wanted) const;
  // Whom it would wait for: a holder, or else who is in line (`*holds` tells).
  const Owner* Blocker(const RangeHold& wanted, bool* holds) const;

  // Calls call(owner) for each whom the request, which is in line, waits for.
  template <typename F>
  void ForEachBlocker(const RangeHold& waiter, const F& call) const {
    for (const auto& [owner, own] : own_) {
      if (owner != waiter.owner &&
          (OwnExcludes(own, waiter) || (own.newest != nullptr && own.newest->Excludes(waiter)))) {
        call(*owner);
      }
    }
    for (size_t i = 0; line_[i].get() != &waiter; ++i) {
      if (line_[i]->Excludes(waiter)) {
        call(*line_[i]->owner);
      }
    }
  }

  // Calls call(owner) for each in line whom the lock will keep waiting when its owner gets it: of a
  // request in line, those behind it.
  template <typename F>
  void ForEachPassed(const RangeHold& lock, const F& call) const {
    for (size_t i = line_.size(); i > 0 && line_[i - 1].get() != &lock; --i) {
      if (line_[i - 1]->Excludes(lock)) {
        call(*line_[i - 1]->owner);
      }
    }
  }

  // A row that the owner has becomes exclusive, or is counted once more.
  void Give(HoldPtr hold);
  // Calls call(owner) for each who gets what it waits for.
  template <typename F>
  void GiveToLine(const F& call) {
    std::vector<HoldPtr> left;
    left.reserve(line_.size());
    // As a rule what excludes one excludes the next one, too: thousands may want the same.
    const RangeHold* before = nullptr;
    for (HoldPtr& hold : line_) {
      if (before == nullptr || !before->Excludes(*hold)) {
        before = FindHolder(*hold);
        before = before != nullptr ? before : FindExcluding(left, *hold);
      }
      if (before == nullptr) {
        call(hold->owner);
        Give(std::move(hold));
      } else {
        left.push_back(std::move(hold));
      }
    }
    line_ = std::move(left);
  }

  // Returns the request in line.
  const RangeHold* Enter(HoldPtr wanted);
  // At the end of the line, for who was in line elsewhere.
  const RangeHold* Append(HoldPtr wanted);
  HoldPtr Leave(const RangeHold* waiter);
  // Whether the request, which is in line, waits for this owner, who waits for something, too.
  // `*holds`: because of what it has.
  bool WaitsFor(const RangeHold& waiter, const Owner& other, bool* holds) const;

  // The range that the owner was given last, and which stands apart until one of these: it becomes
  // one with its others, or goes.
  Freed Keep(const Owner* owner);
  Freed GiveUp(const Owner* owner);
  // As LockTable's. The caller then gives to those in line.
  bool ReleaseRow(const Owner* owner, std::string_view key);
  Freed KeepExclusiveRows(const Owner* owner);
  Freed ReleaseAll(const Owner* owner);

  // Calls call(hold) for each row that the owner has.
  template <typename F>
  void ForEachRow(const Owner* owner, const F& call) const {
    if (const auto own = own_.find(owner); own != own_.end()) {
      for (const HoldPtr& hold : own->second.holds) {
        if (hold->is_row) {
          call(*hold);
        }
      }
    }
  }

  Mutex mutex;
  bool dropped = false;  // the sub-table is; under the mutex

 private:
  // An owner's locks of a kind are disjoint, so their order is enough to find what overlaps.
  enum Kind : uint8_t { kSharedRow, kExclusiveRow, kSharedRange, kExclusiveRange };
  struct Place {
    Kind kind;
    std::string_view begin;
  };
  static Kind KindOf(bool is_row, LockMode mode) {
    return static_cast<Kind>((is_row ? 0 : 2) + (mode == LockMode::kExclusive ? 1 : 0));
  }
  static Place PlaceOf(const HoldPtr& hold) {
    return {KindOf(hold->is_row, hold->mode), hold->range().begin()};
  }
  static Place PlaceOf(const Place& place) { return place; }
  struct InPlace {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      const Place x = PlaceOf(a);
      const Place y = PlaceOf(b);
      return x.kind != y.kind ? x.kind < y.kind : x.begin < y.begin;
    }
  };
  using Holds = std::set<HoldPtr, InPlace>;
  struct Own {
    Holds holds{};
    HoldPtr newest{};  // a range, until Keep or GiveUp
  };
  using Tree = IntervalTree<RangeHold>;

  // The first of the kind that overlaps the range.
  static const RangeHold* FindOwn(const Holds& holds, Kind kind, const KeySpan& range);
  // Whether what this owner has keeps others from a lock.
  static bool OwnExcludes(const Own& own, const RangeHold& wanted);
  // The first that excludes it; null if none does.
  static const RangeHold* FindExcluding(const std::vector<HoldPtr>& some, const RangeHold& wanted);

  // Who holds what excludes it; null if nobody does.
  const RangeHold* FindHolder(const RangeHold& wanted) const;
  // For each in line: whether it waits for locks of this owner, directly or through others in line.
  std::vector<bool> WhoWaitFor(const Owner* owner) const;
  Tree& TreeOf(LockMode mode) { return trees_[mode == LockMode::kExclusive ? 1 : 0]; }
  // Moves the lock from its owner's to `*to`, or out of all.
  HoldPtr Remove(Holds* holds, Holds::const_iterator at, Freed* freed);

  const uint32_t subtable_;
  Tree trees_[2];  // what is shared, and what is not; those of `newest`, too
  std::unordered_map<const Owner*, Own> own_;
  std::vector<HoldPtr> line_;
  uint64_t given_ = 0;
};

}  // namespace sluice
