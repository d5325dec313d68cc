// Writes, and what the stages of their pipeline do (write_pipeline.h).

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "db/db_impl.h"
#include "util/epoch.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

// What a writer waits at most before it looks again whether it may go on.
constexpr std::chrono::milliseconds kStallPoll{100};
// The slowest that slowed-down writers are made, just before they are stopped.
constexpr double kSlowestBytesPerSecond = 4 << 20;
constexpr double kFastestBytesPerSecond = 512 << 20;
// The log beyond so many of both makes the memtable flushed that needs its oldest part.
constexpr uint64_t kMostLogSegments = 4;
constexpr uint64_t kMostLogMemtables = 8;
// Shorter delays are saved up: a sleep costs some 0.1 ms by itself.
constexpr double kLeastSleepSeconds = 0.001;

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

Status DBImpl::Put(const WriteOptions& options, Subtable* subtable, std::string_view key,
                   std::string_view value) {
  const SubtableImpl& target = *Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(CheckWrite(target, key, value));
  thread_local std::string batch;
  batch.clear();
  AppendWrite({RecordType::kValue, target.id(), key, value}, &batch);
  return writes_->Write(batch, 1, options.sync);
}

Status DBImpl::Delete(const WriteOptions& options, Subtable* subtable, std::string_view key) {
  const SubtableImpl& target = *Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(CheckWrite(target, key, {}));
  thread_local std::string batch;
  batch.clear();
  AppendWrite({RecordType::kDeletion, target.id(), key, {}}, &batch);
  return writes_->Write(batch, 1, options.sync);
}

Status DBImpl::CheckBatch(const WriteBatch& batch) {
  if (batch.bytes() > kMaxValueBytes) {
    return Status::InvalidArgument(
        fmt::format("batch of {} bytes; the most is {}", batch.bytes(), kMaxValueBytes));
  }
  std::string_view rep = batch.rep();
  for (BatchWrite write; !rep.empty();) {
    if (!ReadWrite(&rep, &write)) {
      return Status::InvalidArgument("malformed batch");
    }
    const SubtableImpl* subtable;
    {
      const std::lock_guard lock(mutex_);
      const auto found = subtables_.find(write.subtable);
      if (found == subtables_.end()) {
        return Status::InvalidArgument(
            fmt::format("batch writes to sub-table {}, which is not there", write.subtable));
      }
      subtable = found->second.get();
    }
    SLUICE_RETURN_IF_ERROR(CheckWrite(*subtable, write.key, write.value));
  }
  return {};
}

Status DBImpl::Write(const WriteOptions& options, const WriteBatch& batch) {
  if (batch.count() == 0) {
    return {};
  }
  SLUICE_RETURN_IF_ERROR(CheckBatch(batch));
  return writes_->Write(batch.rep(), batch.count(), options.sync);
}

void DBImpl::WriteAsync(const WriteOptions& options, WriteBatch batch, WriteCallback callback) {
  if (const Status status = CheckBatch(batch); !status.ok() || batch.count() == 0) {
    return callback(status);
  }
  writes_->WriteAsync(std::move(batch), options.sync, std::move(callback));
}

