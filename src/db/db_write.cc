// Writes, and what the stages of their pipeline do (write_pipeline.h).

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include "db/db_impl.h"
#include "util/epoch.h"
#include "util/kept_buffer.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

// What a writer waits at most before it looks again whether it may go on.
constexpr std::chrono::milliseconds kStallPoll{100};
// The slowest that slowed-down writers are made, just before they are stopped.
constexpr double kSlowestBytesPerSecond = 4 << 20;
constexpr double kFastestBytesPerSecond = 512 << 20;
// Shorter delays are saved up: a sleep costs some 0.1 ms by itself.
constexpr double kLeastSleepSeconds = 0.001;
// Of the buffer for a group's record: groups of small batches never need more.
constexpr size_t kMostRecordKept = size_t{2} << 20;
// What a write takes beside key and value, at most (batch_format.h).
constexpr size_t kMostWriteHead = kMaxVarint64Bytes + 2 * kMaxVarint32Bytes;

// Those are taken when the device is full, for they make space in the end.
bool HasOnlyDeletions(const WriteGroup& group) {
  for (const WriteTask* task = group.tasks; task != nullptr; task = task->next) {
    std::string_view entries = task->batch;
    for (BatchEntry entry; ReadEntry(&entries, &entry);) {
      if (entry.type != EntryType::kDeletion && entry.type != EntryType::kResolved) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

Status DBImpl::CheckWrite(const SubtableImpl& subtable, std::string_view key,
                          std::string_view value) {
  if (key.size() > kMaxKeyBytes) {
    return Status::InvalidArgument(
        fmt::format("key of {} bytes; the most is {}", key.size(), kMaxKeyBytes));
  }
  if (value.size() > kMaxValueBytes) {
    return Status::InvalidArgument(
        fmt::format("value of {} bytes; the most is {}", value.size(), kMaxValueBytes));
  }
  if (subtable.dropped.load(std::memory_order_relaxed)) {
    return Status::InvalidArgument(fmt::format("sub-table '{}' is dropped", subtable.name()));
  }
  return {};
}

Status DBImpl::WriteOne(const WriteOptions& options, const BatchWrite& write) {
  thread_local std::string kept;
  KeptBuffer batch(&kept);
  batch->reserve(WriteTask::kHeadroom + write.key.size() + write.value.size() + kMostWriteHead);
  batch->append(WriteTask::kHeadroom, '\0');
  AppendWrite(write, &*batch);
  return writes_->Write(std::string_view(*batch).substr(WriteTask::kHeadroom), 1, options.sync,
                        batch->data());
}

Status DBImpl::Put(const WriteOptions& options, Subtable* subtable, std::string_view key,
                   std::string_view value) {
  const SubtableImpl& target = *Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(CheckWrite(target, key, value));
  return WriteOne(options, {RecordType::kValue, target.id(), key, value});
}

Status DBImpl::Delete(const WriteOptions& options, Subtable* subtable, std::string_view key) {
  const SubtableImpl& target = *Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(CheckWrite(target, key, {}));
  return WriteOne(options, {RecordType::kDeletion, target.id(), key, {}});
}

Status DBImpl::CheckBatch(const WriteBatch& batch) {
  if (batch.bytes() > kMaxValueBytes) {
    return Status::InvalidArgument(
        fmt::format("batch of {} bytes; the most is {}", batch.bytes(), kMaxValueBytes));
  }
  std::string_view rep = batch.rep();
  const SubtableImpl* subtable = default_subtable_;
  for (BatchWrite write; !rep.empty();) {
    if (!ReadWrite(&rep, &write)) {
      return Status::InvalidArgument("malformed batch");
    }
    if (write.subtable != subtable->id()) {
      subtable = write.subtable == default_subtable_->id() ? default_subtable_
                                                           : FindSubtable(write.subtable);
      if (subtable == nullptr) {
        return Status::InvalidArgument(
            fmt::format("batch writes to sub-table {}, which is not there", write.subtable));
      }
    }
    SLUICE_RETURN_IF_ERROR(CheckWrite(*subtable, write.key, write.value));
  }
  return {};
}

Status DBImpl::Write(const WriteOptions& options, const WriteBatch& batch) {
  if (batch.count() == 0 && !options.sync) {
    return {};
  }
  SLUICE_RETURN_IF_ERROR(CheckBatch(batch));
  return writes_->Write(batch.rep(), batch.count(), options.sync);
}

void DBImpl::WriteAsync(const WriteOptions& options, WriteBatch batch, WriteCallback callback) {
  if (const Status status = CheckBatch(batch);
      !status.ok() || (batch.count() == 0 && !options.sync)) {
    return callback(status);
  }
  writes_->WriteAsync(std::move(batch), options.sync, std::move(callback));
}

Status DBImpl::DeleteRange(const WriteOptions& options, Subtable* subtable, std::string_view begin,
                           std::string_view end) {
  SLUICE_RETURN_IF_ERROR(CheckWritable());
  constexpr uint32_t kBatch = 1000;
  const std::string lower(begin);
  const std::string upper(end);
  const auto at =
      NewIterator({.fill_cache = false, .lower_bound = &lower, .upper_bound = &upper}, subtable);
  WriteBatch batch;
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    batch.Delete(Resolve(subtable), at->key());
    if (batch.count() == kBatch) {
      SLUICE_RETURN_IF_ERROR(Write(options, batch));
      batch.Clear();
    }
  }
  SLUICE_RETURN_IF_ERROR(at->status());
  return Write(options, batch);
}

// Apart from BufferLog, for it may change from one line to the next whether the device is full, and
// who is not refused must be logged.
Status DBImpl::CheckTaken(const WriteGroup& group) {
  SLUICE_RETURN_IF_ERROR(CheckWritable());
  if (failed_.load(std::memory_order_acquire)) {
    return BackgroundError();
  }
  if (full_.full() && !HasOnlyDeletions(group)) {
    return full_.status();
  }
  if (stuck_.load(std::memory_order_relaxed)) {
    const StateLock lock(mutex_);
    // Nobody looks again for writers of other sub-tables, once the one that was behind is dropped.
    return backlog_.Measure(lock).value >= 1 ? compactions_full_ : Status();
  }
  return {};
}

Status DBImpl::BufferLog(WriteGroup* group) {
  SLUICE_RETURN_IF_ERROR(CheckTaken(*group));
  group->log_begin = log_end_;
  KeptBuffer record(&record_, kMostRecordKept);
  group->first_sequence = last_sequence_ + 1;
  group->last_sequence = last_sequence_ + group->tasks->count;
  std::string_view payload;
  if (const WriteTask& task = *group->tasks; task.next == nullptr && task.headroom != nullptr) {
    // The sequence number goes in front of the batch: there is no copy of what may be large.
    char number[kMaxVarint64Bytes];
    const size_t bytes = EncodeVarint(number, last_sequence_ + 1) - number;
    char* const begin = task.headroom + WriteTask::kHeadroom - bytes;
    std::memcpy(begin, number, bytes);
    payload = {begin, bytes + task.batch.size()};
  } else {
    PutVarint(&*record, last_sequence_ + 1);
    record->append(task.batch);
    for (const WriteTask* more = task.next; more != nullptr; more = more->next) {
      record->append(more->batch);
      group->last_sequence += more->count;
    }
    payload = *record;
  }
  Status status = log_->Append(payload, &log_end_);
  while (status.IsNoSpace() && HasOnlyDeletions(*group) && MakeSpace(status)) {
    status = log_->Append(payload, &log_end_);
  }
  if (!status.ok()) {
    // Without space nothing of it is in the log, and the next write may do better. Otherwise nobody
    // knows: nothing may be written behind it.
    if (!status.IsNoSpace()) {
      SetBackgroundError(status);
    }
    return status;
  }
  last_sequence_ = group->last_sequence;
  group->log_end = log_end_;
  backlog_.SetLogEnd(log_end_);
  return {};
}

Status DBImpl::FlushLog(LogPosition* durable) {
  const Status status = log_->Sync();
  *durable = log_->durable();
  return status;
}

bool DBImpl::Insert(const WriteGroup& group) {
  const EpochGuard guard;
  SequenceNumber sequence = group.first_sequence;
  uint64_t user_bytes = 0;
  uint32_t id = 0;
  SubtableImpl* subtable =
      nullptr;  // of this id; null if it was dropped since the batch was checked
  MemtableInfo* memtable = nullptr;
  const auto look = [&] {
    if (subtable != nullptr) {
      backlog_.Look(&mutex_, subtable, memtable);
    }
  };
  for (const WriteTask* task = group.tasks; task != nullptr; task = task->next) {
    std::string_view writes = task->batch;
    for (BatchWrite write; ReadWrite(&writes, &write); ++sequence) {
      if (memtable == nullptr || id != write.subtable) {
        look();
        id = write.subtable;
        const auto found = subtables_.find(id);
        subtable = found != subtables_.end() ? found->second.get() : nullptr;
        if (subtable != nullptr) {
          memtable = subtable->version(guard).active.get();
          backlog_.HoldLog(&mutex_, subtable, memtable, group.log_begin);
        }
      }
      if (subtable != nullptr) {
        memtable->table.Add(sequence, write.type, write.key, write.value);
      }
      user_bytes += write.key.size() + write.value.size();
    }
  }
  counters_.user_bytes.fetch_add(user_bytes, std::memory_order_relaxed);
  look();
  return backlog_.MustSwitch();
}

void DBImpl::SwitchFullMemtables() {
  const StateLock lock(mutex_);
  for (SubtableImpl* const subtable : backlog_.ToSwitch(lock)) {
    SwitchMemtable(lock, subtable);
  }
}

void DBImpl::SwitchMemtable(const StateLock& lock, SubtableImpl* subtable) {
  settled_ = log_->end();
  auto* const version = new Version(subtable->version(lock));
  version->active->last_sequence = last_sequence_;
  version->waiting.insert(version->waiting.begin(), version->active);
  version->active = NewMemtable();
  InstallVersion(lock, subtable, version);
}

void DBImpl::Admit(size_t bytes) {
  if (!backlog_.MayBeBehind() || options_.read_only) [[likely]] {
    return;
  }
  const Clock::time_point begin = Clock::now();
  Pressure now;
  {
    const StateLock lock(mutex_);
    now = backlog_.Measure(lock);
  }
  if (now.value >= 1) {
    WaitForRoom();
  } else {
    stuck_.store(false, std::memory_order_relaxed);
    if (!SlowDown(bytes, now.value)) {
      return;
    }
  }
  counters_.stall_microseconds.fetch_add(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count(),
      std::memory_order_relaxed);
}

// Each thread sleeps for its own bytes, so who writes little waits little, however many others
// flood the database.
bool DBImpl::SlowDown(size_t bytes, double pressure) {
  thread_local double owed = 0;  // seconds
  // Between the two rates the delay grows by the same factor for the same step of pressure.
  const double rate =
      kFastestBytesPerSecond * std::pow(kSlowestBytesPerSecond / kFastestBytesPerSecond, pressure);
  // Those who sleep at the same time share the rate.
  owed += static_cast<double>(bytes) / rate *
          static_cast<double>(1 + slowed_down_.load(std::memory_order_relaxed));
  if (owed < kLeastSleepSeconds) {
    return false;
  }
  slowed_down_.fetch_add(1, std::memory_order_relaxed);
  std::this_thread::sleep_for(std::chrono::duration<double>(std::exchange(owed, 0)));
  slowed_down_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void DBImpl::WaitForRoom() {
  const std::lock_guard in_turn(room_mutex_);
  stuck_.store(false, std::memory_order_relaxed);
  StateLock lock(mutex_);
  Pressure now = backlog_.Measure(lock);
  if (now.value < 1) {
    return;
  }
  lock.unlock();
  Tell([&](EventListener& listener) {
    listener.OnStall(
        {.subtable = now.subtable, .reason = std::string(now.reason), .stopped = true});
  });
  lock.lock();
  const uint64_t failures = full_.failures();
  while (now.value >= 1 && background_error_.ok() && !stopping_ && !closing_ &&
         compactions_full_.ok() && full_.failures() == failures) {
    changed_.wait_for(lock, kStallPoll);
    now = backlog_.Measure(lock);
  }
  // Flushes that find no space say so by full_.
  stuck_.store(now.value >= 1 && !compactions_full_.ok(), std::memory_order_relaxed);
}

}  // namespace sluice
