// sluice bench

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "bench/bench.h"
#include "bench/plot.h"
#include "bench/report.h"
#include "command.h"
#include "device/executors.h"
#include "progress.h"

namespace sluice::tools {

namespace {

using bench::BenchSettings;
using bench::Run;

struct BenchCommand {
  BenchSettings settings;
  std::string distribution;
  std::string value_bytes = "100";
  std::string compression = "none";
  std::string plot;
  bool json = false;
};

// "100" or "50-200".
Status ParseValueBytes(const std::string& text, BenchSettings* settings) {
  unsigned long long min = 0;
  unsigned long long max = 0;
  int end = 0;
  const char* const begin = text.c_str();
  if (std::sscanf(begin, "%llu-%llu%n", &min, &max, &end) == 2 && begin[end] == '\0') {
    settings->min_value_bytes = min;
    settings->max_value_bytes = max;
    return {};
  }
  if (std::sscanf(begin, "%llu%n", &min, &end) == 1 && begin[end] == '\0') {
    settings->min_value_bytes = settings->max_value_bytes = min;
    return {};
  }
  return Status::InvalidArgument(fmt::format("--value-size {}: BYTES or LEAST-MOST", text));
}

Status Complete(BenchCommand* command) {
  SLUICE_RETURN_IF_ERROR(ParseValueBytes(command->value_bytes, &command->settings));
  if (!command->distribution.empty()) {
    SLUICE_RETURN_IF_ERROR(
        bench::ParseDistribution(command->distribution, &command->settings.distribution.emplace()));
  }
  (void)ParseCompression(command->compression, &command->settings.engine.compression);
  return bench::Check(command->settings);
}

int RunBenchCommand(BenchCommand* command) {
  const bool json = command->json;
  if (const Status status = Complete(command); !status.ok()) {
    Fail("usage", status.message(), json);
    return kExitUsage;
  }
  const BenchSettings& settings = command->settings;
  // Polled, because what is left to do after a benchmark does not tell how far it is.
  std::atomic<uint64_t> done = 0;
  std::atomic<uint64_t> total = 0;
  std::optional<PolledProgress> bar;
  bool headed = false;
  const bench::BenchEvents events = {
      .begin =
          [&](const Run& next) {
            done = total = 0;
            bar.emplace(fmt::format("{} {}, turn {}", next.engine, next.workload, next.turn),
                        kNoUnit, [&] {
                          return ProgressCount{done, total};
                        });
          },
      .progress =
          [&](uint64_t now, uint64_t of) {
            done = now;
            total = of;
          },
      .end =
          [&](const Run& run) {
            bar.reset();
            if (!json) {
              fmt::print("{}{}", headed ? "" : bench::TableHead(), bench::TableLines(run));
              std::fflush(stdout);
              headed = true;
            }
          }};
  std::vector<Run> runs;
  Status status = bench::RunBench(settings, events, &runs);
  bar.reset();
  Json report;
  report["status"] = "ok";
  report.update(bench::ToJson(settings, runs));
  if (status.ok() && !command->plot.empty()) {
    status = bench::Plot(settings, runs, command->plot);
  }
  if (!status.ok()) {
    return Fail(status, json, std::move(report));
  }
  if (json) {
    PrintJson(report);
  } else {
    fmt::print("{}", bench::Summary(settings, runs));
  }
  return kExitOk;
}

std::vector<std::string> EngineNames() {
  std::vector<std::string> names;
  for (const bench::EngineKind& kind : bench::EngineKinds()) {
    names.push_back(kind.name);
  }
  return names;
}

std::vector<std::string> WorkloadNames() {
  std::vector<std::string> names;
  for (const bench::Workload& workload : bench::Workloads()) {
    names.emplace_back(workload.name);
  }
  return names;
}

std::string FooterHelp() {
  std::string text = "Engines:";
  for (const bench::EngineKind& kind : bench::EngineKinds()) {
    text += fmt::format("\n  {:<23} {}", kind.name, kind.what);
  }
  text += "\n\nBenchmarks:";
  for (const bench::Workload& workload : bench::Workloads()) {
    text += fmt::format("\n  {:<23} {}", workload.name, workload.what);
  }
  return text +
         "\n\nKeys and values are generated as in db_bench. If a flush or compaction is still due "
         "after "
         "a benchmark, the next\none waits for it (settle s); CPU time and bytes include it.\n"
         "W-amp: bytes written to log and tables per byte that the user wrote. R-amp: bytes read "
         "from "
         "files per byte that\nreaders asked for. S-amp: bytes on disk, logs included, per byte of "
         "a "
         "database that holds each key once.\n"
         "Overload: if writes come faster than flushes and compactions can follow, Sluice slows "
         "them "
         "down, at a rate\nthat falls smoothly from 512 MiB/s to nothing while the last memtable "
         "allowed "
         "to "
         "wait fills, or level 0 grows from\n16 to 32 runs. This rate determines p99.9: a write "
         "sleeps once per few KiB, for 1 ms or as long as its bytes\ntake. Beyond that, writes "
         "wait "
         "until a flush or compaction ends, which determines the maximum.\n"
         "The ycsb and xbench workloads need a database made by load.";
}

void AddSizes(CLI::App* app, BenchCommand* command) {
  BenchSettings& s = command->settings;
  app->add_option("--num", s.num, "Number of keys, which is also what a fill writes")
      ->capture_default_str();
  app->add_option("--reads", s.reads,
                  "Operations of each other benchmark, all threads together; 0: as many as --num")
      ->capture_default_str();
  app->add_option("--duration", s.duration, "Run each of these for so many seconds instead")
      ->type_name("SECONDS");
  app->add_option(
         "--threads", s.thread_counts,
         "Threads that share the operations; with several numbers, run everything with each")
      ->delimiter(',')
      ->capture_default_str();
  app->add_option("--turns", s.turns, "Run everything so many times, and compare medians")
      ->capture_default_str();
  app->add_option("--key-size", s.key_bytes, "Key size in bytes")->capture_default_str();
  app->add_option("--value-size", command->value_bytes,
                  "Value size in bytes, or a range LEAST-MOST to draw from uniformly")
      ->type_name("BYTES")
      ->capture_default_str();
  app->add_option("--batch-size", s.batch, "Puts per batch, or keys per call of multireadrandom")
      ->capture_default_str();
  app->add_option("--seek-nexts", s.seek_nexts, "Records to read after each seek")
      ->capture_default_str();
  app->add_option(
         "--max-scan-length", s.max_scan,
         "Longest scan of ycsb and xbench, in records; lengths are drawn from 1 up to this")
      ->capture_default_str();
  app->add_option("--write-rate", s.write_rate,
                  "Puts per second of the thread that writes beside readers; 0: unlimited")
      ->capture_default_str();
  app->add_option(
         "--distribution", command->distribution,
         "Distribution of keys: uniform, zipf[:THETA] or latest. By default uniform, and ycsb's "
         "own for ycsb")
      ->type_name("NAME");
  app->add_option("--seed", s.seed, "Seed for keys, values and operations")->capture_default_str();
}

void AddEngineOptions(CLI::App* app, BenchCommand* command) {
  bench::EngineSettings& e = command->settings.engine;
  const auto add = [&](const char* name, auto* value, const char* what) {
    return app->add_option(name, *value, what)->capture_default_str()->group("All engines alike");
  };
  add("--cache-size", &e.cache_bytes, "Cache for records and blocks together, in bytes")
      ->transform(CLI::AsSizeValue(false));
  add("--write-buffer-size", &e.write_buffer_bytes, "Memtable size in bytes")
      ->transform(CLI::AsSizeValue(false));
  app->add_option("--block-size", e.block_bytes,
                  "Block size in bytes; by default each engine's own, 4 KiB for all of them")
      ->transform(CLI::AsSizeValue(false))
      ->group("All engines alike");
  add("--bloom-bits", &e.bloom_bits, "Filter bits per key; 0: no filters")
      ->check(CLI::Range(0, 32, ""));
  add("--prefix-bytes", &e.prefix_bytes,
      "Filters also have so many first bytes of keys, for seekgroup; 0: they do not")
      ->check(CLI::Range(0, 255, ""));
  add("--compression", &command->compression, "Compression of blocks: none, snappy, lz4 or zstd")
      ->check(CLI::IsMember({"none", "snappy", "lz4", "zstd"}))
      ->type_name("NAME");
  add("--dictionary-size", &e.dictionary_bytes,
      "Size of dictionaries for zstd on the last level, in bytes; 0: none")
      ->transform(CLI::AsSizeValue(false));
  add("--separate-values", &e.separate_bytes,
      "Values of at least this size are stored apart from their keys; 0: none")
      ->transform(CLI::AsSizeValue(false));
  app->add_flag("--sync", e.sync, "Sync every write before it returns")->group("All engines alike");
  app->add_flag("--direct", e.direct_io, "Direct I/O: nothing stays in the page cache but the log")
      ->group("All engines alike");
  e.config = kDefaultConfiguration;
  app->add_option("--executor", e.executor, "Executor of merges: cpu, rtl, check, model, xrt or f2")
      ->check(CLI::IsMember({"cpu", "rtl", "check", "model", "xrt", "f2"}))
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Sluice");
  const auto add_own = [&](const char* name, auto* value, const char* what) {
    return app->add_option(name, *value, what)->capture_default_str()->group("Sluice");
  };
  add_own("--compaction-threads", &e.compaction_threads, "Threads that compact")
      ->check(CLI::Range(1, 1024, ""));
  add_own("--flush-threads", &e.flush_threads, "Threads that flush")
      ->check(CLI::Range(1, 1024, ""));
  add_own("--background-rate", &e.background_bytes_per_second,
          "Bytes per second that flushes and compactions may write; 0: unlimited")
      ->transform(CLI::AsSizeValue(false));
  add_own("--max-space", &e.max_space_amplification,
          "Limit on bytes of the device per byte of live data; 0: none");
  app->add_option("--config", e.config, kConfigurationText)
      ->check(IsConfiguration())
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Sluice");
  AddModelOptions(app, &e.model);
}

}  // namespace

void AddBenchCommand(CLI::App* app, Action* action) {
  CLI::App* command = AddSubcommand(
      app, "bench", "Measure the storage engine beside LevelDB and RocksDB",
      "sluice bench\n"
      "sluice bench --engine sluice,leveldb,rocksdb --turns 3\n"
      "sluice bench --benchmarks fillrandom,readrandom --distribution zipf:1.0 --threads 2\n"
      "sluice bench --benchmarks fillrandom --sync --threads 1,8,64 --engine "
      "sluice,sluice:async,rocksdb,rocksdb:pipelined\n"
      "sluice bench --benchmarks load,ycsba,ycsbb,ycsbc --value-size 1000 --plot ycsb.svg\n"
      "sluice bench --benchmarks load,xbench42 --duration 60 --json");
  command->footer(FooterHelp() + "\n\n" + command->get_footer());
  auto options = std::make_shared<BenchCommand>();
  BenchSettings& settings = options->settings;
  settings.directory = std::filesystem::temp_directory_path() / "sluice_bench";
  command
      ->add_option("--benchmarks", settings.workloads,
                   "Benchmarks to run, in this order; see below")
      ->delimiter(',')
      ->check(CLI::IsMember(WorkloadNames()))
      ->type_name("NAMES")
      ->capture_default_str();
  command->add_option("--engine", settings.engines, "Engines to measure; see below")
      ->delimiter(',')
      ->check(CLI::IsMember(EngineNames()))
      ->type_name("NAMES")
      ->capture_default_str();
  command->add_option("--db", settings.directory, "Directory for the databases, which are kept")
      ->type_name("DIR")
      ->capture_default_str();
  AddSizes(command, options.get());
  AddEngineOptions(command, options.get());
  AddPlotOption(command, &options->plot, "throughput over time and latencies");
  AddJsonOption(command, &options->json);
  command->callback(
      [options, action] { *action = [options] { return RunBenchCommand(options.get()); }; });
}

}  // namespace sluice::tools
