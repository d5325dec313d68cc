// The Compaction Unit's real RTL, Verilated, as a Device: control over AXI4-Lite, memory over the
// three AXI4 ports, completion by the interrupt line.

#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "device/rtlsim/axi_memory.h"

namespace sluice {

struct RtlDeviceOptions {
  rtlsim::MemoryOptions memory;
  // A job that moves no beat for this long is taken to hang, once twice as much has passed. Long
  // keys that share all their bytes take over a hundred cycles for every ten bytes read.
  uint64_t hang_cycles = 5'000'000;
  uint64_t job_cycles = UINT64_MAX;  // a job that takes longer is given up, as if it hung
  // Called every `progress_cycles` of a job: bytes that the data read port has moved since it
  // began, for all units of the card, and bytes written for the job, which are about what it will
  // read.
  std::function<void(uint64_t bytes_read, uint64_t bytes_loaded)> progress;
  uint64_t progress_cycles = 200'000;
};

// The names of the configurations built in (hw/configs.json).
std::vector<std::string_view> RtlConfigurations();

// A device for each unit of a card: they share its simulation and can be used from a thread each.
// A unit has an equal part of the card's memory. NotFound, naming the choices, if there is no
// configuration `name`.
Status MakeRtlDevices(std::string_view name, const RtlDeviceOptions& options,
                      std::vector<std::unique_ptr<Device>>* devices);
// The first of them.
Status MakeRtlDevice(std::string_view name, const RtlDeviceOptions& options,
                     std::unique_ptr<Device>* device);

}  // namespace sluice
