// The BARs of a card, mapped from sysfs.

#pragma once

#include <memory>
#include <string>

#include "device/f2/f2_bars.h"
#include "util/status.h"

namespace sluice {

// Those of the PCI function whose files are in `directory`, with no more than `memory_bytes` of
// memory: resource0, and resource4_wc, where writes are combined, or else resource4. NotFound if
// there is no such function, IoError if another process has it or it cannot be mapped.
//
// A function that is removed from the bus takes the mapping along: an access then is a SIGBUS.
Status MapF2Bars(const std::string& directory, uint64_t memory_bytes,
                 std::shared_ptr<F2Bars>* bars);

}  // namespace sluice
