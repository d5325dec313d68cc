#pragma once

#include <string>

#include "simulate/simulation.h"
#include "util/status.h"

namespace sluice::simulate {

// Draws debt, runs and write amplification over what was written; a name that ends in .svg or .png.
Status Plot(const Settings& settings, const Report& report, const std::string& path);

}  // namespace sluice::simulate
