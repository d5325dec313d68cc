// What tests of devices share: faults, and a device that takes no time.

#pragma once

#include <memory>

#include "device/fault_device.h"
#include "device/model/model_device.h"
#include "merge/testing.h"

namespace sluice {

// Faults of every kind alike, `share` of all jobs together.
inline FaultRates AllFaults(double share) {
  const double each = share / 5;
  return {
      .hang = each, .lost_interrupt = each, .late = each, .bus_error = each, .wrong_result = each};
}

// Takes no time.
inline ModelDeviceOptions Instant() { return {.clock_mhz = 1e9, .link = {.lanes = 0}}; }

// A modelled unit of four ways.
inline std::unique_ptr<Device> InstantUnit(uint32_t max_key_bytes = 1024, bool bloom = false,
                                           uint32_t compressors = 0, bool xxh3 = false) {
  return MakeModelDevice({.name = "instant",
                          .ways = 4,
                          .value_bytes = 16,
                          .in_bytes = 64,
                          .out_bytes = 64,
                          .max_key_bytes = max_key_bytes,
                          .max_value_bytes = 1 << 20,
                          .max_restarts = 1024,
                          .max_blocks = 65536,
                          .bloom = bloom,
                          .compressors = compressors,
                          .xxh3 = xxh3,
                          .memory_bytes = 256 << 20,
                          .clock_mhz = 200},
                         Instant());
}

}  // namespace sluice