Status DBImpl::DeleteRange(const WriteOptions& options, Subtable* subtable, std::string_view begin,
                           std::string_view end) {
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

Status DBImpl::BufferLog(WriteGroup* group) {
  if (failed_.load(std::memory_order_acquire)) {
    return BackgroundError();
  }
  SLUICE_RETURN_IF_ERROR(MakeRoom(group->bytes));
  record_.clear();
  PutVarint(&record_, last_sequence_ + 1);
  group->first_sequence = last_sequence_ + 1;
  group->last_sequence = last_sequence_;
  for (const WriteTask* task = group->tasks; task != nullptr; task = task->next) {
    record_.append(task->batch);
    group->last_sequence += task->count;
  }
  if (const Status status = log_->Append(record_, &log_end_); !status.ok()) {
    // Whether the record is in the log, nobody knows: nothing may be written behind it.
    SetBackgroundError(status);
    return status;
  }
  last_sequence_ = group->last_sequence;
  group->log_end = log_end_;
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
  bool full = false;
  const SubtableImpl* subtable = nullptr;
  Memtable* memtable = nullptr;
  const auto look = [&] {
    full = full || (memtable != nullptr && memtable->memory_bytes() >= options_.memtable_bytes);
  };
  for (const WriteTask* task = group.tasks; task != nullptr; task = task->next) {
    std::string_view writes = task->batch;
    for (BatchWrite write; ReadWrite(&writes, &write); ++sequence) {
      if (subtable == nullptr || subtable->id() != write.subtable) {
        look();
        subtable = subtables_.find(write.subtable)->second.get();
        memtable = &subtable->version()->active->table;
      }
      if (!subtable->dropped.load(std::memory_order_relaxed)) {
        memtable->Add(sequence, write.type, write.key, write.value);
      }
      user_bytes += write.key.size() + write.value.size();
    }
  }
  counters_.user_bytes.fetch_add(user_bytes, std::memory_order_relaxed);
  look();
  return full;
}

void DBImpl::SwitchFullMemtables() {
  for (const auto& [id, subtable] : subtables_) {
    if (!subtable->dropped &&
        subtable->version()->active->table.memory_bytes() >= options_.memtable_bytes) {
      SwitchMemtable(subtable.get());
    }
  }
}

void DBImpl::SwitchMemtable(SubtableImpl* subtable) {
  const std::lock_guard lock(mutex_);
  const LogPosition end = log_->end();
  const auto replace = [&](SubtableImpl* target) {
    auto* const version = new Version(*target->version());
    version->active->last_sequence = last_sequence_;
    version->waiting.insert(version->waiting.begin(), version->active);
    version->active = std::make_shared<MemtableInfo>(options_.memtable_bytes);
    version->active->log_begin = end;
    InstallVersion(target, version);
  };
  replace(subtable);
  // The log is kept from the oldest memtable on: those that hardly anybody writes to must not hold
  // on to it for ever.
  for (const auto& [id, other] : subtables_) {
    MemtableInfo& active = *other->version()->active;
    if (other->dropped || active.log_begin == end) {
      continue;
    }
    const uint64_t segments = LogSegment(end) - LogSegment(active.log_begin);
    if (active.table.records() == 0) {
      active.log_begin = end;
    } else if (segments > kMostLogSegments && segments * options_.log_segment_bytes >
                                                  kMostLogMemtables * options_.memtable_bytes) {
      replace(other.get());
    }
  }
}

Status DBImpl::MakeRoom(size_t bytes) {
  // How far behind the worst sub-table is: 0 fine, 1 and above stop.
  const auto pressure = [this](std::string* which) {
    const EpochGuard guard;
    double worst = 0;
    for (const auto& [id, subtable] : subtables_) {
      if (subtable->dropped) {
        continue;
      }
      const Version& version = *subtable->version();
      const double memtables = static_cast<double>(version.waiting.size()) /
                               static_cast<double>(options_.max_waiting_memtables);
      const double filled = static_cast<double>(version.active->table.memory_bytes()) /
                            static_cast<double>(options_.memtable_bytes);
      // Grows smoothly as the last memtable that may wait fills.
      const double flush = version.waiting.size() + 1 < options_.max_waiting_memtables ? 0
                           : memtables < 1 ? std::min(filled, 0.99)
                                           : 1;
      const double runs =
          version.l0.size() < options_.l0_slowdown_runs
              ? 0
              : static_cast<double>(version.l0.size() - options_.l0_slowdown_runs + 1) /
                    static_cast<double>(options_.l0_stop_runs - options_.l0_slowdown_runs + 1);
      if (std::max(flush, runs) > worst) {
        worst = std::max(flush, runs);
        *which = subtable->name();
      }
    }
    return worst;
  };
  if (!behind_.load(std::memory_order_relaxed)) [[likely]] {
    return {};
  }
  std::string subtable;
  double now = pressure(&subtable);
  const Clock::time_point begin = Clock::now();
  if (now < 1) {
    // Between the two rates the delay grows by the same factor for the same step of pressure.
    const double rate =
        kFastestBytesPerSecond * std::pow(kSlowestBytesPerSecond / kFastestBytesPerSecond, now);
    delay_owed_ += static_cast<double>(bytes) / rate;
    if (delay_owed_ < kLeastSleepSeconds) {
      return {};
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(std::exchange(delay_owed_, 0)));
  } else {
    Tell([&](EventListener& listener) {
      listener.OnStall(
          {.subtable = subtable, .reason = "flush or compaction is behind", .stopped = true});
    });
    std::unique_lock lock(mutex_);
    while (now >= 1 && background_error_.ok() && !stopping_) {
      changed_.wait_for(lock, kStallPoll);
      now = pressure(&subtable);
    }
  }
  counters_.stall_microseconds.fetch_add(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count(),
      std::memory_order_relaxed);
  return failed_.load(std::memory_order_acquire) ? BackgroundError() : Status();
}

}  // namespace sluice
