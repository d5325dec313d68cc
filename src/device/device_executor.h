// Runs merge tasks on a Device: puts tables and job descriptor into its memory, starts it, and
// takes the finished tables out. Blocks compressed with Snappy are decompressed on the way in, unless
// the unit does that itself; index blocks always, as no unit does.
//
// What the device says is not believed blindly. The task ends as kDevice if the device gives an
// error, or no answer within the cycles that its input can take (JobCycleLimit in contract.h); if
// the job that stands in its memory afterwards is not the one written; if the completion record
// cannot be true; or if the tables are not sound, or not of the records that the unit says it wrote
// (output_checker.h), or their filters not of their keys, as far as a look tells (filter_area.h).
// The device is then reset; if that fails it takes no task until a reset succeeds.
//
// A unit that makes no filters is not asked for them: a task that wants some is refused.
//
// Thread-safe: as many tasks at once as device_slots.h has slots for, the others wait. Tables come
// with a hold (MergeOutput): their memory is used again once nobody keeps them.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/device_slots.h"
#include "sluice/executor.h"
#include "table/recode.h"
#include "util/buffer_pool.h"
#include "util/mutex.h"

namespace sluice {

// What the tasks on a device have in common. Thread-safe.
struct DeviceCommon {
  explicit DeviceCommon(Device* device) : slots(device) {}

  // Of idle buffers: tables of two tasks of the size that the engine makes for a unit. As much of
  // them as of tables that were decompressed.
  static constexpr size_t kMostIdleBytes = size_t{72} << 20;

  // Memory for a table to be decompressed, and back with it.
  RecodedTable TakeRecoded();
  void PutRecoded(RecodedTable table);

  DeviceSlots slots;
  BufferPool buffers{kMostIdleBytes};
  std::atomic<uint64_t> cycles = 0;  // of all jobs
  // A table had compressed blocks, none of them among those that the host looks at.
  std::atomic<bool> looks_at_all = false;

 private:
  Mutex mutex_;
  std::vector<RecodedTable> idle_ SLUICE_GUARDED_BY(mutex_);
  size_t idle_bytes_ SLUICE_GUARDED_BY(mutex_) = 0;
};

class DeviceExecutor : public Executor {
 public:
  explicit DeviceExecutor(std::unique_ptr<Device> device)
      : device_(std::move(device)), common_(device_.get()) {}

  std::string_view name() const override { return device_->info().name; }
  size_t max_runs() const override { return device_->info().ways; }
  size_t max_snapshots() const override;
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override;
  size_t max_tasks() const override { return DeviceSlots::kSlots; }
  double unit_busy_seconds() const override {
    return 1e-6 * static_cast<double>(common_.cycles) / device_->info().clock_mhz;
  }
  double card_cpu_seconds() const override { return device_->CardCpuSeconds(); }
  // By the closed form of model/cycle_model.h, from mean records, and what the device says of its
  // link.
  std::optional<UnitTime> Estimate(const TaskShape& task) const override;
  bool makes_filters() const override { return device_->info().bloom; }
  bool compresses() const override { return device_->info().compressors > 0; }
  bool takes_xxh3() const override { return device_->info().xxh3; }
  bool checks_outputs() const override { return true; }

  Device& device() { return *device_; }

 private:
  std::unique_ptr<Device> device_;
  DeviceCommon common_;
};

}  // namespace sluice
