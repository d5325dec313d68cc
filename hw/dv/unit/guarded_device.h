// A Device that watches what the unit does to memory: guard bytes stand around every allocation,
// and what the host wrote must be there unchanged when a job ends, but for the block that holds the
// job descriptor (the completion record stands beside it). For one task at a time.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "device/device.h"

namespace sluice::dv {

class GuardedDevice : public Device {
 public:
  explicit GuardedDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  const DeviceInfo& info() const override { return device_->info(); }

  Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) override {
    const uint64_t rounded = (bytes + 4095) & ~4095ull;
    SLUICE_RETURN_IF_ERROR(device_->Allocate(slot, rounded + 2 * kGuard, address));
    SLUICE_RETURN_IF_ERROR(device_->Write(*address, std::string(kGuard, kPattern)));
    // The slack behind the allocation's last byte guards too.
    *address += kGuard;
    const uint64_t end = *address + bytes;
    guards_[*address - kGuard] = kGuard;
    guards_[end] = *address + rounded + kGuard - end;
    return device_->Write(end, std::string(guards_[end], kPattern));
  }
  void Free(uint32_t slot) override {
    device_->Free(slot);
    guards_.clear();
    written_.clear();
  }
  Status Write(uint64_t address, std::string_view bytes) override {
    written_[address] = bytes;
    return device_->Write(address, bytes);
  }
  Status Read(uint64_t address, uint64_t bytes, char* out) override {
    return device_->Read(address, bytes, out);
  }
  Status Start(uint64_t descriptor) override {
    written_.erase(descriptor);
    return device_->Start(descriptor);
  }
  Status Wait(uint64_t cycles, uint8_t* status) override {
    SLUICE_RETURN_IF_ERROR(device_->Wait(cycles, status));
    for (const auto& [address, bytes] : guards_) {
      SLUICE_RETURN_IF_ERROR(Compare(address, std::string(bytes, kPattern)));
    }
    for (const auto& [address, bytes] : written_) {
      SLUICE_RETURN_IF_ERROR(Compare(address, bytes));
    }
    return {};
  }
  Status Reset() override { return device_->Reset(); }

 protected:
  Device& device() { return *device_; }

 private:
  static constexpr uint64_t kGuard = 4096;
  static constexpr char kPattern = '\x5c';

  Status Compare(uint64_t address, const std::string& expected) {
    std::string found(expected.size(), '\0');
    SLUICE_RETURN_IF_ERROR(device_->Read(address, found.size(), found.data()));
    if (found != expected) {
      const auto at = std::mismatch(found.begin(), found.end(), expected.begin()).first;
      return Status::IoError(fmt::format("the unit wrote to {:#x}, outside its output areas",
                                         address + (at - found.begin())));
    }
    return {};
  }

  std::unique_ptr<Device> device_;
  std::map<uint64_t, uint64_t> guards_;
  std::map<uint64_t, std::string> written_;
};

}  // namespace sluice::dv
