// A card behind the Xilinx Runtime: each compute unit of the kernel sluice_CONFIG (hw/kernel) as a
// Device, on XRT's native API. It has never run on a card; here XRT's own libraries run over the
// simulated one (xrt_device_test.cc).
//
// A unit has one buffer in the memory bank that all its ports reach, with a copy in host memory that
// XRT's DMA engines read and write. So each byte is copied once by the host, each way.
//
// The end of a job comes as an interrupt where XRT has those for kernels (from 2.14 on for PCIe
// cards); an interrupt that is lost costs no more than kInterruptWait. Otherwise the host asks, at
// intervals of a sixteenth of the time that the job has taken so far.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace sluice {

struct XrtDeviceOptions {
  // Of card memory for each unit, and as much of the host's: for the tasks that it has in flight.
  uint64_t memory_bytes = uint64_t{512} << 20;
  // What a job is given at the least (Device::Wait), and how long it may move no data.
  double patience_seconds = 10;
  double stall_seconds = 5;
};

// The units in `xclbin`, which is the file for the card, and behind an `@`, if there is one, the
// card's index or PCIe address (0000:3b:00.1); without it is the first card. Programs the card if it
// has another xclbin. Errors: NotFound if there is no such file, InvalidArgument if it has no kernel
// of Sluice's, or one of another version; IoError: what XRT says.
Status MakeXrtDevices(std::string_view xclbin, const XrtDeviceOptions& options,
                      std::vector<std::unique_ptr<Device>>* devices);

}  // namespace sluice
