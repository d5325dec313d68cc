#include "db/write_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#include "db/write_applier.h"
#include "util/check.h"
#include "util/epoch.h"
#include "util/kept_buffer.h"
#include "write/batch_format.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

// How long a stopped writer waits at most before it checks again.
constexpr std::chrono::milliseconds kStallPoll{100};
// The rate of slowed-down writers falls by the same factor for the same step of pressure, and in the
// last tenth to nothing, so that it hardly ever comes to a stop.
constexpr double kFastestBytesPerSecond = 512 << 20;
constexpr double kSlowestBytesPerSecond = 4 << 20;
constexpr double kLastShare = 0.1;
// Shorter delays are saved up: a sleep costs some 0.1 ms by itself. After longer ones the pressure is
// measured again.
constexpr double kLeastSleepSeconds = 0.001;
constexpr double kLongestSleepSeconds = 0.005;

double RateAt(double pressure) {
  return kFastestBytesPerSecond *
         std::pow(kSlowestBytesPerSecond / kFastestBytesPerSecond, pressure) *
         std::min(1.0, (1 - pressure) / kLastShare);
}
// How much of the buffer for a group's record is kept: groups of small batches never need more.
constexpr size_t kMostRecordKept = size_t{2} << 20;
constexpr std::chrono::seconds kForSpaceEvery{1};
// Groups of more than that are refused where others, which were admitted at the same time, have used up
// the space for their flush.
constexpr size_t kMuchUncovered = size_t{64} << 10;
// A segment of the log that has less is not worth another one's first pages.
constexpr uint64_t kLeastLogToEnd = uint64_t{64} << 10;

// Groups of deletions alone are taken on a full device, because they make space in the end.
bool HasOnlyDeletions(const WriteGroup& group) {
  for (const WriteTask* task = group.tasks; task != nullptr; task = task->next) {
    std::string_view entries = task->batch;
    for (BatchEntry entry; ReadEntry(&entries, &entry);) {
      if (entry.type != EntryType::kDeletion && entry.type != EntryType::kRangeDeletion &&
          entry.type != EntryType::kResolved) {
        return false;
      }
    }
  }
  return true;
}

// What deletions take of a full device: in the log and then in extents, of which each of these
// memtables, empty until now, will have its own.
uint64_t SpaceFor(uint64_t bytes, size_t empty_memtables) {
  constexpr uint64_t kInAll = 3;
  constexpr uint64_t kRecordBytes = 32;
  return kInAll * (bytes + kRecordBytes) + empty_memtables * Backlog::kPerMemtable;
}

}  // namespace

void WritePath::Start() {
  WriteStages* const stages = this;
  pipeline_ = std::make_unique<WritePipeline>(db_.options.write_queues, stages);
}

void WritePath::Stop() {
  if (pipeline_ != nullptr) {
    pipeline_->Drain();
    const ExclusiveWrites exclusive(pipeline_.get());
    stopped_ = true;
  }
}

// Called once by BufferLog, because the device may become full at any moment, and a group that is
// not refused must be logged.
Status WritePath::CheckTaken(const WriteGroup& group) {
  SLUICE_RETURN_IF_ERROR(db_.CheckWritable());
  if (db_.failed.load(std::memory_order_acquire)) {
    return db_.BackgroundError();
  }
  const bool stuck = stuck_.load(std::memory_order_relaxed);
  if (db_.full.full()) {
    return HasOnlyDeletions(group) && db_.full.Take(SpaceFor(group.bytes, EmptyMemtables(group)))
               ? Status()
               : db_.full.status();
  }
  if (!stuck || HasOnlyDeletions(group)) {
    return {};
  }
  // Measures again, because stuck_ may be out of date: the sub-table that was behind may be
  // dropped.
  const StateLock lock(db_.mutex);
  return db_.backlog.Measure(lock).value >= 1 ? db_.compactions_full : Status();
}

size_t WritePath::EmptyMemtables(const WriteGroup& group) const {
  const EpochGuard guard;
  std::set<uint32_t> empty;
  for (const WriteTask* task = group.tasks; task != nullptr; task = task->next) {
    std::string_view writes = task->batch;
    for (BatchWrite write; ReadWrite(&writes, &write);) {
      const auto found = db_.subtables.all().find(write.subtable);
      if (found != db_.subtables.all().end() &&
          found->second->version(guard).active->log_begin.load(std::memory_order_relaxed) ==
              kNoLog) {
        empty.insert(write.subtable);
      }
    }
  }
  return empty.size();
}

