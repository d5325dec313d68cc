#include "job.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "bloom_bits.h"
#include "merge/cpu_executor.h"
#include "table/format.h"
#include "table/internal_key.h"
#include "table/recode.h"
#include "table_file.h"

namespace sluice::ldb {

namespace {

// LevelDB ends an output that overlaps more files than this of the level below, in bytes.
constexpr uint64_t kMaxOverlapFiles = 10;

// Limit of an output before compression, which is in memory, unless LevelDB wants more behind it.
constexpr uint64_t kMaxRawBytes = uint64_t{256} << 20;

bool Overlaps(const JobRange& range, std::string_view smallest, std::string_view largest) {
  return !(range.has_begin && largest < range.begin) && !(range.has_end && smallest >= range.end);
}

// The user keys that the inputs begin and end with.
void FindBounds(const LevelDbCompaction& compaction, std::string_view* smallest,
                std::string_view* largest) {
  bool first = true;
  for (const auto& inputs : compaction.inputs) {
    for (const LevelDbTable& table : inputs) {
      const std::string_view low = UserKey(table.smallest);
      const std::string_view high = UserKey(table.largest);
      *smallest = first ? low : std::min(*smallest, low);
      *largest = first ? high : std::max(*largest, high);
      first = false;
    }
  }
}

// Whether nothing below the outputs may hold a key of the range.
bool IsBottommost(const LevelDbCompaction& compaction, const JobRange& range,
                  std::string_view smallest, std::string_view largest) {
  for (const auto& tables : compaction.below) {
    for (const LevelDbTable& table : tables) {
      const std::string_view low = UserKey(table.smallest);
      const std::string_view high = UserKey(table.largest);
      if (high >= smallest && low <= largest && Overlaps(range, low, high)) {
        return false;
      }
    }
  }
  return true;
}

void AddStats(const MergeStats& more, MergeStats* sum) {
  sum->input_records += more.input_records;
  sum->output_records += more.output_records;
  sum->dropped_records += more.dropped_records;
  sum->input_bytes += more.input_bytes;
  sum->output_bytes += more.output_bytes;
  sum->output_tables += more.output_tables;
  sum->cycles += more.cycles;
}

struct InputTable {
  std::string path;
  const LevelDbTable* table = nullptr;
  FileImage image;
  BlockHandle index;
};

class Runner {
 public:
  Runner(const LevelDbCompaction& compaction, Executor* executor,
         const std::atomic<bool>& cancelled, JobReport* report)
      : compaction_(compaction), executor_(executor), cancelled_(cancelled), report_(report) {}

  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  // Removes the outputs, unless all are there.
  ~Runner();

  Status Run();

 private:
  Status CheckOptions();
  Status OpenInputs();
  Status OpenInput(const LevelDbTable& table, std::vector<InputTable>* run);
  Status Merge(const JobRange& range);
  // `*bad_output`: what the executor made is not right, and the CPU is to try.
  Status MergeOn(Executor* executor, const MergeTask& task,
                 const std::vector<std::vector<const InputTable*>>& inputs, bool* bad_output);
  // All but the first `kept`.
  void RemoveOutputs(size_t kept);
  MergeTask MakeTask(const JobRange& range,
                     std::vector<std::vector<const InputTable*>>* inputs) const;
  Status WriteTable(const MergeOutput& output);
  Status WriteBlocks(std::string_view data, std::string_view index, WritableFile* file) const;

  const LevelDbCompaction& compaction_;
  Executor* const executor_;
  const std::atomic<bool>& cancelled_;
  JobReport* const report_;

