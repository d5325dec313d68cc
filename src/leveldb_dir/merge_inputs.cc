#include "leveldb_dir/merge_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "leveldb_dir/reference_check.h"

namespace sluice {

namespace {

// The bytes of tables are noted in so many pieces per task, which is how unevenly tasks can come
// out.
constexpr uint64_t kPiecesPerTask = 64;
constexpr uint64_t kSmallestPiece = 64 << 10;

}  // namespace

Status MergeInputs::Open(Env* env, const std::string& dir, uint64_t table_bytes,
                         uint64_t task_bytes) {
  env_ = env;
  SLUICE_RETURN_IF_ERROR(OpenDatabase(env_, dir, &database_));
  SLUICE_RETURN_IF_ERROR(ReadLogs(env_, database_, table_bytes, &logs_));
  const uint64_t piece_bytes = std::max(task_bytes / kPiecesPerTask, kSmallestPiece);
  SLUICE_RETURN_IF_ERROR(SurveyTables(env_, database_, piece_bytes, &survey_));
  for (const LogTable& table : logs_.tables) {
    survey_.map.Add(UserKey(table.smallest), table.image.size());
  }
  survey_.map.Sort();
  return {};
}

SequenceNumber MergeInputs::last_sequence() const {
  return std::max(database_.state.last_sequence, logs_.last_sequence);
}

Status MergeInputs::MakeTask(const KeyRange& range, DatabaseTask* made) const {
  MergeTask& task = made->task;
  task.snapshots = {last_sequence()};
  task.bottommost = true;
  task.has_begin = range.has_begin;
  task.has_end = range.has_end;
  task.begin = range.begin;
  task.end = range.end;

  const auto add_run = [made](MergeRun run, std::vector<std::string> paths) {
    if (!run.empty()) {
      made->task.runs.push_back(std::move(run));
      made->paths.push_back(std::move(paths));
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
        MappedFile& file = made->maps.emplace_back();
        SLUICE_RETURN_IF_ERROR(env_->MapFile(table.path, &file));
        SLUICE_RETURN_IF_ERROR(CheckNoReferences(file.bytes(), table.index, range, table.path));
        run.push_back({.image = file.bytes(), .index = table.index});
        paths.push_back(table.path);
      }
    }
    add_run(std::move(run), std::move(paths));
  }
  return {};
}

Status ToError(const MergeResult& result, const DatabaseTask& task) {
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

}  // namespace sluice
