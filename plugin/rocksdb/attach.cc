// How databases get the service that the environment asks for.
//
//   SLUICE_EXECUTOR          cpu, which is the default; none: nothing is attached; or units by name,
//                            as sluice/device.h has them
//   SLUICE_EXECUTOR_LIBRARY  the shared library whose OpenUnits (sluice/device.h) knows that name;
//                            without it, the one that is installed with this
//   SLUICE_REPORT            not empty: what was done goes to stderr when the process exits

#include "attach.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "offload/driver.h"
#include "sluice/device.h"
#include "sluice_rocksdb.h"

namespace sluice::rocks {

namespace {

std::string Environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// sluice::OpenUnits, as compilers spell it.
constexpr char kOpenUnits[] =
    "_ZN6sluice9OpenUnitsESt17basic_string_viewIcSt11char_traitsIcEEPSt6vectorISt10shared_ptrINS_"
    "8ExecutorEESaIS7_EE";

// Once for each line.
void Complain(const std::string& line) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(line).second) {
    std::fprintf(stderr, "sluice: %s: RocksDB compacts by itself\n", line.c_str());
  }
}

// units.so in the directory "sluice" beside this library.
std::string InstalledUnits() {
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&SluiceAttachToRocksDb), &self) == 0) {
    return "units.so";
  }
  return std::filesystem::path(self.dli_fname).parent_path() / "sluice" / "units.so";
}

Status MakeExecutor(const std::string& name, std::shared_ptr<Executor>* executor) {
  const std::string library = Environment("SLUICE_EXECUTOR_LIBRARY", "");
  if (name == "cpu" && library.empty()) {
    executor->reset();
    return {};
  }
  const std::string path = library.empty() ? InstalledUnits() : library;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Status::NotFound(dlerror());
  }
  using Open = decltype(OpenUnits);
  auto* const open = reinterpret_cast<Open*>(dlsym(handle, kOpenUnits));
  if (open == nullptr) {
    return Status::NotFound(fmt::format("{} has no sluice::OpenUnits", path));
  }
  std::vector<std::shared_ptr<Executor>> units;
  SLUICE_RETURN_IF_ERROR(open(name, &units));
  *executor = std::make_shared<OffloadDriver>(std::move(units), OffloadOptions{});
  return {};
}

// Lives as long as the process: databases may be open until the end.
SluiceCompactionService* service = nullptr;

void Report() {
  const SluiceCompactionStatistics statistics = service->statistics();
  std::string text = fmt::format(
      "sluice: {} jobs, {} records in, {} out, {} bytes in, {} out, {} ms, {} left to RocksDB\n",
      statistics.jobs, statistics.input_records, statistics.output_records, statistics.input_bytes,
      statistics.output_bytes, statistics.micros / 1000, statistics.jobs_left);
  for (const auto& [reason, count] : statistics.reasons) {
    text += fmt::format("sluice: left to RocksDB: {} for: {}\n", count, reason);
  }
  std::fputs(text.c_str(), stderr);
}

// Null: there is none to be.
std::shared_ptr<SluiceCompactionService> TheService() {
  static const std::shared_ptr<SluiceCompactionService>& made = *[] {
    auto* const holder = new std::shared_ptr<SluiceCompactionService>;
    const std::string name = Environment("SLUICE_EXECUTOR", "cpu");
    std::shared_ptr<Executor> executor;
    if (name == "none") {
      return holder;
    }
    if (const Status status = MakeExecutor(name, &executor); !status.ok()) {
      Complain(fmt::format("SLUICE_EXECUTOR={}: {}", name, status.message()));
      return holder;
    }
    // Whether that is so is seen when a database is opened.
    *holder = NewSluiceCompactionService({.executor = executor, .write_committed_only = true});
    service = holder->get();
    if (!Environment("SLUICE_REPORT", "").empty()) {
      std::atexit(Report);
    }
    return holder;
  }();
  return made;
}

}  // namespace

}  // namespace sluice::rocks

const rocksdb::DBOptions* SluiceAttachToRocksDb(const rocksdb::DBOptions* options, const char* path,
                                                bool seq_per_batch) noexcept {
  try {
    if (options->compaction_service != nullptr) {
      return nullptr;
    }
    const auto service = sluice::rocks::TheService();
    if (service == nullptr) {
      return nullptr;
    }
    if (seq_per_batch) {
      sluice::rocks::Complain(fmt::format("{}: transactions that are not WRITE_COMMITTED", path));
      return nullptr;
    }
    auto ours = std::make_unique<rocksdb::DBOptions>(*options);
    service->AddTo(ours.get());
    return ours.release();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice: %s: %s\n", path, error.what());
    return nullptr;
  }
}

void SluiceFreeRocksDbOptions(const rocksdb::DBOptions* options) noexcept { delete options; }
