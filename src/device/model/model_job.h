// A job as a Compaction Unit does it, from descriptor to completion record in device memory (abi),
// by the CPU executor.

#pragma once

#include <cstdint>
#include <string_view>

#include "device/device.h"
#include "device/model/cycle_model.h"
#include "sluice/executor.h"

namespace sluice::model {

struct Memory {
  char* data = nullptr;
  uint64_t bytes = 0;

  bool Contains(uint64_t address, uint64_t size) const {
    return address <= bytes && size <= bytes - address;
  }
  std::string_view View(uint64_t address, uint64_t size) const { return {data + address, size}; }
};

struct JobOutcome {
  MergeStatus status = MergeStatus::kOk;
  uint64_t cycles = 0;  // after a fault: of fill and drain alone
};

// A descriptor that is none leaves memory as it is; any other one gets its completion record.
JobOutcome RunJob(const DeviceInfo& info, const UnitShape& unit, const Memory& memory,
                  uint64_t descriptor);

}  // namespace sluice::model
