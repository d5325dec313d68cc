#include "offload/executors.h"

#include <fmt/format.h>

#include "merge/cpu_executor.h"
#include "offload/check_executor.h"
#include "offload/device_executor.h"

namespace sluice {

Status MakeExecutor(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                    std::unique_ptr<Executor>* executor) {
  if (kind == "cpu") {
    *executor = std::make_unique<CpuExecutor>();
    return {};
  }
  if (kind != "rtl" && kind != "check" && kind != "model") {
    return Status::InvalidArgument(
        fmt::format("no executor '{}': there are cpu, rtl, check and model", kind));
  }
  std::unique_ptr<Device> device;
  SLUICE_RETURN_IF_ERROR(MakeRtlDevice(config, options.rtl, &device));
  if (kind == "model") {
    device = MakeModelDevice(device->info(), options.model);
  }
  *executor = std::make_unique<DeviceExecutor>(std::move(device));
  if (kind == "check") {
    *executor =
        std::make_unique<CheckExecutor>(std::move(*executor), std::make_unique<CpuExecutor>());
  }
  return {};
}

}  // namespace sluice
