#include "txn/lock_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

namespace {

// Longer ones would overflow the clock.
constexpr std::chrono::milliseconds kLongestWait = std::chrono::hours(24 * 365);

// "'key' of sub-table 0"; bytes that do not print in hex.
std::string Describe(uint32_t subtable, std::string_view key) {
  constexpr size_t kMost = 64;
  std::string text = "'";
  for (const char c : key.substr(0, kMost)) {
    if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  text += fmt::format("'{} of sub-table {}", key.size() > kMost ? "..." : "", subtable);
  return text;
}

}  // namespace

std::string LockTable::DescribeCycle(const Owner& victim, const Entry& wanted) {
  std::string text = fmt::format("transaction {} wants ", victim.id());
  for (const Entry* entry = &wanted;;) {
    const Owner& holder = *entry->second.owner;
    text += fmt::format("{}, held by transaction {}",
                        Describe(entry->first.subtable, entry->first.key), holder.id());
    if (&holder == &victim) {
      return text + "; it gives way";
    }
    text += ", which waits for ";
    entry = holder.awaited_;
  }
}

Status LockTable::BeginWait(Owner* owner, Entry* entry) {
  const MutexLock lock(waits_mutex_);
  for (const Owner* holder = entry->second.owner; holder->awaited_ != nullptr;) {
    holder = holder->awaited_->second.owner;
    if (holder == owner) {
      deadlocks_.fetch_add(1, std::memory_order_relaxed);
      return Status::Deadlock(DescribeCycle(*owner, *entry));
    }
  }
  owner->awaited_ = entry;
  entry->second.waiters.push_back(owner);
  waits_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

Status LockTable::Acquire(Owner* owner, uint32_t subtable, std::string_view key,
                          std::chrono::milliseconds timeout, bool* taken) {
  *taken = false;
  Shard& shard = ShardOf(subtable, key);
  MutexLock lock(shard.mutex);
  Entry* entry;  // stays where it is, as long as anybody holds it
  if (const auto found = shard.locks.find(RowView{subtable, key}); found == shard.locks.end()) {
    SLUICE_RETURN_IF_ERROR(budget_.Take(BytesOf(key)));
    entry = &*shard.locks.emplace(Row{subtable, std::string(key)}, Lock{owner}).first;
  } else if (entry = &*found; entry->second.owner == owner) {
    return {};
  } else {
    const auto timed_out = [&] {
      timeouts_.fetch_add(1, std::memory_order_relaxed);
      return Status::TimedOut(
          fmt::format("transaction {} waited {} ms for {}, held by transaction {}", owner->id(),
                      timeout.count(), Describe(subtable, key), entry->second.owner->id()));
    };
    if (timeout.count() <= 0) {
      return timed_out();
    }
    SLUICE_RETURN_IF_ERROR(budget_.Take(BytesOf(key)));
    if (Status status = BeginWait(owner, entry); !status.ok()) {
      budget_.GiveBack(BytesOf(key));
      return status;
    }
    const auto until = std::chrono::steady_clock::now() + std::min(timeout, kLongestWait);
    while (entry->second.owner != owner &&
           owner->turn_.wait_until(lock, until) != std::cv_status::timeout) {
    }
    if (entry->second.owner != owner) {
      const MutexLock waits_lock(waits_mutex_);
      std::vector<Owner*>& waiters = entry->second.waiters;
      waiters.erase(std::find(waiters.begin(), waiters.end(), owner));
      owner->awaited_ = nullptr;
      budget_.GiveBack(BytesOf(key));
      return timed_out();
    }
  }
  *taken = true;
  owner->held_.push_back(entry);
  held_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

size_t LockTable::Release(Entry* entry) {
  const size_t bytes = BytesOf(entry->first.key);
  Shard& shard = ShardOf(entry->first.subtable, entry->first.key);
  const MutexLock lock(shard.mutex);
  std::vector<Owner*>& waiters = entry->second.waiters;
  if (waiters.empty()) {
    shard.locks.erase(shard.locks.find(entry->first));
  } else {
    const MutexLock waits_lock(waits_mutex_);
    Owner* const next = waiters.front();
    waiters.erase(waiters.begin());
    entry->second.owner = next;
    next->awaited_ = nullptr;
    next->turn_.notify_one();
  }
  held_.fetch_sub(1, std::memory_order_relaxed);
  return bytes;
}

void LockTable::ReleaseLast(Owner* owner) {
  budget_.GiveBack(Release(owner->held_.back()));
  owner->held_.pop_back();
}

void LockTable::ReleaseAll(Owner* owner) {
  size_t bytes = 0;
  for (Entry* const entry : owner->held_) {
    bytes += Release(entry);
  }
  owner->held_.clear();
  if (bytes > 0) {
    budget_.GiveBack(bytes);
  }
}

LockTable::Stats LockTable::stats() const {
  return {.held = held_.load(std::memory_order_relaxed),
          .waits = waits_.load(std::memory_order_relaxed),
          .deadlocks = deadlocks_.load(std::memory_order_relaxed),
          .timeouts = timeouts_.load(std::memory_order_relaxed)};
}

}  // namespace sluice
