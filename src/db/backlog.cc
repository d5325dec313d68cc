#include "db/backlog.h"

#include <algorithm>

#include "compaction/pressure.h"

namespace sluice {

namespace {

constexpr uint64_t kLeastLogSegments = 4;
constexpr uint64_t kLogShare = 4;  // of write_buffer_bytes, where no limit is given

// Writes are slowed down so much, and not stopped, if they exceed the limit on space and compactions
// can do nothing about it.
constexpr double kMostInVain = 0.9;

// Eighths of a limit.
constexpr uint64_t kSwitchFrom = 4;
constexpr uint64_t kSwitchDownTo = 3;
constexpr uint64_t kSlowFrom = 6;

uint64_t Eighths(uint64_t limit, uint64_t eighths) {
  return limit / 8 * eighths + limit % 8 * eighths / 8;
}

// 0 up to kSlowFrom eighths of the limit, 1 at the limit.
double PressureOfUse(uint64_t used, uint64_t limit) {
  const uint64_t slow = Eighths(limit, kSlowFrom);
  return used <= slow ? 0 : static_cast<double>(used - slow) / static_cast<double>(limit - slow);
}

}  // namespace

Backlog::Backlog(const Options& options)
    : options_(options),
      memory_limit_(options.write_buffer_bytes),
      log_limit_(std::max<uint64_t>(
          options.max_log_bytes != 0 ? options.max_log_bytes : kLogShare * memory_limit_,
          kLeastLogSegments * options.log_segment_bytes)) {}

template <typename T>
void Backlog::Move(By<T>* set, SubtableImpl* subtable, T none, T* from, T to) {
  if (*from == to) {
    return;
  }
  if (*from != none) {
    set->erase({*from, subtable});
  }
  if (to != none) {
    set->insert({to, subtable});
  }
  *from = to;
}

void Backlog::HoldLog(const StateLock& lock, SubtableImpl* subtable, MemtableInfo* active,
                      LogPosition begin) {
  if (begin < active->log_begin.load(std::memory_order_relaxed)) {
    active->log_begin.store(begin, std::memory_order_relaxed);
    Update(lock, subtable);
  }
}

void Backlog::Update(const StateLock& lock, SubtableImpl* subtable) {
  const Version& version = subtable->version(lock);
  BacklogEntry& entry = subtable->backlog;
  Move(&filling_, subtable, kNoLog, &entry.filling, version.active->log_begin.load());
  Move(&waiting_, subtable, kNoLog, &entry.waiting,
       version.waiting.empty() ? kNoLog : version.waiting.back()->log_begin.load());
  size_t bytes = 0;
  for (const MemtablePtr& memtable : version.waiting) {
    bytes += memtable->table.memory_bytes();
  }
  waiting_bytes_.fetch_add(bytes - std::exchange(entry.waiting_bytes, bytes),
                           std::memory_order_relaxed);
  live_bytes_ +=
      version.space.live_bytes - std::exchange(entry.live_bytes, version.space.live_bytes);
  // What compactions under way have cut is gone with their next parts, which cut as much again: the
  // transient has room for that.
  entry.space_left = SpaceLeft(version, options_) + static_cast<double>(entry.cut_bytes);
  Move(&needs_, subtable, 0.0, &entry.need,
       subtable->dropped ? 0.0 : CompactionNeed(version, entry.space_left, bytes, options_));
  const bool behind =
      !subtable->dropped &&
      (version.waiting.size() + 1 >= options_.max_waiting_memtables ||
       PressureOfRuns(version, options_) > 0 || PressureOfDebt(version, options_) > 0 ||
       PressureOfSpace(version, entry.space_left, bytes + options_.memtable_bytes, options_) > 0);
  if (std::exchange(entry.behind, behind) != behind) {
    if (behind) {
      behind_.insert(subtable);
    } else {
      behind_.erase(subtable);
    }
    behind_count_.store(behind_.size(), std::memory_order_relaxed);
  }
  with_records_.store(filling_.size() + waiting_.size(), std::memory_order_relaxed);
  oldest_filling_.store(filling_.empty() ? kNoLog : filling_.begin()->first,
                        std::memory_order_relaxed);
  const LogPosition oldest = OldestLog(lock);
  oldest_.store(oldest, std::memory_order_relaxed);
  if (oldest != kNoLog) {
    ForgetLargeSegments(oldest);
  }
}

void Backlog::Look(StateMutex* mutex, SubtableImpl* subtable, MemtableInfo* active) {
  if (active->table.memory_bytes() >= options_.memtable_bytes &&
      !active->full.exchange(true, std::memory_order_relaxed)) {
    const StateLock lock(*mutex);
    full_.push_back(subtable);
    full_count_.store(full_.size(), std::memory_order_relaxed);
  }
}

uint64_t Backlog::LogBytesFrom(LogPosition begin) const {
  const LogPosition end = log_end_.load(std::memory_order_relaxed);
  if (begin >= end) {
    return 0;
  }
  uint64_t bytes =
      (LogSegment(end) - LogSegment(begin)) * options_.log_segment_bytes + LogOffset(end);
  if (has_large_segments_.load(std::memory_order_relaxed)) [[unlikely]] {
    const MutexLock lock(large_mutex_);
    for (auto at = large_segments_.lower_bound(LogSegment(begin));
         at != large_segments_.end() && at->first < LogSegment(end); ++at) {
      bytes += at->second;
    }
  }
  return bytes;
}

void Backlog::NoteLargeSegment(LogPosition end) {
  const MutexLock lock(large_mutex_);
  large_segments_[LogSegment(end)] = LogOffset(end) - options_.log_segment_bytes;
  has_large_segments_.store(true, std::memory_order_relaxed);
}

void Backlog::ForgetLargeSegments(LogPosition oldest) {
  if (has_large_segments_.load(std::memory_order_relaxed)) {
    const MutexLock lock(large_mutex_);
    large_segments_.erase(large_segments_.begin(), large_segments_.lower_bound(LogSegment(oldest)));
    has_large_segments_.store(!large_segments_.empty(), std::memory_order_relaxed);
  }
}

bool Backlog::MustSwitch() const {
  return for_space_.load(std::memory_order_relaxed) ||
         full_count_.load(std::memory_order_relaxed) > 0 ||
         FillingBytes() > Eighths(memory_limit_, kSwitchFrom) ||
         LogBytesFrom(oldest_filling_.load(std::memory_order_relaxed)) >
             Eighths(log_limit_, kSwitchFrom);
}

std::vector<SubtableImpl*> Backlog::ToSwitch(const StateLock& lock) {
  std::set<SubtableImpl*, ById> chosen;
  for (SubtableImpl* const subtable : std::exchange(full_, {})) {
    // It may have been switched since, for another reason, or dropped.
    if (subtable->version(lock).active->full) {
      chosen.insert(subtable);
    }
  }
  full_count_.store(0, std::memory_order_relaxed);
  size_t filling = FillingBytes();
  if (filling > Eighths(memory_limit_, kSwitchFrom)) {
    std::vector<std::pair<size_t, SubtableImpl*>> by_size;
    for (const auto& [begin, subtable] : filling_) {
      by_size.emplace_back(subtable->version(lock).active->table.memory_bytes(), subtable);
    }
    std::sort(by_size.rbegin(), by_size.rend(), ById());
    for (const auto& [bytes, subtable] : by_size) {
      if (filling <= Eighths(memory_limit_, kSwitchDownTo)) {
        break;
      }
      chosen.insert(subtable);
      filling -= std::min(filling, bytes);
    }
  }
  if (!filling_.empty() &&
      LogBytesFrom(filling_.begin()->first) > Eighths(log_limit_, kSwitchFrom)) {
    for (const auto& [begin, subtable] : filling_) {
      if (LogBytesFrom(begin) <= Eighths(log_limit_, kSwitchDownTo)) {
        break;
      }
      chosen.insert(subtable);
    }
  }
  if (for_space_.exchange(false, std::memory_order_relaxed) && !filling_.empty()) {
    const uint64_t half = LogBytesFrom(filling_.begin()->first) / 2;
    for (const auto& [begin, subtable] : filling_) {
      if (LogBytesFrom(begin) < half) {
        break;
      }
      chosen.insert(subtable);
    }
  }
  return {chosen.begin(), chosen.end()};
}

uint64_t Backlog::UnflushedBytes() const {
  // A small record takes many times more memory than in an extent, and there less than twice as much
  // as in the log.
  constexpr uint64_t kPerLogByte = 2;
  return std::min<uint64_t>(memory_.unflushed.load(std::memory_order_relaxed),
                            kPerLogByte * LogBytesFrom(oldest_.load(std::memory_order_relaxed))) +
         kPerMemtable * with_records_.load(std::memory_order_relaxed);
}

std::vector<SubtableImpl*> Backlog::Filling(const StateLock&) const {
  std::vector<SubtableImpl*> filling;
  for (const auto& [begin, subtable] : filling_) {
    filling.push_back(subtable);
  }
  return filling;
}

SubtableImpl* Backlog::NextFlush(const StateLock&) const {
  const auto next = std::find_if(waiting_.begin(), waiting_.end(),
                                 [](const auto& entry) { return !entry.second->flushing; });
  return next == waiting_.end() ? nullptr : next->second;
}

LogPosition Backlog::OldestLog(const StateLock&) const {
  LogPosition oldest = kNoLog;
  for (const ByLog* const set : {&filling_, &waiting_}) {
    oldest = set->empty() ? oldest : std::min(oldest, set->begin()->first);
  }
  return oldest;
}

bool Backlog::MayBeBehind() const {
  return behind_count_.load(std::memory_order_relaxed) > 0 ||
         memory_.unflushed.load(std::memory_order_relaxed) > Eighths(memory_limit_, kSlowFrom) ||
         LogBytesFrom(oldest_.load(std::memory_order_relaxed)) > Eighths(log_limit_, kSlowFrom);
}

double Backlog::PressureOf(const StateLock& lock, const SubtableImpl& subtable) const {
  const Version& version = subtable.version(lock);
  const double memtables = static_cast<double>(version.waiting.size()) /
                           static_cast<double>(options_.max_waiting_memtables);
  const double filled = static_cast<double>(version.active->table.memory_bytes()) /
                        static_cast<double>(options_.memtable_bytes);
  // Grows smoothly as the last memtable that may wait fills, if a flush is under way that gains by it.
  const bool last = version.waiting.size() + 1 >= options_.max_waiting_memtables;
  const double flush = version.waiting.empty() || !last ? 0
                       : memtables < 1                  ? std::min(filled, 0.99)
                                                        : 1;
  const double space = PressureOfSpace(
      version, subtable.backlog.space_left,
      subtable.backlog.waiting_bytes + version.active->table.memory_bytes(), options_);
  // If no compaction is due, none is worth waiting for.
  return std::max({flush, PressureOfRuns(version, options_), PressureOfDebt(version, options_),
                   subtable.nothing_due ? std::min(space, kMostInVain) : space});
}

Pressure Backlog::Measure(const StateLock& lock) const {
  Pressure worst;
  const auto consider = [&](double value, const std::string& subtable, std::string_view reason) {
    if (value > worst.value) {
      worst = {value, subtable, reason};
    }
  };
  for (const SubtableImpl* const subtable : behind_) {
    consider(PressureOf(lock, *subtable), subtable->name(), "flush or compaction is behind");
  }
  consider(PressureOfUse(memory_.unflushed.load(std::memory_order_relaxed), memory_limit_), {},
           "write_buffer_bytes are in use");
  consider(PressureOfUse(LogBytesFrom(oldest_.load(std::memory_order_relaxed)), log_limit_), {},
           "max_log_bytes are in use");
  return worst;
}

}  // namespace sluice
