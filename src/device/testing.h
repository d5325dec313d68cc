// What tests of devices share: random tasks, faults, and a device that takes no time.

#pragma once

#include <memory>
#include <random>

#include "device/fault_device.h"
#include "device/model/model_device.h"
#include "merge/task_generator.h"

namespace sluice {

inline GeneratedTask RandomTask(std::mt19937_64& rng, uint32_t max_runs = 2) {
  GeneratorOptions options;
  options.seed = rng();
  options.runs = 1 + rng() % max_runs;
  options.records = rng() % 400;
  options.user_key_bytes = {0, static_cast<uint32_t>(rng() % 60)};
  options.value_bytes = {0, static_cast<uint32_t>(rng() % 300)};
  options.key_shape = KeyShape::kTree;
  options.duplicate_percent = rng() % 60;
  options.delete_percent = rng() % 40;
  options.table.block_bytes = rng() % 2 == 0 ? 512 : 4096;
  options.table.restart_interval = 1 + rng() % 20;
  options.table.compression = rng() % 2 == 0 ? Compression::kNone : Compression::kSnappy;
  options.table_bytes = 1 + rng() % 20000;
  options.bottommost = rng() % 2 == 0;
  GeneratedTask task = GenerateTask(options);
  task.task.restart_interval = 1 + rng() % 20;
  task.task.table_bytes = 1 + rng() % 20000;
  if (rng() % 2 == 0) {
    task.task.has_begin = task.task.has_end = true;
    task.task.begin = std::string(1, static_cast<char>('0' + rng() % 5));
    task.task.end = std::string(1, static_cast<char>('a' + rng() % 20));
  }
  return task;
}

// Faults of every kind alike, `share` of all jobs together.
inline FaultRates AllFaults(double share) {
  const double each = share / 5;
  return {
      .hang = each, .lost_interrupt = each, .late = each, .bus_error = each, .wrong_result = each};
}

// Takes no time.
inline ModelDeviceOptions Instant() { return {.clock_mhz = 1e9, .link = {.lanes = 0}}; }

// A modelled unit of four ways.
inline std::unique_ptr<Device> InstantUnit(uint32_t max_key_bytes = 1024, bool bloom = false,
                                           uint32_t compressors = 0) {
  return MakeModelDevice({.name = "instant",
                          .ways = 4,
                          .value_bytes = 16,
                          .in_bytes = 64,
                          .out_bytes = 64,
                          .max_key_bytes = max_key_bytes,
                          .max_value_bytes = 1 << 20,
                          .max_restarts = 1024,
                          .max_blocks = 65536,
                          .bloom = bloom,
                          .compressors = compressors,
                          .memory_bytes = 256 << 20,
                          .clock_mhz = 200},
                         Instant());
}

}  // namespace sluice
