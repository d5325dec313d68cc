// A library of executors for SLUICE_EXECUTOR_LIBRARY: "faulty:N" is four units that fail N tasks of
// 100, in every way that can be noticed. With it also go the units of the card that this build has, as
// FaultDevice has them fail: "faulty_model:N".

#include <fmt/format.h>

#include <charconv>

#include "faulty_unit.h"
#include "sluice/device.h"
#include "util/testing.h"
#ifdef SLUICE_WITH_DEVICE
#include "device/executors.h"
#endif

namespace sluice {

Status OpenUnits(std::string_view name, std::vector<std::shared_ptr<Executor>>* units) {
  const size_t colon = name.find(':');
  uint64_t percent = 0;
  if (colon == std::string_view::npos ||
      std::from_chars(name.data() + colon + 1, name.data() + name.size(), percent).ec !=
          std::errc()) {
    return Status::InvalidArgument(fmt::format("{}: no such executor", name));
  }
  const char* const given = std::getenv("SLUICE_SEED");
  const uint64_t seed = given != nullptr ? std::stoull(given) : 1;
  const std::string_view kind = name.substr(0, colon);
  if (kind == "faulty") {
    for (uint64_t i = 0; i < 4; ++i) {
      units->push_back(std::make_shared<FaultyUnit>(percent, seed + i));
    }
    return {};
  }
#ifdef SLUICE_WITH_DEVICE
  if (kind == "faulty_model") {
    const double rate = static_cast<double>(percent) / 500;
    ExecutorOptions options;
    options.model.units = 4;
    options.fault = {.rates = {.hang = rate,
                               .lost_interrupt = rate,
                               .late = rate,
                               .bus_error = rate,
                               .wrong_result = rate},
                     .stuck_reset = 0.1,
                     .seed = seed};
    return MakeUnits("model", kDefaultConfiguration, options, units);
  }
#endif
  return Status::InvalidArgument(fmt::format("{}: no such executor", name));
}

}  // namespace sluice
