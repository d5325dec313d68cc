#include "leveldb/compact.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "leveldb/commit.h"
#include "leveldb/database.h"
#include "leveldb/log_contents.h"
#include "leveldb/output_tables.h"
#include "leveldb/survey.h"
#include "merge/cpu_executor.h"
#include "merge/multi_pass.h"
#include "util/env.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The bytes of tables are noted in so many pieces per task, which is how unevenly tasks can come
// out.
constexpr uint64_t kPiecesPerTask = 64;
constexpr uint64_t kSmallestPiece = 64 << 10;

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

// A merge task, and what its inputs are called.
struct NamedTask {
  MergeTask task;
  std::vector<std::vector<std::string>> paths;  // by run and table
  std::vector<MappedFile> maps;
};

// The error of a failed task, with the file's name where the executor has run and table numbers.
Status ToError(const MergeResult& result, const NamedTask& task) {
  const MergeFault& fault = result.fault;
  std::string_view what =
      result.error.ok() ? MergeStatusText(result.status) : result.error.message();
  if (!IsInputFault(result.status) || fault.run >= task.paths.size() ||
      fault.table >= task.paths[fault.run].size()) {
    return result.error.ok() ? Status::IoError(std::string(what)) : result.error;
  }
  const std::string place =
      fmt::format("run {}, table {}, offset {}: ", fault.run, fault.table, fault.offset);
  if (what.starts_with(place)) {
    what.remove_prefix(place.size());
  }
  return Status::Corruption(
      fmt::format("{}, offset {}: {}", task.paths[fault.run][fault.table], fault.offset, what));
}

void AddStats(const MergeStats& more, MergeStats* sum) {
  sum->input_records += more.input_records;
  sum->output_records += more.output_records;
  sum->dropped_records += more.dropped_records;
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
  // Opens the database; reads logs and tables as far as planning needs.
  Status Prepare(const std::string& dir);
  bool IsEmpty() const { return survey_.runs.empty() && logs_.records == 0; }
  // Merges what the database has in `range` into output tables.
  Status MergeRange(const KeyRange& range, OutputTables* output);
  Status MakeTask(const KeyRange& range, NamedTask* task);
  Status RunTask(const NamedTask& task, OutputTables* output);
  // Runs the task on `executor`. An error is one of writing tables.
  Status RunOn(Executor* executor, const MergeTask& task, OutputTables* output,
               MergeResult* result);
  bool MayRetry() const;
  Status Commit(OutputTables* output);
  void TellProgress(uint64_t done_bytes);

  Env* const env_;
  Executor* const executor_;
  const CompactOptions& options_;
  const CompactCallback& callback_;
  CompactReport* const report_;

  Database database_;
  LogContents logs_;
  Survey survey_;
  SequenceNumber last_sequence_ = 0;
  uint64_t told_bytes_ = 0;
};

Status Compaction::Prepare(const std::string& dir) {
  SLUICE_RETURN_IF_ERROR(OpenDatabase(env_, dir, &database_));
  SLUICE_RETURN_IF_ERROR(ReadLogs(env_, database_, options_.table_bytes, &logs_));
  const uint64_t piece_bytes = std::max(options_.task_bytes / kPiecesPerTask, kSmallestPiece);
  SLUICE_RETURN_IF_ERROR(SurveyTables(env_, database_, piece_bytes, &survey_));
  for (const LogTable& table : logs_.tables) {
    survey_.map.Add(UserKey(table.smallest), table.image.size());
  }
  survey_.map.Sort();
  last_sequence_ = std::max(database_.state.last_sequence, logs_.last_sequence);

  report_->input_tables = database_.table_names.size();
  report_->log_files = database_.logs.size();
  report_->log_records = logs_.records;
  report_->input_file_bytes = survey_.file_bytes + logs_.file_bytes;
  report_->runs = survey_.runs.size() + (logs_.records > 0 ? 1 : 0);
  report_->snappy = survey_.compression == Compression::kSnappy;
  report_->filter_bits_per_key = survey_.bloom_bits_per_key;
  return {};
}

