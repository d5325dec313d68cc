// What tests of merges share: random tasks.

#pragma once

#include <random>
#include <string>

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

}  // namespace sluice
