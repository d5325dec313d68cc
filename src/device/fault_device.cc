#include "device/fault_device.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sluice_abi.h"

namespace sluice {

FaultDevice::Fault FaultDevice::Draw() {
  const FaultRates& rates = options_.rates;
  double at = std::uniform_real_distribution<>(0, 1)(rng_);
  if ((at -= rates.hang) < 0) {
    return rng_() % 4 == 0 ? Fault::kHangAtStart : Fault::kHang;
  }
  if ((at -= rates.lost_interrupt) < 0) {
    return Fault::kLostInterrupt;
  }
  if ((at -= rates.late) < 0) {
    return Fault::kLate;
  }
  if ((at -= rates.bus_error) < 0) {
    return Fault::kBusError;
  }
  if (at < rates.wrong_result) {
    constexpr Fault kWrong[] = {Fault::kFlipWritten, Fault::kFlipRead, Fault::kFlipBefore,
                                Fault::kFlipAfter, Fault::kNothingDone};
    return kWrong[rng_() % std::size(kWrong)];
  }
  return Fault::kNone;
}

FaultDevice::Job* FaultDevice::Find(uint64_t address) {
  for (auto& [slot, job] : jobs_) {
    for (const Region& region : job.regions) {
      if (address >= region.address && address - region.address < region.bytes) {
        return &job;
      }
    }
  }
  return nullptr;
}

Status FaultDevice::Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) {
  SLUICE_RETURN_IF_ERROR(device_->Allocate(slot, bytes, address));
  if (bytes > 0) {
    const MutexLock lock(mutex_);
    jobs_[slot].regions.push_back({*address, bytes});
  }
  return {};
}

void FaultDevice::Free(uint32_t slot) {
  {
    const MutexLock lock(mutex_);
    jobs_.erase(slot);
  }
  device_->Free(slot);
}

void FaultDevice::FlipBit(char* bytes, uint64_t n) {
  // Any order of magnitude is as likely as any other: what stands at the front matters most.
  uint64_t range = 1;
  while (range < n && rng_() % 8 != 0) {
    range *= 2;
  }
  bytes[rng_() % std::min(range, n)] ^= static_cast<char>(1 << rng_() % 8);
}

Status FaultDevice::FlipInMemory() {
  Region region;
  {
    const MutexLock lock(mutex_);
    const Job* const job = Find(descriptor_);
    region = job->regions[rng_() % job->regions.size()];
  }
  std::string bytes(region.bytes, '\0');
  SLUICE_RETURN_IF_ERROR(device_->Read(region.address, bytes.size(), bytes.data()));
  {
    const MutexLock lock(mutex_);
    FlipBit(bytes.data(), bytes.size());
  }
  return device_->Write(region.address, bytes);
}

Status FaultDevice::Write(uint64_t address, std::string_view bytes) {
  std::string changed;
  {
    const MutexLock lock(mutex_);
    Job* const job = bytes.empty() ? nullptr : Find(address);
    if (job != nullptr && !std::exchange(job->begun, true)) {
      job->fault = begun_++ < options_.jobs ? Draw() : Fault::kNone;
    }
    // Not always the first write of a job.
    if (!bytes.empty() && rng_() % 2 == 0 && Strikes(job, Fault::kFlipWritten)) {
      changed = bytes;
      FlipBit(changed.data(), changed.size());
      bytes = changed;
    }
  }
  return device_->Write(address, bytes);
}

Status FaultDevice::Read(uint64_t address, uint64_t bytes, char* out) {
  SLUICE_RETURN_IF_ERROR(device_->Read(address, bytes, out));
  const MutexLock lock(mutex_);
  if (bytes != 0 && rng_() % 4 == 0 && Strikes(Find(address), Fault::kFlipRead)) {
    FlipBit(out, bytes);
  }
  return {};
}

Status FaultDevice::Start(uint64_t descriptor) {
  if (silent_) {
    return Status::IoError("the unit still has a job: reset it");
  }
  descriptor_ = descriptor;
  bool flip;
  {
    const MutexLock lock(mutex_);
    Job* const job = Find(descriptor);
    if (Strikes(job, Fault::kHangAtStart)) {
      silent_ = true;
      return Status::IoError("the unit does not answer");
    }
    if (Strikes(job, Fault::kHang)) {
      silent_ = true;
      return {};
    }
    if (job != nullptr && (job->fault == Fault::kBusError || job->fault == Fault::kNothingDone)) {
      return {};
    }
    flip = Strikes(job, Fault::kFlipBefore);
  }
  if (flip) {
    SLUICE_RETURN_IF_ERROR(FlipInMemory());
  }
  return device_->Start(descriptor);
}

Status FaultDevice::Wait(uint64_t cycles, uint8_t* status) {
  if (silent_) {
    return Status::IoError("the unit does not answer");
  }
  {
    const MutexLock lock(mutex_);
    Job* const job = Find(descriptor_);
    if (Strikes(job, Fault::kBusError)) {
      *status = static_cast<uint8_t>(rng_() % 2 == 0 ? abi::MergeStatus::kReadError
                                                     : abi::MergeStatus::kWriteError);
      return {};
    }
    if (Strikes(job, Fault::kNothingDone)) {
      *status = 0;
      return {};
    }
    if (Strikes(job, Fault::kLate)) {
      silent_ = true;
      late_cycles_ = cycles;
      return Status::IoError("the unit does not answer");
    }
  }
  SLUICE_RETURN_IF_ERROR(device_->Wait(cycles, status));
  bool flip;
  {
    const MutexLock lock(mutex_);
    Job* const job = Find(descriptor_);
    if (Strikes(job, Fault::kLostInterrupt)) {
      silent_ = true;
      return Status::IoError("the unit does not answer");
    }
    flip = Strikes(job, Fault::kFlipAfter);
  }
  return flip ? FlipInMemory() : Status();
}

Status FaultDevice::Reset() {
  bool stuck;
  {
    const MutexLock lock(mutex_);
    stuck = std::uniform_real_distribution<>(0, 1)(rng_) < options_.stuck_reset;
  }
  if (stuck) {
    return Status::IoError("the unit does not come out of its reset");
  }
  if (uint64_t cycles = std::exchange(late_cycles_, 0); cycles != 0) {
    uint8_t status;
    (void)device_->Wait(cycles, &status);
  }
  silent_ = false;
  return device_->Reset();
}

}  // namespace sluice
