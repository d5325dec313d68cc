// What checksums by XXH3 cost a unit that takes them: no cycle per record, if blocks are not too
// small. Their bytes are compared with the CPU's by unit_test.cc and the fuzzer.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <string>

#include "device/contract.h"
#include "device/device_executor.h"
#include "device/model/pipeline.h"
#include "hw/dv/unit/checked_device.h"
#include "merge/task_generator.h"

namespace sluice {
namespace {

struct Shape {
  uint32_t key;
  uint32_t value;
  uint32_t block_bytes = 4096;
  Interleave interleave = Interleave::kRandom;
};

// Of a merge of two runs; the model's, too.
double Cycles(const Shape& shape, uint64_t records, bool xxh3, double* model) {
  GeneratorOptions options;
  options.runs = 2;
  options.records = records;
  options.user_key_bytes = {shape.key, shape.key};
  options.value_bytes = {shape.value, shape.value};
  options.table.block_bytes = shape.block_bytes;
  options.interleave = shape.interleave;
  GeneratedTask input = GenerateTask(options);
  if (xxh3) {
    std::mt19937_64 bases(1);
    input.UseXxh3(bases);
  }
  DeviceExecutor unit(dv::MakeCheckedDevice({}));
  const MergeResult result = unit.Run(input.task, [](const MergeOutput&) { return Status(); });
  EXPECT_TRUE(result.ok()) << result.error.ToString();
  model::CycleEstimate estimate;
  const model::UnitShape unit_shape =
      model::ShapeOf(unit.device().info(), RtlDeviceOptions().memory.latency);
  EXPECT_TRUE(model::EstimateTask(unit_shape, input.task, &estimate).ok());
  *model = static_cast<double>(estimate.cycles);
  return static_cast<double>(result.stats.cycles);
}

TEST(UnitXxh3, CostsNoCycles) {
  std::cout << "| key + value | blocks | runs | CRC | XXH3 | contract | later end | model |\n";
  const Shape shapes[] = {{8, 0},
                          {8, 32},
                          {16, 128},
                          {16, 1024},
                          {256, 4096},
                          {16, 128, 16384},
                          {16, 128, 1024},
                          {16, 128, 4096, Interleave::kOneRunFirst},
                          {16, 4096, 4096, Interleave::kOneRunFirst},
                          {16, 128, 1024, Interleave::kOneRunFirst}};
  for (const Shape& shape : shapes) {
    const uint64_t few = shape.value > 1000 ? 200 : 1000;
    const uint64_t many = 3 * few;
    double model = 0;
    const double crc_few = Cycles(shape, few, false, &model);
    const double crc = (Cycles(shape, many, false, &model) - crc_few) / (many - few);
    const double few_cycles = Cycles(shape, few, true, &model);
    const double many_cycles = Cycles(shape, many, true, &model);
    const double xxh3 = (many_cycles - few_cycles) / (many - few);
    const bool random = shape.interleave == Interleave::kRandom;
    const auto contract =
        static_cast<double>(ContractCycles(shape.key + kTrailerBytes, shape.value, 16));
    const double error = model / many_cycles - 1;
    const std::string row =
        fmt::format("| {} + {} | {} | {} | {:.2f} | {:.2f} | {} | {} | {:+.1f} % |", shape.key,
                    shape.value, shape.block_bytes, random ? "mixed" : "in turn", crc, xxh3,
                    contract, few_cycles - crc_few, 100 * error);
    std::cout << row << "\n";
    EXPECT_LE(xxh3, std::max(crc, contract) + 0.15) << row;
    EXPECT_LE(few_cycles - crc_few, 200) << row;
    EXPECT_LE(std::abs(error), 0.05) << row;
  }
}

}  // namespace
}  // namespace sluice