Status Compaction::MakeTask(const KeyRange& range, NamedTask* named) {
  MergeTask& task = named->task;
  task.smallest_snapshot = last_sequence_;
  task.bottommost = true;
  task.has_begin = range.has_begin;
  task.has_end = range.has_end;
  task.begin = range.begin;
  task.end = range.end;
  task.block_bytes = options_.block_bytes;
  task.table_bytes = options_.table_bytes;
  task.restart_interval = options_.restart_interval;

  const auto add_run = [named](MergeRun run, std::vector<std::string> paths) {
    if (!run.empty()) {
      named->task.runs.push_back(std::move(run));
      named->paths.push_back(std::move(paths));
    }
  };
  MergeRun run;
  std::vector<std::string> paths;
  for (const LogTable& table : logs_.tables) {
    if (range.Overlaps(UserKey(table.smallest), UserKey(table.largest))) {
      run.push_back({.image = table.image, .index = table.index});
      paths.emplace_back("records of the logs, sorted");
    }
  }
  add_run(std::move(run), std::move(paths));
  for (const std::vector<InputTable>& tables : survey_.runs) {
    run.clear();
    paths.clear();
    for (const InputTable& table : tables) {
      if (range.Overlaps(table.smallest, table.largest)) {
        MappedFile& file = named->maps.emplace_back();
        SLUICE_RETURN_IF_ERROR(env_->MapFile(table.path, &file));
        run.push_back({.image = file.bytes(), .index = table.index});
        paths.push_back(table.path);
      }
    }
    add_run(std::move(run), std::move(paths));
  }
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
    TellProgress(survey_.map.BytesUpTo(UserKey(table.largest)));
    write_seconds += SecondsSince(write_start);
    return write_status;
  });
  *result = std::move(passes.merge);
  report_->executor_seconds += SecondsSince(start) - write_seconds;
  report_->passes += passes.passes;
  report_->bytes_read += passes.bytes_read;
  return write_status;
}

bool Compaction::MayRetry() const { return options_.retry_on_cpu && executor_->name() != "cpu"; }

Status Compaction::RunTask(const NamedTask& task, OutputTables* output) {
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
  NamedTask task;
  SLUICE_RETURN_IF_ERROR(MakeTask(range, &task));
  if (!task.task.runs.empty()) {
    SLUICE_RETURN_IF_ERROR(RunTask(task, output));
    ++report_->tasks;
  }
  TellProgress(range.has_end ? survey_.map.BytesUpTo(range.end) : survey_.map.total_bytes());
  return {};
}

void Compaction::TellProgress(uint64_t done_bytes) {
  told_bytes_ = std::max(told_bytes_, done_bytes);
  if (callback_) {
    callback_({.done_bytes = told_bytes_, .total_bytes = survey_.map.total_bytes()});
  }
}

Status Compaction::Commit(OutputTables* output) {
  const uint64_t manifest_number = output->NewFileNumber();
  DatabaseState state;
  state.comparator = database_.state.comparator;
  // LevelDB makes a log of its own when it opens; all older ones are folded in.
  state.log_number = output->NewFileNumber();
  state.next_file_number = output->next_file_number();
  state.last_sequence = last_sequence_;
  report_->output_level = PickOutputLevel(database_.state, output->file_bytes());
  state.levels[report_->output_level] = output->tables();

  CommitOutcome outcome;
  const Status status = CommitState(env_, database_, state, manifest_number, &outcome);
  if (outcome != CommitOutcome::kOldState) {
    output->Keep();
  }
  SLUICE_RETURN_IF_ERROR(status);
  report_->files_left = RemoveObsoleteFiles(env_, database_, state, manifest_number);
  return {};
}

Status Compaction::Run(const std::string& dir) {
  const Clock::time_point start = Clock::now();
  *report_ = {};
  SLUICE_RETURN_IF_ERROR(CheckOptions(options_, *executor_));
  SLUICE_RETURN_IF_ERROR(Prepare(dir));
  if (!IsEmpty()) {
    TellProgress(0);
    OutputTables output(
        env_, database_,
        {.compression = survey_.compression, .bloom_bits_per_key = survey_.bloom_bits_per_key});
    for (const KeyRange& range : survey_.map.Split(options_.task_bytes)) {
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
