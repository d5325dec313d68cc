// One unit behind the registers of a real card (abi, Card): what its host does with them, whatever
// bus leads there. A card has nothing but time on the wall, and a bus on which nobody answers reads
// as all ones.
//
// Registers may throw; so do these calls then. Used by one thread at a time.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "device/device.h"

namespace sluice {

// Of a card, by offset.
class CardRegisters {
 public:
  virtual ~CardRegisters() = default;
  virtual uint32_t Read(uint32_t offset) = 0;
  virtual void Write(uint32_t offset, uint32_t value) = 0;
};

class CardUnit {
 public:
  using Clock = std::chrono::steady_clock;

  struct Patience {
    // What a job is given at the least (Device::Wait), and how long it may move no data.
    double least_seconds = 10;
    double stall_seconds = 5;
  };

  // The unit of that number on the card.
  CardUnit(CardRegisters* card, unsigned unit, std::string name)
      : card_(card), unit_(unit), name_(std::move(name)) {}

  // IoError: this is no Compaction Unit, or it is in a reset that does not end; InvalidArgument: one of
  // another version.
  Status CheckIdentity() const;
  // Fills in what the unit's registers say.
  void ReadCapabilities(DeviceInfo* info) const;
  // In whole pages.
  void SetWindow(uint64_t begin, uint64_t end);
  // Whether the window is still that one; a card that was reset has forgotten it.
  bool HasWindow(uint64_t begin, uint64_t end) const;
  // IoError if it does not come out of its reset: it may still write to memory.
  Status Reset();

  void Start(uint64_t descriptor);
  // Device::Wait, and acknowledges the job. `pause(elapsed)` is called between looks at the unit,
  // with the time since Start.
  Status Wait(uint64_t cycles, double clock_mhz, const Patience& patience,
              const std::function<void(Clock::duration)>& pause, uint8_t* status);

  // For hosts without interrupts: a sixteenth of the time that the job has taken so far.
  static void Sleep(Clock::duration elapsed);

 private:
  uint32_t Read(uint32_t offset) const;
  void Write(uint32_t offset, uint32_t value);
  // Until the unit is in no reset.
  Status AwaitReset() const;
  // One of the card's registers of which each unit has one.
  uint32_t Mine(uint32_t first) const { return first + unit_ * sizeof(uint32_t); }
  Status WaitUntilDone(uint64_t cycles, double clock_mhz, const Patience& patience,
                       const std::function<void(Clock::duration)>& pause);

  CardRegisters* const card_;
  const unsigned unit_;
  const std::string name_;
  Clock::time_point started_;
};

}  // namespace sluice
