#include "environment.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

#include "common/units_library.h"

namespace sluice::plugin {

std::string Environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

Status OpenUnitsOfEnvironment(const void* plugin, std::vector<std::shared_ptr<Executor>>* units) {
  return OpenUnitsOf(Environment("SLUICE_EXECUTOR_LIBRARY", ""),
                     Environment("SLUICE_EXECUTOR", "cpu"), plugin, units);
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
