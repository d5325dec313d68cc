// Compactions on a simulated unit, by the installed libraries: `example DIRECTORY`.

#include <iostream>
#include <memory>
#include <string>

#include "sluice/db.h"
#include "sluice/device.h"

namespace {

sluice::Status Run(const std::string& path) {
  sluice::Options options;
  options.create_if_missing = true;
  SLUICE_RETURN_IF_ERROR(sluice::OpenUnits("rtl:tiny", &options.executors));
  std::unique_ptr<sluice::DB> db;
  SLUICE_RETURN_IF_ERROR(sluice::DB::Open(options, path, &db));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 500; ++i) {
      SLUICE_RETURN_IF_ERROR(db->Put({}, std::to_string(i), std::to_string(i * round)));
    }
    SLUICE_RETURN_IF_ERROR(db->Flush(nullptr));
  }
  SLUICE_RETURN_IF_ERROR(db->CompactRange(nullptr, "", ""));
  if (db->GetStatistics().offload.device_tasks == 0) {
    return sluice::Status::NotSupported("the unit did nothing");
  }
  std::cout << "merged by " << options.executors.size() << " unit\n";
  return db->Close();
}

}  // namespace

int main(int, char** argv) {
  const sluice::Status status = Run(argv[1]);
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
  }
  return status.ok() ? 0 : 1;
}
