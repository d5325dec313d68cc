#include "share.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::mariadb {
namespace {

constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();

// A table with few rows gets new statistics when as many were written.
constexpr uint64_t kFewRows = 16;

uint64_t Sum(uint64_t a, uint64_t b) { return a > kLast - b ? kLast : a + b; }

}  // namespace

Share::Share(std::string name) : name_(std::move(name)) { thr_lock_init(&lock); }

Share::~Share() {
  // In good order, nothing reserved is lost.
  if (engine != nullptr && auto_increment_.reserved != auto_increment_.next) {
    (void)engine->dictionary.WriteCounter(entry_.id, auto_increment_.counter, auto_increment_.next);
  }
  thr_lock_delete(&lock);
}

Status Share::Open() {
  SLUICE_RETURN_IF_ERROR(engine->dictionary.Find(name_, &entry_));
  return Load();
}

Status Share::Load() {
  const std::lock_guard guard(mutex_);
  for (Numbers* const numbers : {&row_ids_, &auto_increment_}) {
    SLUICE_RETURN_IF_ERROR(
        engine->dictionary.ReadCounter(entry_.id, numbers->counter, &numbers->next));
    numbers->reserved = numbers->next;
  }
  *rows_ = static_cast<int64_t>(engine->db->ApproximateSize(subtable(0), {}, {}).records);
  SLUICE_RETURN_IF_ERROR(engine->dictionary.ReadStatistics(entry_.id, &statistics_));
  const uint64_t then = statistics_.rows;
  written_ = std::max(rows(), then) - std::min(rows(), then);
  SetDue();
  return {};
}

void Share::SetDue() {
  due_at_ = kFewRows + statistics_.rows / 4;
  for (const IndexEntry& index : entry_.indexes) {
    if (!index.layout.empty() && !statistics_.same.contains(index.number)) {
      due_at_ = rows() == 0 ? 1 : 0;  // of an empty table there is nothing to know
    }
  }
  statistics_version_.fetch_add(1, std::memory_order_release);
}

bool Share::TakeStatisticsDue() {
  uint64_t due = due_at_.load(std::memory_order_relaxed);
  return written_.load(std::memory_order_relaxed) >= due &&
         due_at_.compare_exchange_strong(due, kLast);
}

Status Share::KeepStatistics(TableStatistics statistics) {
  const std::lock_guard guard(mutex_);
  statistics_ = std::move(statistics);
  written_ = 0;
  SetDue();
  return engine->dictionary.WriteStatistics(entry_.id, statistics_);
}

std::vector<uint64_t> Share::SameIn(uint64_t index) {
  const std::lock_guard guard(mutex_);
  const auto found = statistics_.same.find(index);
  return found == statistics_.same.end() ? std::vector<uint64_t>() : found->second;
}

Status Share::Truncate() {
  TableEntry fresh;
  SLUICE_RETURN_IF_ERROR(engine->dictionary.Truncate(name_, &fresh));
  entry_ = std::move(fresh);
  return Load();
}

Status Share::Reserve(Numbers* numbers, uint64_t next) {
  if (next > numbers->reserved) {
    const uint64_t reserved = Sum(next, numbers->step);
    SLUICE_RETURN_IF_ERROR(engine->dictionary.WriteCounter(entry_.id, numbers->counter, reserved));
    numbers->reserved = reserved;
  }
  numbers->next = next;
  return {};
}

Status Share::TakeRowId(uint64_t* id) {
  const std::lock_guard guard(mutex_);
  *id = row_ids_.next;
  return Reserve(&row_ids_, *id + 1);
}

Status Share::TakeAutoIncrement(uint64_t offset, uint64_t increment, uint64_t wanted,
                                AutoIncrementLock lock, uint64_t* first) {
  const std::lock_guard guard(mutex_);
  auto_increment_locked_ |= lock == AutoIncrementLock::kForStatement;
  if (auto_increment_locked_ && lock == AutoIncrementLock::kNone) {
    return Status::Busy("the automatic values must be locked");
  }
  uint64_t value = auto_increment_.next;
  if (increment > 1) {
    // An offset above the increment counts for nothing, as the server has it.
    const uint64_t start = offset > increment ? 0 : offset;
    const uint64_t steps = value > start ? (value - start - 1) / increment + 1 : 0;
    value = steps > (kLast - start) / increment ? kLast : start + steps * increment;
  }
  *first = value;
  const uint64_t behind = wanted > kLast / increment ? kLast : wanted * increment;
  return Reserve(&auto_increment_, Sum(value, behind));
}

Status Share::UsedAutoIncrement(uint64_t value, AutoIncrementLock lock) {
  const std::lock_guard guard(mutex_);
  if (value < auto_increment_.next) {
    return {};
  }
  if (auto_increment_locked_ && lock == AutoIncrementLock::kNone) {
    return Status::Busy("the automatic values must be locked");
  }
  return Reserve(&auto_increment_, Sum(value, 1));
}

uint64_t Share::next_auto_increment() {
  const std::lock_guard guard(mutex_);
  return auto_increment_.next;
}

void Share::SetAutoIncrement(uint64_t next) {
  const std::lock_guard guard(mutex_);
  auto_increment_.next = next;
  auto_increment_.reserved = next;
}

uint64_t Share::rows() const {
  return static_cast<uint64_t>(std::max<int64_t>(0, rows_->load(std::memory_order_relaxed)));
}

}  // namespace sluice::mariadb
