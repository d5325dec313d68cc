#include "leveldb_dir/compact.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "leveldb_dir/commit.h"
#include "leveldb_dir/merge_inputs.h"
#include "leveldb_dir/output_tables.h"
#include "merge/cpu_executor.h"
#include "merge/multi_pass.h"
#include "sluice/env.h"
#include "util/seconds_since.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

Status CheckOptions(const CompactOptions& options, const Executor& executor) {
  if (options.block_bytes == 0 || options.table_bytes == 0 || options.restart_interval == 0 ||
      options.task_bytes == 0) {
    return Status::InvalidArgument("sizes and the restart interval must not be 0");
  }
  if (executor.max_runs() < 2) {
    return Status::InvalidArgument(
        fmt::format("executor {} cannot merge two runs", executor.name()));
  }
  return {};
}

// LevelDB moves tables down, on opening, from a level that has more bytes than this.
uint64_t MaxBytesAtLevel(uint32_t level) {
  uint64_t bytes = 10 << 20;
  for (; level > 1; --level) {
    bytes *= 10;
  }
  return bytes;
}

// The deepest level used so far, and deeper if the tables are too many for it: LevelDB then finds
// nothing to do. Never level 0, where tables may overlap and are searched one by one.
uint32_t PickOutputLevel(const DatabaseState& state, uint64_t bytes) {
  uint32_t level = kNumLevels - 1;
  while (level > 1 && state.levels[level].empty()) {
    --level;
  }
  while (level < kNumLevels - 1 && bytes >= MaxBytesAtLevel(level)) {
    ++level;
  }
  return level;
}

void AddStats(const MergeStats& more, MergeStats* sum) {
  sum->input_records += more.input_records;
  sum->output_records += more.output_records;
  sum->dropped_records += more.dropped_records;
  sum->dropped_shadowed += more.dropped_shadowed;
  sum->dropped_tombstones += more.dropped_tombstones;
  sum->input_bytes += more.input_bytes;
  sum->output_bytes += more.output_bytes;
  sum->output_tables += more.output_tables;
  sum->input_checksum += more.input_checksum;
  sum->output_checksum += more.output_checksum;
  sum->dropped_checksum += more.dropped_checksum;
  sum->cycles += more.cycles;
  for (size_t i = 0; i < sum->stalls.size(); ++i) {
    sum->stalls[i] += more.stalls[i];
  }
}

class Compaction {
 public:
  Compaction(Env* env, Executor* executor, const CompactOptions& options,
             const CompactCallback& callback, CompactReport* report)
      : env_(env), executor_(executor), options_(options), callback_(callback), report_(report) {}

  Status Run(const std::string& dir);

 private:
  // Opens the database, as far as planning needs.
  Status Prepare(const std::string& dir);
  // Merges what the database has in `range` into output tables.
  Status MergeRange(const KeyRange& range, OutputTables* output);
  Status RunTask(const DatabaseTask& task, OutputTables* output);
  // Runs the task on `executor`. An error is one of writing tables.
  Status RunOn(Executor* executor, const MergeTask& task, OutputTables* output,
               MergeResult* result);
  bool OnCpu() const { return executor_->name() == "cpu"; }
  bool MayRetry() const;
  Status Commit(OutputTables* output);
  void TellProgress(uint64_t done_bytes);

  Env* const env_;
  Executor* const executor_;
  const CompactOptions& options_;
  const CompactCallback& callback_;
  CompactReport* const report_;

  MergeInputs inputs_;
  uint64_t told_bytes_ = 0;
};

Status Compaction::Prepare(const std::string& dir) {
  SLUICE_RETURN_IF_ERROR(inputs_.Open(env_, dir, options_.table_bytes, options_.task_bytes));
  const Survey& survey = inputs_.survey();
  report_->input_tables = inputs_.database().table_names.size();
  report_->log_files = inputs_.database().logs.size();
  report_->log_records = inputs_.logs().records;
  report_->input_file_bytes = survey.file_bytes + inputs_.logs().file_bytes;
  report_->runs = inputs_.runs();
  report_->snappy = survey.compression == Compression::kSnappy;
  report_->filter_bits_per_key = survey.bloom_bits_per_key;
  return {};
}

