// What is asked of the bench.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/distribution.h"
#include "bench/engine.h"

namespace sluice::bench {

struct BenchSettings {
  std::vector<std::string> engines = {"sluice"};
  std::vector<std::string> workloads = {"fillseq",    "fillrandom",  "overwrite",
                                        "readrandom", "readmissing", "readwhilewriting",
                                        "readseq",    "seekrandom"};
  uint64_t num = 1'000'000;  // keys
  uint64_t reads = 0;        // operations of a workload that does not fill, in all; 0: num
  double duration = 0;       // seconds of such a workload; 0: until its operations are done
  int threads = 1;           // of a run
  std::vector<int> thread_counts = {1};  // all is done with each of them
  int turns = 1;
  size_t key_bytes = 16;
  size_t min_value_bytes = 100;
  size_t max_value_bytes = 100;
  size_t batch = 1;       // puts that are written together, or keys of a MultiGet
  size_t seek_nexts = 0;  // records read after a seek
  size_t max_scan = 100;  // records of YCSB's and X-Bench's scans, at most
  double write_rate = 0;  // puts per second of the writer beside readers; 0: as many as it can
  std::optional<DistributionSpec> distribution;
  uint64_t seed = 1;
  std::string directory;  // a database per engine in it
  EngineSettings engine;

  uint64_t operations() const { return reads == 0 ? num : reads; }
};

}  // namespace sluice::bench
