// Of CHECKED_MODEL, the class of a unit or a kernel.

#include "hw/dv/unit/checked_device.h"

#include "device/rtlsim/rtl_device_impl.h"

#define STRING_OF(x) #x
#define HEADER_OF(model) STRING_OF(model.h)
#include HEADER_OF(CHECKED_MODEL)

namespace sluice::dv {

std::unique_ptr<Device> MakeCheckedDevice(const RtlDeviceOptions& options) {
  return std::make_unique<rtlsim::RtlDevice<CHECKED_MODEL>>("checked", options);
}

}  // namespace sluice::dv
