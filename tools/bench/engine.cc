#include "bench/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

namespace sluice::bench {

std::optional<uint64_t> EngineSession::ThreadBytesRead() {
  FILE* const file = std::fopen("/proc/thread-self/io", "r");
  if (file == nullptr) {
    return {};
  }
  unsigned long long bytes = 0;
  const bool read = std::fscanf(file, "rchar: %llu", &bytes) == 1;
  std::fclose(file);
  return read ? std::optional<uint64_t>(bytes) : std::nullopt;
}

const std::vector<std::string>& EngineNames() {
  static const std::vector<std::string> names = {"sluice", "leveldb", "rocksdb"};
  return names;
}

Status OpenEngine(std::string_view name, const EngineSettings& settings,
                  const std::string& directory, bool create, std::unique_ptr<Engine>* engine) {
  if (name == "sluice") {
    return OpenSluice(settings, directory, create, engine);
  }
  if (name == "leveldb") {
    return OpenLevelDb(settings, directory, create, engine);
  }
  if (name == "rocksdb") {
    return OpenRocksDb(settings, directory, create, engine);
  }
  return Status::InvalidArgument(
      fmt::format("engine '{}': one of {}", name, fmt::join(EngineNames(), ", ")));
}

}  // namespace sluice::bench
