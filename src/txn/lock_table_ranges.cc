// The lock table in sub-tables of which ranges are locked.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "txn/lock_table.h"
#include "txn/range_locks.h"
#include "util/check.h"

namespace sluice {

template <typename F>
void LockTable::Change(RangeLocks* ranges, const F& change) {
  if (!ranges->InLine()) {
    return change();
  }
  const MutexLock waits_lock(waits_mutex_);
  change();
}

template <typename F>
void LockTable::HandOnIn(RangeLocks* ranges, const F& release) {
  if (!ranges->InLine()) {
    return release();
  }
  const MutexLock waits_lock(waits_mutex_);
  release();
  GiveToLine(ranges);
}

void LockTable::GiveToLine(RangeLocks* ranges) {
  std::vector<Owner*> served;
  ranges->GiveToLine([&](Owner* owner) { served.push_back(owner); });
  for (Owner* const owner : served) {
    EndsToWait(owner);
    owner->turn_.notify_one();
  }
}

LockTable::RangeLocksPtr LockTable::FindAmong(const RangesById& all, uint32_t subtable) {
  const auto found = all.find(subtable);
  return found == all.end() ? nullptr : found->second;
}

LockTable::RangeLocksPtr LockTable::RangesOf(uint32_t subtable) {
  {
    Shard& last = shards_.back();
    const MutexLock lock(last.mutex);
    if (RangeLocksPtr found = FindRanges(last, subtable)) {
      return found;
    }
  }
  const MutexLock ranges_lock(ranges_mutex_);
  RangeLocksPtr& ranges = ranges_[subtable];
  if (ranges == nullptr) {
    ranges = std::make_shared<RangeLocks>(subtable);
    // Owners that a shard sends there wait until all of its locks have moved.
    const MutexLock lock(ranges->mutex);
    for (Shard& shard : shards_) {
      const MutexLock shard_lock(shard.mutex);
      const MutexLock waits_lock(waits_mutex_);
      for (Entry& entry : shard.locks) {
        if (entry.first.subtable == subtable) {
          MoveToRanges(&entry, ranges.get());
        }
      }
      if (shard.ranges == nullptr) {
        shard.ranges = std::make_unique<RangesById>();
      }
      shard.ranges->emplace(subtable, ranges);
    }
  }
  return ranges;
}

LockTable::RangeLocks* LockTable::RangedBy(const Owner& owner, uint32_t subtable) {
  const auto found =
      std::find_if(owner.ranged_.rbegin(), owner.ranged_.rend(),
                   [&](const RangeLocksPtr& ranges) { return ranges->subtable() == subtable; });
  SLUICE_CHECK(found != owner.ranged_.rend());
  return found->get();
}

// Who was on the way there meanwhile keeps it alive, and may get locks that nobody else learns of.
void LockTable::ForgetSubtable(uint32_t subtable) {
  const MutexLock ranges_lock(ranges_mutex_);
  const auto found = ranges_.find(subtable);
  if (found == ranges_.end()) {
    return;
  }
  const RangeLocksPtr ranges = found->second;
  const MutexLock lock(ranges->mutex);
  ranges->dropped = true;
  if (!ranges->IsIdle()) {
    return;
  }
  for (Shard& shard : shards_) {
    const MutexLock shard_lock(shard.mutex);
    shard.ranges->erase(subtable);
  }
  ranges_.erase(found);
}

void LockTable::MoveToRanges(Entry* entry, RangeLocks* ranges) {
  Lock& lock = entry->second;
  const KeySpan row = KeySpan::Row(entry->first.key);
  const auto move_hold = [&](const Hold& hold) {
    auto moved = std::make_unique<RangeHold>(hold.owner, row, lock.mode);
    moved->times = hold.times;
    ranges->Give(std::move(moved));
    ++lock.left_behind;
  };
  move_hold(lock.first);
  if (lock.others == nullptr) {
    return;
  }
  std::for_each(lock.others->sharers.begin(), lock.others->sharers.end(), move_hold);
  for (const Waiter& waiter : std::exchange(lock.others->line, {})) {
    lock.left_behind += Find(&lock, waiter.owner) == nullptr ? 1 : 0;
    waiter.owner->awaited_ = nullptr;
    waiter.owner->awaited_in_ = ranges;
    waiter.owner->awaited_range_ =
        ranges->Append(std::make_unique<RangeHold>(waiter.owner, row, waiter.mode));
  }
}

bool LockTable::AddRanges(Owner* owner, const RangeLocksPtr& ranges) {
  std::vector<RangeLocksPtr>& all = owner->ranged_;
  if (std::find(all.rbegin(), all.rend(), ranges) != all.rend()) {
    return false;
  }
  all.push_back(ranges);
  return true;
}

void LockTable::LeaveBehind(Shard* shard, Entry* entry) {
  if (--entry->second.left_behind == 0) {
    shard->locks.erase(shard->locks.find(entry->first));
  }
}

void LockTable::GiveBackMoved(Shard* shard, Owner* owner, Entry* entry) {
  (void)AddRanges(owner, FindRanges(*shard, entry->first.subtable));
  LeaveBehind(shard, entry);
}

void LockTable::LeaveMovedBehind(Owner* owner) {
  {
    Shard& first = shards_.front();
    const MutexLock lock(first.mutex);
    if (first.ranges == nullptr) {
      return;
    }
  }
  for (size_t i = 0; i < owner->held_.size(); ++i) {
    Entry*& entry = owner->held_[i];
    if (entry == nullptr) {
      continue;
    }
    RangeLocksPtr moved_to;
    {
      Shard& shard = shards_[entry->second.shard];
      const MutexLock lock(shard.mutex);
      if (entry->second.left_behind > 0) {
        moved_to = FindRanges(shard, entry->first.subtable);
        LeaveBehind(&shard, std::exchange(entry, nullptr));
        ++owner->holes_;
      }
    }
    if (moved_to != nullptr && AddRanges(owner, moved_to)) {
      // Others of the sub-table may be under way: once they have moved, look again.
      const MutexLock lock(moved_to->mutex);
      i = static_cast<size_t>(-1);
    }
  }
}

void LockTable::ForEachRow(Owner* owner,
                           const std::function<void(uint32_t, std::string_view, LockMode)>& call) {
  // What moves after this is not in a sub-table of ranged_, so nothing is called for twice.
  LeaveMovedBehind(owner);
  for (const Entry* const entry : owner->held_) {
    if (entry != nullptr) {
      // Nobody else changes the mode of what this owner holds.
      call(entry->first.subtable, entry->first.key, entry->second.mode);
    }
  }
  for (const RangeLocksPtr& ranges : owner->ranged_) {
    const MutexLock lock(ranges->mutex);
    ranges->ForEachRow(
        owner, [&](const RangeHold& hold) { call(ranges->subtable(), hold.keys, hold.mode); });
  }
}

Status LockTable::AcquireRange(Owner* owner, uint32_t subtable, std::string_view begin,
                               std::string_view end, LockMode mode,
                               std::chrono::milliseconds timeout, bool* taken) {
  *taken = false;
  return AcquireIn(RangesOf(subtable), owner, KeySpan::Between(begin, end), mode, timeout, taken);
}

Status LockTable::AcquireIn(const RangeLocksPtr& ranges, Owner* owner, const KeySpan& range,
                            LockMode mode, std::chrono::milliseconds timeout, bool* taken) {
  MutexLock lock(ranges->mutex);
  RangeHold* const own = range.is_row() ? ranges->FindRow(owner, range.begin()) : nullptr;
  if (own != nullptr && (mode == LockMode::kShared || own->mode == mode)) {
    own->times += own->times == kCountless ? 0 : 1;
    return {};
  }
  if (!range.is_row() && ranges->Covers(owner, range, mode)) {
    return {};
  }
  auto wanted = std::make_unique<RangeHold>(owner, range, mode);
  const size_t bytes = own != nullptr ? 0 : wanted->bytes();
  if (ranges->MayHave(*wanted)) {
    SLUICE_RETURN_IF_ERROR(budget_.Take(bytes));
    Change(ranges.get(), [&] {
      ranges->ForEachPassed(*wanted, [&](const Owner& passed) { TellOfWait(passed, *owner); });
      ranges->Give(std::move(wanted));
    });
  } else {
    if (timeout.count() <= 0) {
      return TimedOutIn(*ranges, *wanted, timeout);
    }
    SLUICE_RETURN_IF_ERROR(budget_.Take(bytes));
    Status status = BeginWaitIn(ranges.get(), std::move(wanted));
    if (status.ok()) {
      lock.unlock();
      AwaitTurn(owner, timeout);
      lock.lock();
      status = EndWaitIn(ranges.get(), owner, timeout);
    }
    if (!status.ok()) {
      budget_.GiveBack(bytes);
      return status;
    }
  }
  if (bytes > 0) {
    *taken = true;
    Took(ranges, owner, range, bytes);
  }
  return {};
}

Status LockTable::EndMovedWait(Owner* owner, const RowView& row, std::chrono::milliseconds timeout,
                               size_t bytes, bool* taken) {
  const RangeLocksPtr ranges = RangesOf(row.subtable);
  const MutexLock lock(ranges->mutex);
  if (Status status = EndWaitIn(ranges.get(), owner, timeout); !status.ok()) {
    budget_.GiveBack(bytes);
    return status;
  }
  if (bytes > 0) {
    *taken = true;
    Took(ranges, owner, KeySpan::Row(row.key), bytes);
  }
  return {};
}

void LockTable::Took(const RangeLocksPtr& ranges, Owner* owner, const KeySpan& range,
                     size_t bytes) {
  (void)AddRanges(owner, ranges);
  owner->range_bytes_ += range.is_row() ? 0 : bytes;
  held_.fetch_add(1, std::memory_order_relaxed);
}

Status LockTable::BeginWaitIn(RangeLocks* ranges, std::unique_ptr<RangeHold> wanted) {
  Owner* const owner = wanted->owner;
  const MutexLock waits_lock(waits_mutex_);
  if (owner->cancelled_) {
    return Cancelled(*owner, Describe(ranges->subtable(), wanted->range()));
  }
  owner->awaited_in_ = ranges;
  owner->awaited_range_ = ranges->Enter(std::move(wanted));
  BeginsToWait(owner);
  if (const Owner* const last = FindCycle(owner)) {
    Status status = Status::Deadlock(DescribeCycle(*owner, *last));
    deadlocks_.fetch_add(1, std::memory_order_relaxed);
    (void)ranges->Leave(owner->awaited_range_);
    EndsToWait(owner);
    return status;
  }
  waits_.fetch_add(1, std::memory_order_relaxed);
  if (owner->listener_ != nullptr) {
    ranges->ForEachBlocker(*owner->awaited_range_,
                           [owner](const Owner& other) { TellOfWait(*owner, other); });
    ranges->ForEachPassed(*owner->awaited_range_,
                          [owner](const Owner& passed) { TellOfWait(passed, *owner); });
  }
  return {};
}

Status LockTable::EndWaitIn(RangeLocks* ranges, Owner* owner, std::chrono::milliseconds timeout) {
  const MutexLock waits_lock(waits_mutex_);
  if (!owner->Waits()) {
    return {};
  }
  const std::unique_ptr<RangeHold> wanted = ranges->Leave(owner->awaited_range_);
  EndsToWait(owner);
  Status status = owner->cancelled_
                      ? Cancelled(*owner, Describe(ranges->subtable(), wanted->range()))
                      : TimedOutIn(*ranges, *wanted, timeout);
  GiveToLine(ranges);  // those whom it kept from their locks
  return status;
}

Status LockTable::TimedOutIn(const RangeLocks& ranges, const RangeHold& wanted,
                             std::chrono::milliseconds timeout) {
  timeouts_.fetch_add(1, std::memory_order_relaxed);
  std::string text = fmt::format("transaction {} waited {} ms for {}", wanted.owner->id(),
                                 timeout.count(), Describe(ranges.subtable(), wanted.range()));
  bool holds;
  if (const Owner* const blocker = ranges.Blocker(wanted, &holds)) {
    text += fmt::format(", {} by transaction {}", holds ? "held" : "awaited", blocker->id());
  }
  return Status::TimedOut(text);
}

void LockTable::KeepRange(Owner* owner, uint32_t subtable) {
  RangeLocks* const ranges = RangedBy(*owner, subtable);
  const MutexLock lock(ranges->mutex);
  RangeLocks::Freed freed;
  Change(ranges, [&] { freed = ranges->Keep(owner); });
  Freed(owner, freed.locks, freed.bytes);
}

void LockTable::GiveUpRange(Owner* owner, uint32_t subtable) {
  RangeLocks* const ranges = RangedBy(*owner, subtable);
  const MutexLock lock(ranges->mutex);
  RangeLocks::Freed freed;
  HandOnIn(ranges, [&] { freed = ranges->GiveUp(owner); });
  Freed(owner, freed.locks, freed.bytes);
}

void LockTable::Freed(Owner* owner, size_t ranges, size_t bytes) {
  owner->range_bytes_ -= bytes;
  held_.fetch_sub(ranges, std::memory_order_relaxed);
  budget_.GiveBack(bytes);
}

bool LockTable::HoldsIn(RangeLocks* ranges, const Owner& owner, std::string_view key,
                        LockMode mode) {
  const MutexLock lock(ranges->mutex);
  const RangeHold* const row = ranges->FindRow(&owner, key);
  return row != nullptr && row->mode >= mode;
}

bool LockTable::ReleaseIn(RangeLocks* ranges, Owner* owner, std::string_view key) {
  const MutexLock lock(ranges->mutex);
  bool released = false;
  HandOnIn(ranges, [&] { released = ranges->ReleaseRow(owner, key); });
  if (released) {
    held_.fetch_sub(1, std::memory_order_relaxed);
    budget_.GiveBack(BytesOf(key));
  }
  return released;
}

size_t LockTable::GiveBackRanges(Owner* owner, bool keep_exclusive_rows) {
  size_t bytes = 0;
  for (const RangeLocksPtr& ranges : owner->ranged_) {
    bool forget;
    {
      const MutexLock lock(ranges->mutex);
      RangeLocks::Freed freed;
      HandOnIn(ranges.get(), [&] {
        freed = keep_exclusive_rows ? ranges->KeepExclusiveRows(owner) : ranges->ReleaseAll(owner);
      });
      held_.fetch_sub(freed.locks, std::memory_order_relaxed);
      bytes += freed.bytes;
      forget = ranges->dropped && ranges->IsIdle();
    }
    if (forget) {
      ForgetSubtable(ranges->subtable());
    }
  }
  if (!keep_exclusive_rows) {
    owner->ranged_.clear();
  }
  owner->range_bytes_ = 0;
  return bytes;
}

}  // namespace sluice
