#include "job.h"

#include <fmt/format.h>

#include <algorithm>

#include "input_table.h"
#include "merge/cpu_executor.h"
#include "merge/multi_pass.h"
#include "output_files.h"
#include "table/internal_key.h"

namespace sluice::rocks {

namespace {

class Runner {
 public:
  Runner(Env* env, const Job& job, JobReport* report)
      : env_(env), job_(job), report_(report), outputs_(env, job, report) {}

  // `viewed`: for executors that are not the CPU's.
  Status OpenInputs(bool viewed);
  Status Merge(Executor* executor);
  void RemoveOutputs() { outputs_.RemoveAll(); }

 private:
  bool Cancelled() const { return job_.cancelled != nullptr && job_.cancelled->load(); }
  Status MergeOnCpu();
  std::vector<SequenceNumber> SnapshotsThatMatter() const;
  // All but the runs.
  MergeTask MakeTask() const;
  // As the job wants it, or else with the file that is at fault, where its blocks are `viewed`.
  Status ToError(const MergeResult& result, bool viewed) const;

  Env* const env_;
  const Job& job_;
  JobReport* const report_;
  OutputFiles outputs_;
  std::vector<InputTable> inputs_;
  std::vector<std::vector<InputTable*>> runs_;
  uint64_t raw_bytes_ = 0;     // of the blocks of the inputs
  uint64_t stored_bytes_ = 0;  // of the same blocks in the files
};

Status Runner::OpenInputs(bool viewed) {
  const RocksViewRange range{.has_begin = job_.input.has_begin,
                             .has_end = job_.input.has_end,
                             .begin = job_.input.begin,
                             .end = job_.input.end};
  inputs_.reserve(job_.input.files.size());
  for (const std::string& name : job_.input.files) {
    if (Cancelled()) {
      return Status::Busy("cancelled");
    }
    InputTable& input = inputs_.emplace_back();
    SLUICE_RETURN_IF_ERROR(input.Open(env_, job_.dir + "/" + name, range));
    if (input.empty()) {
      inputs_.pop_back();
      continue;
    }
    // A view looks at all types by itself.
    Status types = viewed                      ? input.MakeView(range)
                   : job_.look_for_other_types ? input.CheckTypes()
                                               : Status();
    report_->other_types = types.IsNotSupported();
    SLUICE_RETURN_IF_ERROR(types);
    stored_bytes_ += input.stored_bytes();
    raw_bytes_ += input.raw_bytes();
  }
  report_->bytes_read = stored_bytes_;
  // Neighbours in order make a run: the files of a level, as a rule.
  for (InputTable& input : inputs_) {
    if (runs_.empty() || CompareInternalKeys(runs_.back().back()->last(), input.first()) >= 0) {
      runs_.emplace_back();
    }
    runs_.back().push_back(&input);
  }
  return {};
}

// Of the snapshots, those between the inputs' records: those below see none of them, those above all.
// Units take only few.
std::vector<SequenceNumber> Runner::SnapshotsThatMatter() const {
  SequenceNumber smallest = kMaxSequence;
  SequenceNumber largest = 0;
  for (const InputTable& input : inputs_) {
    smallest = std::min(smallest, input.view().smallest_sequence);
    largest = std::max(largest, input.view().largest_sequence);
  }
  std::vector<SequenceNumber> matter;
  for (const SequenceNumber snapshot : job_.input.snapshots) {
    if (smallest <= snapshot && snapshot < largest) {
      matter.push_back(snapshot);
    }
  }
  matter.push_back(kMaxSequence);
  return matter;
}

MergeTask Runner::MakeTask() const {
  MergeTask task;
  task.snapshots = job_.input.snapshots;
  task.snapshots.push_back(kMaxSequence);
  task.bottommost = job_.bottommost;
  task.has_begin = job_.input.has_begin;
  task.has_end = job_.input.has_end;
  task.begin = job_.input.begin;
  task.end = job_.input.end;
  task.block_bytes = job_.block_bytes;
  task.restart_interval = job_.restart_interval;
  // Files are as large as the job wants them if they are compressed as well as the inputs.
  const double ratio =
      stored_bytes_ == 0 ? 1 : static_cast<double>(raw_bytes_) / static_cast<double>(stored_bytes_);
  const double bytes = static_cast<double>(job_.file_bytes) * std::max(1.0, ratio);
  task.table_bytes = static_cast<uint64_t>(std::clamp(bytes, 1.0, 0x1p60));
  return task;
}

Status Runner::ToError(const MergeResult& result, bool viewed) const {
  const std::string what(result.error.ok() ? MergeStatusText(result.status)
                                           : std::string_view(result.error.message()));
  const MergeFault& fault = result.fault;
  if (!IsInputFault(result.status) || fault.run >= runs_.size() ||
      fault.table >= runs_[fault.run].size()) {
    return result.error.ok() ? Status::IoError(what) : result.error;
  }
  const InputTable& input = *runs_[fault.run][fault.table];
  const std::string message =
      fmt::format("{}, offset {}: {}", input.path(),
                  viewed ? input.view().OffsetInTable(fault.offset) : fault.offset, what);
  return result.status == MergeStatus::kRecordType ? Status::NotSupported(message)
                                                   : Status::Corruption(message);
}

Status Runner::MergeOnCpu() {
  std::vector<ForeignRun> runs;
  for (const std::vector<InputTable*>& run : runs_) {
    runs.emplace_back(run.begin(), run.end());
  }
  const MergeResult result = CpuExecutor().RunForeign(MakeTask(), runs, &outputs_);
  report_->merge = result.stats;
  report_->other_types = result.status == MergeStatus::kRecordType;
  return !outputs_.error().ok() ? outputs_.error()
         : result.ok()          ? Status()
                                : ToError(result, false);
}

Status Runner::Merge(Executor* executor) {
  if (inputs_.empty()) {
    return {};
  }
  if (executor == nullptr) {
    return MergeOnCpu();
  }
  MergeTask task = MakeTask();
  task.snapshots = SnapshotsThatMatter();
  for (const std::vector<InputTable*>& tables : runs_) {
    MergeRun& run = task.runs.emplace_back();
    for (const InputTable* input : tables) {
      run.push_back({.image = input->view().table.image, .index = input->view().table.index});
    }
  }
  if (executor->max_runs() >= 2 && executor->max_snapshots() >= task.snapshots.size()) {
    const MultiPassResult result = MergeAll(
        *executor, task, [this](const MergeOutput& output) { return outputs_.AddTable(output); });
    report_->merge = result.merge.stats;
    if (result.merge.ok()) {
      return {};
    }
    SLUICE_RETURN_IF_ERROR(outputs_.error());
    report_->retry_reason = ToError(result.merge, true).message();
  } else {
    report_->retry_reason = fmt::format("{} runs and {} snapshots are too many", task.runs.size(),
                                        task.snapshots.size());
  }
  report_->retried = true;
  RemoveOutputs();
  return MergeOnCpu();
}

}  // namespace

Status RunJob(Env* env, const Job& job, Executor* executor, JobReport* report) {
  *report = {};
  Runner runner(env, job, report);
  Status status = runner.OpenInputs(executor != nullptr);
  if (status.ok()) {
    status = runner.Merge(executor);
  }
  if (!status.ok()) {
    runner.RemoveOutputs();
  }
  return status;
}

}  // namespace sluice::rocks
