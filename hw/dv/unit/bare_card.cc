// Of UNIT_MODEL, the class of a unit.

#include "hw/dv/unit/bare_card.h"

#include <utility>

#include "device/rtlsim/rtl_device_impl.h"

#define STRING_OF(x) #x
#define HEADER_OF(model) STRING_OF(model.h)
#include HEADER_OF(UNIT_MODEL)

namespace sluice::dv {

BareCard MakeBareCard(const RtlDeviceOptions& options) {
  auto card = std::make_shared<rtlsim::RtlCard<UNIT_MODEL, 1>>(options);
  BareCard bare;
  bare.memory = &card->memory();
  bare.context = &card->context();
  bare.unit = std::make_unique<rtlsim::RtlDevice<UNIT_MODEL>>("bare", options, std::move(card), 0);
  return bare;
}

}  // namespace sluice::dv
