// Units for tests that need some, whichever: of configuration `tiny`, in working order or not.

#pragma once

#include <stdexcept>
#include <string_view>

#include "device/executors.h"

namespace sluice {

// As MakeUnits. Of the units' jobs a share of `faults` fails, one way or another, drawn from `seed`.
inline MergeUnits TestUnits(std::string_view kind, double faults = 0, uint64_t seed = 1) {
  const double each = faults / 4;
  ExecutorOptions options;
  options.fault = {
      .rates = {.hang = each, .lost_interrupt = each, .bus_error = each, .wrong_result = each},
      .seed = seed};
  MergeUnits units;
  if (const Status status = MakeUnits(kind, "tiny", options, &units); !status.ok()) {
    throw std::runtime_error(status.ToString());
  }
  return units;
}

}  // namespace sluice
