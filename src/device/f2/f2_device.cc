#include "device/f2/f2_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include "device/card_unit.h"
#include "device/device_memory.h"
#include "device/f2/mapped_bars.h"
#include "sluice_abi.h"
#include "util/coding.h"
#include "util/mutex.h"

namespace sluice {

namespace {

using Clock = CardUnit::Clock;
using Seconds = std::chrono::duration<double>;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLine = 64;

class F2Device : public Device {
 public:
  F2Device(std::string name, std::shared_ptr<F2Bars> bars, unsigned unit,
           const F2DeviceOptions& options)
      : bars_(std::move(bars)),
        options_(options),
        bytes_(options.memory_bytes & ~(kPage - 1)),
        base_(unit * bytes_),
        unit_(bars_.get(), unit, fmt::format("{} unit {}", name, unit)),
        memory_(base_ + kPage, base_ + bytes_) {
    info_.name = std::move(name);
  }

  Status Open(uint32_t units) {
    if (bars_->memory_bytes() < units * bytes_) {
      return Status::InvalidArgument(fmt::format("{} has {} bytes of memory, not {} for each of {}",
                                                 info_.name, bars_->memory_bytes(), bytes_, units));
    }
    // A process that was killed may have left it with a job.
    SLUICE_RETURN_IF_ERROR(Reset());
    unit_.ReadCapabilities(&info_);
    info_.units = units;
    info_.memory_bytes = bytes_;
    info_.clock_mhz = options_.clock_mhz;
    return {};
  }

  const DeviceInfo& info() const override { return info_; }

  Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) override {
    return memory_.Allocate(slot, bytes, address);
  }
  void Free(uint32_t slot) override { memory_.Free(slot); }

  Status Write(uint64_t address, std::string_view bytes) override {
    SLUICE_RETURN_IF_ERROR(Contains(address, bytes.size()));
    bars_->WriteMemory(address, bytes);
    written_ = true;
    return {};
  }
  Status Read(uint64_t address, uint64_t bytes, char* out) override {
    SLUICE_RETURN_IF_ERROR(Contains(address, bytes));
    SLUICE_RETURN_IF_ERROR(Flush());
    bars_->ReadMemory(address, bytes, out);
    return {};
  }

  Status Start(uint64_t descriptor) override {
    if (!unit_.HasWindow(base_, base_ + bytes_)) {
      return Status::IoError(info_.name + " is gone, or others have reset it");
    }
    SLUICE_RETURN_IF_ERROR(Flush());
    unit_.Start(descriptor);
    return {};
  }
  Status Wait(uint64_t cycles, uint8_t* status) override {
    return unit_.Wait(cycles, options_.clock_mhz,
                      {options_.patience_seconds, options_.stall_seconds}, CardUnit::Sleep, status);
  }

  // A card that knows nothing of the unit's window has been loaded with its image since.
  Status Reset() override {
    SLUICE_RETURN_IF_ERROR(unit_.CheckIdentity());
    SLUICE_RETURN_IF_ERROR(unit_.Reset());
    written_ = true;
    SLUICE_RETURN_IF_ERROR(Flush());  // the memory is ready
    if (!unit_.HasWindow(base_, base_ + bytes_)) {
      if (options_.clear_memory) {
        Clear();
        SLUICE_RETURN_IF_ERROR(Flush());
      }
      unit_.SetWindow(base_, base_ + bytes_);
    }
    return {};
  }

 private:
  Status Contains(uint64_t address, uint64_t bytes) const {
    if (address < base_ || address - base_ > bytes_ || bytes > bytes_ - (address - base_)) {
      return Status::InvalidArgument(
          fmt::format("no device memory of this unit at {:#x}", address));
    }
    return {};
  }

  // Memory with ECC must be written, in whole lines, before it is read or written in part.
  void Clear() {
    const std::string zeros(std::min(bytes_, uint64_t{1} << 20), '\0');
    for (uint64_t at = 0; at < bytes_; at += zeros.size()) {
      bars_->WriteMemory(base_ + at,
                         std::string_view(zeros).substr(0, std::min(bytes_ - at, zeros.size())));
    }
    written_ = true;
  }

  // Returns when all that was written so far stands in memory, for the unit and for Read. Before
  // the first job it also tells whether memory works.
  Status Flush() {
    const MutexLock lock(mutex_);
    if (!written_.exchange(false)) {
      return {};
    }
    char line[kLine] = {};
    EncodeFixed64(line, ++flushes_);
    const Clock::time_point began = Clock::now();
    char seen[kLine];
    do {
      bars_->WriteMemory(base_, {line, kLine});  // lost, while the memory is not ready
      bars_->ReadMemory(base_, kLine, seen);
      if (std::equal(seen, std::end(seen), line)) {
        return {};
      }
    } while (Clock::now() - began < Seconds(options_.flush_seconds));
    written_ = true;
    return Status::IoError(
        fmt::format("what is written to the memory of {} does not arrive", info_.name));
  }

  const std::shared_ptr<F2Bars> bars_;
  const F2DeviceOptions options_;
  const uint64_t bytes_;  // of memory
  const uint64_t base_;
  DeviceInfo info_;
  CardUnit unit_;
  DeviceMemory memory_;
  std::atomic<bool> written_ = true;  // something, since the last Flush
  Mutex mutex_;
  // No value that an earlier process can have left.
  uint64_t flushes_ SLUICE_GUARDED_BY(mutex_) =
      static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
};

}  // namespace

Status MakeF2Devices(std::string_view card, const F2DeviceOptions& options,
                     std::vector<std::unique_ptr<Device>>* devices) {
  const std::string name(card);
  std::shared_ptr<F2Bars> bars;
  const Status status = MapF2Bars("/sys/bus/pci/devices/" + name,
                                  abi::card::kUnitCount * options.memory_bytes, &bars);
  if (status.IsNotFound()) {
    return Status::NotFound(fmt::format(
        "no card {}: executor f2 is configured by a PCI address, as 0000:34:00.0", name));
  }
  SLUICE_RETURN_IF_ERROR(status);
  return MakeF2Devices(name, std::move(bars), options, devices);
}

Status MakeF2Devices(std::string_view name, std::shared_ptr<F2Bars> bars,
                     const F2DeviceOptions& options,
                     std::vector<std::unique_ptr<Device>>* devices) {
  SLUICE_RETURN_IF_ERROR(CardUnit(bars.get(), 0, std::string(name)).CheckIdentity());
  const uint32_t units = bars->Read(abi::card::kUnits);
  if (units == 0 || units > abi::card::kUnitCount) {
    return Status::IoError(fmt::format("{} says that it has {} units", name, units));
  }
  std::vector<std::unique_ptr<Device>> opened;
  for (unsigned unit = 0; unit < units; ++unit) {
    auto device = std::make_unique<F2Device>(std::string(name), bars, unit, options);
    SLUICE_RETURN_IF_ERROR(device->Open(units));
    opened.push_back(std::move(device));
  }
  std::move(opened.begin(), opened.end(), std::back_inserter(*devices));
  return {};
}

}  // namespace sluice