Status WritePath::BufferLog(WriteGroup* group) {
  if (stopped_) {
    return Status::Busy("the database is closed");
  }
  group->log_begin = db_.log_end;
  group->first_sequence = db_.last_sequence + 1;
  if (group->bytes == 0) {
    // Only to be told that all before it is durable, which the log's flush knows.
    SLUICE_RETURN_IF_ERROR(db_.CheckWritable());
    group->last_sequence = db_.last_sequence;
    group->log_end = db_.log_end;
    return {};
  }
  const bool passing = db_.full.passing();
  if (Status taken = CheckTaken(*group); !taken.ok()) {
    group->must_wait = taken.IsNoSpace() && (passing || db_.full.passing()) && !db_.closing &&
                       !HasOnlyDeletions(*group);
    group->must_switch =
        !group->must_wait && taken.IsNoSpace() && db_.full.full() && FlushForSpace();
    return taken;
  }
  if (group->bytes > kMuchUncovered && !db_.full.full() && !MayFlush(group->bytes)) {
    group->must_switch = FlushForSpace();
    return Status::NoSpace(
        fmt::format("{}: no space to flush what memtables would hold", db_.path));
  }
  KeptBuffer record(&record_, kMostRecordKept);
  group->last_sequence = db_.last_sequence + group->tasks->count;
  std::string_view payload;
  if (const WriteTask& task = *group->tasks; task.next == nullptr && task.headroom != nullptr) {
    // The sequence number goes in front of the batch, which may be large and so is not copied.
    char number[kMaxVarint64Bytes];
    const size_t bytes = EncodeVarint(number, db_.last_sequence + 1) - number;
    char* const begin = task.headroom + WriteTask::kHeadroom - bytes;
    std::memcpy(begin, number, bytes);
    payload = {begin, bytes + task.batch.size()};
  } else {
    PutVarint(&*record, db_.last_sequence + 1);
    record->append(task.batch);
    for (const WriteTask* more = task.next; more != nullptr; more = more->next) {
      record->append(more->batch);
      group->last_sequence += more->count;
    }
    payload = *record;
  }
  Status status = db_.log->Append(payload, &db_.log_end);
  // What is kept for flushes is more than a record needs. The next write waits for them, and they give
  // back what of the log they make needless.
  if (status.IsNoSpace() && !db_.full.full() && db_.full.GiveUpForFlushes()) {
    db_.log->EndSegment(kLeastLogToEnd);
    status = db_.log->Append(payload, &db_.log_end);
  }
  bool tried = false;
  while (status.IsNoSpace() && HasOnlyDeletions(*group) &&
         (db_.MakeSpace(status) || db_.WaitForSpace(&tried))) {
    status = db_.log->Append(payload, &db_.log_end);
  }
  if (!status.ok()) {
    // After NoSpace none of the record is in the log, and the next write may succeed. After other
    // errors that is unknown, so nothing may be written behind it.
    if (!status.IsNoSpace()) {
      db_.SetBackgroundError(status);
      return status;
    }
    EpochReclaim();
    db_.space->GiveAllBack();
    group->must_switch = FlushForSpace();
    return status;
  }
  in_flight_.fetch_add(group->bytes, std::memory_order_relaxed);
  db_.last_sequence = group->last_sequence;
  db_.given_sequence.store(group->last_sequence, std::memory_order_seq_cst);  // dead_stretches.h
  group->log_end = db_.log_end;
  db_.backlog.SetLogEnd(db_.log_end);
  return {};
}

// A flush gives back the log that it makes needless, and deletions are of use once they are flushed.
bool WritePath::FlushForSpace() {
  const Clock::time_point now = Clock::now();
  if (now < next_for_space_) {
    return false;
  }
  next_for_space_ = now + kForSpaceEvery;
  db_.log->EndSegment(kLeastLogToEnd);
  db_.backlog.SwitchForSpace();
  return true;
}

