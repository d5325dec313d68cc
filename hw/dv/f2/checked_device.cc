// The last unit of CHECKED_MODEL, behind a shell.

#include "hw/dv/unit/checked_device.h"

#include <stdexcept>
#include <vector>

#include "device/f2/f2_device.h"
#include "hw/dv/f2/f2_shell.h"

#define STRING_OF(x) #x
#define HEADER_OF(model) STRING_OF(model.h)
#include HEADER_OF(CHECKED_MODEL)

namespace sluice::dv {

std::unique_ptr<Device> MakeCheckedDevice(const RtlDeviceOptions& options) {
  auto shell = std::make_shared<F2Shell<CHECKED_MODEL>>(ShellOptions{.memory = options.memory});
  std::vector<std::unique_ptr<Device>> devices;
  const Status status =
      MakeF2Devices("checked", shell, SimulatedCard(options.memory.bytes / 4), &devices);
  if (!status.ok()) {
    throw std::runtime_error(status.ToString());
  }
  return std::move(devices.back());
}

}  // namespace sluice::dv
