#include "txn/range_locks.h"

#include <algorithm>
#include <iterator>

#include "util/check.h"

namespace sluice {

namespace {

std::string Join(const KeySpan& range) {
  std::string keys;
  keys.reserve(range.begin().size() + range.end().size());
  keys.append(range.begin());
  return keys.append(range.end());
}

}  // namespace

LockTable::RangeHold::RangeHold(Owner* of, const KeySpan& what, LockMode how)
    : owner(of),
      mode(how),
      is_row(what.is_row()),
      begin_bytes(static_cast<uint32_t>(what.begin().size())),
      keys(Join(what)) {}

const LockTable::RangeHold* LockTable::RangeLocks::FindOwn(const Holds& holds, Kind kind,
                                                           const KeySpan& range) {
  const auto at = holds.lower_bound(Place{kind, range.begin()});
  const auto overlaps = [&](const HoldPtr& hold) {
    return KindOf(hold->is_row, hold->mode) == kind && hold->range().Overlaps(range);
  };
  // Among those that begin before it, only the last one can reach so far.
  if (at != holds.begin() && overlaps(*std::prev(at))) {
    return std::prev(at)->get();
  }
  return at != holds.end() && overlaps(*at) ? at->get() : nullptr;
}

bool LockTable::RangeLocks::OwnExcludes(const Own& own, const RangeHold& wanted) {
  const KeySpan range = wanted.range();
  return FindOwn(own.holds, kExclusiveRow, range) != nullptr ||
         FindOwn(own.holds, kExclusiveRange, range) != nullptr ||
         (wanted.mode == LockMode::kExclusive &&
          (FindOwn(own.holds, kSharedRow, range) != nullptr ||
           FindOwn(own.holds, kSharedRange, range) != nullptr));
}

bool LockTable::RangeLocks::AnyExcludes(const std::vector<HoldPtr>& some, const RangeHold& wanted) {
  return std::any_of(some.begin(), some.end(),
                     [&](const HoldPtr& hold) { return hold->Excludes(wanted); });
}

LockTable::RangeHold* LockTable::RangeLocks::FindRow(const Owner* owner,
                                                     std::string_view key) const {
  const auto own = own_.find(owner);
  if (own == own_.end()) {
    return nullptr;
  }
  for (const Kind kind : {kExclusiveRow, kSharedRow}) {
    if (const auto found = own->second.holds.find(Place{kind, key});
        found != own->second.holds.end()) {
      return found->get();
    }
  }
  return nullptr;
}

bool LockTable::RangeLocks::Covers(const Owner* owner, const KeySpan& range, LockMode mode) const {
  const auto own = own_.find(owner);
  if (own == own_.end()) {
    return false;
  }
  const auto covers = [&](Kind kind) {
    const RangeHold* const found = FindOwn(own->second.holds, kind, range);
    return found != nullptr && found->range().Contains(range);
  };
  return covers(kExclusiveRange) || (mode == LockMode::kShared && covers(kSharedRange));
}

const LockTable::RangeHold* LockTable::RangeLocks::FindHolder(const RangeHold& wanted) const {
  const auto other = [&](const RangeHold& hold) { return hold.owner != wanted.owner; };
  const KeySpan range = wanted.range();
  const RangeHold* const found = trees_[1].Find(range, other);
  return found != nullptr || wanted.mode == LockMode::kShared ? found
                                                              : trees_[0].Find(range, other);
}

std::vector<bool> LockTable::RangeLocks::WhoWaitFor(const Owner* owner) const {
  std::vector<bool> waits(line_.size());
  const auto own = own_.find(owner);
  if (own == own_.end()) {
    return waits;
  }
  for (size_t i = 0; i < line_.size(); ++i) {
    waits[i] = OwnExcludes(own->second, *line_[i]);
    for (size_t j = 0; j < i && !waits[i]; ++j) {
      waits[i] = waits[j] && line_[j]->Excludes(*line_[i]);
    }
  }
  return waits;
}

bool LockTable::RangeLocks::MayHave(const RangeHold& wanted) const {
  bool holds;
  return Blocker(wanted, &holds) == nullptr;
}

const LockTable::Owner* LockTable::RangeLocks::Blocker(const RangeHold& wanted, bool* holds) const {
  const RangeHold* const holder = FindHolder(wanted);
  *holds = holder != nullptr;
  if (holder != nullptr) {
    return holder->owner;
  }
  if (!AnyExcludes(line_, wanted)) {
    return nullptr;
  }
  const std::vector<bool> waits_for_it = WhoWaitFor(wanted.owner);
  for (size_t i = 0; i < line_.size(); ++i) {
    if (!waits_for_it[i] && line_[i]->Excludes(wanted)) {
      return line_[i]->owner;
    }
  }
  return nullptr;
}

void LockTable::RangeLocks::Give(HoldPtr hold) {
  Own& own = own_[hold->owner];
  if (hold->is_row) {
    if (RangeHold* const had = FindRow(hold->owner, hold->keys)) {
      had->times += had->times == kCountless ? 0 : 1;
      if (hold->mode > had->mode) {
        TreeOf(had->mode).Erase(had);
        auto node = own.holds.extract(own.holds.find(Place{KindOf(true, had->mode), had->keys}));
        had->mode = hold->mode;
        own.holds.insert(std::move(node));
        TreeOf(had->mode).Insert(had);
      }
      return;
    }
  }
  hold->number = given_++;
  TreeOf(hold->mode).Insert(hold.get());
  if (hold->is_row) {
    own.holds.insert(std::move(hold));
  } else {
    SLUICE_CHECK(own.newest == nullptr);
    own.newest = std::move(hold);
  }
}

const LockTable::RangeHold* LockTable::RangeLocks::Append(HoldPtr wanted) {
  wanted->number = line_.size();
  line_.push_back(std::move(wanted));
  return line_.back().get();
}

const LockTable::RangeHold* LockTable::RangeLocks::Enter(HoldPtr wanted) {
  // Who does not wait for this owner excludes nobody before it who does, or it would, too. So these
  // may go in front of those.
  const std::vector<bool> waits_for_it = WhoWaitFor(wanted->owner);
  const RangeHold* const entered = wanted.get();
  std::vector<HoldPtr> line;
  std::vector<HoldPtr> behind;
  for (size_t i = 0; i < line_.size(); ++i) {
    (waits_for_it[i] ? behind : line).push_back(std::move(line_[i]));
  }
  line.push_back(std::move(wanted));
  std::move(behind.begin(), behind.end(), std::back_inserter(line));
  line_ = std::move(line);
  for (size_t i = 0; i < line_.size(); ++i) {
    line_[i]->number = i;
  }
  return entered;
}

LockTable::RangeLocks::HoldPtr LockTable::RangeLocks::Leave(const RangeHold* waiter) {
  const auto at = std::find_if(line_.begin(), line_.end(),
                               [&](const HoldPtr& hold) { return hold.get() == waiter; });
  HoldPtr left = std::move(*at);
  line_.erase(at);
  return left;
}

bool LockTable::RangeLocks::WaitsFor(const RangeHold& waiter, const Owner& other,
                                     bool* holds) const {
  const auto own = own_.find(&other);
  *holds = own != own_.end() && OwnExcludes(own->second, waiter);
  return *holds || (other.awaited_in_ == this && other.awaited_range_->number < waiter.number &&
                    other.awaited_range_->Excludes(waiter));
}

LockTable::RangeLocks::HoldPtr LockTable::RangeLocks::Remove(Holds* holds, Holds::const_iterator at,
                                                             Freed* freed) {
  HoldPtr hold = std::move(holds->extract(at).value());
  TreeOf(hold->mode).Erase(hold.get());
  ++freed->locks;
  freed->bytes += hold->bytes();
  return hold;
}

LockTable::RangeLocks::Freed LockTable::RangeLocks::Keep(const Owner* owner) {
  Own& own = own_.find(owner)->second;
  Freed freed;
  HoldPtr range = std::move(own.newest);
  const Kind kind = KindOf(/*is_row=*/false, range->mode);
  std::vector<HoldPtr> merged;
  auto at = own.holds.lower_bound(Place{kind, range->range().begin()});
  const auto is_of = [&](Holds::const_iterator hold, Kind wanted) {
    return hold != own.holds.end() && KindOf((*hold)->is_row, (*hold)->mode) == wanted;
  };
  // The one that begins before, if it reaches so far, and those that begin within or at the end.
  if (at != own.holds.begin() && is_of(std::prev(at), kind) &&
      (!(*std::prev(at))->range().has_end() ||
       (*std::prev(at))->range().end() >= range->range().begin())) {
    at = std::prev(at);
  }
  while (is_of(at, kind) &&
         (!range->range().has_end() || (*at)->range().begin() <= range->range().end())) {
    merged.push_back(Remove(&own.holds, at++, &freed));
  }
  if (!merged.empty()) {
    const std::string_view begin =
        std::min(merged.front()->range().begin(), range->range().begin());
    const KeySpan last = merged.back()->range();
    const std::string_view end = (last.EndsBy(range->range()) ? range->range() : last).end();
    auto all = std::make_unique<RangeHold>(range->owner, KeySpan::Between(begin, end), range->mode);
    all->number = given_++;
    TreeOf(range->mode).Erase(range.get());
    TreeOf(all->mode).Insert(all.get());
    freed.bytes += range->bytes() - all->bytes();
    range = std::move(all);
  }
  if (kind == kExclusiveRange) {
    for (at = own.holds.lower_bound(Place{kSharedRange, range->range().begin()});
         is_of(at, kSharedRange) && range->range().Contains((*at)->range());) {
      Remove(&own.holds, at++, &freed);
    }
  }
  own.holds.insert(std::move(range));
  return freed;
}

LockTable::RangeLocks::Freed LockTable::RangeLocks::GiveUp(const Owner* owner) {
  const HoldPtr range = std::move(own_.find(owner)->second.newest);
  TreeOf(range->mode).Erase(range.get());
  return {.locks = 1, .bytes = range->bytes()};
}

bool LockTable::RangeLocks::ReleaseRow(const Owner* owner, std::string_view key) {
  RangeHold* const row = FindRow(owner, key);
  if (row == nullptr || row->times == kCountless || --row->times > 0) {
    return false;
  }
  Holds& holds = own_.find(owner)->second.holds;
  Freed freed;
  Remove(&holds, holds.find(Place{KindOf(true, row->mode), key}), &freed);
  return true;
}

LockTable::RangeLocks::Freed LockTable::RangeLocks::KeepExclusiveRows(const Owner* owner) {
  Freed freed;
  if (const auto own = own_.find(owner); own != own_.end()) {
    Holds& holds = own->second.holds;
    for (auto at = holds.begin(); at != holds.end();) {
      const auto hold = at++;
      if (!(*hold)->is_row || (*hold)->mode == LockMode::kShared) {
        Remove(&holds, hold, &freed);
      }
    }
  }
  return freed;
}

LockTable::RangeLocks::Freed LockTable::RangeLocks::ReleaseAll(const Owner* owner) {
  Freed freed;
  if (const auto own = own_.find(owner); own != own_.end()) {
    for (const HoldPtr& hold : own->second.holds) {
      TreeOf(hold->mode).Erase(hold.get());
      ++freed.locks;
      freed.bytes += hold->bytes();
    }
    own_.erase(own);
  }
  return freed;
}

}  // namespace sluice
