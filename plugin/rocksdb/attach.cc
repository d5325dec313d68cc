// How databases get the service that the environment asks for (plugin/common/environment.h).

#include "attach.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "common/environment.h"
#include "offload/driver.h"
#include "sluice_rocksdb.h"

namespace sluice::rocks {

namespace {

using plugin::Environment;

void Complain(const std::string& line) { plugin::Complain(line + ": RocksDB compacts by itself"); }

// Null: the CPU.
Status MakeExecutor(std::shared_ptr<Executor>* executor) {
  std::vector<std::shared_ptr<Executor>> units;
  SLUICE_RETURN_IF_ERROR(plugin::OpenUnitsOfEnvironment(
      reinterpret_cast<const void*>(&SluiceAttachToRocksDb), &units));
  if (!units.empty()) {
    *executor = std::make_shared<OffloadDriver>(std::move(units), OffloadOptions{.always = true});
  }
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
    if (const Status status = MakeExecutor(&executor); !status.ok()) {
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
