// A thread of a run.

#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/run.h"

namespace sluice::bench {

using Clock = std::chrono::steady_clock;

// What the threads of a run share.
struct RunState {
  RunState(const BenchSettings& settings_in, const Workload& workload_in, Engine* engine_in,
           uint64_t stream, std::atomic<uint64_t>* inserted_in);

  const BenchSettings& settings;
  const Workload& workload;
  const uint64_t seed;  // of this run
  Engine* const engine;
  std::atomic<uint64_t>* const inserted;  // keys that are there
  std::atomic<uint64_t> next_key;         // the next one to insert
  const bool timed;                       // ends with the duration
  const uint64_t operations;              // to do in all; timed: no bound
  const Wave wave;                        // of one thread
  const KeyChooser chooser;
  const Permutation shuffle;
  Clock::time_point begin;
  std::atomic<uint64_t> claimed = 0;  // operations that some thread does or has done
  std::atomic<bool> stop = false;     // an error, or the readers are done
};

class Worker {
 public:
  // `writer`: the one that overwrites beside the others, until they are done.
  Worker(RunState* run, uint64_t index, bool writer);

  // In the worker's own thread, first this.
  void Prepare();
  Status Run();
  void Finish();

  uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  // After Finish.
  void AddTo(RunResult* result) const;

 private:
  Status RunWriter();
  Status RunWave();
  // From `first` on, `count` of the run's operations.
  Status DoBlock(uint64_t first, uint64_t count);
  Status Do(Op op, uint64_t number, uint64_t count);
  Status Get(uint64_t number);
  Status MultiGet(uint64_t number, uint64_t count);
  Status Put(uint64_t number, uint64_t count);
  Status Insert();
  Status ReadModifyWrite(uint64_t number);
  Status ScanPrefix(uint64_t number);
  Status Scan(uint64_t number);
  Status Delete(uint64_t number);
  Status Pop();
  Status Step(Op op);
  Status Write(const Record& record);

  Op Choose();
  // The key of the run's operation `number`.
  uint64_t PickKey(uint64_t number);
  void SetKey(uint64_t key, std::string* text) const;
  // Times a call of the engine.
  template <typename Call>
  Status Timed(Op op, const Call& call);
  template <typename Call>
  Status TimedFrom(Clock::time_point begin, Op op, const Call& call);

  RunState& run_;
  const bool writer_;
  Random random_;
  ValueSource values_;
  std::unique_ptr<EngineSession> session_;
  std::unique_ptr<EngineIterator> walk_;  // of kNext and kPrev
  bool walk_ended_ = false;
  std::string key_;
  std::vector<std::string> keys_;  // of a batch
  std::vector<Record> records_;
  Clock::time_point now_;  // as the last call ended

  std::array<std::unique_ptr<Histogram>, kOps> latency_;
  Seconds by_second_;
  Responses responses_;
  alignas(64) std::atomic<uint64_t> done_ = 0;
  alignas(64) uint64_t gets_ = 0;
  uint64_t found_ = 0;
  uint64_t bytes_written_ = 0;
  uint64_t bytes_read_ = 0;
  double cpu_seconds_ = 0;
  std::optional<uint64_t> file_bytes_read_;
};

}  // namespace sluice::bench
