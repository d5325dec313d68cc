// RtlDevice: one unit of an RtlCard. Instantiated once per configuration, by the sources generated
// from rtl_device.cc.in.

#pragma once

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device_memory.h"
#include "device/rtlsim/rtl_card.h"
#include "sluice_abi.h"

namespace sluice::rtlsim {

template <typename Model, unsigned kUnits = 1>
class RtlDevice : public Device {
 public:
  using Card = RtlCard<Model, kUnits>;

  // The first unit of a card of its own.
  RtlDevice(std::string name, const RtlDeviceOptions& options)
      : RtlDevice(std::move(name), options, std::make_shared<Card>(options), 0) {}

  RtlDevice(std::string name, const RtlDeviceOptions& options, std::shared_ptr<Card> card,
            unsigned unit)
      : options_(options), card_(std::move(card)), unit_(unit) {
    info_.name = std::move(name);
    info_.units = kUnits;
    info_.ways = card_->Read(unit, abi::capability::kWays);
    info_.value_bytes = card_->Read(unit, abi::capability::kValueBytes);
    info_.in_bytes = card_->Read(unit, abi::capability::kInBytes);
    info_.out_bytes = card_->Read(unit, abi::capability::kOutBytes);
    info_.max_key_bytes = card_->Read(unit, abi::capability::kMaxKeyBytes);
    info_.max_value_bytes = card_->Read(unit, abi::capability::kMaxValueBytes);
    info_.max_restarts = card_->Read(unit, abi::capability::kMaxRestarts);
    info_.max_blocks = card_->Read(unit, abi::capability::kMaxBlocks);
    const uint32_t features = card_->Read(unit, abi::capability::kFeatures);
    info_.snappy = (features >> abi::capability::kFeaturesSnappyShift &
                    abi::capability::kFeaturesSnappyMask) != 0;
    info_.bloom = (features >> abi::capability::kFeaturesBloomShift &
                   abi::capability::kFeaturesBloomMask) != 0;
    info_.compressors = features >> abi::capability::kFeaturesCompressorsShift &
                        abi::capability::kFeaturesCompressorsMask;
    info_.xxh3 =
        (features >> abi::capability::kFeaturesXxh3Shift & abi::capability::kFeaturesXxh3Mask) != 0;
    info_.memory_bytes = card_->dram().size() / kUnits & ~4095ull;
    info_.clock_mhz = 200;
    base_ = unit * info_.memory_bytes;
    memory_ = std::make_unique<DeviceMemory>(base_ + kFirstOffset, base_ + info_.memory_bytes);
    card_->SetWindow(unit, base_, base_ + info_.memory_bytes);
  }

  const DeviceInfo& info() const override { return info_; }

  Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) override {
    return memory_->Allocate(slot, bytes, address);
  }
  void Free(uint32_t slot) override { memory_->Free(slot); }

  Status Write(uint64_t address, std::string_view bytes) override {
    if (!Contains(address, bytes.size())) {
      return Status::InvalidArgument(fmt::format("write outside device memory at {:#x}", address));
    }
    std::memcpy(card_->dram().data() + address, bytes.data(), bytes.size());
    memory_->NoteWritten(address, bytes.size());
    return {};
  }
  Status Read(uint64_t address, uint64_t bytes, char* out) override {
    if (!Contains(address, bytes)) {
      return Status::InvalidArgument(fmt::format("read outside device memory at {:#x}", address));
    }
    std::memcpy(out, card_->dram().data() + address, bytes);
    return {};
  }

  Status Start(uint64_t descriptor) override {
    card_->Write(unit_, abi::control::kGie, 1);
    card_->Write(unit_, abi::control::kIer, 1);
    card_->Write(unit_, abi::control::kJobAddrLo, static_cast<uint32_t>(descriptor));
    card_->Write(unit_, abi::control::kJobAddrHi, static_cast<uint32_t>(descriptor >> 32));
    card_->Write(unit_, abi::control::kCtrl, 1u << abi::control::kCtrlStartShift);
    started_ = card_->cycle();
    loaded_ = memory_->Written(descriptor);
    return card_->PortFault();
  }

  Status Wait(uint64_t cycles, uint8_t* status) override {
    std::function<void(uint64_t)> progress;
    if (options_.progress) {
      progress = [this](uint64_t beats) { options_.progress(beats * info_.in_bytes, loaded_); };
    }
    if (Status waited = card_->Wait(unit_, started_, cycles, progress); !waited.ok()) {
      return waited.WithContext(fmt::format("device {}", info_.name));
    }
    card_->Write(unit_, abi::control::kIsr, 1);
    card_->Write(unit_, abi::control::kCtrl, 1u << abi::control::kCtrlContinueShift);
    *status = static_cast<uint8_t>(card_->Read(unit_, abi::control::kStatus));
    return card_->PortFault();
  }

  Status Reset() override { return card_->Reset(unit_); }

 private:
  // Address 0 stays unused, so that a null address is never a valid one.
  static constexpr uint64_t kFirstOffset = 4096;

  bool Contains(uint64_t address, uint64_t bytes) const {
    return address >= base_ && address - base_ <= info_.memory_bytes &&
           bytes <= info_.memory_bytes - (address - base_);
  }

  RtlDeviceOptions options_;
  std::shared_ptr<Card> card_;
  unsigned unit_;
  DeviceInfo info_;
  uint64_t base_ = 0;  // of this unit's part of the card's memory
  std::unique_ptr<DeviceMemory> memory_;
  uint64_t loaded_ = 0;   // bytes, for the job that was started last
  uint64_t started_ = 0;  // the card's cycle in which it was
};

// All units of one card.
template <typename Model, unsigned kUnits>
std::vector<std::unique_ptr<Device>> MakeUnits(const std::string& name,
                                               const RtlDeviceOptions& options) {
  auto card = std::make_shared<RtlCard<Model, kUnits>>(options);
  std::vector<std::unique_ptr<Device>> units;
  for (unsigned unit = 0; unit < kUnits; ++unit) {
    units.push_back(std::make_unique<RtlDevice<Model, kUnits>>(name, options, card, unit));
  }
  return units;
}

}  // namespace sluice::rtlsim
