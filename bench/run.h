// One workload on one open database.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/cpu_time.h"
#include "bench/histogram.h"
#include "bench/seconds.h"
#include "bench/settings.h"
#include "bench/wave.h"
#include "bench/workload.h"

namespace sluice::bench {

// Operations over time: how many ended in each interval of the run.
struct Throughput {
  double interval_seconds = 0.1;
  std::vector<uint64_t> operations;
};

struct RunResult {
  uint64_t operations = 0;    // of the workload's threads; the writer beside them left out
  double seconds = 0;         // until the last of them was done
  double settle_seconds = 0;  // after that, until flush and compaction were done
  uint64_t gets = 0;
  uint64_t found = 0;
  std::array<Histogram, kOps> latency;  // of calls: a batch is one
  Throughput throughput;
  Seconds by_second;    // the same latencies but those of asynchronous calls, whole seconds alone
  Responses responses;  // of a wave

  // Counted over the run and the settling after it; user bytes are those of keys and values.
  uint64_t user_bytes_written = 0;
  uint64_t user_bytes_read = 0;
  EngineCounts engine;
  std::optional<uint64_t> foreground_bytes_read;  // by the workload's threads, from files
  CpuSeconds cpu;
  uint64_t disk_bytes = 0;    // that the database's files take when all has settled, logs too
  uint64_t record_bytes = 0;  // of a record of each key there may be

  double OperationsPerSecond() const {
    return seconds > 0 ? static_cast<double>(operations) / seconds : 0;
  }
  // Bytes written, to the log and to tables, per byte that the user wrote; none if he wrote none.
  std::optional<double> WriteAmplification() const;
  // Bytes read from files by those who read, per byte that they got; none if they got none.
  std::optional<double> ReadAmplification() const;
  // CPU milliseconds of the host per 10^6 bytes that compactions read, with whichever executor; none
  // if they read nothing. Of LevelDB its flushes are in it.
  std::optional<double> HostCpuPerMegabyte() const;
  // Share of the time that units of a card had tasks in which jobs ran, all units together; none if
  // they had no tasks.
  std::optional<double> UnitsBusy() const;
  // Bytes on disk per byte of a database with each key once. One that was filled at random has not
  // all keys: what this says of it is too little, and of all engines alike.
  std::optional<double> SpaceAmplification() const;
};

// `total` 0: unknown.
using Progress = std::function<void(uint64_t done, uint64_t total)>;

// `stream` tells runs of one seed apart: a reader must not draw just the keys that a fill drew.
// `inserted` is the number of keys that there are, kept up by inserts. The first error that a
// thread met ends the run.
Status RunWorkload(const BenchSettings& settings, const Workload& workload, uint64_t stream,
                   Engine* engine, std::atomic<uint64_t>* inserted, const Progress& progress,
                   RunResult* result);

}  // namespace sluice::bench
