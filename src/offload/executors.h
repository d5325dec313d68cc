// Executors by name, as commands and options spell them.

#pragma once

#include <memory>
#include <string_view>

#include "merge/merge.h"
#include "offload/driver.h"
#include "offload/fault_device.h"
#include "offload/model/model_device.h"
#include "offload/rtlsim/rtl_device.h"
#include "util/status.h"

namespace sluice {

inline constexpr std::string_view kDefaultConfiguration = "fast20";

struct ExecutorOptions {
  RtlDeviceOptions rtl{};
  ModelDeviceOptions model{};
  FaultOptions fault{};  // of devices
};

// `kind`: "cpu"; "rtl", the simulated unit in configuration `config`; "check", both of them
// compared; or "model", the unit's timing with the CPU's results. Errors: InvalidArgument for
// another kind, NotFound for an unknown configuration.
Status MakeExecutor(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                    std::unique_ptr<Executor>* executor);

// A driver over the units of one card: with "rtl" and "check" all that `config` has, with "model"
// as many as options.model.units says, with "cpu" none. With "check" a difference is a failure of
// the unit, and the CPU's result counts. Errors as MakeExecutor.
Status MakeDriver(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                  OffloadOptions offload, std::unique_ptr<OffloadDriver>* driver);

}  // namespace sluice
