// sluice compact

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "command.h"
#include "device/executors.h"
#include "leveldb_dir/compact.h"
#include "merge_report.h"
#include "progress.h"
#include "sluice/env.h"

namespace sluice::tools {

namespace {

struct CompactCommandOptions {
  std::string dir;
  std::string executor = "cpu";
  std::string config;
  ModelDeviceOptions model;
  bool json = false;
};

Json RetriesJson(const CompactReport& report) {
  Json retries = Json::array();
  for (const CompactRetry& retry : report.retries) {
    Json entry;
    entry["status"] = MergeStatusName(retry.status);
    entry["reason"] = retry.reason;
    retries.push_back(std::move(entry));
  }
  return retries;
}

void PrintReportJson(const CompactReport& report, double clock_mhz, Json json) {
  json["status"] = "ok";
  AddStats(report.merge, clock_mhz, report.executor_seconds, &json);
  json["total_seconds"] = report.seconds;
  json["input_tables"] = report.input_tables;
  json["log_files"] = report.log_files;
  json["log_records"] = report.log_records;
  json["output_tables"] = report.output_tables;
  json["input_file_bytes"] = report.input_file_bytes;
  json["output_file_bytes"] = report.output_file_bytes;
  json["output_level"] = report.output_level;
  json["snappy"] = report.snappy;
  json["filter_bits_per_key"] = report.filter_bits_per_key;
  json["runs"] = report.runs;
  json["tasks"] = report.tasks;
  json["passes"] = report.passes;
  json["files_left"] = report.files_left;
  json["cpu_retries"] = RetriesJson(report);
  PrintJson(json);
}

void PrintReport(const CompactCommandOptions& options, const CompactReport& report,
                 double clock_mhz) {
  Lines lines;
  lines.emplace_back("executor", options.executor == "cpu"
                                     ? options.executor
                                     : options.executor + ", unit " + options.config);
  lines.emplace_back(
      "before", fmt::format("{} tables, {} logs with {} records, {} bytes", report.input_tables,
                            report.log_files, report.log_records, report.input_file_bytes));
  lines.emplace_back(
      "after",
      fmt::format(
          "{} tables on level {}, {} bytes, {}{}", report.output_tables, report.output_level,
          report.output_file_bytes, report.snappy ? "Snappy" : "not compressed",
          report.filter_bits_per_key == 0
              ? std::string()
              : fmt::format(", Bloom filters of {} bits per key", report.filter_bits_per_key)));
  lines.emplace_back(
      "work", fmt::format("{} runs, {} tasks, {} passes, {} run again on the CPU", report.runs,
                          report.tasks, report.passes, report.retries.size()));
  AddStatsLines(report.merge, clock_mhz, report.executor_seconds, &lines);
  lines.emplace_back("altogether", fmt::format("{:.2f} s", report.seconds));
  PrintLines(lines);
}

int Compact(const CompactCommandOptions& options) {
  Json json;
  json["database"] = options.dir;
  json["executor"] = options.executor;
  json["config"] = options.config;
  json["status"] = "";  // set at the end; stands here in the output

  std::unique_ptr<Device> device;
  Status status = MakeRtlDevice(options.config, {}, &device);
  const double clock_mhz = options.executor == "model" ? options.model.clock_mhz
                           : status.ok()               ? device->info().clock_mhz
                                                       : 0;
  CompactReport report;
  if (status.ok()) {
    CompactOptions compact;
    // A difference between unit and CPU is what a check is for: it must not be mended silently.
    compact.retry_on_cpu = options.executor != "check";
    ProgressBar progress("compacting", kBytesUnit);
    CompactProgress at;
    uint64_t shown = 0;
    const auto show = [&](uint64_t done) {
      shown = std::max(shown, done);
      progress.Update(shown, at.total_bytes);
    };
    ExecutorOptions simulation;
    simulation.model = options.model;
    // While the unit works on a task nothing is written yet: the bar follows what it has read.
    simulation.rtl.progress = [&](uint64_t read, uint64_t loaded) {
      const uint64_t task = std::min(at.total_bytes - at.done_bytes, compact.task_bytes);
      show(at.done_bytes +
           static_cast<uint64_t>(static_cast<double>(task) *
                                 static_cast<double>(std::min(read, loaded)) /
                                 static_cast<double>(std::max<uint64_t>(1, loaded))));
    };
    std::shared_ptr<Executor> executor;
    status = MakeExecutor(options.executor, options.config, simulation, &executor);
    if (status.ok()) {
      status = CompactDatabase(
          Env::Posix(), options.dir, executor.get(), compact,
          [&](const CompactProgress& p) {
            at = p;
            show(p.done_bytes);
          },
          &report);
    }
  }
  if (!status.ok()) {
    return Fail(status, options.json, std::move(json));
  }
  for (const CompactRetry& retry : report.retries) {
    fmt::print(stderr, "sluice: run again on the CPU: {}\n", retry.reason);
  }
  if (report.files_left != 0) {
    fmt::print(stderr, "sluice: {} obsolete files could not be removed; LevelDB will try again\n",
               report.files_left);
  }
  if (options.json) {
    PrintReportJson(report, clock_mhz, std::move(json));
  } else {
    PrintReport(options, report, clock_mhz);
  }
  return kExitOk;
}

}  // namespace

void AddCompactCommand(CLI::App* app, Action* action) {
  CLI::App* compact = AddSubcommand(
      app, "compact",
      "Compact a closed LevelDB database in place: all levels, and the contents of its log, into "
      "one level. If killed at any moment, it leaves a database in its old state or its new one.",
      "sluice compact /data/db\n"
      "sluice compact /data/db --executor rtl --config fcae9\n"
      "sluice compact /data/db --executor check --json\n"
      "sluice compact /data/db --executor model --clock 250 --pcie 4x8 --dram 60");
  auto options = std::make_shared<CompactCommandOptions>();
  compact->add_option("DIR", options->dir, "The database's directory")->required();
  AddExecutorOptions(compact, &options->executor, &options->config, &options->model);
  AddJsonOption(compact, &options->json);
  compact->callback([options, action] { *action = [options] { return Compact(*options); }; });
}

}  // namespace sluice::tools
