// A driver over the units of a card, for tests of those that are no simulation to the host.

#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/device_executor.h"
#include "device/driver_fixture.h"

namespace sluice {

class CardTest : public DriverTest {
 protected:
  using Devices = std::vector<std::unique_ptr<Device>>;

  void OpenDriver(Devices devices) {
    Units units;
    for (std::unique_ptr<Device>& device : devices) {
      units.push_back(std::make_shared<DeviceExecutor>(std::move(device)));
    }
    Open(std::move(units));
  }
  // Whether a unit did a task; the CPU does it otherwise.
  bool UnitsDoATask() {
    const uint64_t before = driver_->stats().on_units;
    RunOne(Case(RandomTask(rng_)));
    return driver_->stats().on_units != before;
  }
  void ExpectThatUnitsComeBack() {
    do {
      now_ += 100'000;  // units that are out of service are probed
    } while (!UnitsDoATask());
  }
};

}  // namespace sluice
