// The way of a write: admission, the log, the memtables, and visibility (write_pipeline.h).

#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "db/db_state.h"
#include "util/check.h"
#include "util/mutex.h"
#include "write/write_pipeline.h"

namespace sluice {

// Thread-safe, but for Start and End.
class WritePath final : private WriteStages {
 public:
  // The state outlives it.
  explicit WritePath(DbState* db) : db_(*db) {}

  // To be called once the log is recovered.
  void Start();
  // Completes what is under way, asynchronous writes too. Later ones fail with Busy.
  void Stop();
  // Ends its threads. REQUIRES: no call is under way, nor comes.
  void End() { pipeline_.reset(); }

  // REQUIRES: `batch` (batch_format.h) has `count` writes, all within limits.
  Status Write(std::string_view batch, uint32_t count, bool sync, char* headroom = nullptr) {
    if (db_.made.IsCopy()) [[unlikely]] {
      return db_.CheckWritable();  // threads of the parent may lead the queues, and none is here
    }
    return pipeline_->Write(batch, count, sync, headroom);
  }
  void WriteAsync(std::string batch, uint32_t count, bool sync, WriteCallback callback) {
    if (db_.made.IsCopy()) [[unlikely]] {
      return callback(db_.CheckWritable());
    }
    pipeline_->WriteAsync(std::move(batch), count, sync, std::move(callback));
  }
  // For what writes past the log: waits for background work as one does who writes a memtable,
  // which becomes a run, too.
  void WaitAsWriters() {
    WaitWhilePassing();
    WaitForBackgroundWork(db_.options.memtable_bytes);
  }
  // While the device is full because a flush or a compaction has the reserve. True if it was, and that
  // has been decided: what was refused with NoSpace may be tried again.
  bool WaitWhilePassing();
  // For ExclusiveWrites.
  WritePipeline* pipeline() { return pipeline_.get(); }

 private:
  // Ok if the group may be written now, else why not. On a full device it takes what the group needs.
  Status CheckTaken(const WriteGroup& group);
  // How many sub-tables that it writes to have nothing to flush without it.
  size_t EmptyMemtables(const WriteGroup& group) const;
  // A group is refused for want of space. Whether SwitchFullMemtables is to be called for that, which
  // is so once a second at most.
  bool FlushForSpace();
  Status BufferLog(WriteGroup* group) override;
  Status FlushLog(LogPosition* durable) override;
  bool Insert(const WriteGroup& group) override;
  void Publish(SequenceNumber last) override {
    SLUICE_CHECK(db_.visible.load(std::memory_order_relaxed) <= last);
    db_.visible.store(last, std::memory_order_release);
  }
  void SwitchFullMemtables() override;
  void Failed(const Status& status) override { db_.SetBackgroundError(status); }
  void Admit(const WriteGroup& group, size_t more) override;
  void CountStall(std::chrono::steady_clock::time_point begin);
  // Slows writers down, or stops them, while background work is behind.
  void WaitForBackgroundWork(size_t bytes);
  // False if the delay is saved up. `*pressure` becomes what was measured last.
  bool SlowDown(size_t bytes, double* pressure);
  void WaitForRoom();
  // Whether flushes will find the space for so much more; on a full device, if it is deletions.
  bool MayFlush(size_t bytes);
  // Until they do, or nothing is under way that makes space.
  void WaitForSpace(size_t bytes);
  // Whether background work goes on, and the device is not full: else nobody is to wait for it.
  bool MayGetBetter() const SLUICE_REQUIRES(db_.mutex);

  DbState& db_;
  std::string record_;                                      // used by log buffering
  std::chrono::steady_clock::time_point next_for_space_{};  // FlushForSpace's
  bool stopped_ = false;                     // looked at by log buffering, set while there is none
  std::atomic<size_t> in_flight_{0};         // bytes in the log that are not in memtables yet
  Mutex room_mutex_;                         // taken before all others: stopped writers take turns
  std::atomic<size_t> slowed_down_{0};       // writers, asleep
  std::atomic<bool> stuck_{false};           // compactions find no space, and so many are due that
                                             // nothing may be written
  std::unique_ptr<WritePipeline> pipeline_;  // last: its destructor needs all the rest
};

}  // namespace sluice
