// What the driver gets out of a modelled card, without a database: tasks, all of them there at once,
// merged on its units. How busy these are, what that makes in GB/s, and what it costs the host.
//
// A machine with too few cores stands for a card that is slower than real in everything: clock, link
// and latency a number of times slower. The rates times this number are then those of the real one,
// for a host that has the cores that it needs.
//
// Beside it, how fast the units are to be by the closed form that the dispatcher has: tasks overlap,
// and follow each other by the longest of upload, job and download. And what the same tasks cost on
// the CPU executor: offloading is to take a small part of that.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <utility>
#include <vector>

#include "device/card_device.h"
#include "device/device_executor.h"
#include "device/model/model_device.h"
#include "merge/task_generator.h"
#include "offload/driver.h"
#include "util/cpu_clock.h"

namespace sluice {
namespace {

struct Options {
  uint32_t ways = 4;
  uint32_t datapath = 16;  // V
  unsigned units = 1;
  double clock_mhz = 200;
  PcieLink link;
  double slowdown = 63;
  uint32_t key_bytes = 16;
  uint32_t value_bytes = 128;
  uint64_t records = 30'000;  // of a task
  int tasks = 30;             // for each unit
  size_t in_flight = 0;       // tasks; 0: as many as the units have use for
};

std::vector<std::shared_ptr<Executor>> MakeCard(const Options& options) {
  ModelDeviceOptions model;
  model.clock_mhz = options.clock_mhz;
  model.link = options.link;
  model.slowdown = options.slowdown;
  model.units = options.units;
  std::vector<std::shared_ptr<Executor>> units;
  units.reserve(options.units);
  for (unsigned i = 0; i < options.units; ++i) {
    units.push_back(std::make_unique<DeviceExecutor>(std::make_unique<CardDevice>(
        MakeModelDevice({.name = "model",
                         .units = options.units,
                         .ways = options.ways,
                         .value_bytes = options.datapath,
                         .in_bytes = 64,
                         .out_bytes = 64,
                         .max_key_bytes = 1024,
                         .max_value_bytes = 1 << 20,
                         .max_restarts = 1024,
                         .max_blocks = 65536,
                         .memory_bytes = (uint64_t{1} << 30) / options.units},
                        model))));
  }
  return units;
}

// Seconds for so many tasks on a unit, one behind the other.
double Expected(const UnitTime& time, int tasks) { return time.alone + (tasks - 1) * time.paced; }

int Run(const Options& options) {
  GeneratorOptions generator;
  generator.runs = 2;
  generator.records = options.records;
  generator.user_key_bytes = {options.key_bytes, options.key_bytes};
  generator.value_bytes = {options.value_bytes, options.value_bytes};
  generator.table_bytes = 2 << 20;
  const GeneratedTask input = GenerateTask(generator);
  uint64_t bytes = 0;
  for (const MergeRun& run : input.task.runs) {
    for (const MergeTable& table : run) {
      bytes += table.image.size();
    }
  }
  std::vector<std::shared_ptr<Executor>> card = MakeCard(options);
  const double expected = Expected(card[0]->Estimate(ShapeOf(input.task)).value(), options.tasks);
  OffloadDriver driver(std::move(card), {.always = true, .threads = options.in_flight});
  std::atomic<int> failed = 0;
  const auto run = [&](int tasks) {
    std::latch ended(tasks);
    for (int i = 0; i < tasks; ++i) {
      driver.Submit(
          input.task, [](const MergeOutput&) { return Status(); },
          [&](const MergeResult& result) {
            failed += !result.ok();
            ended.count_down();
          });
    }
    ended.wait();
  };
  const int units = static_cast<int>(options.units);
  run(3 * units);  // threads, and memory for tables
  const OffloadStats before = driver.stats();
  const auto begin = std::chrono::steady_clock::now();
  run(options.tasks * units);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const OffloadStats after = driver.stats();
  double busy = 0;
  double with_tasks = 0;
  for (size_t i = 0; i < after.units.size(); ++i) {
    busy += after.units[i].busy_seconds - before.units[i].busy_seconds;
    with_tasks += after.units[i].seconds - before.units[i].seconds;
  }
  const double cpu_begin = ThreadCpuSeconds();
  for (int i = 0; i < options.tasks; ++i) {
    failed += !driver.RunOnCpu(input.task, [](const MergeOutput&) { return Status(); }).ok();
  }
  const double on_cpu = 1e9 * (ThreadCpuSeconds() - cpu_begin) / static_cast<double>(bytes) /
                        options.tasks;  // ms per MB
  const double megabytes = 1e-6 * static_cast<double>(bytes) * options.tasks * units;
  const double records =
      static_cast<double>(options.records) * options.tasks * units / seconds * options.slowdown;
  const double host = 1e3 * (after.host_cpu_seconds - before.host_cpu_seconds) / megabytes;
  fmt::print(
      "{} tasks of {:.1f} MB, {} failed: units busy {:.1f} %, {:.2f} GB/s ({:.2f} expected), "
      "{:.1f} M records/s; CPU ms per MB: host {:.3f}, {:.0f} % of the CPU executor's {:.3f}; card "
      "{:.3f}\n",
      options.tasks * units, 1e-6 * static_cast<double>(bytes), failed.load(),
      100 * busy / with_tasks, 1e-3 * megabytes / seconds * options.slowdown,
      1e-3 * megabytes / expected * options.slowdown, 1e-6 * records, host, 100 * host / on_cpu,
      on_cpu, 1e3 * (after.card_cpu_seconds - before.card_cpu_seconds) / megabytes);
  return failed == 0 && after.on_units - before.on_units ==
                            static_cast<uint64_t>(options.tasks) * options.units
             ? 0
             : 1;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  sluice::Options options;
  CLI::App app("What the driver gets out of a modelled card");
  const auto add = [&app](const char* name, auto* value, const char* what) {
    app.add_option(name, *value, what)->capture_default_str()->check(CLI::PositiveNumber);
  };
  add("--ways", &options.ways, "Runs that a unit merges");
  add("--datapath", &options.datapath, "Its bytes per cycle");
  add("--units", &options.units, "Units of the card");
  add("--clock", &options.clock_mhz, "MHz");
  add("--slowdown", &options.slowdown, "How many times slower than real the card is");
  add("--pcie-generation", &options.link.generation, "Of the link");
  add("--lanes", &options.link.lanes, "Of the link");
  add("--key-size", &options.key_bytes, "Bytes");
  add("--value-size", &options.value_bytes, "Bytes");
  add("--records", &options.records, "Records of a task");
  add("--tasks", &options.tasks, "Tasks for each unit");
  app.add_option("--in-flight", options.in_flight,
                 "Tasks in flight; 0: as many as the units have use for")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return sluice::Run(options);
}
