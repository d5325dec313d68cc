#include "device/model/model_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "device/device_memory.h"
#include "device/model/model_job.h"
#include "device/rtlsim/axi_memory.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

class ModelDevice final : public Device {
 public:
  ModelDevice(const DeviceInfo& unit, const ModelDeviceOptions& options)
      : options_(options),
        info_(unit),
        dram_(unit.memory_bytes),
        memory_(kFirstAddress, unit.memory_bytes) {
    info_.clock_mhz = options.clock_mhz / options.slowdown;
    const double units = std::max(options.units, unit.units);
    shape_ = model::ShapeOf(unit, options.latency);
    shape_.memory_bytes = options.memory_gb_per_s * 1000 / options.clock_mhz / units;
    link_rate_ = EffectiveBytesPerSecond(options.link) / units / options.slowdown;
  }

  const DeviceInfo& info() const override { return info_; }

  Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) override {
    return memory_.Allocate(slot, bytes, address);
  }
  void Free(uint32_t slot) override { memory_.Free(slot); }

  Status Write(uint64_t address, std::string_view bytes) override {
    return WriteAll({{{address, bytes}}});
  }
  Status Read(uint64_t address, uint64_t bytes, char* out) override {
    return ReadAll({{{address, bytes, out}}});
  }
  Status WriteAll(std::span<const Source> pieces) override {
    const Clock::time_point begin = Clock::now();
    uint64_t sum = 0;
    for (const auto& [address, bytes] : pieces) {
      if (!dram_.Contains(address, bytes.size())) {
        return Status::InvalidArgument(
            fmt::format("write outside device memory at {:#x}", address));
      }
      std::memcpy(dram_.data() + address, bytes.data(), bytes.size());
      sum += bytes.size();
    }
    Transfer(begin, sum);
    return {};
  }
  Status ReadAll(std::span<const Target> pieces) override {
    const Clock::time_point begin = Clock::now();
    uint64_t sum = 0;
    for (const auto& [address, bytes, out] : pieces) {
      if (!dram_.Contains(address, bytes)) {
        return Status::InvalidArgument(fmt::format("read outside device memory at {:#x}", address));
      }
      std::memcpy(out, dram_.data() + address, bytes);
      sum += bytes;
    }
    Transfer(begin, sum);
    return {};
  }

  Status Start(uint64_t descriptor) override {
    job_ = descriptor;
    started_ = Clock::now();
    return {};
  }

  Status Wait(uint64_t cycles, uint8_t* status) override {
    if (!job_.has_value()) {
      return Status::IoError(fmt::format("device {}: no job was started", info_.name));
    }
    model::Memory memory{dram_.data(), dram_.size()};
    const model::JobOutcome outcome = model::RunJob(info_, shape_, memory, *job_);
    job_.reset();
    *status = static_cast<uint8_t>(outcome.status);
    const auto waited = static_cast<double>(std::min(outcome.cycles, cycles));
    std::this_thread::sleep_until(started_ + Seconds(waited / (info_.clock_mhz * 1e6)));
    if (outcome.cycles > cycles) {
      return Status::IoError(fmt::format("device {}: no answer in {} cycles", info_.name, cycles));
    }
    return {};
  }

  Status Reset() override {
    job_.reset();
    return {};
  }

  // Without a link this is no card whose time anybody would weigh against the host's.
  std::optional<double> TransferSeconds(uint64_t bytes) const override {
    if (options_.link.lanes == 0) {
      return {};
    }
    return options_.transfer_us * 1e-6 * options_.slowdown +
           static_cast<double>(bytes) / link_rate_;
  }

 private:
  // Address 0 stays unused, so that a null address is never a valid one.
  static constexpr uint64_t kFirstAddress = 4096;

  void Transfer(Clock::time_point begin, uint64_t bytes) const {
    if (const std::optional<double> seconds = TransferSeconds(bytes); seconds.has_value()) {
      std::this_thread::sleep_until(begin + Seconds(*seconds));
    }
  }

  const ModelDeviceOptions options_;
  DeviceInfo info_;
  rtlsim::Dram dram_;
  DeviceMemory memory_;
  model::UnitShape shape_;
  double link_rate_ = 0;  // bytes per second
  std::optional<uint64_t> job_;
  Clock::time_point started_;
};

}  // namespace

double EffectiveBytesPerSecond(const PcieLink& link) {
  constexpr double kTransfers[] = {2.5e9, 5e9, 8e9, 16e9, 32e9};  // per second and lane
  const unsigned generation = std::clamp(link.generation, 1u, 5u);
  const double encoding = generation <= 2 ? 8.0 / 10 : 128.0 / 130;
  return kTransfers[generation - 1] * encoding / 8 * link.lanes * 256 / (256 + 24 + 8);
}

std::unique_ptr<Device> MakeModelDevice(const DeviceInfo& unit, const ModelDeviceOptions& options) {
  return std::make_unique<ModelDevice>(unit, options);
}

}  // namespace sluice