Status WritePath::FlushLog(LogPosition* durable) {
  const Status status = db_.log->Sync();
  *durable = db_.log->durable();
  return status;
}

bool WritePath::Insert(const WriteGroup& group) {
  const EpochGuard guard;
  SequenceNumber sequence = group.first_sequence;
  uint64_t user_bytes = 0;
  uint32_t id = 0;
  SubtableImpl* subtable =
      nullptr;  // of this id; null if it was dropped since the batch was checked
  MemtableInfo* memtable = nullptr;
  WriteApplier applier;
  const auto look = [&] {
    applier.Flush();
    if (subtable != nullptr) {
      db_.backlog.Look(&db_.mutex, subtable, memtable);
    }
  };
  for (const WriteTask* task = group.tasks; task != nullptr; task = task->next) {
    std::string_view writes = task->batch;
    for (BatchWrite write; ReadWrite(&writes, &write); ++sequence) {
      if (memtable == nullptr || id != write.subtable) {
        look();
        id = write.subtable;
        const auto found = db_.subtables.all().find(id);
        subtable = found != db_.subtables.all().end() ? found->second.get() : nullptr;
        if (subtable != nullptr) {
          memtable = subtable->version(guard).active.get();
          db_.backlog.HoldLog(&db_.mutex, subtable, memtable, group.log_begin);
        }
      }
      if (subtable != nullptr) {
        if (write.type == EntryType::kValue) {
          subtable->dead_stretches.Cut(write.key);
        }
        applier.Apply(sequence, write, &memtable->table);
      }
      user_bytes += write.key.size() + write.value.size();
    }
  }
  // Otherwise the next group would reuse sequence numbers of this one.
  SLUICE_CHECK(sequence == group.last_sequence + 1);
  db_.counters.user_bytes.fetch_add(user_bytes, std::memory_order_relaxed);
  in_flight_.fetch_sub(group.bytes, std::memory_order_relaxed);
  look();
  return db_.backlog.MustSwitch();
}

void WritePath::SwitchFullMemtables() {
  const StateLock lock(db_.mutex);
  db_.BeginLogSegment(lock);
  for (SubtableImpl* const subtable : db_.backlog.ToSwitch(lock)) {
    db_.SwitchMemtable(lock, subtable);
  }
}

void WritePath::Admit(const WriteGroup& group, size_t more) {
  const size_t bytes = group.bytes + more;
  if (db_.full.passing() && !HasOnlyDeletions(group)) [[unlikely]] {
    WaitWhilePassing();
  }
  if (!MayFlush(bytes)) [[unlikely]] {
    WaitForSpace(bytes);
  }
  WaitForBackgroundWork(bytes);
}

bool WritePath::WaitWhilePassing() {
  if (!db_.full.passing()) {
    return false;
  }
  const Clock::time_point begin = Clock::now();
  {
    StateLock lock(db_.mutex);
    while (db_.full.passing() && db_.background_error.ok() && !db_.stopping && !db_.closing) {
      db_.changed.wait_for(lock, kStallPoll);
    }
  }
  CountStall(begin);
  return !db_.full.passing();
}

void WritePath::WaitForBackgroundWork(size_t bytes) {
  if (!db_.backlog.MayBeBehind() || db_.options.read_only || db_.full.full()) [[likely]] {
    return;  // a full device refuses most writes, and deletions are what helps
  }
  const Clock::time_point begin = Clock::now();
  Pressure now;
  {
    const StateLock lock(db_.mutex);
    now = db_.backlog.Measure(lock);
  }
  if (now.value < 1) {
    stuck_.store(false, std::memory_order_relaxed);
    if (now.value <= 0 || !SlowDown(bytes, &now.value)) {
      return;
    }
  }
  if (now.value >= 1) {
    WaitForRoom();
  }
  CountStall(begin);
}

void WritePath::CountStall(Clock::time_point begin) {
  db_.counters.stall_microseconds.fetch_add(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count(),
      std::memory_order_relaxed);
}

