#include "bench/rocksdb_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

namespace sluice::bench {

Status RocksDbStatus(const char* error) {
  return error == nullptr ? Status() : Status::IoError(fmt::format("RocksDB: {}", error));
}

Status LoadRocksDb(const RocksDbCalls** calls) {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  std::filesystem::path directory = program.parent_path();
  // Beside the command; the bench programs lie in directories below.
  while (!std::filesystem::exists(directory / kRocksDbModule, failed)) {
    if (directory == directory.root_path()) {
      return Status::NotSupported(
          fmt::format("{} is neither in {} nor above: RocksDB is fetched with bench/fetch_rocksdb, "
                      "and the module built by make build after that",
                      kRocksDbModule, program.parent_path().string()));
    }
    directory = directory.parent_path();
  }
  // Its symbols stay its own: it brings a Snappy, and more, of other versions than ours.
  void* const module =
      ::dlopen((directory / kRocksDbModule).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  void* const entry = module == nullptr ? nullptr : ::dlsym(module, kRocksDbEntry);
  if (entry == nullptr) {
    return Status::NotSupported(fmt::format("cannot load RocksDB: {}", ::dlerror()));
  }
  *calls = reinterpret_cast<RocksDbEntry>(entry)();
  return {};
}

}  // namespace sluice::bench
