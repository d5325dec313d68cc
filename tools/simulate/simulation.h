// A workload on a simulated database: a load writes each key once, in random order (or in order, if
// that is the distribution), then keys are overwritten by the distribution. After each flush all
// compactions that are due are carried out.

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "simulate/key_model.h"
#include "simulate/peers.h"
#include "simulate/table_shape.h"
#include "simulate/tree.h"
#include "sluice/options.h"
#include "util/status.h"

namespace sluice::simulate {

struct Settings {
  Policy policy = Policy::kSluice;
  Options options;
  RecordSize record;
  uint64_t data_bytes = uint64_t{100} << 30;  // of all keys, each with its value, once
  double overwrites = 1;                      // so many times as many writes as the load has
  Distribution distribution;
};

// After some flushes.
struct Sample {
  uint64_t user_bytes = 0;  // written so far
  double debt = 0;          // the most since the sample before, of what may wait (Tree::Debt)
  double mean_runs = 0;     // at a key
  uint64_t most_runs = 0;
  double write_amplification = 0;         // so far
  double recent_write_amplification = 0;  // since the sample before
  double space = 0;                       // bytes of the device per byte of live data
};

struct Report {
  uint64_t keys = 0;
  uint64_t flush_records = 0;  // that a memtable holds, if they are of different keys
  uint64_t user_bytes = 0;
  uint64_t log_bytes = 0;
  TreeCounters all;
  TreeCounters load;                   // of it
  double overwrite_amplification = 0;  // of the overwrites alone
  double mean_runs = 0;                // over the samples of the overwrites, or else of the load
  uint64_t most_runs = 0;              // in any sample
  double most_debt = 0;
  uint64_t live_bytes = 0;  // of tables with each key once
  uint64_t disk_bytes = 0;
  double mean_space = 0;  // per byte of live data, over the samples as mean_runs
  // At any moment after half of the load, while a compaction has its inputs and its outputs.
  double most_space = 0;
  uint64_t dead_bytes = 0;  // of these: parts of tables that no slice has, and ends of pages
  uint64_t extents = 0;
  uint64_t metadata_bytes = 0;
  std::vector<Sample> samples;
};

// `progress` is told the user's bytes so far, and of how many.
Status Simulate(const Settings& settings,
                const std::function<void(uint64_t done, uint64_t total)>& progress, Report* report);

}  // namespace sluice::simulate
