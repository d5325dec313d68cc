// A card with one unit and nothing around it, for programs that reach into it. What brings it is
// compiled once per model (bare_card.cc).

#pragma once

#include <memory>

#include "device/device.h"
#include "device/rtlsim/rtl_device.h"

class VerilatedContext;

namespace sluice::dv {

struct BareCard {
  std::unique_ptr<Device> unit;             // keeps the card
  rtlsim::MemoryOptions* memory = nullptr;  // how its memory behaves; may be changed between jobs
  VerilatedContext* context = nullptr;      // where the model's variables can be found by name
};

BareCard MakeBareCard(const RtlDeviceOptions& options);

}  // namespace sluice::dv
