// Units from a shared library, which plugins load when they are told to use some.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sluice/executor.h"
#include "sluice/status.h"

namespace sluice::plugin {

// Adds the units that `name` stands for, as sluice/device.h has it: none if that is "cpu". The shared
// library `library` makes them, by its sluice::OpenUnits; if it is empty, sluice/units.so beside the
// shared library that has `address`, where the package libsluice-units puts it. The library stays
// loaded. Errors: NotFound, if there is no such library or if it has no OpenUnits, and what that says.
Status OpenUnitsOf(const std::string& library, const std::string& name, const void* address,
                   std::vector<std::shared_ptr<Executor>>* units);

}  // namespace sluice::plugin
