// What units that share a card's memory ports do together: 1, 2, 4, ... units of one card merge at
// once, each its own task. Cycles are the RTL's; they do not depend on the machine.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/device_executor.h"
#include "device/rtlsim/rtl_device.h"
#include "hw/dv/card/start_together.h"
#include "merge/task_generator.h"

namespace sluice {
namespace {

struct Options {
  std::string config = "fast20x4";
  uint64_t bytes = 4 << 20;  // of keys and values in each unit's task
  uint32_t latency = rtlsim::MemoryOptions().latency;
};

struct Shape {
  uint32_t key_bytes;
  uint32_t value_bytes;
};

// What all units reach together.
struct Rates {
  double records_per_cycle = 0;
  double in_per_cycle = 0;  // bytes of data blocks
  double out_per_cycle = 0;
  double slowest = 0;  // cycles per record of the slowest unit
  double fastest = 0;
  uint32_t port_bytes = 0;
};

MergeResult RunTogether(std::unique_ptr<Device> device, std::shared_ptr<dv::StartGate> gate,
                        unsigned unit, const Shape& shape, const Options& options) {
  GeneratorOptions generator;
  generator.seed = unit + 1;
  generator.runs = device->info().ways;
  generator.records = options.bytes / (shape.key_bytes + kTrailerBytes + shape.value_bytes);
  generator.user_key_bytes = {shape.key_bytes, shape.key_bytes};
  generator.value_bytes = {shape.value_bytes, shape.value_bytes};
  const GeneratedTask input = GenerateTask(generator);
  DeviceExecutor executor(
      std::make_unique<dv::StartTogether>(std::move(device), std::move(gate), unit));
  return executor.Run(input.task, [](const MergeOutput&) { return Status(); });
}

Status Measure(unsigned active, const Shape& shape, const Options& options, Rates* rates) {
  RtlDeviceOptions card;
  card.memory.bytes = 2ull << 30;
  card.memory.latency = options.latency;
  std::vector<std::unique_ptr<Device>> devices;
  SLUICE_RETURN_IF_ERROR(MakeRtlDevices(options.config, card, &devices));
  rates->port_bytes = devices.front()->info().in_bytes;
  devices.resize(active);
  auto gate = std::make_shared<dv::StartGate>(active);
  std::vector<MergeResult> results(active);
  std::vector<std::thread> threads;
  threads.reserve(active);
  for (unsigned unit = 0; unit < active; ++unit) {
    threads.emplace_back([&, unit] {
      results[unit] = RunTogether(std::move(devices[unit]), gate, unit, shape, options);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  uint64_t cycles = 0;
  uint64_t records = 0;
  uint64_t in = 0;
  uint64_t out = 0;
  for (const MergeResult& result : results) {
    if (!result.ok()) {
      return result.error;
    }
    const MergeStats& stats = result.stats;
    const double each =
        static_cast<double>(stats.cycles) / static_cast<double>(stats.input_records);
    rates->slowest = std::max(rates->slowest, each);
    rates->fastest = rates->fastest == 0 ? each : std::min(rates->fastest, each);
    cycles = std::max(cycles, stats.cycles);
    records += stats.input_records;
    in += stats.input_bytes;
    out += stats.output_bytes;
  }
  const auto per_cycle = [&](uint64_t n) {
    return static_cast<double>(n) / static_cast<double>(cycles);
  };
  rates->records_per_cycle = per_cycle(records);
  rates->in_per_cycle = per_cycle(in);
  rates->out_per_cycle = per_cycle(out);
  return {};
}

int Run(const Options& options) {
  std::vector<std::unique_ptr<Device>> devices;
  if (Status status = MakeRtlDevices(options.config, {}, &devices); !status.ok()) {
    fmt::print(stderr, "{}\n", status.ToString());
    return 1;
  }
  const unsigned units = devices.size();
  devices.clear();
  fmt::print("{}, {} units, memory latency {} cycles, {} bytes for each unit\n\n", options.config,
             units, options.latency, options.bytes);
  fmt::print(
      "| key + value | units | records/cycle | in B/cycle | out B/cycle | of the port | "
      "x one unit | cycles/record, each |\n|---|---|---|---|---|---|---|---|\n");
  for (const Shape shape : {Shape{8, 32}, Shape{16, 128}, Shape{16, 512}, Shape{16, 2048}}) {
    double one = 0;
    for (unsigned active = 1; active <= units; active *= 2) {
      Rates rates;
      if (Status status = Measure(active, shape, options, &rates); !status.ok()) {
        fmt::print(stderr, "{}\n", status.ToString());
        return 1;
      }
      one = active == 1 ? rates.records_per_cycle : one;
      fmt::print(
          "| {} + {} | {} | {:.3f} | {:.1f} | {:.1f} | {:.0f} % | {:.2f} | {:.1f} to {:.1f} |\n",
          shape.key_bytes, shape.value_bytes, active, rates.records_per_cycle, rates.in_per_cycle,
          rates.out_per_cycle, 100 * rates.in_per_cycle / rates.port_bytes,
          rates.records_per_cycle / one, rates.fastest, rates.slowest);
    }
  }
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  sluice::Options options;
  CLI::App app("Merges with 1, 2, 4, ... units of a simulated card at once");
  app.add_option("--config", options.config, "A configuration of hw/configs.json")
      ->capture_default_str();
  app.add_option("--bytes", options.bytes, "Keys and values in each unit's task")
      ->capture_default_str();
  app.add_option("--latency", options.latency, "Of the simulated memory, in cycles")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return sluice::Run(options);
}
