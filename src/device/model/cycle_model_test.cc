// The cycle model against the RTL: within 5 % in every cell of a grid. SLUICE_MODEL_GRID=full walks
// all of it (some minutes); else every so manyth cell.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "device/device_executor.h"
#include "device/model/pipeline.h"
#include "device/rtlsim/rtl_device.h"
#include "merge/task_generator.h"

namespace sluice::model {
namespace {

constexpr double kTolerance = 0.05;
constexpr size_t kStride = 13;  // of the cells that an ordinary run takes

struct Cell {
  std::string_view config;
  uint32_t runs = 2;
  LengthRange key{16, 16};
  LengthRange value{128, 128};
  Interleave interleave = Interleave::kRandom;
  uint32_t duplicates = 0;
  uint32_t deletes = 0;
  uint32_t latency = 30;
  uint32_t block_bytes = 4096;
  uint32_t restart_interval = 16;
  uint64_t table_bytes = 2 << 20;
  bool range = false;
};

struct Outcome {
  std::string cell;
  uint64_t rtl = 0;
  uint64_t model = 0;

  double error() const { return static_cast<double>(model) / static_cast<double>(rtl) - 1; }
};

std::string Describe(const Cell& c) {
  return fmt::format("{} runs {} key {}-{} value {}-{} {} dup {} del {} latency {} block {}/{} {}",
                     c.config, c.runs, c.key.min, c.key.max, c.value.min, c.value.max,
                     c.interleave == Interleave::kRandom ? "random" : "one-run-first", c.duplicates,
                     c.deletes, c.latency, c.block_bytes, c.restart_interval,
                     c.range ? "range" : "");
}

std::vector<Cell> Grid() {
  const std::vector<std::pair<LengthRange, LengthRange>> lengths = {
      {{16, 16}, {0, 0}},       {{8, 8}, {32, 32}},     {{16, 16}, {128, 128}},
      {{16, 16}, {2048, 2048}}, {{64, 64}, {512, 512}}, {{256, 256}, {64, 64}},
      {{1000, 1000}, {16, 16}}, {{0, 100}, {0, 300}}};
  const std::vector<std::pair<uint32_t, uint32_t>> drops = {{0, 0}, {50, 20}, {0, 100}};
  const std::vector<std::pair<std::string_view, uint32_t>> units = {
      {"tiny", 2},   {"fcae2", 2},  {"fcae9", 2}, {"fcae9", 9},
      {"fast20", 2}, {"fast20", 4}, {"wide", 2},  {"wide", 8}};
  std::vector<Cell> cells;
  for (const auto& [config, runs] : units) {
    for (const auto& [key, value] : lengths) {
      for (const Interleave interleave : {Interleave::kRandom, Interleave::kOneRunFirst}) {
        for (const auto& [duplicates, deletes] : drops) {
          for (const uint32_t latency : {30u, 200u}) {
            cells.push_back({.config = config,
                             .runs = runs,
                             .key = key,
                             .value = value,
                             .interleave = interleave,
                             .duplicates = duplicates,
                             .deletes = deletes,
                             .latency = latency});
          }
        }
      }
    }
  }
  return cells;
}

// What the grid holds still.
std::vector<Cell> Others() {
  return {
      {.config = "fast20", .runs = 4, .block_bytes = 512},
      {.config = "wide", .runs = 8, .latency = 100, .block_bytes = 512},
      {.config = "wide", .runs = 8, .block_bytes = 65536},
      {.config = "wide", .runs = 8, .restart_interval = 1},
      {.config = "fcae9", .runs = 9, .table_bytes = 30000},
      {.config = "wide", .runs = 8, .interleave = Interleave::kOneRunFirst, .table_bytes = 30000},
      {.config = "fcae2", .value = {20000, 20000}},
      {.config = "fast20", .runs = 4, .range = true}};
}

// About as many records as make 30000 cycles. Tombstones have no value.
uint64_t Records(const Cell& cell, uint32_t value_bytes) {
  const auto beats = [&](const LengthRange& r) { return (r.min + r.max) / 2 / value_bytes + 1; };
  return 30000 / (1 + beats(cell.key) + (cell.deletes == 100 ? 0 : beats(cell.value)));
}

Outcome Measure(const Cell& cell) {
  RtlDeviceOptions options;
  options.memory.latency = cell.latency;
  std::unique_ptr<Device> device;
  EXPECT_TRUE(MakeRtlDevice(cell.config, options, &device).ok());
  const UnitShape unit = ShapeOf(device->info(), cell.latency);
  GeneratorOptions generator;
  generator.runs = cell.runs;
  generator.records = Records(cell, unit.value_bytes);
  generator.user_key_bytes = cell.key;
  generator.value_bytes = cell.value;
  generator.key_shape = cell.key.min == cell.key.max ? KeyShape::kDecimal : KeyShape::kRandom;
  generator.interleave = cell.interleave;
  generator.duplicate_percent = cell.duplicates;
  generator.delete_percent = cell.deletes;
  generator.bottommost = true;
  generator.table.block_bytes = cell.block_bytes;
  generator.table.restart_interval = cell.restart_interval;
  generator.table_bytes = cell.table_bytes;
  GeneratedTask input = GenerateTask(generator);
  if (cell.range) {
    // The middle half, or so, of the key space.
    input.task.has_begin = input.task.has_end = true;
    input.task.begin = fmt::format("{:016}", generator.records / 4);
    input.task.end = fmt::format("{:016}", generator.records * 3 / 4);
  }
  DeviceExecutor executor(std::move(device));
  const MergeResult rtl = executor.Run(input.task, [](const MergeOutput&) { return Status(); });
  EXPECT_TRUE(rtl.ok()) << rtl.error.ToString();
  CycleEstimate estimate;
  EXPECT_TRUE(EstimateTask(unit, input.task, &estimate).ok());
  return {Describe(cell), rtl.stats.cycles, estimate.cycles};
}

TEST(CycleModelTest, WithinToleranceOfTheRtl) {
  const char* const grid = std::getenv("SLUICE_MODEL_GRID");
  const size_t stride = grid != nullptr && std::string_view(grid) == "full" ? 1 : kStride;
  std::vector<Outcome> outcomes;
  const std::vector<Cell> cells = Grid();
  for (size_t i = 0; i < cells.size(); i += stride) {
    outcomes.push_back(Measure(cells[i]));
  }
  for (const Cell& cell : Others()) {
    outcomes.push_back(Measure(cell));
  }
  for (const Outcome& outcome : outcomes) {
    EXPECT_LE(std::abs(outcome.error()), kTolerance) << outcome.cell;
  }
  std::sort(outcomes.begin(), outcomes.end(), [](const Outcome& a, const Outcome& b) {
    return std::abs(a.error()) > std::abs(b.error());
  });
  double sum = 0;
  for (const Outcome& outcome : outcomes) {
    sum += std::abs(outcome.error());
  }
  fmt::print("{} cells, mean error {:.2f} %; worst:\n", outcomes.size(),
             100 * sum / static_cast<double>(outcomes.size()));
  for (size_t i = 0; i < std::min<size_t>(outcomes.size(), stride == 1 ? 20 : 5); ++i) {
    const Outcome& o = outcomes[i];
    fmt::print("{:+6.2f} %  rtl {:7}  model {:7}  {}\n", 100 * o.error(), o.rtl, o.model, o.cell);
  }
}

}  // namespace
}  // namespace sluice::model
