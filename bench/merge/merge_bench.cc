// Compaction of sorted, overlapping runs by Sluice's CPU executor, LevelDB and RocksDB: MB of keys
// and values (uncompressed) per second of CPU time. All take turns, so that what else the machine
// does hits them alike; of each the best turn counts.
//
// Twice over: in files, from opening the inputs to outputs that are synced and closed; and in
// memory, where the kernel's part is left out. RocksDB in files only.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "bench/merge/merge_engine.h"

namespace sluice::bench {

[[noreturn]] void Die(const std::string& what) {
  fmt::print(stderr, "merge_bench: {}\n", what);
  std::exit(1);
}

namespace {

namespace fs = std::filesystem;

class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& base)
      : path_(fs::path(base) / fmt::format("sluice_merge_bench.{}", getpid())) {
    fs::create_directory(path_);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() { fs::remove_all(path_); }

  const fs::path& path() const { return path_; }

 private:
  const fs::path path_;
};

struct Settings {
  uint64_t megabytes = 32;
  int turns = 5;
  bool only_sluice = false;
  std::vector<uint32_t> values = {32, 128, 512, 2048};
  std::vector<uint32_t> runs = {2, 4};
  uint32_t key_bytes = 16;
  std::string scratch = ".";
};

std::vector<std::unique_ptr<MergeEngine>> MergeEngines(const Settings& settings, Storage storage) {
  std::vector<std::unique_ptr<MergeEngine>> engines;
  engines.push_back(NewSluiceMergeEngine(storage));
  if (settings.only_sluice) {
    return engines;
  }
  engines.push_back(NewLevelDbMergeEngine(storage));
  if (auto rocksdb = NewRocksDbMergeEngine(); rocksdb != nullptr && storage == Storage::kFiles) {
    engines.push_back(std::move(rocksdb));
  }
  return engines;
}

void RunCase(const Settings& settings, Storage storage, uint32_t runs, uint32_t value_bytes) {
  GeneratorOptions options;
  options.runs = runs;
  options.user_key_bytes = {settings.key_bytes, settings.key_bytes};
  options.value_bytes = {value_bytes, value_bytes};
  options.records = (settings.megabytes << 20) / (settings.key_bytes + value_bytes);
  options.table_bytes = UINT64_MAX;
  const GeneratedTask input = GenerateTask(options);
  const double raw = static_cast<double>(options.records) * (settings.key_bytes + value_bytes);

  const ScratchDirectory scratch(settings.scratch);
  const auto engines = MergeEngines(settings, storage);
  for (const auto& engine : engines) {
    fs::create_directory(scratch.path() / engine->name());
    engine->Prepare(input, scratch.path() / engine->name());
  }
  std::vector<double> best(engines.size(), 1e9);
  for (int turn = 0; turn < settings.turns; ++turn) {
    for (size_t i = 0; i < engines.size(); ++i) {
      best[i] = std::min(best[i], engines[i]->Run());
    }
  }
  std::string line = fmt::format("{:4} {:6}", runs, value_bytes);
  for (size_t i = 0; i < engines.size(); ++i) {
    // All kept all records, so they wrote about as much.
    const auto mine = static_cast<double>(engines[0]->output_bytes());
    const auto written = static_cast<double>(engines[i]->output_bytes());
    if (mine < 0.8 * raw || std::abs(written - mine) > 0.1 * mine) {
      Die(fmt::format("{} wrote {} bytes, Sluice {}, of {}", engines[i]->name(), written, mine,
                      raw));
    }
    line += fmt::format(" {:8.0f}", raw / best[i] / 1e6);
  }
  for (size_t i = 1; i < engines.size(); ++i) {
    line += fmt::format(" {:11.2f}", best[i] / best[0]);
  }
  line += fmt::format(" {:10.1f}", best[0] / static_cast<double>(options.records) * 1e9);
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void RunTable(const Settings& settings, Storage storage) {
  fmt::print("\nCompaction in {}, keys of {} bytes, uncompressed: MB/s per CPU, best of {}\n",
             storage == Storage::kFiles ? "files" : "memory", settings.key_bytes, settings.turns);
  std::string head = "runs values";
  std::string ratios;
  for (const auto& engine : MergeEngines(settings, storage)) {
    head += fmt::format(" {:>8}", engine->name());
    if (engine->name() != "Sluice") {
      ratios += fmt::format(" {:>11}", "x " + engine->name());
    }
  }
  fmt::print("{}{}  ns/record\n", head, ratios);
  for (const uint32_t runs : settings.runs) {
    for (const uint32_t value_bytes : settings.values) {
      RunCase(settings, storage, runs, value_bytes);
    }
  }
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  Settings settings;
  CLI::App app("Compaction speed beside LevelDB and RocksDB", "merge_bench");
  app.add_option("--megabytes", settings.megabytes, "keys and values per case");
  app.add_option("--turns", settings.turns, "per engine and case");
  app.add_flag("--only-sluice", settings.only_sluice, "for profiling");
  app.add_option("--values", settings.values, "value bytes")->delimiter(',');
  app.add_option("--runs", settings.runs, "sorted runs")->delimiter(',');
  app.add_option("--key-bytes", settings.key_bytes, "user key bytes");
  app.add_option("--scratch", settings.scratch,
                 "directory for the files (on tmpfs pages cost most of the time)");
  std::string only;
  app.add_option("--storage", only, "files or memory; else both")
      ->check(CLI::IsMember({"files", "memory"}));
  CLI11_PARSE(app, argc, argv);

  for (const Storage storage : {Storage::kFiles, Storage::kMemory}) {
    if (only.empty() || only == (storage == Storage::kFiles ? "files" : "memory")) {
      RunTable(settings, storage);
    }
  }
  if (!settings.only_sluice && NewRocksDbMergeEngine() == nullptr) {
    fmt::print(
        "RocksDB is not there: bench/fetch_rocksdb gets a release build of it, make build its "
        "module.\n");
  }
}
