// A simulated or modelled device whose work has threads of its own, called slc-card: one for the
// unit and one for each of its DMA engines, to the card and from it. So the CPU time of what stands
// for a card can be told from the host's, which drives it and checks what it hands back.
//
// Callers wait while their call is carried out, and those before it on the same engine. That Write
// and Read are the card's says that it reads and writes the caller's memory itself, as bus masters do
// with memory that is registered with their driver; what registering costs is nowhere in these
// figures.

#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "device/device.h"
#include "util/mutex.h"

namespace sluice {

// A part of a card that does one thing at a time. Its thread begins with the first call, so that a
// process may make a device, fork, and use it in the child.
class CardEngine {
 public:
  using Call = std::function<Status()>;

  CardEngine() = default;
  CardEngine(const CardEngine&) = delete;
  CardEngine& operator=(const CardEngine&) = delete;
  ~CardEngine();

  // Does it on the engine's thread, after what others have asked for before.
  Status Do(const Call& call);
  double CpuSeconds();

 private:
  struct Request {
    const Call& call;
    Status result{};
    bool done = false;
    CondVar changed{};
  };

  void Serve();

  Mutex mutex_;
  CondVar asked_;
  std::deque<Request*> requests_ SLUICE_GUARDED_BY(mutex_);  // the first is being done
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // begins under the mutex
};

class CardDevice : public Device {
 public:
  explicit CardDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  const DeviceInfo& info() const override { return device_->info(); }
  Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) override {
    return device_->Allocate(slot, bytes, address);
  }
  void Free(uint32_t slot) override { device_->Free(slot); }
  Status Write(uint64_t address, std::string_view bytes) override {
    return to_card_.Do([&] { return device_->Write(address, bytes); });
  }
  Status Read(uint64_t address, uint64_t bytes, char* out) override {
    return from_card_.Do([&] { return device_->Read(address, bytes, out); });
  }
  Status WriteAll(std::span<const Source> pieces) override {
    return to_card_.Do([&] { return device_->WriteAll(pieces); });
  }
  Status ReadAll(std::span<const Target> pieces) override {
    return from_card_.Do([&] { return device_->ReadAll(pieces); });
  }
  // Done by Wait, which follows: it is the write of a register, for which no host sleeps.
  Status Start(uint64_t descriptor) override {
    to_start_ = descriptor;
    return {};
  }
  Status Wait(uint64_t cycles, uint8_t* status) override {
    return unit_.Do([&] {
      if (to_start_.has_value()) {
        SLUICE_RETURN_IF_ERROR(device_->Start(*std::exchange(to_start_, {})));
      }
      return device_->Wait(cycles, status);
    });
  }
  Status Reset() override {
    to_start_.reset();
    return unit_.Do([&] { return device_->Reset(); });
  }
  std::optional<double> TransferSeconds(uint64_t bytes) const override {
    return device_->TransferSeconds(bytes);
  }
  double CardCpuSeconds() override {
    return unit_.CpuSeconds() + to_card_.CpuSeconds() + from_card_.CpuSeconds();
  }

 private:
  std::unique_ptr<Device> device_;
  std::optional<uint64_t> to_start_;  // the descriptor
  CardEngine unit_;
  CardEngine to_card_;
  CardEngine from_card_;
};

}  // namespace sluice
