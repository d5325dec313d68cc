#include "device/xrt/xrt_device.h"

#include <experimental/xrt_ip.h>
#include <experimental/xrt_xclbin.h>
#include <fmt/format.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "device/card_unit.h"
#include "device/device_memory.h"
#include "util/mutex.h"

namespace sluice {

namespace {

using std::chrono::milliseconds;

constexpr std::string_view kKernelPrefix = "sluice_";
// A lost interrupt is made up for by a look at the unit after this.
constexpr milliseconds kInterruptWait{20};
constexpr uint64_t kPage = 4096;

// XRT reports errors as exceptions.
template <typename Call>
Status Try(std::string_view what, const Call& call) {
  try {
    return call();
  } catch (const std::exception& e) {
    return Status::IoError(fmt::format("XRT: {}: {}", what, e.what()));
  }
}

// A buffer on the card, and its copy in host memory.
class Pool {
 public:
  Pool(const xrt::device& device, uint64_t bytes, int32_t bank)
      : buffer_(device, bytes, xrt::bo::flags::normal, static_cast<xrt::memory_group>(bank)),
        host_(buffer_.map<char*>()),
        begin_(buffer_.address()),
        bytes_(bytes) {}

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return begin_ + bytes_; }

  Status Write(uint64_t address, std::string_view bytes) {
    SLUICE_RETURN_IF_ERROR(Contains(address, bytes.size()));
    return Try("upload", [&] {
      std::copy(bytes.begin(), bytes.end(), host_ + (address - begin_));
      buffer_.sync(XCL_BO_SYNC_BO_TO_DEVICE, bytes.size(), address - begin_);
      return Status();
    });
  }
  Status Read(uint64_t address, uint64_t bytes, char* out) {
    SLUICE_RETURN_IF_ERROR(Contains(address, bytes));
    return Try("download", [&] {
      buffer_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, bytes, address - begin_);
      std::copy_n(host_ + (address - begin_), bytes, out);
      return Status();
    });
  }

 private:
  Status Contains(uint64_t address, uint64_t bytes) const {
    if (address < begin_ || address - begin_ > bytes_ || bytes > bytes_ - (address - begin_)) {
      return Status::InvalidArgument(
          fmt::format("no device memory of this unit at {:#x}", address));
    }
    return {};
  }

  xrt::bo buffer_;
  char* host_;
  uint64_t begin_;
  uint64_t bytes_;
};

// The bank that all ports of a unit reach, or -1.
int32_t CommonBank(const xrt::xclbin::ip& unit) {
  std::optional<std::set<int32_t>> common;
  for (const xrt::xclbin::arg& argument : unit.get_args()) {
    std::set<int32_t> banks;
    if (argument) {
      for (const xrt::xclbin::mem& bank : argument.get_mems()) {
        banks.insert(bank.get_index());
      }
    }
    if (banks.empty()) {
      continue;  // a register
    }
    if (common) {
      std::erase_if(*common, [&](int32_t bank) { return !banks.contains(bank); });
    } else {
      common = std::move(banks);
    }
  }
  // Of several, the last one: groups of banks stand behind the banks themselves.
  return common && !common->empty() ? *common->rbegin() : -1;
}

// Of a kernel, which is a card of one unit.
class KernelRegisters : public CardRegisters {
 public:
  explicit KernelRegisters(xrt::ip* ip) : ip_(ip) {}
  uint32_t Read(uint32_t offset) override { return ip_->read_register(offset); }
  void Write(uint32_t offset, uint32_t value) override { ip_->write_register(offset, value); }

 private:
  xrt::ip* ip_;
};

class XrtDevice : public Device {
 public:
  XrtDevice(std::string card, xrt::xclbin xclbin, xrt::xclbin::ip unit, XrtDeviceOptions options)
      : card_(std::move(card)),
        xclbin_(std::move(xclbin)),
        unit_(std::move(unit)),
        options_(options),
        bytes_(options.memory_bytes & ~(kPage - 1)),
        control_(&registers_, 0, unit_.get_name()) {}

  Status Open(uint32_t units) {
    SLUICE_RETURN_IF_ERROR(Connect());
    info_.name = unit_.get_name().substr(kKernelPrefix.size());
    info_.name.resize(std::min(info_.name.size(), info_.name.find(':')));
    info_.units = units;
    info_.memory_bytes = bytes_;
    return Try("capabilities", [&] {
      control_.ReadCapabilities(&info_);
      info_.clock_mhz =
          static_cast<double>(device_.get_info<xrt::info::device::max_clock_frequency_mhz>());
      return Status();
    });
  }

