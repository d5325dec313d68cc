#include "sluice/c_device.h"

#include "c/c_types.h"
#include "sluice/device.h"

void sluice_options_set_executor(sluice_options_t* options, const char* name, char** error) {
  std::vector<std::shared_ptr<sluice::Executor>> units;
  const sluice::Status status = sluice::OpenUnits(name, &units);
  sluice::Tell(status, error);
  if (status.ok()) {
    options->rep.executors = std::move(units);
  }
}
