#include "txn/lock_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "txn/range_locks.h"

namespace sluice {

namespace {

// Longer ones would overflow the clock.
constexpr std::chrono::milliseconds kLongestWait = std::chrono::hours(24 * 365);

}  // namespace

LockTable::LockTable(MemoryBudget* budget) : budget_(*budget) {}
LockTable::~LockTable() = default;

void LockTable::CountOnce(Hold* hold) { hold->times += hold->times == kCountless ? 0 : 1; }

LockTable::Hold* LockTable::Find(Lock* lock, const Owner* owner) {
  if (lock->first.owner == owner) {
    return &lock->first;
  }
  if (lock->others != nullptr) {
    for (Hold& hold : lock->others->sharers) {
      if (hold.owner == owner) {
        return &hold;
      }
    }
  }
  return nullptr;
}

bool LockTable::MayHave(const Lock& lock, const Owner* owner, LockMode mode) {
  if (lock.first.owner == nullptr) {
    return true;
  }
  if (mode == LockMode::kShared) {
    return lock.mode == LockMode::kShared;
  }
  return lock.first.owner == owner && (lock.others == nullptr || lock.others->sharers.empty());
}

void LockTable::Give(Lock* lock, Owner* owner, LockMode mode, uint32_t position) {
  if (lock->first.owner == nullptr) {
    lock->first = {.owner = owner, .position = position};
    lock->mode = mode;
  } else if (mode == LockMode::kExclusive) {
    lock->mode = mode;
    CountOnce(&lock->first);
  } else {
    if (lock->others == nullptr) {
      lock->others = std::make_unique<Others>();
    }
    lock->others->sharers.push_back({.owner = owner, .position = position});
  }
}

void LockTable::GiveNow(Lock* lock, Owner* owner, LockMode mode, uint32_t position) {
  if (!InLine(*lock)) {
    return Give(lock, owner, mode, position);
  }
  const MutexLock waits_lock(waits_mutex_);
  Give(lock, owner, mode, position);
}

void LockTable::Drop(Lock* lock, const Owner* owner) {
  Hold* const hold = Find(lock, owner);
  if (lock->others == nullptr || lock->others->sharers.empty()) {
    hold->owner = nullptr;
    return;
  }
  *hold = lock->others->sharers.back();
  lock->others->sharers.pop_back();
}

void LockTable::GiveToLine(Lock* lock) {
  std::vector<Waiter>& line = lock->others->line;
  size_t served = 0;
  for (; served < line.size() && MayHave(*lock, line[served].owner, line[served].mode); ++served) {
    Owner* const owner = line[served].owner;
    Give(lock, owner, line[served].mode, line[served].position);
    EndsToWait(owner);
    owner->turn_.notify_one();
  }
  line.erase(line.begin(), line.begin() + static_cast<ptrdiff_t>(served));
}

void LockTable::LeaveLine(Lock* lock, const Owner* owner) {
  std::vector<Waiter>& line = lock->others->line;
  line.erase(std::find_if(line.begin(), line.end(),
                          [owner](const Waiter& waiter) { return waiter.owner == owner; }));
}

void LockTable::BeginsToWait(Owner* owner) {
  owner->place_ = waiting_.size();
  waiting_.push_back(owner);
}

void LockTable::EndsToWait(Owner* owner) {
  owner->awaited_ = nullptr;
  owner->awaited_range_ = nullptr;
  owner->awaited_in_ = nullptr;
  waiting_[owner->place_] = waiting_.back();
  waiting_[owner->place_]->place_ = owner->place_;
  waiting_.pop_back();
}

void LockTable::TellOfWait(const Owner& owner, const Owner& other) {
  if (&owner != &other && owner.listener_ != nullptr && other.listener_ != nullptr) {
    owner.listener_->OnWait(other.listener_);
  }
}

void LockTable::ForgetListener(Owner* owner) {
  const MutexLock waits_lock(waits_mutex_);
  owner->listener_ = nullptr;
}

const LockTable::Owner* LockTable::FindCycle(const Owner* victim) {
  const uint64_t search = ++searches_;
  std::vector<const Owner*> reached{victim};
  std::vector<Owner*> unreached;  // as far as is known, without the victim
  bool filled = false;            // when somebody who waits for a range is reached
  for (size_t i = 0; i < reached.size(); ++i) {
    const Owner* const from = reached[i];
    // Only who waits for something else can be on a cycle. True if it is the victim.
    const auto reach = [&](Owner* owner) {
      if (owner == from || !owner->Waits()) {
        return false;
      }
      if (owner != victim && std::exchange(owner->searched_, search) != search) {
        owner->reached_from_ = from;
        reached.push_back(owner);
      }
      return owner == victim;
    };
    if (from->awaited_in_ != nullptr) {
      const auto waits_for = [from](const Owner& other) {
        bool holds;
        return from->awaited_in_->WaitsFor(*from->awaited_range_, other, &holds);
      };
      if (from != victim && waits_for(*victim)) {
        return from;
      }
      if (!std::exchange(filled, true)) {
        unreached = waiting_;
        std::erase(unreached, victim);
      }
      // Each leaves when it is reached, or thousands that wait for one another would each be compared
      // with all.
      std::erase_if(unreached, [&](Owner* other) {
        if (other->searched_ != search && waits_for(*other)) {
          (void)reach(other);
        }
        return other->searched_ == search;
      });
      continue;
    }
    Lock& lock = from->awaited_->second;
    // All that wait for this lock wait for the same holders, and perhaps for the victim, too.
    if (from != victim && std::exchange(lock.others->searched, search) == search) {
      continue;
    }
    if (reach(lock.first.owner)) {
      return from;
    }
    for (const Hold& sharer : lock.others->sharers) {
      if (reach(sharer.owner)) {
        return from;
      }
    }
  }
  return nullptr;
}

std::string LockTable::DescribeCycle(const Owner& victim, const Owner& last) {
  std::vector<const Owner*> cycle;  // against the direction of waiting
  for (const Owner* owner = &last; owner != &victim; owner = owner->reached_from_) {
    cycle.push_back(owner);
  }
  const auto wants = [](const Owner& owner) {
    return owner.awaited_in_ != nullptr
               ? Describe(owner.awaited_in_->subtable(), owner.awaited_range_->range())
               : Describe(owner.awaited_->first.subtable, KeySpan::Row(owner.awaited_->first.key));
  };
  // How `holder` is in the way of `owner`.
  const auto is_held = [](const Owner& owner, const Owner& holder) {
    bool holds = true;
    if (owner.awaited_in_ != nullptr) {
      owner.awaited_in_->WaitsFor(*owner.awaited_range_, holder, &holds);
    }
    return holds ? "held" : "awaited";
  };
  std::string text = fmt::format("transaction {} wants {}", victim.id(), wants(victim));
  const Owner* before = &victim;
  for (auto at = cycle.rbegin(); at != cycle.rend(); before = *at++) {
    text += fmt::format(", {} by transaction {}, which waits for {}", is_held(*before, **at),
                        (*at)->id(), wants(**at));
  }
  return text +
         fmt::format(", {} by transaction {}; it gives way", is_held(*before, victim), victim.id());
}

Status LockTable::TimedOut(const Owner& owner, const Entry& entry, LockMode mode,
                           std::chrono::milliseconds timeout) {
  timeouts_.fetch_add(1, std::memory_order_relaxed);
  const Lock& lock = entry.second;
  std::string text = fmt::format("transaction {} waited {} ms for {}", owner.id(), timeout.count(),
                                 Describe(entry.first.subtable, KeySpan::Row(entry.first.key)));
  std::vector<const Owner*> holders{lock.first.owner};
  if (lock.others != nullptr) {
    for (const Hold& sharer : lock.others->sharers) {
      holders.push_back(sharer.owner);
    }
  }
  holders.erase(std::remove(holders.begin(), holders.end(), &owner), holders.end());
  text += fmt::format(", held by transaction {}", holders.front()->id());
  if (holders.size() > 1) {
    text += fmt::format(" and {} more", holders.size() - 1);
  }
  if (mode == LockMode::kShared && lock.mode == LockMode::kShared) {
    text += fmt::format(" and awaited by transaction {}", lock.others->line.front().owner->id());
  }
  return Status::TimedOut(text);
}

Status LockTable::Cancelled(const Owner& owner, const std::string& wanted) {
  return Status::Cancelled(
      fmt::format("transaction {} does not wait for {} any more", owner.id(), wanted));
}

Status LockTable::BeginWait(Owner* owner, Entry* entry, LockMode mode) {
  Lock& lock = entry->second;
  if (lock.others == nullptr) {
    lock.others = std::make_unique<Others>();
  }
  const MutexLock waits_lock(waits_mutex_);
  if (owner->cancelled_) {
    return Cancelled(*owner, Describe(entry->first.subtable, KeySpan::Row(entry->first.key)));
  }
  const Hold* const own = Find(&lock, owner);
  std::vector<Waiter>& line = lock.others->line;
  line.insert(
      own != nullptr ? line.begin() : line.end(),
      {owner, mode, own != nullptr ? own->position : static_cast<uint32_t>(owner->held_.size())});
  owner->awaited_ = entry;
  BeginsToWait(owner);
  if (const Owner* const last = FindCycle(owner)) {
    Status status = Status::Deadlock(DescribeCycle(*owner, *last));
    deadlocks_.fetch_add(1, std::memory_order_relaxed);
    EndsToWait(owner);
    LeaveLine(&lock, owner);
    return status;
  }
  waits_.fetch_add(1, std::memory_order_relaxed);
  TellOfWait(*owner, *lock.first.owner);
  for (const Hold& sharer : lock.others->sharers) {
    TellOfWait(*owner, *sharer.owner);
  }
  for (size_t i = 0; line[i].owner != owner; ++i) {
    TellOfWait(*owner, *line[i].owner);
  }
  return {};
}

void LockTable::AwaitTurn(Owner* owner, std::chrono::milliseconds timeout) {
  const auto until = std::chrono::steady_clock::now() + std::min(timeout, kLongestWait);
  MutexLock waits_lock(waits_mutex_);
  while (owner->Waits() && !owner->cancelled_ &&
         owner->turn_.wait_until(waits_lock, until) != std::cv_status::timeout) {
  }
}

bool LockTable::EndWait(Owner* owner, Entry* entry, bool* cancelled) {
  const MutexLock waits_lock(waits_mutex_);
  if (owner->awaited_ == nullptr) {
    return true;
  }
  *cancelled = owner->cancelled_;
  EndsToWait(owner);
  LeaveLine(&entry->second, owner);
  GiveToLine(&entry->second);  // those whom it kept from sharing the lock
  return false;
}

Status LockTable::Acquire(Owner* owner, uint32_t subtable, std::string_view key, LockMode mode,
                          std::chrono::milliseconds timeout, bool* taken) {
  *taken = false;
  const RowView row(subtable, key);
  Shard& shard = shards_[row.shard()];
  MutexLock lock(shard.mutex);
  if (const RangeLocksPtr ranges = FindRanges(shard, subtable)) [[unlikely]] {
    lock.unlock();
    return AcquireIn(ranges, owner, KeySpan::Row(key), mode, timeout, taken);
  }
  if (const auto found = shard.locks.find(row); found != shard.locks.end()) {
    return AcquireFound(&shard, owner, &*found, row, mode, timeout, taken);
  }
  SLUICE_RETURN_IF_ERROR(budget_.Take(BytesOf(key)));
  const auto position = static_cast<uint32_t>(owner->held_.size());
  Took(owner,
       &*shard.locks
             .emplace(Row{subtable, std::string(key)}, Lock{{owner, position}, mode, row.shard()})
             .first,
       taken);
  return {};
}

void LockTable::Took(Owner* owner, Entry* entry, bool* taken) {
  *taken = true;
  owner->held_.push_back(entry);
  held_.fetch_add(1, std::memory_order_relaxed);
}

Status LockTable::AcquireFound(Shard* shard, Owner* owner, Entry* entry, const RowView& row,
                               LockMode mode, std::chrono::milliseconds timeout, bool* taken) {
  Hold* const own = Find(&entry->second, owner);
  if (own != nullptr && (mode == LockMode::kShared || entry->second.mode == mode)) {
    CountOnce(own);
    return {};
  }
  const bool upgrade = own != nullptr;
  const size_t bytes = upgrade ? 0 : BytesOf(row.key);
  if (MayHave(entry->second, owner, mode) && (upgrade || !InLine(entry->second))) {
    SLUICE_RETURN_IF_ERROR(budget_.Take(bytes));
    GiveNow(&entry->second, owner, mode, static_cast<uint32_t>(owner->held_.size()));
  } else {
    if (timeout.count() <= 0) {
      return TimedOut(*owner, *entry, mode, timeout);
    }
    SLUICE_RETURN_IF_ERROR(budget_.Take(bytes));
    Status status = BeginWait(owner, entry, mode);
    if (status.ok()) {
      // The entry stays where it is, as long as anybody holds it or waits.
      shard->mutex.unlock();
      AwaitTurn(owner, timeout);
      shard->mutex.lock();
      if (entry->second.left_behind > 0) [[unlikely]] {
        if (!upgrade) {  // otherwise it stays among those that the owner holds
          LeaveBehind(shard, entry);
        }
        shard->mutex.unlock();
        status = EndMovedWait(owner, row, timeout, bytes, taken);
        shard->mutex.lock();
        return status;
      }
      if (bool cancelled = false; !EndWait(owner, entry, &cancelled)) {
        status = cancelled ? Cancelled(*owner, Describe(row.subtable, KeySpan::Row(row.key)))
                           : TimedOut(*owner, *entry, mode, timeout);
      }
    }
    if (!status.ok()) {
      budget_.GiveBack(bytes);
      return status;
    }
  }
  if (!upgrade) {
    Took(owner, entry, taken);
  }
  return {};
}

void LockTable::HandOn(Shard* shard, Owner* owner, Entry* entry) {
  Lock& lock = entry->second;
  if (InLine(lock)) {
    const MutexLock waits_lock(waits_mutex_);
    Drop(&lock, owner);
    GiveToLine(&lock);
  } else if (lock.others != nullptr && !lock.others->sharers.empty()) {
    Drop(&lock, owner);
  } else {
    shard->locks.erase(shard->locks.find(entry->first));
  }
  held_.fetch_sub(1, std::memory_order_relaxed);
}

bool LockTable::Holds(const Owner& owner, uint32_t subtable, std::string_view key, LockMode mode) {
  const RowView row(subtable, key);
  Shard& shard = shards_[row.shard()];
  {
    const MutexLock lock(shard.mutex);
    if (FindRanges(shard, subtable) == nullptr) {
      const auto found = shard.locks.find(row);
      return found != shard.locks.end() && found->second.mode >= mode &&
             Find(&found->second, &owner) != nullptr;
    }
  }
  return HoldsIn(RangesOf(subtable).get(), owner, key, mode);
}

bool LockTable::Release(Owner* owner, uint32_t subtable, std::string_view key) {
  {
    const RowView row(subtable, key);
    Shard& shard = shards_[row.shard()];
    MutexLock lock(shard.mutex);
    if (const RangeLocksPtr ranges = FindRanges(shard, subtable)) [[unlikely]] {
      lock.unlock();
      return ReleaseIn(ranges.get(), owner, key);
    }
    const auto found = shard.locks.find(row);
    Hold* const own = found == shard.locks.end() ? nullptr : Find(&found->second, owner);
    if (own == nullptr || own->times == kCountless || --own->times > 0) {
      return false;
    }
    owner->held_[own->position] = nullptr;
    HandOn(&shard, owner, &*found);
  }
  ++owner->holes_;
  FillHoles(owner);
  budget_.GiveBack(BytesOf(key));
  return true;
}

void LockTable::FillHoles(Owner* owner) {
  std::vector<Entry*>& held = owner->held_;
  while (!held.empty() && held.back() == nullptr) {
    held.pop_back();
    --owner->holes_;
  }
  if (owner->holes_ <= held.size() / 2) {
    return;
  }
  held.erase(std::remove(held.begin(), held.end(), nullptr), held.end());
  owner->holes_ = 0;
  for (size_t i = 0; i < held.size(); ++i) {
    const MutexLock lock(shards_[held[i]->second.shard].mutex);
    Find(&held[i]->second, owner)->position = static_cast<uint32_t>(i);
  }
}

size_t LockTable::GiveBack(Owner* owner, Entry* entry) {
  const size_t bytes = BytesOf(entry->first.key);
  Shard& shard = shards_[entry->second.shard];
  const MutexLock lock(shard.mutex);
  if (entry->second.left_behind > 0) [[unlikely]] {
    GiveBackMoved(&shard, owner, entry);
    return 0;
  }
  HandOn(&shard, owner, entry);
  return bytes;
}

void LockTable::KeepExclusiveRows(Owner* owner) {
  LeaveMovedBehind(owner);
  size_t bytes = 0;
  for (Entry*& entry : owner->held_) {
    // Nobody else changes the mode of what this owner holds.
    if (entry != nullptr && entry->second.mode == LockMode::kShared) {
      bytes += GiveBack(owner, std::exchange(entry, nullptr));
      ++owner->holes_;
    }
  }
  FillHoles(owner);
  budget_.GiveBack(bytes + GiveBackRanges(owner, /*keep_exclusive_rows=*/true));
}

void LockTable::ReleaseAll(Owner* owner) {
  size_t bytes = 0;
  for (Entry* const entry : owner->held_) {
    if (entry != nullptr) {
      bytes += GiveBack(owner, entry);
    }
  }
  owner->held_.clear();
  owner->holes_ = 0;
  if (!owner->ranged_.empty()) {
    bytes += GiveBackRanges(owner, /*keep_exclusive_rows=*/false);
  }
  if (bytes > 0) {
    budget_.GiveBack(bytes);
  }
}

void LockTable::CancelWaits(Owner* owner) {
  const MutexLock waits_lock(waits_mutex_);
  owner->cancelled_ = true;
  owner->turn_.notify_one();
}

void LockTable::AllowWaits(Owner* owner) {
  const MutexLock waits_lock(waits_mutex_);
  owner->cancelled_ = false;
}

LockTable::Stats LockTable::stats() const {
  return {.held = held_.load(std::memory_order_relaxed),
          .waits = waits_.load(std::memory_order_relaxed),
          .deadlocks = deadlocks_.load(std::memory_order_relaxed),
          .timeouts = timeouts_.load(std::memory_order_relaxed)};
}

}  // namespace sluice
