#include "common/units_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "sluice/device.h"

namespace sluice::plugin {

namespace {

// sluice::OpenUnits, as compilers spell it.
constexpr char kOpenUnits[] =
    "_ZN6sluice9OpenUnitsESt17basic_string_viewIcSt11char_traitsIcEEPSt6vectorISt10shared_ptrINS_"
    "8ExecutorEESaIS7_EE";

std::string InstalledUnits(const void* address) {
  Dl_info self;
  if (dladdr(address, &self) == 0) {
    return "units.so";
  }
  return std::filesystem::path(self.dli_fname).parent_path() / "sluice" / "units.so";
}

}  // namespace

Status OpenUnitsOf(const std::string& library, const std::string& name, const void* address,
                   std::vector<std::shared_ptr<Executor>>* units) {
  if (name == "cpu" && library.empty()) {
    return {};
  }
  const std::string path = library.empty() ? InstalledUnits(address) : library;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Status::NotFound(dlerror());
  }
  using Open = decltype(OpenUnits);
  auto* const open = reinterpret_cast<Open*>(dlsym(handle, kOpenUnits));
  if (open == nullptr) {
    return Status::NotFound(path + " has no sluice::OpenUnits");
  }
  return open(name, units);
}

}  // namespace sluice::plugin
