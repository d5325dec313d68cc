#include "job.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>

#include "merge/cpu_executor.h"
#include "merge/multi_pass.h"
#include "rocksdb_table/table.h"
#include "rocksdb_table/view.h"
#include "table/index_walk.h"
#include "table/internal_key.h"
#include "table/key_scan.h"

namespace sluice::rocks {

namespace {

constexpr uint64_t kWriteBytes = 1 << 20;  // at once

// In the form of RocksDB's, and unlike all others.
std::string NewSession() {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::random_device random;
  std::string session(20, '0');
  for (char& digit : session) {
    digit = kDigits[random() % kDigits.size()];
  }
  return session;
}

// An input, viewed.
struct InputTable {
  std::string path;
  std::unique_ptr<RocksTable> table;
  RocksView view;
  std::string first;  // internal key
  std::string last;   // an internal key that none of its keys comes after
};

// The first key, and a bound of the last. `*empty`: there are no records.
Status FindBounds(InputTable* input, bool* empty) {
  OpenIndex index;
  const RecodedTable& view = input->view.table;
  SLUICE_RETURN_IF_ERROR(OpenIndex::In(view.image, view.index, &index));
  BlockIterator entry(index.block);
  entry.SeekToFirst();
  *empty = !entry.Valid();
  if (*empty) {
    return entry.status();
  }
  BlockHandle handle;
  std::string_view encoded = entry.value();
  Block block;
  std::string_view first;
  handle.ReadFrom(&encoded);
  SLUICE_RETURN_IF_ERROR(
      Block::Parse(std::string_view(view.image).substr(handle.offset, handle.size), &block));
  SLUICE_RETURN_IF_ERROR(KeyScanner::FirstKey(block, &first));
  input->first = first;
  entry.SeekToLast();
  input->last = entry.key();
  return {};
}

class Runner {
 public:
  Runner(Env* env, const Job& job, JobReport* report) : env_(env), job_(job), report_(report) {}

  Status OpenInputs();
  Status Merge(Executor* executor);
  void RemoveOutputs();

 private:
  bool Cancelled() const { return job_.cancelled != nullptr && job_.cancelled->load(); }
  std::vector<SequenceNumber> SnapshotsThatMatter() const;
  MergeTask MakeTask() const;
  // As the job wants it, or else with the file that is at fault.
  Status ToError(const MergeResult& result) const;
  Status WriteTable(const MergeOutput& output);
  Status WriteFile(const std::string& path, std::string_view bytes);
  // Reads every block of a file as it stands.
  Status CheckFile(const std::string& path) const;

