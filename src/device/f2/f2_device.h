// An AWS F2 card with hw/f2 on it: each of its units as a Device. It has never run on a card; here
// it runs over the simulated one (hw/dv/f2, f2_device_test.cc).
//
// Registers and memory are reached through the card's BARs, which the kernel shows in sysfs: neither
// a driver nor AWS's library is needed, but as a rule one must be root. The processor moves each
// byte itself. It combines writes into lines of 64 bytes, and fetches one line per read. Interrupts
// would need a driver, so the host asks whether a job has ended, at intervals of a sixteenth of the
// time that it has taken so far.
//
// Each unit has as much memory as the others. Of that the first page stays unused, but for a line.
// The shell promises no order between registers and memory, nor between writes and reads, so before
// a job starts, and before memory is read, a line is written behind all the rest and read back until
// it is there.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "device/f2/f2_bars.h"

namespace sluice {

struct F2DeviceOptions {
  // Of card memory for each unit: for the tasks that it has in flight.
  uint64_t memory_bytes = uint64_t{512} << 20;
  // Whether all of it is written when the card's image is new, as its ECC needs.
  bool clear_memory = true;
  double clock_mhz = 250;  // of clk_main_a0
  // What a job is given at the least (Device::Wait), how long it may move no data, and how long
  // what is written may take to arrive.
  double patience_seconds = 10;
  double stall_seconds = 5;
  double flush_seconds = 1;
};

// The units of the card whose application function has the PCI address `card` (0000:34:00.0).
// Errors: NotFound if there is none, InvalidArgument if its units are of another version or have
// less memory than that; IoError if it cannot be mapped, is used by another process, or does not
// answer as it must.
Status MakeF2Devices(std::string_view card, const F2DeviceOptions& options,
                     std::vector<std::unique_ptr<Device>>* devices);

// Those behind some BARs.
Status MakeF2Devices(std::string_view name, std::shared_ptr<F2Bars> bars,
                     const F2DeviceOptions& options, std::vector<std::unique_ptr<Device>>* devices);

}  // namespace sluice
