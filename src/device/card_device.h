// A simulated or modelled device whose work has a thread of its own, called slc-card: so that the
// CPU time of what stands for a card can be told from the host's, which drives it and moves and
// checks data.
//
// Start, Wait and Reset are done on that thread while the caller waits; Write and Read, which are
// copies that a host makes, on the caller's.

#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "device/device.h"
#include "util/mutex.h"

namespace sluice {

class CardDevice : public Device {
 public:
  explicit CardDevice(std::unique_ptr<Device> device);
  ~CardDevice() override;

  const DeviceInfo& info() const override { return device_->info(); }
  Status Allocate(uint64_t bytes, uint64_t* address) override {
    return device_->Allocate(bytes, address);
  }
  void FreeAll() override { device_->FreeAll(); }
  Status Write(uint64_t address, std::string_view bytes) override {
    return device_->Write(address, bytes);
  }
  Status Read(uint64_t address, uint64_t bytes, char* out) override {
    return device_->Read(address, bytes, out);
  }
  Status Start(uint64_t descriptor) override {
    return OnCard([&] { return device_->Start(descriptor); });
  }
  Status Wait(uint64_t cycles, uint8_t* status) override {
    return OnCard([&] { return device_->Wait(cycles, status); });
  }
  Status Reset() override {
    return OnCard([&] { return device_->Reset(); });
  }
  double CardCpuSeconds() override;

 private:
  using Call = std::function<Status()>;

  Status OnCard(const Call& call);
  void Serve();

  std::unique_ptr<Device> device_;
  Mutex mutex_;
  CondVar changed_;
  const Call* call_ SLUICE_GUARDED_BY(mutex_) = nullptr;  // to be done, or being done
  Status result_ SLUICE_GUARDED_BY(mutex_);               // of the last one
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sluice
