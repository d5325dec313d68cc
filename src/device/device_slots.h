// Tasks in flight on one device: while the unit runs one task's job, another one uploads its inputs
// and a third takes out its outputs and checks them. So neither the unit nor the link waits for the
// host, and each thread that brings a task sleeps whenever it is not its turn.
//
// A task takes these steps, each on its own thread:
//  1. Enter: it gets a slot, or waits for one;
//  2. Upload: one task at a time, as what comes first shall be complete first. It waits if the
//     tasks before it have the memory that it needs;
//  3. Run: one job at a time. The next one starts as soon as this one ends;
//  4. it reads what it needs, beside whatever the others do;
//  5. Leave: its memory is the next task's.
//
// A unit that does not answer is reset before anything else starts on it; a unit that answered
// wrongly (Distrust), before its next job. Other tasks lose nothing by that: no job of theirs runs,
// and memory keeps its content. While a reset fails, tasks end with its error.
//
// Thread-safe.

#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "device/device.h"
#include "util/mutex.h"
#include "util/status.h"

namespace sluice {

class DeviceSlots {
 public:
  // One task uploads, one runs, one reads and checks: enough while these take less than two runs
  // together. A fourth made no difference to fast20, wide and fast20x4 at PCIe 3x16.
  static constexpr uint32_t kSlots = 3;

  explicit DeviceSlots(Device* device) : device_(*device) {}

  // The slot must be left if, and only if, this succeeds.
  Status Enter(uint32_t* slot);
  void Leave(uint32_t slot);

  // Calls `upload`, which allocates the slot's memory and writes to it, once there is room: until
  // then it ends as NotSupported, and is called again. NotSupported if there is not enough memory
  // for this task alone. What the slot had before is given back first.
  Status Upload(uint32_t slot, const std::function<Status()>& upload);

  // Runs the job at `descriptor`, in the slot's memory, as Device::Start and Wait do. After an error
  // the unit has been reset, unless that failed, too.
  Status Run(uint32_t slot, uint64_t descriptor, uint64_t cycles, uint8_t* unit_status);
  // What the unit has done is wrong, or the device does not do as it must: it is reset before the
  // next task.
  void Distrust();

 private:
  enum class State {
    kIdle,
    kEntered,    // without memory
    kLoaded,     // with memory
    kLost,       // the unit, which could not be reset, may still write to its memory
    kAbandoned,  // the same, and its task has left
  };

  // Resets the unit if that is due.
  Status MakeReady() SLUICE_REQUIRES(unit_turn_);
  void FreeMemory(uint32_t slot, State next);
  bool AnyIs(State state) const SLUICE_REQUIRES(mutex_);
  bool AnyIsLost() const SLUICE_REQUIRES(mutex_) {
    return AnyIs(State::kLost) || AnyIs(State::kAbandoned);
  }

  Device& device_;
  Mutex upload_turn_;
  Mutex unit_turn_;
  Mutex mutex_;
  CondVar changed_;
  std::array<State, kSlots> slots_ SLUICE_GUARDED_BY(mutex_){};
  uint64_t frees_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool needs_reset_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice
