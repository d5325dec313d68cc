// How plugins learn from the environment what merges.
//
//   SLUICE_EXECUTOR          cpu, which is the default; none: the plugin does nothing; or units by
//                            name, as sluice/device.h has them
//   SLUICE_EXECUTOR_LIBRARY  the shared library whose OpenUnits (sluice/device.h) knows that name;
//                            without it, the one that is installed with the plugin
//   SLUICE_REPORT            not empty: what was done goes to stderr when the process exits

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sluice/executor.h"
#include "sluice/status.h"

namespace sluice::plugin {

// A variable of the environment; `otherwise` if it is not set, or empty.
std::string Environment(const char* name, const char* otherwise);

// Opens the units that SLUICE_EXECUTOR names: none if that is "cpu". `plugin`: an address in the
// plugin, in whose directory sluice/units.so is.
Status OpenUnitsOfEnvironment(const void* plugin, std::vector<std::shared_ptr<Executor>>* units);

// A line on stderr, once for each.
void Complain(const std::string& line);

}  // namespace sluice::plugin
