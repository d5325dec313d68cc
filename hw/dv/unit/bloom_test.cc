// What filters cost a unit that makes them: no cycle per record. Their bytes are compared with the
// CPU's by unit_test.cc and the fuzzer.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "device/contract.h"
#include "device/device_executor.h"
#include "device/model/pipeline.h"
#include "hw/dv/unit/checked_device.h"
#include "merge/task_generator.h"

namespace sluice {
namespace {

// Of a merge of two runs; the model's, if that is asked for.
double Cycles(uint64_t records, uint32_t key, uint32_t value, uint32_t bloom_bits, double* model) {
  GeneratorOptions shape;
  shape.runs = 2;
  shape.records = records;
  shape.user_key_bytes = {key, key};
  shape.value_bytes = {value, value};
  GeneratedTask input = GenerateTask(shape);
  input.task.bloom_bits_per_key = bloom_bits;
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

TEST(UnitBloom, FiltersCostNoCycles) {
  std::cout << "| key + value | cycles/record | with filters | contract | later end | model |\n";
  for (const uint32_t key : {8, 16, 24, 64, 256}) {
    for (const uint32_t value : {0, 32, 128}) {
      constexpr uint64_t kFew = 1000;
      constexpr uint64_t kMany = 3000;
      double model = 0;
      const double plain_few = Cycles(kFew, key, value, 0, &model);
      const double plain = (Cycles(kMany, key, value, 0, &model) - plain_few) / (kMany - kFew);
      const double with_few = Cycles(kFew, key, value, 10, &model);
      const double with_many = Cycles(kMany, key, value, 10, &model);
      const double with = (with_many - with_few) / (kMany - kFew);
      const auto contract = static_cast<double>(ContractCycles(key + kTrailerBytes, value, 16));
      const double error = model / with_many - 1;
      std::cout << fmt::format("| {} + {} | {:.2f} | {:.2f} | {} | {} | {:+.1f} % |\n", key, value,
                               plain, with, contract, with_few - plain_few, 100 * error);
      // But for the last filter, which is of another size in the two jobs.
      EXPECT_NEAR(with, plain, 0.15) << key << " + " << value;
      EXPECT_LE(with, contract + 0.15) << key << " + " << value;
      EXPECT_LE(with_few - plain_few, 700) << "its last filter leaves after the data";
      EXPECT_LE(std::abs(error), 0.05) << key << " + " << value;
    }
  }
}

}  // namespace
}  // namespace sluice
