// A Device whose first job starts together with those of the other units of its card: jobs started
// by several threads then always meet in the same cycles, whatever the threads do.

#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "device/device.h"

namespace sluice::dv {

// Lets `units` threads through in the order of their units, once all are there.
class StartGate {
 public:
  explicit StartGate(unsigned units) : units_(units) {}

  template <typename Pass>
  Status Enter(unsigned unit, Pass pass) {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return arrived_ == units_ && passed_ == unit; });
    Status status = pass();
    ++passed_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return passed_ == units_; });
    return status;
  }

 private:
  const unsigned units_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned arrived_ = 0;
  unsigned passed_ = 0;
};

class StartTogether : public Device {
 public:
  StartTogether(std::unique_ptr<Device> device, std::shared_ptr<StartGate> gate, unsigned unit)
      : device_(std::move(device)), gate_(std::move(gate)), unit_(unit) {}

  const DeviceInfo& info() const override { return device_->info(); }
  Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) override {
    return device_->Allocate(slot, bytes, address);
  }
  void Free(uint32_t slot) override { device_->Free(slot); }
  Status Write(uint64_t address, std::string_view bytes) override {
    return device_->Write(address, bytes);
  }
  Status Read(uint64_t address, uint64_t bytes, char* out) override {
    return device_->Read(address, bytes, out);
  }
  Status Start(uint64_t descriptor) override {
    if (std::exchange(started_, true)) {
      return device_->Start(descriptor);
    }
    return gate_->Enter(unit_, [&] { return device_->Start(descriptor); });
  }
  Status Wait(uint64_t cycles, uint8_t* status) override { return device_->Wait(cycles, status); }
  Status Reset() override { return device_->Reset(); }

 private:
  std::unique_ptr<Device> device_;
  std::shared_ptr<StartGate> gate_;
  unsigned unit_;
  bool started_ = false;
};

}  // namespace sluice::dv
