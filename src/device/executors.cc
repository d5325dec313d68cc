#include "device/executors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/card_device.h"
#include "device/check_executor.h"
#include "device/device_executor.h"
#include "device/f2/f2_device.h"
#include "device/xrt/xrt_device.h"
#include "merge/cpu_executor.h"
#include "sluice/device.h"

namespace sluice {

#ifndef SLUICE_XRT
Status MakeXrtDevices(std::string_view, const XrtDeviceOptions&,
                      std::vector<std::unique_ptr<Device>>*) {
  return Status::NotSupported(
      "this build has no XRT: it needs libxrt-dev, or a card's own package");
}
#endif

namespace {

Status MakeSimulatedDevices(std::string_view kind, std::string_view config,
                            const ExecutorOptions& options,
                            std::vector<std::unique_ptr<Device>>* devices) {
  SLUICE_RETURN_IF_ERROR(MakeRtlDevices(config, options.rtl, devices));
  if (kind == "model") {
    const DeviceInfo info = devices->front()->info();
    devices->clear();
    for (unsigned i = 0; i < std::max(info.units, options.model.units); ++i) {
      devices->push_back(MakeModelDevice(info, options.model));
    }
  }
  for (std::unique_ptr<Device>& device : *devices) {
    device = std::make_unique<CardDevice>(std::move(device));
  }
  return {};
}

Status MakeDevices(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                   std::vector<std::unique_ptr<Device>>* devices) {
  if (kind == "xrt") {
    SLUICE_RETURN_IF_ERROR(MakeXrtDevices(config, {}, devices));
  } else if (kind == "f2") {
    SLUICE_RETURN_IF_ERROR(MakeF2Devices(config, {}, devices));
  } else {
    SLUICE_RETURN_IF_ERROR(MakeSimulatedDevices(kind, config, options, devices));
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

}  // namespace

Status MakeUnits(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                 MergeUnits* units) {
  if (kind == "cpu") {
    return {};
  }
  if (kind != "rtl" && kind != "check" && kind != "model" && kind != "xrt" && kind != "f2") {
    return Status::InvalidArgument(
        fmt::format("no executor '{}': there are cpu, rtl, check, model, xrt and f2", kind));
  }
  std::vector<std::unique_ptr<Device>> devices;
  SLUICE_RETURN_IF_ERROR(MakeDevices(kind, config, options, &devices));
  for (std::unique_ptr<Device>& device : devices) {
    const RecordLimits limits{device->info().max_key_bytes, device->info().max_value_bytes};
    std::unique_ptr<Executor> unit = std::make_unique<DeviceExecutor>(std::move(device));
    if (kind == "check") {
      unit =
          std::make_unique<CheckExecutor>(std::move(unit), std::make_unique<CpuExecutor>(limits));
    }
    units->push_back(std::move(unit));
  }
  return {};
}

Status OpenUnits(std::string_view name, MergeUnits* units) {
  const size_t colon = name.find(':');
  const std::string_view config =
      colon == std::string_view::npos ? kDefaultConfiguration : name.substr(colon + 1);
  return MakeUnits(name.substr(0, colon), config, {}, units);
}

Status MakeExecutor(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                    std::shared_ptr<Executor>* executor) {
  MergeUnits units;
  SLUICE_RETURN_IF_ERROR(MakeUnits(kind, config, options, &units));
  *executor = units.empty() ? std::make_shared<CpuExecutor>() : std::move(units.front());
  return {};
}

Status MakeDriver(std::string_view kind, std::string_view config, const ExecutorOptions& options,
                  OffloadOptions offload, std::unique_ptr<OffloadDriver>* driver) {
  MergeUnits units;
  SLUICE_RETURN_IF_ERROR(MakeUnits(kind, config, options, &units));
  *driver = std::make_unique<OffloadDriver>(std::move(units), std::move(offload));
  return {};
}

}  // namespace sluice
