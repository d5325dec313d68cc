// Runs merge tasks on a Device: puts tables and job descriptor into its memory, starts it, and
// takes the finished tables out. Blocks compressed with Snappy are decompressed on the way in.
//
// What the device says is not believed blindly: a completion record or table that cannot be true
// ends the task as kDevice, and every block that comes back is checked against its CRC.
// One task at a time.

#pragma once

#include <memory>
#include <string>

#include "merge/merge.h"
#include "offload/device.h"

namespace sluice {

class DeviceExecutor : public Executor {
 public:
  explicit DeviceExecutor(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  std::string_view name() const override { return device_->info().name; }
  size_t max_runs() const override { return device_->info().ways; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override;

  Device& device() { return *device_; }

 private:
  std::unique_ptr<Device> device_;
};

}  // namespace sluice
