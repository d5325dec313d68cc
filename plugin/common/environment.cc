#include "environment.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>

#include "sluice/device.h"

namespace sluice::plugin {

namespace {

// sluice::OpenUnits, as compilers spell it.
constexpr char kOpenUnits[] =
    "_ZN6sluice9OpenUnitsESt17basic_string_viewIcSt11char_traitsIcEEPSt6vectorISt10shared_ptrINS_"
    "8ExecutorEESaIS7_EE";

// units.so in the directory "sluice" beside the plugin.
std::string InstalledUnits(const void* plugin) {
  Dl_info self;
  if (dladdr(plugin, &self) == 0) {
    return "units.so";
  }
  return std::filesystem::path(self.dli_fname).parent_path() / "sluice" / "units.so";
}

}  // namespace

std::string Environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

Status OpenUnitsOfEnvironment(const void* plugin, std::vector<std::shared_ptr<Executor>>* units) {
  const std::string name = Environment("SLUICE_EXECUTOR", "cpu");
  const std::string library = Environment("SLUICE_EXECUTOR_LIBRARY", "");
  if (name == "cpu" && library.empty()) {
    return {};
  }
  const std::string path = library.empty() ? InstalledUnits(plugin) : library;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Status::NotFound(dlerror());
  }
  using Open = decltype(OpenUnits);
  auto* const open = reinterpret_cast<Open*>(dlsym(handle, kOpenUnits));
  if (open == nullptr) {
    return Status::NotFound(fmt::format("{} has no sluice::OpenUnits", path));
  }
  return open(name, units);
}

void Complain(const std::string& line) {
  // They live as long as the process: others may complain while it exits.
  static std::mutex& mutex = *new std::mutex;
  static std::set<std::string>& said = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (said.insert(line).second) {
    std::fprintf(stderr, "sluice: %s\n", line.c_str());
  }
}

}  // namespace sluice::plugin
