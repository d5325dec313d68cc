// How much sooner several threads on as many cores are done with the compactions of one sub-table
// than one thread on one core is.
//
// Each measurement begins with the same tree: keys loaded in random order into level 2, and uniform
// overwrites in level 0. What is due is then compacted, and nothing else goes on. On a machine that
// does other work, too, seconds say little. `cpu s` is the time of all threads, with those in which
// the kernel writes for them: divided by the cores, it is what the seconds would be if no core were
// ever idle. `most` is that of the compaction thread that worked most.

#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/distribution.h"
#include "sluice/db.h"
#include "util/seconds_since.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Settings {
  std::string dir = fs::temp_directory_path();
  uint64_t keys = 4'000'000;
  double overwrites = 0.5;
  size_t value_bytes = 100;
  size_t memtable_bytes = size_t{16} << 20;
  uint64_t l1_bytes = uint64_t{64} << 20;
  std::vector<size_t> threads = {1, 2};
  unsigned turns = 3;
};

// Times of one compaction thread.
struct ThreadTimes {
  double run = 0;    // on a CPU
  double queue = 0;  // waiting for one
  uint64_t sleeps = 0;
};

// Those of the threads slc-compact, by thread.
std::map<std::string, ThreadTimes> CompactionThreads() {
  std::map<std::string, ThreadTimes> threads;
  for (const fs::directory_entry& task : fs::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "slc-compact") {
      continue;
    }
    ThreadTimes& times = threads[task.path().filename()];
    std::ifstream(task.path() / "schedstat") >> times.run >> times.queue;
    times.run *= 1e-9;
    times.queue *= 1e-9;
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;) {
      if (word == "voluntary_ctxt_switches:") {
        status >> times.sleeps;
      }
    }
  }
  return threads;
}

Status Fill(const Settings& settings, const Options& options, const std::string& path) {
  std::unique_ptr<DB> db;
  if (Status status = DB::Open(options, path, &db); !status.ok()) {
    return status;
  }
  const std::string value(settings.value_bytes, 'v');
  const auto put = [&](uint64_t key) { return db->Put({}, fmt::format("{:016x}", key), value); };
  const bench::Permutation shuffled(settings.keys, 1);
  for (uint64_t i = 0; i < settings.keys; ++i) {
    if (Status status = put(shuffled(i)); !status.ok()) {
      return status;
    }
  }
  if (Status status = db->CompactRange(nullptr, {}, {}); !status.ok()) {
    return status;
  }
  bench::Random random(2);
  const auto overwrites =
      static_cast<uint64_t>(static_cast<double>(settings.keys) * settings.overwrites);
  for (uint64_t i = 0; i < overwrites; ++i) {
    if (Status status = put(random.Below(settings.keys)); !status.ok()) {
      return status;
    }
  }
  return db->Flush(nullptr);
}

double CpuSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Threads that are made while it lives run on the first `cores` cores only.
class OnCores {
 public:
  explicit OnCores(size_t cores) {
    ::sched_getaffinity(0, sizeof(all_), &all_);
    cpu_set_t some;
    CPU_ZERO(&some);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && cores > 0; ++cpu) {
      if (CPU_ISSET(cpu, &all_)) {
        CPU_SET(cpu, &some);
        --cores;
      }
    }
    ::sched_setaffinity(0, sizeof(some), &some);
  }
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;
  ~OnCores() { ::sched_setaffinity(0, sizeof(all_), &all_); }

 private:
  cpu_set_t all_{};
};

struct Measured {
  double seconds = 0;
  double cpu = 0;
  double most_cpu = 0;  // of the compaction thread that has most
  double queue = 0;     // all of them, waiting for a core
  uint64_t sleeps = 0;
  uint64_t parts = 0;
  uint64_t bytes = 0;  // written
};

// Compacts a copy of the database `filled`, and measures that.
Status Measure(Options options, const std::string& filled, size_t threads, Measured* measured) {
  const std::string path = filled + ".copy";
  std::error_code error;
  fs::copy(filled, path, fs::copy_options::recursive, error);
  if (error) {
    return Status::IoError(fmt::format("copy of {}: {}", filled, error.message()));
  }
  options.automatic_compactions = true;
  options.compaction_threads = threads;
  std::unique_ptr<DB> db;
  const OnCores on_cores(threads);
  const double cpu = CpuSeconds();
  const Clock::time_point begin = Clock::now();
  Status status = DB::Open(options, path, &db);
  if (status.ok()) {
    status = db->WaitForBackgroundWork();
  }
  if (!status.ok()) {
    return status;
  }
  measured->seconds = SecondsSince(begin);
  measured->cpu = CpuSeconds() - cpu;
  for (const auto& [id, times] : CompactionThreads()) {
    measured->most_cpu = std::max(measured->most_cpu, times.run);
    measured->queue += times.queue;
    measured->sleeps += times.sleeps;
  }
  const Statistics statistics = db->GetStatistics();
  for (const uint64_t parts : statistics.compactions) {
    measured->parts += parts;
  }
  measured->bytes = statistics.compaction_bytes_written;
  db.reset();
  return DB::Destroy(options, path);
}

Status Compare(const Settings& settings) {
  Options options;
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.memtable_bytes = settings.memtable_bytes;
  options.l1_bytes = settings.l1_bytes;
  options.automatic_compactions = false;
  const std::string path = settings.dir + "/share_bench";
  if (Status status = Fill(settings, options, path); !status.ok()) {
    return status;
  }
  options.error_if_exists = false;
  for (unsigned turn = 0; turn < settings.turns; ++turn) {
    Measured first;
    for (const size_t threads : settings.threads) {
      Measured now;
      if (Status status = Measure(options, path, threads, &now); !status.ok()) {
        return status;
      }
      first = first.seconds == 0 ? now : first;
      fmt::print("{:7} {:8.2f} {:8.2f} {:8.2f} {:8.2f} {:8} {:6} {:5} MiB {:8.2f}\n", threads,
                 now.seconds, now.cpu, now.most_cpu, now.queue, now.sleeps, now.parts,
                 now.bytes >> 20, first.seconds / now.seconds);
    }
  }
  return DB::Destroy(options, path);
}

int Main(int argc, char** argv) {
  CLI::App app("Compactions of one sub-table by one thread and by several");
  Settings settings;
  app.add_option("dir", settings.dir, "Where the database is made, and destroyed")
      ->capture_default_str();
  app.add_option("--num", settings.keys, "Keys")->capture_default_str();
  app.add_option("--overwrites", settings.overwrites, "Overwrites, as a multiple of the keys")
      ->capture_default_str();
  app.add_option("--value-size", settings.value_bytes, "Bytes of a value")->capture_default_str();
  app.add_option("--write-buffer-size", settings.memtable_bytes, "Bytes of a memtable")
      ->capture_default_str();
  app.add_option("--l1-size", settings.l1_bytes, "What levels 0 and 1 may have, in bytes")
      ->capture_default_str();
  app.add_option("--compaction-threads", settings.threads, "Numbers of threads, compared in turn")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--turns", settings.turns, "Measurements of each")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  fmt::print("{:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6} {:>9} {:>8}\n", "threads", "seconds",
             "cpu s", "most", "queue s", "sleeps", "parts", "written", "x faster");
  if (const Status status = Compare(settings); !status.ok()) {
    fmt::print(stderr, "{}\n", status.ToString());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::Main(argc, argv); }
