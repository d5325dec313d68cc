#include "merge/checked_run.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "merge/output_checker.h"
#include "table/index_walk.h"
#include "table/internal_key.h"

namespace sluice {

namespace {

// Of all data blocks, trailers counted, if executors read them as they stand: all of them, and none
// compressed. Nothing for a malformed index, too.
std::optional<uint64_t> InputBytes(const MergeTask& task) {
  if (task.has_begin || task.has_end) {
    return std::nullopt;
  }
  uint64_t bytes = 0;
  OpenIndex index;
  for (const MergeRun& run : task.runs) {
    for (const MergeTable& table : run) {
      Status status = OpenIndex::In(table.image, table.index, &index);
      if (status.ok()) {
        status = index.ForEachBlock([&](std::string_view, const BlockHandle& handle) {
          if (!HandleFits(handle, table.image.size()) ||
              table.image[handle.offset + handle.size] != static_cast<char>(Compression::kNone)) {
            return Status::NotSupported("");
          }
          bytes += handle.size + kBlockTrailerBytes;
          return Status();
        });
      }
      if (!status.ok()) {
        return std::nullopt;
      }
    }
  }
  return bytes;
}

class CheckedRun {
 public:
  CheckedRun(const MergeTask& task, const MergeSink& sink)
      : task_(task),
        sink_(sink),
        checker_(task.snapshots, task.compress, {task.checksum, task.checksum_base}) {}

  MergeResult Run(Executor* executor) {
    MergeResult result =
        executor->Run(task_, [this](const MergeOutput& output) { return Take(output); });
    if (sink_error_.ok() && check_error_.ok() && result.ok()) {
      check_error_ = CheckResult(result.stats);
    }
    if (!sink_error_.ok()) {
      result.status = MergeStatus::kSink;
      result.error = std::move(sink_error_);
    } else if (!check_error_.ok()) {
      result.status = MergeStatus::kDevice;
      result.error = check_error_.WithContext(fmt::format("executor {}", executor->name()));
    }
    return result;
  }

 private:
  // After an error, the same one: whatever the executor goes on to make.
  Status Take(const MergeOutput& output) {
    SLUICE_RETURN_IF_ERROR(check_error_);
    SLUICE_RETURN_IF_ERROR(sink_error_);
    check_error_ = CheckTable(output);
    SLUICE_RETURN_IF_ERROR(check_error_);
    ++tables_;
    sink_error_ = sink_(output);
    return sink_error_;
  }

  Status CheckTable(const MergeOutput& output) {
    MergeOutput found;
    SLUICE_RETURN_IF_ERROR(checker_.Check(output.data, output.index, &found));
    if (output.smallest != found.smallest || output.largest != found.largest) {
      return Status::IoError("a table with other bounds than it is said to have");
    }
    if (output.entries != found.entries || output.tombstones != found.tombstones) {
      return Status::IoError(
          fmt::format("a table of {} entries and {} tombstones, which is said to have {} and {}",
                      found.entries, found.tombstones, output.entries, output.tombstones));
    }
    if ((task_.has_begin && UserKey(found.smallest) < task_.begin) ||
        (task_.has_end && UserKey(found.largest) >= task_.end)) {
      return Status::IoError("a table with keys outside the task's range");
    }
    return CheckFilters(output);
  }

  Status CheckFilters(const MergeOutput& output) {
    const std::vector<OutputChecker::BlockKeys>& blocks = checker_.block_keys();
    if (output.filters.size() != (task_.bloom_bits_per_key > 0 ? blocks.size() : 0)) {
      return Status::IoError(fmt::format("a table of {} blocks with {} filters", blocks.size(),
                                         output.filters.size()));
    }
    for (size_t i = 0; i < output.filters.size(); ++i) {
      if (!blocks[i].MayHave(output.filters[i], static_cast<int>(task_.bloom_bits_per_key))) {
        return Status::IoError("a filter that is not its block's");
      }
    }
    return {};
  }

  Status CheckResult(const MergeStats& stats) const {
    SLUICE_RETURN_IF_ERROR(CheckBalance(stats));
    if (checker_.records() != stats.output_records ||
        checker_.checksum() != stats.output_checksum || tables_ != stats.output_tables) {
      return Status::IoError(fmt::format(
          "{} tables of {} records, checksum {:016x}, which are said to be {} of {}, {:016x}",
          tables_, checker_.records(), checker_.checksum(), stats.output_tables,
          stats.output_records, stats.output_checksum));
    }
    if (const std::optional<uint64_t> bytes = InputBytes(task_);
        bytes.value_or(stats.input_bytes) != stats.input_bytes) {
      return Status::IoError(
          fmt::format("{} bytes of input were read, of {}", stats.input_bytes, *bytes));
    }
    return {};
  }

  const MergeTask& task_;
  const MergeSink& sink_;
  OutputChecker checker_;
  uint64_t tables_ = 0;
  Status check_error_;
  Status sink_error_;
};

}  // namespace

MergeResult RunChecked(Executor& executor, const MergeTask& task, const MergeSink& sink) {
  return executor.checks_outputs() ? executor.Run(task, sink)
                                   : CheckedRun(task, sink).Run(&executor);
}

}  // namespace sluice
