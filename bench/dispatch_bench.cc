// What a task costs the host on a unit and on the CPU, and where the driver has it merged: tasks of
// two runs that mix everywhere, of few records and many, small ones and large ones, raw and
// compressed, whose outputs are to be raw or, by the unit, compressed.
//
// CPU time of the thread that runs the task, microseconds per task, as measured and as the driver
// expects it before it has learned anything (src/offload/dispatch.h).

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "device/card_device.h"
#include "device/device_executor.h"
#include "device/model/model_device.h"
#include "merge/cpu_executor.h"
#include "merge/task_generator.h"
#include "offload/dispatch.h"
#include "util/cpu_clock.h"

namespace sluice {
namespace {

// What a task and its unit have to do with Snappy.
struct Codecs {
  const char* name;
  Compression input = Compression::kNone;
  bool unit = false;  // it decompresses, and compresses if `output` is set
  bool output = false;
};
constexpr Codecs kCodecs[] = {
    {.name = "raw"},
    {.name = "host", .input = Compression::kSnappy},
    {.name = "unit", .input = Compression::kSnappy, .unit = true},
    {.name = "unit, packs", .input = Compression::kSnappy, .unit = true, .output = true}};

DeviceInfo Fast20(const Codecs& codecs) {
  DeviceInfo info;
  info.ways = 4;
  info.value_bytes = 16;
  info.in_bytes = 64;
  info.out_bytes = 64;
  info.max_key_bytes = 1024;
  info.max_value_bytes = 1 << 20;
  info.max_restarts = 1024;
  info.max_blocks = 65536;
  info.memory_bytes = 1 << 30;
  info.snappy = codecs.unit;
  info.compressors = codecs.output ? 4 : 0;
  return info;
}

// CPU seconds of this thread for one call, over some tenths of a second.
double CostOf(const std::function<bool()>& call, double seconds) {
  call();
  int calls = 0;
  const double begin = ThreadCpuSeconds();
  do {
    if (!call()) {
      throw std::runtime_error("a task failed");
    }
    ++calls;
  } while (ThreadCpuSeconds() - begin < seconds);
  return (ThreadCpuSeconds() - begin) / calls;
}

std::string_view Name(Place place) {
  switch (place) {
    case Place::kUnit:
      return "unit";
    case Place::kSmall:
      return "cpu: small";
    case Place::kQueue:
      return "cpu: queue";
    case Place::kSlow:
      return "cpu: slow";
  }
  return "";
}

void Run(const Codecs& codecs, uint32_t key, uint32_t value, uint64_t records, double seconds) {
  DeviceExecutor unit(
      std::make_unique<CardDevice>(MakeModelDevice(Fast20(codecs), ModelDeviceOptions{})));
  CpuExecutor cpu;
  GeneratorOptions generator;
  generator.records = records;
  generator.user_key_bytes = {key, key};
  generator.value_bytes = {value, value};
  generator.table.compression = codecs.input;
  GeneratedTask input = GenerateTask(generator);
  input.task.compress = codecs.output;
  const auto sink = [](const MergeOutput&) { return Status(); };
  const TaskShape shape = ShapeOf(input.task);
  const UnitTime time = unit.Estimate(shape).value_or(UnitTime{});
  DispatchCosts costs;
  costs.merge = CostOf([&] { return cpu.Run(input.task, sink).ok(); }, seconds);
  costs.drive = CostOf([&] { return unit.Run(input.task, sink).ok(); }, seconds);
  costs.unit = time.alone;
  DispatchCosts idle = costs;
  idle.idle_cores = 1;
  fmt::print(
      "{:>5} {:>6} {:<11} {:>8} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f} {:>8.0f}  {:<10} {:<10}\n",
      key, value, codecs.name, records, 1e6 * costs.merge,
      1e6 * LearnedCost(kMergeCost).Of(shape, CodecBytesOfMerge(shape)), 1e6 * costs.drive,
      1e6 * LearnedCost(kDriveCost).Of(shape, {.unpacked = time.unpacked_bytes}), 1e6 * costs.unit,
      Name(Choose(costs)), Name(Choose(idle)));
}

void RunAll(double seconds) {
  fmt::print("{:>5} {:>6} {:<11} {:>8} {:>10} {:>10} {:>10} {:>10} {:>8}  {:<10} {:<10}\n", "key",
             "value", "Snappy", "records", "merge us", "expected", "drive us", "expected",
             "unit us", "busy host", "idle core");
  for (const Codecs& codecs : kCodecs) {
    for (const auto& [key, value] : {std::pair<uint32_t, uint32_t>{8, 32}, {16, 128}, {16, 1024}}) {
      for (uint64_t records = 10; records <= 100'000; records *= 10) {
        Run(codecs, key, value, records, seconds);
      }
    }
  }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  CLI::App app("What tasks cost the host on a unit and on the CPU");
  double seconds = 0.2;
  app.add_option("--seconds", seconds, "CPU time for each figure")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  sluice::RunAll(seconds);
  return 0;
}