// Each thread sleeps for its own bytes, so one that writes little waits little, however much others
// write.
bool WritePath::SlowDown(size_t bytes, double* pressure) {
  thread_local double owed = 0;  // seconds
  double rate = RateAt(*pressure);
  // Threads that sleep at the same time share the rate.
  owed += static_cast<double>(bytes) / rate *
          static_cast<double>(1 + slowed_down_.load(std::memory_order_relaxed));
  if (owed < kLeastSleepSeconds) {
    return false;
  }
  slowed_down_.fetch_add(1, std::memory_order_relaxed);
  for (double left = std::exchange(owed, 0); left > 0 && *pressure < 1;) {
    const double now = std::min(left, kLongestSleepSeconds);
    std::this_thread::sleep_for(std::chrono::duration<double>(now));
    left -= now;
    if (left > 0) {
      const StateLock lock(db_.mutex);
      if (!MayGetBetter()) {
        break;
      }
      *pressure = db_.backlog.Measure(lock).value;
      const double before = std::exchange(rate, RateAt(*pressure));
      left *= before / rate;
    }
  }
  slowed_down_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

bool WritePath::MayGetBetter() const {
  return db_.background_error.ok() && !db_.stopping && !db_.closing && db_.compactions_full.ok() &&
         !db_.full.full();
}

void WritePath::WaitForRoom() {
  const MutexLock in_turn(room_mutex_);
  StateLock lock(db_.mutex);
  Pressure now = db_.backlog.Measure(lock);
  const auto stopped = [&]()
                           SLUICE_REQUIRES(db_.mutex) { return now.value >= 1 && MayGetBetter(); };
  if (stopped()) {
    lock.unlock();
    db_.Tell([&](EventListener& listener) {
      listener.OnStall(
          {.subtable = now.subtable, .reason = std::string(now.reason), .stopped = true});
    });
    lock.lock();
  }
  while (stopped()) {
    db_.changed.wait_for(lock, kStallPoll);
    now = db_.backlog.Measure(lock);
  }
  // For compactions alone: flushes that find no space report that to db_.full.
  stuck_.store(now.value >= 1 && !db_.compactions_full.ok(), std::memory_order_relaxed);
}

bool WritePath::MayFlush(size_t bytes) {
  if (db_.options.read_only) {
    return true;
  }
  if (db_.full.full()) {
    return db_.full.HasLeft(SpaceFor(bytes, 1));
  }
  const uint64_t unflushed =
      db_.backlog.UnflushedBytes() + in_flight_.load(std::memory_order_relaxed) + bytes;
  return db_.full.Covers(unflushed) || db_.full.Cover(unflushed);
}

// What was taken for flushes comes back with them, as does the log of what they write, and with the
// compactions that they make worth while comes more.
void WritePath::WaitForSpace(size_t bytes) {
  const MutexLock in_turn(room_mutex_);
  if (MayFlush(bytes)) {
    return;
  }
  {
    const ExclusiveWrites exclusive(pipeline_.get());
    db_.log->EndSegment(kLeastLogToEnd);
    const StateLock lock(db_.mutex);
    db_.BeginLogSegment(lock);
    if (db_.IsAllFlushed(lock)) {
      for (SubtableImpl* const subtable : db_.backlog.Filling(lock)) {
        db_.SwitchMemtable(lock, subtable);
      }
    }
    if (db_.IsAllFlushed(lock)) {
      db_.full.FlushesDone();  // what was to be flushed was dropped, or recovery has done it
    } else if (!db_.full.full()) {
      (void)db_.full.GiveUpForFlushes();
    }
  }
  StateLock lock(db_.mutex);
  db_.full.RetryNow();
  db_.work.notify_all();
  const uint64_t before = db_.full.failures() + db_.full.vain_fills();
  const auto wait = [&]() SLUICE_REQUIRES(db_.mutex) {
    if (!db_.full.full()) {
      return !db_.IsAllFlushed(lock);
    }
    const bool tried = db_.full.failures() + db_.full.vain_fills() > before;
    return !db_.full.HasLeft(SpaceFor(bytes, 1)) &&
           (!tried || db_.flushing > 0 || db_.using_reserve > 0 || db_.CompactionsDue(lock));
  };
  while (db_.background_error.ok() && !db_.stopping && !db_.closing && wait()) {
    db_.changed.wait_for(lock, kStallPoll);
  }
}

}  // namespace sluice
