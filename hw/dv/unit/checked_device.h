// The unit under test as a device, with assertions on, but for `wide`: what each program of
// unit_test.cc brings.

#pragma once

#include <memory>

#include "device/device.h"
#include "device/rtlsim/rtl_device.h"

namespace sluice::dv {

std::unique_ptr<Device> MakeCheckedDevice(const RtlDeviceOptions& options);

}  // namespace sluice::dv