Status Compaction::RunOn(Executor* executor, const MergeTask& task, OutputTables* output,
                         MergeResult* result) {
  Status write_status;
  double write_seconds = 0;
  const Clock::time_point start = Clock::now();
  MultiPassResult passes = MergeAll(*executor, task, [&](const MergeOutput& table) {
    const Clock::time_point write_start = Clock::now();
    write_status = output->Write(table);
    TellProgress(inputs_.map().BytesUpTo(UserKey(table.largest)));
    write_seconds += SecondsSince(write_start);
    return write_status;
  });
  *result = std::move(passes.merge);
  report_->executor_seconds += SecondsSince(start) - write_seconds;
  report_->passes += passes.passes;
  report_->bytes_read += passes.bytes_read;
  return write_status;
}

bool Compaction::MayRetry() const { return options_.retry_on_cpu && !OnCpu(); }

Status Compaction::RunTask(const DatabaseTask& task, OutputTables* output) {
  const size_t tables_before = output->tables().size();
  MergeResult result;
  SLUICE_RETURN_IF_ERROR(RunOn(executor_, task.task, output, &result));
  if (!result.ok() && MayRetry()) {
    report_->retries.push_back({result.status, ToError(result, task).message()});
    output->Truncate(tables_before);
    CpuExecutor cpu;
    SLUICE_RETURN_IF_ERROR(RunOn(&cpu, task.task, output, &result));
  }
  if (!result.ok()) {
    return ToError(result, task);
  }
  AddStats(result.stats, &report_->merge);
  return {};
}

Status Compaction::MergeRange(const KeyRange& range, OutputTables* output) {
  DatabaseTask task;
  SLUICE_RETURN_IF_ERROR(inputs_.MakeTask(range, &task));
  task.task.block_bytes = options_.block_bytes;
  task.task.table_bytes = options_.table_bytes;
  task.task.restart_interval = options_.restart_interval;
  // The library compresses faster than the CPU does as units do.
  task.task.compress = report_->snappy && executor_->compresses() && !OnCpu();
  if (!task.task.runs.empty()) {
    SLUICE_RETURN_IF_ERROR(RunTask(task, output));
    ++report_->tasks;
  }
  TellProgress(range.has_end ? inputs_.map().BytesUpTo(range.end) : inputs_.map().total_bytes());
  return {};
}

void Compaction::TellProgress(uint64_t done_bytes) {
  told_bytes_ = std::max(told_bytes_, done_bytes);
  if (callback_) {
    callback_({.done_bytes = told_bytes_, .total_bytes = inputs_.map().total_bytes()});
  }
}

Status Compaction::Commit(OutputTables* output) {
  const uint64_t manifest_number = output->NewFileNumber();
  DatabaseState state;
  state.comparator = inputs_.database().state.comparator;
  // LevelDB makes a log of its own when it opens; all older ones are folded in.
  state.log_number = output->NewFileNumber();
  state.next_file_number = output->next_file_number();
  state.last_sequence = inputs_.last_sequence();
  report_->output_level = PickOutputLevel(inputs_.database().state, output->file_bytes());
  state.levels[report_->output_level] = output->tables();

  CommitOutcome outcome;
  const Status status = CommitState(env_, inputs_.database(), state, manifest_number, &outcome);
  if (outcome != CommitOutcome::kOldState) {
    output->Keep();
  }
  SLUICE_RETURN_IF_ERROR(status);
  report_->files_left = RemoveObsoleteFiles(env_, inputs_.database(), state, manifest_number);
  return {};
}

Status Compaction::Run(const std::string& dir) {
  const Clock::time_point start = Clock::now();
  *report_ = {};
  SLUICE_RETURN_IF_ERROR(CheckOptions(options_, *executor_));
  SLUICE_RETURN_IF_ERROR(Prepare(dir));
  if (!inputs_.empty()) {
    TellProgress(0);
    OutputTables output(env_, inputs_.database(),
                        {.compression = inputs_.survey().compression,
                         .bloom_bits_per_key = inputs_.survey().bloom_bits_per_key});
    for (const KeyRange& range : inputs_.map().Split(options_.task_bytes)) {
      SLUICE_RETURN_IF_ERROR(MergeRange(range, &output));
    }
    SLUICE_RETURN_IF_ERROR(Commit(&output));
    report_->output_tables = output.tables().size();
    report_->output_file_bytes = output.file_bytes();
  }
  report_->seconds = SecondsSince(start);
  return {};
}

}  // namespace

Status CompactDatabase(Env* env, const std::string& dir, Executor* executor,
                       const CompactOptions& options, const CompactCallback& callback,
                       CompactReport* report) {
  return Compaction(env, executor, options, callback, report).Run(dir);
}

}  // namespace sluice
