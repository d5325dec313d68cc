// Executors by name, as commands and options spell them.

#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "merge/merge.h"
#include "offload/rtlsim/rtl_device.h"
#include "util/status.h"

namespace sluice {

inline constexpr std::string_view kDefaultConfiguration = "fast20";

// `kind`: "cpu"; "rtl", the simulated unit in configuration `config`; or "check", both of them
// compared. Errors: InvalidArgument for another kind, NotFound for an unknown configuration.
Status MakeExecutor(std::string_view kind, std::string_view config, const RtlDeviceOptions& options,
                    std::unique_ptr<Executor>* executor);

}  // namespace sluice
