// The write path: a queue with group commit, the log, the memtables.
//
//  1. A writer joins the queue; the one in front takes a group.
//  2. It waits while flush and compaction are behind, gives the group its sequence numbers, and
//     appends it to the log as one record; syncs the log if the group asks for it.
//  3. It adds the records to the memtables, and then lets readers see them all at once.
//  4. Where a memtable is full, a new one takes its place, and the flush is told.

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
  return WriteBatchBytes(batch, 1, options.sync);
}

Status DBImpl::Delete(const WriteOptions& options, Subtable* subtable, std::string_view key) {
  const SubtableImpl& target = *Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(CheckWrite(target, key, {}));
  thread_local std::string batch;
  batch.clear();
  AppendWrite({RecordType::kDeletion, target.id(), key, {}}, &batch);
  return WriteBatchBytes(batch, 1, options.sync);
}

Status DBImpl::Write(const WriteOptions& options, const WriteBatch& batch) {
  if (batch.count() == 0) {
    return {};
  }
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
  return WriteBatchBytes(batch.rep(), batch.count(), options.sync);
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

Status DBImpl::WriteBatchBytes(std::string_view batch, uint32_t count, bool sync) {
  WriteQueue::Writer writer;
  writer.batch = batch;
  writer.count = count;
  writer.sync = sync;
  const std::vector<WriteQueue::Writer*> group = queue_.Join(&writer);
  if (group.empty()) {
    return writer.status;
  }
  const Status status = WriteGroup(group);
  queue_.Leave(group, status);
  return status;
}

Status DBImpl::WriteGroup(const std::vector<WriteQueue::Writer*>& group) {
  if (failed_.load(std::memory_order_acquire)) {
    return BackgroundError();
  }
  group_.clear();
  PutFixed64(&group_, last_sequence_ + 1);
  for (const WriteQueue::Writer* const writer : group) {
    group_.append(writer->batch);
  }
  SLUICE_RETURN_IF_ERROR(MakeRoom(group_.size()));
  Status status = log_->Append(group_, &log_end_);
  if (status.ok() && group.front()->sync) {
    status = log_->Sync();
  }
  if (!status.ok()) {
    // Whether the record is in the log, nobody knows: nothing may be written behind it.
    SetBackgroundError(status);
    return status;
  }
  const EpochGuard guard;
  std::string_view writes = std::string_view(group_).substr(sizeof(uint64_t));
  uint64_t user_bytes = 0;
  SubtableImpl* touched = nullptr;
  bool several = false;
  for (BatchWrite write; ReadWrite(&writes, &write);) {
    if (touched == nullptr || touched->id() != write.subtable) {
      several = touched != nullptr;
      touched = subtables_.find(write.subtable)->second.get();
    }
    ++last_sequence_;
    if (!touched->dropped.load(std::memory_order_relaxed)) {
      touched->version()->active->table.Add(last_sequence_, write.type, write.key, write.value);
    }
    user_bytes += write.key.size() + write.value.size();
  }
  visible_.store(last_sequence_, std::memory_order_release);
  counters_.user_bytes.fetch_add(user_bytes, std::memory_order_relaxed);
  counters_.log_bytes.fetch_add(group_.size() + kLogHeaderBytes, std::memory_order_relaxed);
  if (!several) {
    if (touched->version()->active->table.memory_bytes() >= options_.memtable_bytes) {
      SwitchMemtable(touched);
    }
    return {};
  }
  for (const auto& [id, subtable] : subtables_) {
    if (!subtable->dropped &&
        subtable->version()->active->table.memory_bytes() >= options_.memtable_bytes) {
      SwitchMemtable(subtable.get());
    }
  }
  return {};
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
