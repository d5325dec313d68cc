// Executors by name, as commands and options spell them.

#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "device/fault_device.h"
#include "device/model/model_device.h"
#include "device/rtlsim/rtl_device.h"
#include "offload/driver.h"
#include "sluice/executor.h"
#include "util/status.h"

namespace sluice {

inline constexpr std::string_view kDefaultConfiguration = "fast20";

struct ExecutorOptions {
  RtlDeviceOptions rtl{};
  ModelDeviceOptions model{};
  FaultOptions fault{};  // of devices
};

using MergeUnits = std::vector<std::shared_ptr<Executor>>;

// What `kind` merges with. "rtl": the units of the simulated card `config`; "check": the same, each
// compared with the CPU, whose results count, a difference being a failure of the unit; "model": as
// many units as the card has, or options.model.units if those are more, with the timing of those of
// `config` and the CPU's results; "xrt" and "f2": those of a card, `config` as MakeXrtDevices and
// MakeF2Devices take it; "cpu": none. Errors: InvalidArgument for another kind, NotFound for an
// unknown configuration.
Status MakeUnits(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                 MergeUnits* units);

// The first of these units, or the CPU.
Status MakeExecutor(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                    std::shared_ptr<Executor>* executor);

// A driver over all of them.
Status MakeDriver(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                  OffloadOptions offload, std::unique_ptr<OffloadDriver>* driver);

}  // namespace sluice