  const DeviceInfo& info() const override { return info_; }

  Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) override {
    return memory_->Allocate(slot, bytes, address);
  }
  void Free(uint32_t slot) override { memory_->Free(slot); }
  Status Write(uint64_t address, std::string_view bytes) override {
    const std::shared_ptr<Pool> memory = pool();
    return memory ? memory->Write(address, bytes) : NotConnected();
  }
  Status Read(uint64_t address, uint64_t bytes, char* out) override {
    const std::shared_ptr<Pool> memory = pool();
    return memory ? memory->Read(address, bytes, out) : NotConnected();
  }

  Status Start(uint64_t descriptor) override {
    if (!ip_) {
      return NotConnected();
    }
    return Try("start", [&] {
      if (interrupt_) {
        interrupt_->enable();
      }
      control_.Start(descriptor);
      return Status();
    });
  }

  Status Wait(uint64_t cycles, uint8_t* status) override {
    const auto pause = [&](CardUnit::Clock::duration elapsed) {
      if (interrupt_) {
        interrupt_->wait(kInterruptWait);
      } else {
        CardUnit::Sleep(elapsed);
      }
    };
    return Try("wait", [&] {
      return control_.Wait(cycles, info_.clock_mhz,
                           {options_.patience_seconds, options_.stall_seconds}, pause, status);
    });
  }

  // A unit that does not answer may be on a card that was reset, or programmed anew: it is opened
  // again. What was in its memory is gone then, but who has a part of it keeps that, so that a job
  // whose descriptor is lost finds none, and not another's.
  Status Reset() override {
    return ip_ && Try("identity", [&] { return control_.CheckIdentity(); }).ok() ? ResetUnit()
                                                                                 : Connect();
  }

 private:
  // None while there is no connection.
  std::shared_ptr<Pool> pool() const {
    const MutexLock lock(mutex_);
    return pool_;
  }
  void set_pool(std::shared_ptr<Pool> pool) {
    const MutexLock lock(mutex_);
    pool_ = std::move(pool);
  }
  Status NotConnected() const {
    return Status::IoError(fmt::format("{} is not connected", unit_.get_name()));
  }

  // Undoes what is done so far if it fails.
  Status Connect() {
    Disconnect();
    const Status status = Try(fmt::format("card {}", card_), [&] {
      const bool index = card_.find_first_not_of("0123456789") == std::string::npos;
      device_ = index ? xrt::device(static_cast<unsigned>(std::stoul(card_))) : xrt::device(card_);
      const xrt::uuid id = device_.load_xclbin(xclbin_);
      const std::string name = unit_.get_name();  // KERNEL:UNIT, which XRT wants as KERNEL:{UNIT}
      const size_t colon = name.find(':');
      ip_ = xrt::ip(device_, id,
                    fmt::format("{}:{{{}}}", name.substr(0, colon), name.substr(colon + 1)));
      SLUICE_RETURN_IF_ERROR(control_.CheckIdentity());
      // A process that was killed may have left it with a job.
      SLUICE_RETURN_IF_ERROR(ResetUnit());
      auto pool = std::make_shared<Pool>(device_, bytes_, CommonBank(unit_));
      if (memory_ == nullptr) {
        begin_ = pool->begin();
        memory_ = std::make_unique<DeviceMemory>(begin_ + kPage, pool->end());
      } else if (pool->begin() != begin_) {
        return Status::IoError("the memory of " + unit_.get_name() + " is taken by others now");
      }
      control_.SetWindow(pool->begin(), pool->end());
      set_pool(std::move(pool));
      try {
        interrupt_ = ip_.create_interrupt_notify();
      } catch (const std::exception&) {
        // Not with this XRT: the host asks.
      }
      return Status();
    });
    if (!status.ok()) {
      Disconnect();
    }
    return status;
  }

  // A unit is open once, and a card has one xclbin at a time.
  void Disconnect() {
    interrupt_.reset();
    set_pool(nullptr);
    ip_ = {};
    device_ = {};
  }

  Status ResetUnit() {
    return Try("reset", [&] { return control_.Reset(); });
  }

  const std::string card_;
  const xrt::xclbin xclbin_;
  const xrt::xclbin::ip unit_;
  const XrtDeviceOptions options_;
  const uint64_t bytes_;  // of memory
  DeviceInfo info_;
  // Given out as of the first connection. The first page stays unused, so that no address is null.
  uint64_t begin_ = 0;
  std::unique_ptr<DeviceMemory> memory_;
  // Made anew by Reset, in the thread that starts and waits.
  xrt::device device_;
  xrt::ip ip_;
  KernelRegisters registers_{&ip_};
  CardUnit control_;
  std::optional<xrt::ip::interrupt> interrupt_;
  mutable Mutex mutex_;
  std::shared_ptr<Pool> pool_ SLUICE_GUARDED_BY(mutex_);  // calls keep the one that they began with
};

}  // namespace

Status MakeXrtDevices(std::string_view xclbin, const XrtDeviceOptions& options,
                      std::vector<std::unique_ptr<Device>>* devices) {
  const size_t at = xclbin.rfind('@');
  const std::string file(xclbin.substr(0, at));
  const std::string card(at == std::string_view::npos ? "0" : xclbin.substr(at + 1));
  if (!std::filesystem::is_regular_file(file)) {
    return Status::NotFound(
        fmt::format("no file {}: executor xrt is configured by an xclbin", file));
  }
  return Try(file, [&] {
    const xrt::xclbin image(file);
    std::vector<xrt::xclbin::ip> units = image.get_ips();
    std::erase_if(
        units, [](const xrt::xclbin::ip& ip) { return !ip.get_name().starts_with(kKernelPrefix); });
    if (units.empty()) {
      return Status::InvalidArgument(fmt::format("{} has no kernel {}*", file, kKernelPrefix));
    }
    std::vector<std::unique_ptr<Device>> opened;
    for (const xrt::xclbin::ip& unit : units) {
      if (CommonBank(unit) < 0) {
        return Status::InvalidArgument(
            fmt::format("{}: no bank that all ports of {} reach", file, unit.get_name()));
      }
      auto device = std::make_unique<XrtDevice>(card, image, unit, options);
      SLUICE_RETURN_IF_ERROR(device->Open(static_cast<uint32_t>(units.size())));
      opened.push_back(std::move(device));
    }
    std::move(opened.begin(), opened.end(), std::back_inserter(*devices));
    return Status();
  });
}

}  // namespace sluice
