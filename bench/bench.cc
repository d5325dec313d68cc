#include "bench/bench.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "sluice/env.h"
#include "util/files.h"

namespace sluice::bench {

namespace {

namespace fs = std::filesystem;

// Marks a directory as a bench's own, which may remove databases in it.
constexpr const char* kMarker = "SLUICE_BENCH";

Status PrepareDirectory(const std::string& directory) {
  std::error_code failed;
  const fs::path path(directory);
  if (fs::exists(path / kMarker, failed)) {
    return {};
  }
  if (fs::exists(path, failed) && !fs::is_empty(path, failed)) {
    return Status::InvalidArgument(
        fmt::format("{} holds other things than a bench's databases: give an empty or new "
                    "directory with --db",
                    directory));
  }
  if (fs::create_directories(path, failed); failed) {
    return Status::IoError(fmt::format("{}: {}", directory, failed.message()));
  }
  return WriteFileSynced(Env::Posix(), path / kMarker, {});
}

// What the files in a directory take of the disk.
uint64_t DiskBytes(const fs::path& directory) {
  constexpr uint64_t kStatBlock = 512;
  uint64_t bytes = 0;
  std::error_code gone;  // a file may be removed while it is looked at
  for (fs::recursive_directory_iterator it(directory, gone), end; !gone && it != end;
       it.increment(gone)) {
    struct stat file {};
    if (::lstat(it->path().c_str(), &file) == 0 && S_ISREG(file.st_mode)) {
      bytes += kStatBlock * static_cast<uint64_t>(file.st_blocks);
    }
  }
  return bytes;
}

// One engine's turn.
class Turn {
 public:
  Turn(const BenchSettings& settings, std::string name)
      : settings_(settings),
        name_(std::move(name)),
        directory_(fs::path(settings.directory) / name_) {}

  Status Do(const Workload& workload, const Progress& progress, Run* run) {
    SLUICE_RETURN_IF_ERROR(Open(workload.fresh));
    run->version = engine_->version();
    // The same for all engines.
    const uint64_t stream = static_cast<uint64_t>(run->turn) << 32 | run->position;
    SLUICE_RETURN_IF_ERROR(RunWorkload(settings_, workload, stream, engine_.get(), &inserted_,
                                       progress, &run->result));
    run->result.disk_bytes = DiskBytes(directory_);
    const uint64_t keys = workload.two_runs ? run->result.operations : inserted_.load();
    run->result.record_bytes =
        keys * (settings_.key_bytes + (settings_.min_value_bytes + settings_.max_value_bytes) / 2);
    if (run->result.gets > 0 && run->result.found == 0 &&
        workload.keys != Workload::Keys::kMissing) {
      return Status::InvalidArgument(fmt::format(
          "no key was found: before it in --benchmarks, or in an earlier run with the same --num, "
          "comes {}",
          workload.order == KeyOrder::kHashed ? "load"
                                              : "fillseq, fillrandom or filluniquerandom"));
    }
    return {};
  }

 private:
  Status Open(bool fresh) {
    if (engine_ != nullptr && !fresh) {
      return {};
    }
    engine_.reset();
    inserted_ = settings_.num;
    std::error_code failed;
    if (fresh) {
      fs::remove_all(directory_, failed);
    } else if (!fs::exists(directory_, failed)) {
      return Status::NotFound(fmt::format(
          "{}: no database; fill one first, as with --benchmarks fillrandom", directory_.string()));
    }
    return OpenEngine(name_, settings_.engine, directory_, fresh, &engine_);
  }

  const BenchSettings& settings_;
  const std::string name_;
  const fs::path directory_;
  std::unique_ptr<Engine> engine_;
  std::atomic<uint64_t> inserted_ = 0;
};

}  // namespace

Status Check(const BenchSettings& settings) {
  const auto bad = [](const std::string& what) { return Status::InvalidArgument(what); };
  for (const std::string& name : settings.workloads) {
    const Workload* const workload = FindWorkload(name);
    if (workload == nullptr) {
      return bad(fmt::format("benchmark '{}': none of this name; see --help", name));
    }
    if (workload->order == KeyOrder::kGrouped && settings.key_bytes == kMinKeyBytes) {
      return bad(fmt::format("{}: keys have {} bytes at least", name, kMinKeyBytes + 1));
    }
    if (workload->two_runs) {
      SLUICE_RETURN_IF_ERROR(CheckTwoRuns(settings));
    }
  }
  if (settings.num == 0 || settings.thread_counts.empty() ||
      *std::min_element(settings.thread_counts.begin(), settings.thread_counts.end()) < 1 ||
      settings.turns < 1 || settings.batch < 1 || settings.max_scan < 1) {
    return bad("counts of keys, threads, turns, batches and scans are at least 1");
  }
  if (settings.key_bytes < kMinKeyBytes) {
    return bad(fmt::format("keys have {} bytes at least", kMinKeyBytes));
  }
  if (settings.min_value_bytes > settings.max_value_bytes) {
    return bad("value size: the least is more than the most");
  }
  return {};
}

Status RunBench(const BenchSettings& settings, const BenchEvents& events, std::vector<Run>* runs) {
  SLUICE_RETURN_IF_ERROR(Check(settings));
  SLUICE_RETURN_IF_ERROR(PrepareDirectory(settings.directory));
  for (int turn = 1; turn <= settings.turns; ++turn) {
    for (size_t i = 0; i < settings.engines.size(); ++i) {
      const std::string& engine =
          settings.engines[(i + static_cast<size_t>(turn) - 1) % settings.engines.size()];
      for (const int threads : settings.thread_counts) {
        BenchSettings with_threads = settings;
        with_threads.threads = threads;
        Turn engines_turn(with_threads, engine);
        for (size_t position = 0; position < settings.workloads.size(); ++position) {
          const std::string& name = settings.workloads[position];
          Run run{.engine = engine,
                  .version = {},
                  .workload = name,
                  .position = position,
                  .threads = threads,
                  .turn = turn,
                  .result = {}};
          events.begin(run);
          const Status status = engines_turn.Do(*FindWorkload(name), events.progress, &run);
          if (!status.ok()) {
            return status.WithContext(fmt::format("{}, {}", engine, name));
          }
          events.end(run);
          runs->push_back(std::move(run));
        }
      }
    }
  }
  return {};
}

}  // namespace sluice::bench
