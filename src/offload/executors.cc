#include "offload/executors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "merge/cpu_executor.h"
#include "offload/check_executor.h"
#include "offload/device_executor.h"

namespace sluice {

namespace {

using Units = std::vector<std::unique_ptr<Executor>>;

Status MakeDevices(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                   std::vector<std::unique_ptr<Device>>* devices) {
  SLUICE_RETURN_IF_ERROR(MakeRtlDevices(config, options.rtl, devices));
  if (kind == "model") {
    const DeviceInfo info = devices->front()->info();
    devices->clear();
    for (unsigned i = 0; i < std::max(1u, options.model.units); ++i) {
      devices->push_back(MakeModelDevice(info, options.model));
    }
  }
  FaultOptions fault = options.fault;
  for (std::unique_ptr<Device>& device : *devices) {
    if (fault.rates.Sum() > 0) {
      device = std::make_unique<FaultDevice>(std::move(device), fault);
      ++fault.seed;
    }
  }
  return {};
}

// What `kind` merges with; none for the CPU.
Status MakeUnits(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                 Units* units) {
  if (kind == "cpu") {
    return {};
  }
  if (kind != "rtl" && kind != "check" && kind != "model") {
    return Status::InvalidArgument(
        fmt::format("no executor '{}': there are cpu, rtl, check and model", kind));
  }
  std::vector<std::unique_ptr<Device>> devices;
  SLUICE_RETURN_IF_ERROR(MakeDevices(kind, config, options, &devices));
  for (std::unique_ptr<Device>& device : devices) {
    const RecordLimits limits{device->info().max_key_bytes, device->info().max_value_bytes};
    units->push_back(std::make_unique<DeviceExecutor>(std::move(device)));
    if (kind == "check") {
      units->back() = std::make_unique<CheckExecutor>(std::move(units->back()),
                                                      std::make_unique<CpuExecutor>(limits));
    }
  }
  return {};
}

}  // namespace

Status MakeExecutor(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                    std::unique_ptr<Executor>* executor) {
  Units units;
  SLUICE_RETURN_IF_ERROR(MakeUnits(kind, config, options, &units));
  *executor = units.empty() ? std::make_unique<CpuExecutor>() : std::move(units.front());
  return {};
}

Status MakeDriver(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                  OffloadOptions offload, std::unique_ptr<OffloadDriver>* driver) {
  Units units;
  SLUICE_RETURN_IF_ERROR(MakeUnits(kind, config, options, &units));
  *driver = std::make_unique<OffloadDriver>(std::move(units), std::move(offload));
  return {};
}

}  // namespace sluice
