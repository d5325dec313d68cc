// sluice unit replay

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>

#include "command.h"
#include "device/executors.h"
#include "merge/multi_pass.h"
#include "merge/task_file.h"
#include "merge_report.h"
#include "progress.h"
#include "sluice/env.h"

namespace sluice::tools {

namespace {

struct ReplayOptions {
  std::string path;
  std::string executor = "rtl";
  std::string config;
  ModelDeviceOptions model;
  bool json = false;
};

int Replay(const ReplayOptions& options) {
  Json json;
  json["file"] = options.path;
  json["config"] = options.config;
  json["executor"] = options.executor;
  json["status"] = "";  // set at the end; stands here in the output
  TaskFile input;
  Status status = ReadTaskFile(Env::Posix(), options.path, &input);
  std::optional<ProgressBar> progress;
  progress.emplace("merging", kBytesUnit);
  std::shared_ptr<Executor> executor;
  if (status.ok()) {
    ExecutorOptions device;
    device.model = options.model;
    device.rtl.progress = [&](uint64_t read, uint64_t loaded) { progress->Update(read, loaded); };
    status = MakeExecutor(options.executor, options.config, device, &executor);
  }
  if (!status.ok()) {
    return Fail(status, options.json, std::move(json));
  }
  json["note"] = input.note;
  json["runs"] = input.task.runs.size();
  const auto start = std::chrono::steady_clock::now();
  uint64_t written = 0;
  const MultiPassResult passes = MergeAll(*executor, input.task, [&](const MergeOutput& table) {
    if (options.executor == "cpu" || options.executor == "model") {
      progress->Update(written += table.data.size(), 0);
    }
    return Status();
  });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.reset();
  const MergeResult& result = passes.merge;
  json["passes"] = passes.passes;
  AddStats(result.stats, options.model.clock_mhz, seconds, &json);
  if (!result.ok()) {
    return Fail(std::string(MergeStatusName(result.status)), result.error.ToString(), options.json,
                std::move(json));
  }
  json["status"] = "ok";
  if (options.json) {
    PrintJson(json);
    return kExitOk;
  }
  Lines lines;
  lines.emplace_back("kept for", input.note);
  lines.emplace_back("executor", fmt::format("{}, unit {}", options.executor, options.config));
  lines.emplace_back("work",
                     fmt::format("{} runs, {} passes", input.task.runs.size(), passes.passes));
  AddStatsLines(result.stats, options.model.clock_mhz, seconds, &lines);
  PrintLines(lines);
  return kExitOk;
}

}  // namespace

void AddUnitReplay(CLI::App* unit, Action* action) {
  CLI::App* replay =
      AddSubcommand(unit, "replay",
                    "Repeat a task that a unit failed, from the file in which the driver "
                    "kept it",
                    "sluice unit replay failed-0.task\n"
                    "sluice unit replay failed-0.task --executor check --json");
  auto options = std::make_shared<ReplayOptions>();
  replay->add_option("FILE", options->path, "The kept task")->required();
  AddExecutorOptions(replay, &options->executor, &options->config, &options->model);
  AddJsonOption(replay, &options->json);
  replay->callback([options, action] { *action = [options] { return Replay(*options); }; });
}

}  // namespace sluice::tools
