// sluice unit run | bench | replay | list

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "command.h"
#include "device/contract.h"
#include "device/device_executor.h"
#include "device/executors.h"
#include "merge/task_generator.h"
#include "merge_report.h"
#include "progress.h"

namespace sluice::tools {

namespace {

struct RunOptions {
  std::string executor = "rtl";
  std::string config;
  uint32_t key_bytes = 16;
  uint32_t value_bytes = 128;
  uint32_t bloom_bits = 0;
  bool compress = false;
  bool xxh3 = false;
  uint32_t latency = rtlsim::MemoryOptions().latency;
  GeneratorOptions generator;
  ModelDeviceOptions model;
  bool json = false;
};

Status Describe(std::string_view executor, std::string_view config, DeviceInfo* info) {
  if (executor == "xrt" || executor == "f2") {  // the card says what it has
    MergeUnits units;
    SLUICE_RETURN_IF_ERROR(MakeUnits(executor, config, {}, &units));
    *info = static_cast<DeviceExecutor&>(*units.front()).device().info();
    return {};
  }
  std::unique_ptr<Device> device;
  SLUICE_RETURN_IF_ERROR(MakeRtlDevice(config, {}, &device));
  *info = device->info();
  return {};
}

Json Describe(const RunOptions& options, const DeviceInfo& info) {
  Json json;
  json["config"] = options.config;
  json["executor"] = options.executor;
  json["ways"] = info.ways;
  json["status"] = "";  // set at the end; stands here in the output
  json["runs"] = options.generator.runs;
  json["records"] = options.generator.records;
  json["key_bytes"] = options.key_bytes;
  json["value_bytes"] = options.value_bytes;
  json["bloom_bits"] = options.bloom_bits;
  json["compress"] = options.compress;
  json["xxh3"] = options.xxh3;
  json["duplicates"] = options.generator.duplicate_percent;
  json["deletes"] = options.generator.delete_percent;
  json["interleave"] =
      options.generator.interleave == Interleave::kRandom ? "random" : "one-run-first";
  json["latency"] = options.latency;
  json["seed"] = options.generator.seed;
  return json;
}

void PrintReport(const RunOptions& options, const DeviceInfo& info, const MergeStats& stats,
                 double seconds) {
  Lines lines;
  lines.emplace_back("executor", options.executor);
  lines.emplace_back(
      "config", fmt::format("{}: {} ways, V {}, W_in {}, W_out {} bytes per cycle", options.config,
                            info.ways, info.value_bytes, info.in_bytes, info.out_bytes));
  AddStatsLines(stats, info.clock_mhz, seconds, &lines);
  lines.emplace_back(
      "contract", fmt::format("{} cycles per record of {} + {} bytes",
                              ContractCycles(options.key_bytes + kTrailerBytes, options.value_bytes,
                                             info.value_bytes),
                              options.key_bytes + kTrailerBytes, options.value_bytes));
  PrintLines(lines);
}

int Run(const RunOptions& options) {
  DeviceInfo info;
  if (Status status = Describe(options.executor, options.config, &info); !status.ok()) {
    return Fail(status, options.json);
  }
  if (options.executor == "model") {
    info.clock_mhz = options.model.clock_mhz;
  }
  Json json = Describe(options, info);
  if (options.executor != "cpu" && options.generator.runs > info.ways) {
    Fail("usage",
         fmt::format("--runs: {} merges {} runs in one task, not {}", options.config, info.ways,
                     options.generator.runs),
         options.json, std::move(json));
    return kExitUsage;
  }
  GeneratedTask input;
  {
    const PolledProgress progress("making the input");
    input = GenerateTask(options.generator);
  }
  input.task.bloom_bits_per_key = options.bloom_bits;
  input.task.compress = options.compress;
  if (options.xxh3) {
    std::mt19937_64 bases(options.generator.seed);
    input.UseXxh3(bases);
  }
  json["raw_bytes"] = input.raw_bytes;
  std::optional<ProgressBar> progress;
  progress.emplace("merging", kBytesUnit);
  ExecutorOptions device;
  device.model = options.model;
  device.model.latency = device.rtl.memory.latency = options.latency;
  device.rtl.progress = [&](uint64_t read, uint64_t loaded) { progress->Update(read, loaded); };
  std::shared_ptr<Executor> executor;
  Status status = MakeExecutor(options.executor, options.config, device, &executor);
  if (!status.ok()) {
    return Fail(status, options.json, std::move(json));
  }
  const auto start = std::chrono::steady_clock::now();
  // A unit tells how far it is, and the CPU by its tables.
  uint64_t written = 0;
  const MergeResult result = executor->Run(input.task, [&](const MergeOutput& table) {
    if (options.executor == "cpu" || options.executor == "model") {
      progress->Update(written += table.data.size(), input.raw_bytes);
    }
    return Status();
  });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.reset();
  AddStats(result.stats, info.clock_mhz, seconds, &json);
  if (!result.ok()) {
    json["fault"] = {
        {"run", result.fault.run}, {"table", result.fault.table}, {"offset", result.fault.offset}};
    return Fail(std::string(MergeStatusName(result.status)), result.error.ToString(), options.json,
                std::move(json));
  }
  json["status"] = "ok";
  if (options.json) {
    PrintJson(json);
  } else {
    PrintReport(options, info, result.stats, seconds);
  }
  return kExitOk;
}

int List(bool json) {
  Json list = Json::array();
  std::string text = fmt::format("{:<8} {:>5} {:>4} {:>4} {:>5} {:>6} {:>8} {:>10}\n", "config",
                                 "units", "ways", "V", "W_in", "W_out", "max key", "max value");
  for (const std::string_view name : RtlConfigurations()) {
    DeviceInfo info;
    if (Status status = Describe("rtl", name, &info); !status.ok()) {
      return Fail(status, json);
    }
    const char* const kind = info.compressors > 0 ? "  (Snappy, both ways)"
                             : info.snappy        ? "  (Snappy)"
                             : info.bloom         ? "  (filters)"
                             : info.xxh3          ? "  (XXH3)"
                                                  : "";
    const char* const remark = name == kDefaultConfiguration ? "  (default)" : kind;
    text += fmt::format("{:<8} {:>5} {:>4} {:>4} {:>5} {:>6} {:>8} {:>10}{}\n", name, info.units,
                        info.ways, info.value_bytes, info.in_bytes, info.out_bytes,
                        info.max_key_bytes, info.max_value_bytes, remark);
    Json entry;
    entry["config"] = name;
    entry["units"] = info.units;
    entry["ways"] = info.ways;
    entry["value_bytes"] = info.value_bytes;
    entry["in_bytes"] = info.in_bytes;
    entry["out_bytes"] = info.out_bytes;
    entry["max_key_bytes"] = info.max_key_bytes;
    entry["max_value_bytes"] = info.max_value_bytes;
    entry["max_restarts"] = info.max_restarts;
    entry["max_blocks"] = info.max_blocks;
    entry["snappy"] = info.snappy;
    entry["bloom"] = info.bloom;
    entry["compressors"] = info.compressors;
    entry["xxh3"] = info.xxh3;
    entry["clock_mhz"] = info.clock_mhz;
    entry["default"] = name == kDefaultConfiguration;
    list.push_back(std::move(entry));
  }
  if (json) {
    Json object;
    object["status"] = "ok";
    object["configs"] = std::move(list);
    PrintJson(object);
  } else {
    fmt::print("{}V, W: bytes per cycle; keys and values in bytes\n", text);
  }
  return kExitOk;
}

void AddRun(CLI::App* unit, Action* action) {
  CLI::App* run = AddSubcommand(
      unit, "run", "Merge synthetic runs, and report what it took",
      "sluice unit run --config fcae2 --runs 2 --records 100000 --key-bytes 16 --value-bytes 128\n"
      "sluice unit run --executor check --duplicates 50 --deletes 10 --seed 7\n"
      "sluice unit run --executor cpu --runs 8 --records 1000000 --json\n"
      "sluice unit run --executor model --records 1000000 --clock 250 --pcie 4x8 --units 4");
  auto options = std::make_shared<RunOptions>();
  GeneratorOptions& generator = options->generator;
  // As a compaction of a whole database: nothing older exists, so tombstones go.
  generator.bottommost = true;
  AddExecutorOptions(run, &options->executor, &options->config, &options->model);
  const auto number = [&](const char* name, auto* value, uint64_t min, uint64_t max,
                          const char* what) {
    run->add_option(name, *value, what)
        ->check(CLI::Range(min, max, ""))
        ->type_name("N")
        ->capture_default_str();
  };
  generator.records = 100'000;
  number("--runs", &generator.runs, 1, 255,
         "Sorted runs; a unit merges as many at once as it has ways");
  number("--records", &generator.records, 0, 1'000'000'000, "Records in all runs together");
  number("--key-bytes", &options->key_bytes, 0, 65'535, "Length of user keys");
  number("--value-bytes", &options->value_bytes, 0, 1 << 30, "Length of values");
  number("--bloom-bits", &options->bloom_bits, 0, kMaxMergeBloomBits,
         "Bits per key of a Bloom filter for each block, from a unit that makes them; 0: none");
  run->add_flag("--compress", options->compress,
                "Compress data blocks with Snappy, on a unit that can");
  run->add_flag("--xxh3", options->xxh3,
                "Checksums by XXH3 in data blocks, as RocksDB has them, on a unit that takes them");
  number("--duplicates", &generator.duplicate_percent, 0, 100,
         "Percentage of records that are another version of an existing key");
  number("--deletes", &generator.delete_percent, 0, 100,
         "Percentage of records that are deletions");
  const std::map<std::string, Interleave> interleaves = {
      {"random", Interleave::kRandom}, {"one-run-first", Interleave::kOneRunFirst}};
  run->add_option_function<std::string>(
         "--interleave",
         [options, interleaves](const std::string& name) {
           options->generator.interleave = interleaves.at(name);
         },
         "How keys are spread over the runs: random, or one-run-first (no overlap)")
      ->check(CLI::IsMember({"random", "one-run-first"}))
      ->type_name("NAME")
      ->default_str("random");
  number("--latency", &options->latency, 0, 100'000, "Latency of the card's memory, in cycles");
  run->add_option("--seed", generator.seed, "The same seed generates the same input everywhere")
      ->type_name("N")
      ->capture_default_str();
  AddJsonOption(run, &options->json);
  run->callback([options, action] {
    *action = [options] {
      const uint32_t key = options->key_bytes;
      const uint32_t value = options->value_bytes;
      options->generator.user_key_bytes = {key, key};
      options->generator.value_bytes = {value, value};
      return Run(*options);
    };
  });
}

}  // namespace

void AddUnitCommand(CLI::App* app, Action* action) {
  CLI::App* unit = AddSubcommand(app, "unit", "Run and measure the simulated Compaction Unit",
                                 "sluice unit list\nsluice unit run --help");
  AddRun(unit, action);
  AddUnitBench(unit, action);
  AddUnitReplay(unit, action);
  CLI::App* list = AddSubcommand(unit, "list", "List the configurations that are built in",
                                 "sluice unit list\nsluice unit list --json");
  auto json = std::make_shared<bool>(false);
  AddJsonOption(list, json.get());
  list->callback([json, action] { *action = [json] { return List(*json); }; });
}

}  // namespace sluice::tools
