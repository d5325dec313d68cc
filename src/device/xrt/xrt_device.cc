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
#include <thread>
#include <utility>

#include "device/device_memory.h"
#include "sluice_abi.h"
#include "util/mutex.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::string_view kKernelPrefix = "sluice_";
// A lost interrupt is made up for by a look at the unit after this.
constexpr milliseconds kInterruptWait{20};
constexpr Clock::duration kResetTime = std::chrono::seconds(1);
constexpr double kTimesTheCycles = 10;  // Device::Wait
constexpr uint64_t kPage = 4096;
// What the bus answers a read with if nothing is there.
constexpr uint32_t kNobody = 0xffffffff;

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

class XrtDevice : public Device {
 public:
  XrtDevice(std::string card, xrt::xclbin xclbin, xrt::xclbin::ip unit, XrtDeviceOptions options)
      : card_(std::move(card)),
        xclbin_(std::move(xclbin)),
        unit_(std::move(unit)),
        options_(options),
        bytes_(options.memory_bytes & ~(kPage - 1)) {}

  Status Open(uint32_t units) {
    SLUICE_RETURN_IF_ERROR(Connect());
    info_.name = unit_.get_name().substr(kKernelPrefix.size());
    info_.name.resize(std::min(info_.name.size(), info_.name.find(':')));
    info_.units = units;
    info_.memory_bytes = bytes_;
    return Try("capabilities", [&] {
      info_.ways = ip_.read_register(abi::capability::kWays);
      info_.value_bytes = ip_.read_register(abi::capability::kValueBytes);
      info_.in_bytes = ip_.read_register(abi::capability::kInBytes);
      info_.out_bytes = ip_.read_register(abi::capability::kOutBytes);
      info_.max_key_bytes = ip_.read_register(abi::capability::kMaxKeyBytes);
      info_.max_value_bytes = ip_.read_register(abi::capability::kMaxValueBytes);
      info_.max_restarts = ip_.read_register(abi::capability::kMaxRestarts);
      info_.max_blocks = ip_.read_register(abi::capability::kMaxBlocks);
      info_.snappy =
          (ip_.read_register(abi::capability::kFeatures) >> abi::capability::kFeaturesSnappyShift &
           abi::capability::kFeaturesSnappyMask) != 0;
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
    started_ = Clock::now();
    return Try("start", [&] {
      if (interrupt_) {
        interrupt_->enable();
      }
      ip_.write_register(abi::control::kGie, 1);
      ip_.write_register(abi::control::kIer, 1);
      ip_.write_register(abi::control::kJobAddrLo, static_cast<uint32_t>(descriptor));
      ip_.write_register(abi::control::kJobAddrHi, static_cast<uint32_t>(descriptor >> 32));
      ip_.write_register(abi::control::kCtrl, 1u << abi::control::kCtrlStartShift);
      return Status();
    });
  }

  Status Wait(uint64_t cycles, uint8_t* status) override {
    return Try("wait", [&] {
      SLUICE_RETURN_IF_ERROR(WaitUntilDone(cycles));
      ip_.write_register(abi::control::kIsr, 1);
      ip_.write_register(abi::control::kCtrl, 1u << abi::control::kCtrlContinueShift);
      *status = static_cast<uint8_t>(ip_.read_register(abi::control::kStatus));
      return Status();
    });
  }

  // A unit that does not answer may be on a card that was reset, or programmed anew: it is opened
  // again. What was in its memory is gone then, but who has a part of it keeps that, so that a job
  // whose descriptor is lost finds none, and not another's.
  Status Reset() override {
    return ip_ && Try("identity", [&] { return CheckIdentity(); }).ok() ? ResetUnit() : Connect();
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
      SLUICE_RETURN_IF_ERROR(CheckIdentity());
      // A process that was killed may have left it with a job.
      SLUICE_RETURN_IF_ERROR(ResetUnit());
      auto pool = std::make_shared<Pool>(device_, bytes_, CommonBank(unit_));
      if (memory_ == nullptr) {
        begin_ = pool->begin();
        memory_ = std::make_unique<DeviceMemory>(begin_ + kPage, pool->end());
      } else if (pool->begin() != begin_) {
        return Status::IoError("the memory of " + unit_.get_name() + " is taken by others now");
      }
      ip_.write_register(abi::card::kWindowBase, static_cast<uint32_t>(pool->begin() / kPage));
      ip_.write_register(abi::card::kWindowLimit, static_cast<uint32_t>(pool->end() / kPage));
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

  // IoError if it does not come out of its reset: it may still write to memory.
  Status ResetUnit() {
    return Try("reset", [&] {
      ip_.write_register(abi::card::kReset, 1);
      for (const Clock::time_point began = Clock::now();
           ip_.read_register(abi::card::kReset) != 0;) {
        if (Clock::now() - began > kResetTime) {
          return Status::IoError(unit_.get_name() + " does not come out of its reset");
        }
        std::this_thread::sleep_for(milliseconds(1));
      }
      return Status();
    });
  }

  Status CheckIdentity() const {
    const uint32_t id = ip_.read_register(abi::capability::kId);
    if (id >> 16 != abi::kMagic) {
      return Status::IoError(
          fmt::format("{} does not answer as a Compaction Unit: {:#x}", unit_.get_name(), id));
    }
    if ((id & 0xffff) != abi::kVersion) {
      return Status::InvalidArgument(
          fmt::format("{} is of version {} of the interface, this program of {}", unit_.get_name(),
                      id & 0xffff, abi::kVersion));
    }
    return {};
  }

  Status WaitUntilDone(uint64_t cycles) {
    using Seconds = std::chrono::duration<double>;
    const Seconds most{
        std::max(options_.patience_seconds,
                 kTimesTheCycles * static_cast<double>(cycles) / (info_.clock_mhz * 1e6))};
    uint32_t moved = ip_.read_register(abi::card::kBeats);
    Clock::time_point checked = Clock::now();
    while (true) {
      const uint32_t control = ip_.read_register(abi::control::kCtrl);
      if (control == kNobody) {
        return Status::IoError(fmt::format("{} is gone from the bus", unit_.get_name()));
      }
      if ((control >> abi::control::kCtrlDoneShift & 1) != 0) {
        return {};
      }
      const Clock::time_point now = Clock::now();
      if (now - started_ > most) {
        return Status::IoError(
            fmt::format("no answer in {:.1f} s", Seconds(now - started_).count()));
      }
      if (now - checked > Seconds(options_.stall_seconds)) {
        const uint32_t before = std::exchange(moved, ip_.read_register(abi::card::kBeats));
        if (moved == before) {
          return Status::IoError(fmt::format("no answer, and nothing moved for {:.1f} s",
                                             Seconds(now - checked).count()));
        }
        checked = now;
      }
      if (interrupt_) {
        interrupt_->wait(kInterruptWait);
      } else {
        std::this_thread::sleep_for(std::clamp<Clock::duration>(
            (now - started_) / 16, std::chrono::microseconds(20), milliseconds(1)));
      }
    }
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
  std::optional<xrt::ip::interrupt> interrupt_;
  Clock::time_point started_;
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
