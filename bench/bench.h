// All workloads on all engines, turn by turn.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/run.h"

namespace sluice::bench {

struct Run {
  std::string engine;
  std::string version;
  std::string workload;
  size_t position = 0;  // in settings.workloads, which may name one more than once
  int threads = 0;
  int turn = 0;
  RunResult result;
};

struct BenchEvents {
  std::function<void(const Run& next)> begin;  // its result is empty
  Progress progress;
  std::function<void(const Run& done)> end;
};

// InvalidArgument for settings that cannot be; costs nothing.
Status Check(const BenchSettings& settings);

// In every turn each engine does all workloads on its database, with each count of threads, then
// the next engine; the engine
// that begins changes from turn to turn, so that what else the machine does hits all alike. An
// engine's database is opened for its turn alone: in settings.directory, made if it is not there.
// Databases stay there, for workloads that do not begin with a new one. Refuses, with
// InvalidArgument, to touch a directory that holds other things than a bench's databases.
Status RunBench(const BenchSettings& settings, const BenchEvents& events, std::vector<Run>* runs);

}  // namespace sluice::bench