  int bloom_bits_per_key_ = 0;
  std::vector<std::vector<InputTable>> runs_;
  DataBytes data_;
  bool done_ = false;
};

Status Runner::CheckOptions() {
  if (!compaction_.bytewise) {
    return Status::NotSupported("comparator");
  }
  if (compaction_.restart_interval < 1) {
    return Status::NotSupported("block_restart_interval");
  }
  if (compaction_.block_bytes < 1 || compaction_.block_bytes > kMaxMergeBlockBytes) {
    return Status::NotSupported("block_size");
  }
  const auto malformed = [](const std::vector<LevelDbTable>& tables) {
    return std::any_of(tables.begin(), tables.end(), [](const LevelDbTable& table) {
      return std::min(table.smallest.size(), table.largest.size()) < kTrailerBytes;
    });
  };
  if (malformed(compaction_.inputs[0]) || malformed(compaction_.inputs[1]) ||
      std::any_of(compaction_.below.begin(), compaction_.below.end(), malformed)) {
    return Status::Corruption("a key of the manifest is too short");
  }
  const std::optional<int> bits =
      BloomBitsPerKey(compaction_.filter_policy, compaction_.own_filter_policies);
  if (!bits.has_value()) {
    return Status::NotSupported("filter_policy");
  }
  bloom_bits_per_key_ = *bits;
  return {};
}

Status Runner::OpenInput(const LevelDbTable& table, std::vector<InputTable>* run) {
  if (cancelled_) {
    return Status::Busy("the database is being closed");
  }
  InputTable input;
  input.path = TablePath(compaction_.dir, table.number);
  input.table = &table;
  if (!FileImage::Read(compaction_.env, input.path, table.bytes, &input.image).ok()) {
    input.path = OldTablePath(compaction_.dir, table.number);
    SLUICE_RETURN_IF_ERROR(FileImage::Read(compaction_.env, input.path, table.bytes, &input.image));
  }
  const std::string_view image = input.image.bytes();
  if (image.size() < kFooterBytes) {
    return Status::Corruption(input.path + ": too short for a table");
  }
  Footer footer;
  SLUICE_RETURN_IF_ERROR(
      Footer::Parse(image.substr(image.size() - kFooterBytes), image.size(), &footer)
          .WithContext(input.path));
  input.index = footer.index;
  SLUICE_RETURN_IF_ERROR(CountDataBytes(image, input.index, &data_).WithContext(input.path));
  report_->bytes_read += table.bytes;
  run->push_back(std::move(input));
  return {};
}

// The files of level 0 are runs of their own, newest first; those of a deeper level are one.
Status Runner::OpenInputs() {
  for (size_t which = 0; which < 2; ++which) {
    std::vector<const LevelDbTable*> tables;
    for (const LevelDbTable& table : compaction_.inputs[which]) {
      tables.push_back(&table);
    }
    const bool overlapping = which == 0 && compaction_.level == 0;
    if (overlapping) {
      std::sort(tables.begin(), tables.end(),
                [](const auto* a, const auto* b) { return a->number > b->number; });
    } else if (!tables.empty()) {
      runs_.emplace_back();
    }
    for (const LevelDbTable* table : tables) {
      if (overlapping) {
        runs_.emplace_back();
      }
      SLUICE_RETURN_IF_ERROR(OpenInput(*table, &runs_.back()));
    }
  }
  return {};
}

MergeTask Runner::MakeTask(const JobRange& range,
                           std::vector<std::vector<const InputTable*>>* inputs) const {
  MergeTask task;
  for (const std::vector<InputTable>& tables : runs_) {
    MergeRun run;
    std::vector<const InputTable*> chosen;
    for (const InputTable& input : tables) {
      if (Overlaps(range, UserKey(input.table->smallest), UserKey(input.table->largest))) {
        run.push_back({.image = input.image.bytes(), .index = input.index});
        chosen.push_back(&input);
      }
    }
    if (!run.empty()) {
      task.runs.push_back(std::move(run));
      inputs->push_back(std::move(chosen));
    }
  }
  task.snapshots = {compaction_.smallest_snapshot};
  task.bottommost = range.bottommost;
  task.has_begin = range.has_begin;
  task.has_end = range.has_end;
  task.begin = range.begin;
  task.end = range.end;
  task.block_bytes = static_cast<uint32_t>(compaction_.block_bytes);
  task.restart_interval = static_cast<uint32_t>(compaction_.restart_interval);
  // Executors count bytes before compression, LevelDB behind it: outputs are taken to be compressed
  // as well as the inputs are.
  const double ratio = compaction_.snappy && data_.stored > 0
                           ? static_cast<double>(data_.raw) / static_cast<double>(data_.stored)
                           : 1;
  const auto aim = static_cast<uint64_t>(static_cast<double>(compaction_.file_bytes) * ratio);
  task.table_bytes =
      std::clamp<uint64_t>(aim, 1, std::max<uint64_t>(kMaxRawBytes, compaction_.file_bytes));
  return task;
}

Status Runner::Merge(const JobRange& range) {
  std::vector<std::vector<const InputTable*>> inputs;
  const MergeTask task = MakeTask(range, &inputs);
  if (task.runs.empty()) {
    return {};
  }
  const size_t tables_before = report_->tables.size();
  bool bad_output = false;
  Status status = MergeOn(executor_, task, inputs, &bad_output);
  if (bad_output) {
    ++report_->retries;
    RemoveOutputs(tables_before);
    CpuExecutor cpu;
    status = MergeOn(&cpu, task, inputs, &bad_output);
  }
  return status;
}

Status Runner::MergeOn(Executor* executor, const MergeTask& task,
                       const std::vector<std::vector<const InputTable*>>& inputs,
                       bool* bad_output) {
  Status sink_error;
  const size_t tables_before = report_->tables.size();
  uint64_t entries = 0;
  const MergeResult result = executor->Run(task, [&](const MergeOutput& output) {
    entries += output.entries;
    sink_error = cancelled_ ? Status::Busy("the database is being closed") : WriteTable(output);
    return sink_error;
  });
  *bad_output = sink_error.IsCorruption();
  SLUICE_RETURN_IF_ERROR(sink_error);
  if (result.ok()) {
    *bad_output = entries != result.stats.output_records ||
                  report_->tables.size() - tables_before != result.stats.output_tables;
    if (*bad_output) {
      return Status::Corruption("tables do not have the records that were counted");
    }
    AddStats(result.stats, &report_->merge);
    return {};
  }
  const std::string what(result.error.ok() ? MergeStatusText(result.status)
                                           : std::string_view(result.error.message()));
  const MergeFault& fault = result.fault;
  if (!IsInputFault(result.status) || fault.run >= inputs.size() ||
      fault.table >= inputs[fault.run].size()) {
    return Status::IoError(what);
  }
  return Status::Corruption(
      fmt::format("{}, offset {}: {}", inputs[fault.run][fault.table]->path, fault.offset, what));
}

Status Runner::WriteBlocks(std::string_view data, std::string_view index,
                           WritableFile* file) const {
  const FinishOptions finish{
      .bloom_bits_per_key = bloom_bits_per_key_,
      .compression = compaction_.snappy ? Compression::kSnappy : Compression::kNone};
  if (!compaction_.snappy) {
    return FinishTable(data, index, finish, file);
  }
  RecodedTable recoded;
  SLUICE_RETURN_IF_ERROR(RecodeBlocks(data, index, finish.compression, &recoded));
  return FinishTable(recoded.data(), recoded.index_block(), finish, file);
}

Status Runner::WriteTable(const MergeOutput& output) {
  LevelDbTable& table = report_->tables.emplace_back();
  table.number = compaction_.new_file_number();
  table.smallest = output.smallest;
  table.largest = output.largest;
  const std::string path = TablePath(compaction_.dir, table.number);
  std::unique_ptr<EnvFile> file;
  SLUICE_RETURN_IF_ERROR(EnvFile::Create(compaction_.env, path, &file));
  SLUICE_RETURN_IF_ERROR(WriteBlocks(output.data, output.index, file.get()).WithContext(path));
  SLUICE_RETURN_IF_ERROR(file->Sync());
  SLUICE_RETURN_IF_ERROR(file->Close());
  table.bytes = file->bytes();
  report_->bytes_written += table.bytes;
  FileImage image;
  SLUICE_RETURN_IF_ERROR(FileImage::Read(compaction_.env, path, table.bytes, &image));
  SLUICE_RETURN_IF_ERROR(
      CheckTable(image.bytes(), table.smallest, table.largest).WithContext(path));
  return compaction_.is_usable(table)
             ? Status()
             : Status::Corruption(path + ": LevelDB cannot open what was made");
}

Status Runner::Run() {
  SLUICE_RETURN_IF_ERROR(CheckOptions());
  SLUICE_RETURN_IF_ERROR(OpenInputs());
  for (const JobRange& range : SplitJob(compaction_)) {
    SLUICE_RETURN_IF_ERROR(Merge(range));
  }
  done_ = true;
  return {};
}

Runner::~Runner() {
  if (!done_) {
    RemoveOutputs(0);
  }
}

void Runner::RemoveOutputs(size_t kept) {
  while (report_->tables.size() > kept) {
    // What stays is garbage that LevelDB removes.
    (void)compaction_.env->RemoveFile(TablePath(compaction_.dir, report_->tables.back().number))
        .ok();
    report_->tables.pop_back();
  }
}

}  // namespace

std::vector<JobRange> SplitJob(const LevelDbCompaction& compaction) {
  std::string_view smallest;
  std::string_view largest;
  FindBounds(compaction, &smallest, &largest);
  std::vector<JobRange> ranges(1);
  uint64_t overlap = 0;
  if (!compaction.below.empty()) {
    for (const LevelDbTable& table : compaction.below.front()) {
      const std::string_view last = UserKey(table.largest);
      if (last >= largest) {
        break;
      }
      overlap += table.bytes;
      if (overlap > kMaxOverlapFiles * compaction.file_bytes && last >= smallest) {
        overlap = 0;
        // What comes right behind the last key.
        ranges.back().has_end = true;
        ranges.back().end = std::string(last) + '\0';
        JobRange& next = ranges.emplace_back();
        next.has_begin = true;
        next.begin = ranges[ranges.size() - 2].end;
      }
    }
  }
  for (JobRange& range : ranges) {
    range.bottommost = IsBottommost(compaction, range, smallest, largest);
  }
  return ranges;
}

Status RunJob(const LevelDbCompaction& compaction, Executor* executor,
              const std::atomic<bool>& cancelled, JobReport* report) {
  *report = {};
  return Runner(compaction, executor, cancelled, report).Run();
}

}  // namespace sluice::ldb
