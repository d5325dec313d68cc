// A device that computes nothing itself: the CPU executor makes its results, and the cycle model
// says when they are there. For sizing a card, and whole systems on one, without simulating RTL.
//
// Job descriptors are read from its memory and results written there as a unit does (abi), faults
// included, but for what only hardware has: there are no write errors and no stall counters.
//
// Time is real: Write and Read return when the link would have moved the bytes, Wait when the unit
// would have been done. Where the CPU executor takes longer than the modelled unit, Wait takes that
// long; the completion record has the modelled cycles all the same.

#pragma once

#include <cstdint>
#include <memory>

#include "device/device.h"

namespace sluice {

// A PCIe link; see EffectiveBytesPerSecond.
struct PcieLink {
  unsigned generation = 3;  // 1 to 5
  unsigned lanes = 16;      // 0: transfers take no time
};

// What payload gets through in one direction: line rate times encoding (8b/10b up to generation 2,
// then 128b/130b), and of every packet of 256 bytes 24 more for framing, header and LCRC and 8 for
// acknowledgement and flow control (Intel AN 708; AMD UG962, chapter 4).
double EffectiveBytesPerSecond(const PcieLink& link);

struct ModelDeviceOptions {
  double clock_mhz = 200;
  uint32_t latency = 30;       // of device memory, in cycles
  double memory_gb_per_s = 0;  // of device memory, 10^9 bytes; 0: as much as the ports take
  PcieLink link;
  // Of a call that transfers over the link, in however many pieces, beside its bytes: driver,
  // interrupt.
  double transfer_us = 10;
  // Clock, link and what its transfers take beside their bytes, all so many times slower: for machines
  // with too few cores to be host and card at once, to which the host then is as many times faster.
  double slowdown = 1;
  // Units that work at the same time and share memory bandwidth and link evenly, this one counted;
  // those of the same card at least.
  unsigned units = 1;
};

// `unit`: what a unit was built with; its clock is the option's.
std::unique_ptr<Device> MakeModelDevice(const DeviceInfo& unit, const ModelDeviceOptions& options);

}  // namespace sluice
