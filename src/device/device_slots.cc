#include "device/device_slots.h"

#include <algorithm>

namespace sluice {

bool DeviceSlots::AnyIs(State state) const {
  return std::find(slots_.begin(), slots_.end(), state) != slots_.end();
}

Status DeviceSlots::Enter(uint32_t* slot) {
  MutexLock lock(mutex_);
  // Without it uploading may be in vain: the card may be gone, or a lost job may have a slot's memory,
  // which this task may need.
  if (needs_reset_) {
    lock.unlock();
    {
      const MutexLock turn(unit_turn_);
      SLUICE_RETURN_IF_ERROR(MakeReady());
    }
    lock.lock();
  }
  while (!AnyIs(State::kIdle)) {
    changed_.wait(lock);
  }
  const auto idle = std::find(slots_.begin(), slots_.end(), State::kIdle);
  *idle = State::kEntered;
  *slot = static_cast<uint32_t>(idle - slots_.begin());
  return {};
}

void DeviceSlots::FreeMemory(uint32_t slot, State next) {
  device_.Free(slot);
  const MutexLock lock(mutex_);
  slots_[slot] = next;
  ++frees_;
  changed_.notify_all();
}

void DeviceSlots::Leave(uint32_t slot) {
  {
    const MutexLock lock(mutex_);
    if (slots_[slot] == State::kLost) {
      slots_[slot] = State::kAbandoned;
      return;
    }
  }
  FreeMemory(slot, State::kIdle);
}

Status DeviceSlots::Upload(uint32_t slot, const std::function<Status()>& upload) {
  FreeMemory(slot, State::kEntered);
  const MutexLock turn(upload_turn_);
  for (;;) {
    uint64_t frees;
    {
      const MutexLock lock(mutex_);
      frees = frees_;
      slots_[slot] = State::kLoaded;
    }
    Status status = upload();
    if (!status.IsNotSupported()) {
      if (!status.ok()) {
        Distrust();
      }
      return status;
    }
    device_.Free(slot);
    MutexLock lock(mutex_);
    slots_[slot] = State::kEntered;
    while (frees_ == frees) {
      if (AnyIsLost()) {
        return Status::IoError("the unit's memory is taken by a job that no reset has ended");
      }
      if (!AnyIs(State::kLoaded)) {
        return status;
      }
      changed_.wait(lock);
    }
  }
}

Status DeviceSlots::MakeReady() {
  {
    const MutexLock lock(mutex_);
    if (!needs_reset_) {
      return {};
    }
    needs_reset_ = false;
  }
  if (Status status = device_.Reset(); !status.ok()) {
    Distrust();
    return status.WithContext("reset");
  }
  // Nothing writes to what was lost any more. The slot is still its task's, until that leaves.
  const MutexLock lock(mutex_);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (slots_[slot] == State::kLost || slots_[slot] == State::kAbandoned) {
      device_.Free(slot);
      slots_[slot] = slots_[slot] == State::kLost ? State::kEntered : State::kIdle;
      ++frees_;
    }
  }
  changed_.notify_all();
  return {};
}

Status DeviceSlots::Run(uint32_t slot, uint64_t descriptor, uint64_t cycles, uint8_t* unit_status) {
  const MutexLock turn(unit_turn_);
  SLUICE_RETURN_IF_ERROR(MakeReady());
  Status status = device_.Start(descriptor);
  if (status.ok()) {
    status = device_.Wait(cycles, unit_status);
  }
  if (!status.ok()) {
    Distrust();
    if (!MakeReady().ok()) {
      const MutexLock lock(mutex_);
      slots_[slot] = State::kLost;
      changed_.notify_all();
    }
  }
  return status;
}

void DeviceSlots::Distrust() {
  const MutexLock lock(mutex_);
  needs_reset_ = true;
}

}  // namespace sluice