  Env* const env_;
  const Job& job_;
  JobReport* const report_;
  const std::string session_ = NewSession();
  std::vector<InputTable> inputs_;
  std::vector<std::vector<const InputTable*>> runs_;
  uint64_t raw_bytes_ = 0;     // of the views
  uint64_t stored_bytes_ = 0;  // of the same blocks in the files, about
  Status sink_error_;
};

Status Runner::OpenInputs() {
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
    input.path = job_.dir + "/" + name;
    SLUICE_RETURN_IF_ERROR(RocksTable::Open(env_, input.path, &input.table));
    SLUICE_RETURN_IF_ERROR(
        ViewRocksTable(*input.table, range, &input.view).WithContext(input.path));
    bool empty = true;
    SLUICE_RETURN_IF_ERROR(FindBounds(&input, &empty).WithContext(input.path));
    if (empty) {
      inputs_.pop_back();
      continue;
    }
    const uint64_t blocks = input.view.offsets.size() - 1;
    const uint64_t all_blocks =
        std::max<uint64_t>(1, input.table->properties().Number(kRocksDataBlocks));
    stored_bytes_ += input.table->properties().Number(kRocksDataSize) / all_blocks * blocks;
    raw_bytes_ += input.view.table.index.offset;
  }
  report_->bytes_read = stored_bytes_;
  // Neighbours in order make a run: the files of a level, as a rule.
  for (const InputTable& input : inputs_) {
    if (runs_.empty() || CompareInternalKeys(runs_.back().back()->last, input.first) >= 0) {
      runs_.emplace_back();
    }
    runs_.back().push_back(&input);
  }
  return {};
}

// Of the snapshots, those between the inputs' records: those below see none of them, those above all.
std::vector<SequenceNumber> Runner::SnapshotsThatMatter() const {
  SequenceNumber smallest = kMaxSequence;
  SequenceNumber largest = 0;
  for (const InputTable& input : inputs_) {
    smallest = std::min(smallest, input.view.smallest_sequence);
    largest = std::max(largest, input.view.largest_sequence);
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
  for (const std::vector<const InputTable*>& tables : runs_) {
    MergeRun& run = task.runs.emplace_back();
    for (const InputTable* input : tables) {
      run.push_back({.image = input->view.table.image, .index = input->view.table.index});
    }
  }
  task.snapshots = SnapshotsThatMatter();
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
  task.table_bytes = std::max<uint64_t>(
      1, static_cast<uint64_t>(static_cast<double>(job_.file_bytes) * std::max(1.0, ratio)));
  return task;
}

Status Runner::ToError(const MergeResult& result) const {
  const std::string what(result.error.ok() ? MergeStatusText(result.status)
                                           : std::string_view(result.error.message()));
  const MergeFault& fault = result.fault;
  if (!IsInputFault(result.status) || fault.run >= runs_.size() ||
      fault.table >= runs_[fault.run].size()) {
    return result.error.ok() ? Status::IoError(what) : result.error;
  }
  const InputTable& input = *runs_[fault.run][fault.table];
  const std::string message =
      fmt::format("{}, offset {}: {}", input.path, input.view.OffsetInTable(fault.offset), what);
  return result.status == MergeStatus::kRecordType ? Status::NotSupported(message)
                                                   : Status::Corruption(message);
}

Status Runner::Merge(Executor* executor) {
  if (inputs_.empty()) {
    return {};
  }
  const MergeTask task = MakeTask();
  const MergeSink sink = [this](const MergeOutput& output) {
    sink_error_ = Cancelled() ? Status::Busy("cancelled") : WriteTable(output);
    return sink_error_;
  };
  if (executor->max_runs() >= 2 && executor->max_snapshots() >= task.snapshots.size()) {
    const MultiPassResult result = MergeAll(*executor, task, sink);
    report_->merge = result.merge.stats;
    if (result.merge.ok()) {
      return {};
    }
    SLUICE_RETURN_IF_ERROR(sink_error_);
    report_->retry_reason = ToError(result.merge).message();
  } else {
    report_->retry_reason = fmt::format("{} runs and {} snapshots are too many", task.runs.size(),
                                        task.snapshots.size());
  }
  report_->retried = true;
  RemoveOutputs();
  CpuExecutor cpu;
  const MergeResult result = cpu.Run(task, sink);
  report_->merge = result.stats;
  return result.ok() ? Status() : !sink_error_.ok() ? sink_error_ : ToError(result);
}

Status Runner::WriteTable(const MergeOutput& output) {
  OutputFile& file = report_->files.emplace_back();
  file.name = fmt::format("{:06}.sst", report_->files.size());
  const std::string path = job_.output_dir + "/" + file.name;
  RocksTableOptions format = job_.format;
  // RocksDB expects that of a last level, or else compacts it over and over.
  format.zero_up_to = !job_.bottommost               ? 0
                      : job_.input.snapshots.empty() ? kMaxSequence
                                                     : job_.input.snapshots.front();
  // By these RocksDB's block caches tell files apart. Without them it takes its own session and the
  // number of the file, which not all of its readers know: VerifyChecksum knows neither.
  format.properties.SetText("rocksdb.creating.session.identity", session_);
  format.properties.SetNumber("rocksdb.original.file.number", report_->files.size());
  if (format.format_version >= 6) {
    std::random_device random;
    while ((format.checksum_base = random()) == 0) {
    }
  }
  std::string bytes;
  RocksTableSummary summary;
  SLUICE_RETURN_IF_ERROR(
      FinishRocksTable({.data = output.data, .index_block = output.index}, format, &bytes, &summary)
          .WithContext(path));
  if (summary.entries != output.entries) {
    return Status::Corruption(
        fmt::format("{}: {} entries instead of {}", path, summary.entries, output.entries));
  }
  file.bytes = bytes.size();
  file.entries = summary.entries;
  file.smallest_sequence = summary.smallest_sequence;
  file.largest_sequence = summary.largest_sequence;
  file.smallest = ZeroSequence(output.smallest, format.zero_up_to);
  file.largest = ZeroSequence(output.largest, format.zero_up_to);
  report_->bytes_written += bytes.size();
  SLUICE_RETURN_IF_ERROR(WriteFile(path, bytes));
  return CheckFile(path);
}

Status Runner::WriteFile(const std::string& path, std::string_view bytes) {
  std::unique_ptr<WritableFile> file;
  SLUICE_RETURN_IF_ERROR(env_->NewWritableFile(path, &file));
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kWriteBytes);
    if (job_.before_write) {
      job_.before_write(part.size());
    }
    SLUICE_RETURN_IF_ERROR(file->Append(part));
    bytes.remove_prefix(part.size());
  }
  SLUICE_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

Status Runner::CheckFile(const std::string& path) const {
  std::unique_ptr<RocksTable> table;
  SLUICE_RETURN_IF_ERROR(RocksTable::Open(env_, path, &table));
  std::string buffer;
  std::string_view contents;
  for (const RocksTable::NamedBlock& block : table->metaindex()) {
    SLUICE_RETURN_IF_ERROR(table->ReadBlock(block.handle, &buffer, &contents).WithContext(path));
  }
  return table
      ->ForEachDataBlock([&](const std::string&, const BlockHandle& handle) {
        return table->ReadBlock(handle, &buffer, &contents);
      })
      .WithContext(path);
}

void Runner::RemoveOutputs() {
  for (const OutputFile& file : report_->files) {
    // What stays goes with its directory.
    (void)env_->RemoveFile(job_.output_dir + "/" + file.name);
  }
  report_->files.clear();
  report_->bytes_written = 0;
}

}  // namespace

Status RunJob(Env* env, const Job& job, Executor* executor, JobReport* report) {
  *report = {};
  Runner runner(env, job, report);
  Status status = runner.OpenInputs();
  if (status.ok()) {
    status = runner.Merge(executor);
  }
  if (!status.ok()) {
    runner.RemoveOutputs();
  }
  return status;
}

}  // namespace sluice::rocks
