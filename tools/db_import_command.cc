// sluice db import-leveldb

#include <fmt/format.h>

#include <memory>
#include <string>

#include "db/import_leveldb.h"
#include "db_command.h"
#include "leveldb_dir/database.h"
#include "progress.h"
#include "sluice/env.h"

namespace sluice::tools {

namespace {

struct Arguments {
  DbArguments db;
  std::string source;
};

Status CheckSource(const std::string& source) {
  Database database;
  return OpenDatabase(Env::Posix(), source, &database);
}

void PrintReport(const ImportReport& report, const OffloadStatistics& offload) {
  PrintLines(
      {{"before", fmt::format("{} tables, {} logs with {} records, {} bytes", report.input_tables,
                              report.log_files, report.log_records, report.input_file_bytes)},
       {"after",
        fmt::format("{} extents on level 2, {} bytes", report.extents, report.output_bytes)},
       {"records", fmt::format("{} in, {} out", report.input_records, report.output_records)},
       {"work", fmt::format("{} runs, {} tasks: {} merges on units, {} on the CPU", report.runs,
                            report.tasks, offload.device_tasks, offload.cpu_tasks)},
       {"altogether", fmt::format("{:.2f} s", report.seconds)}});
}

int Import(const Arguments& arguments) {
  const DbArguments& common = arguments.db;
  OpenDb open;
  ImportReport report;
  // First, so that a name mistyped makes no database.
  Status status = CheckSource(arguments.source);
  if (status.ok()) {
    status = Open(common, Background::kNone, &open);
  }
  OffloadStatistics offload;
  if (status.ok()) {
    ProgressBar progress("importing", kBytesUnit);
    status = ImportLevelDb(
        open.db.get(), open.subtable, arguments.source,
        [&](uint64_t done, uint64_t total) { progress.Update(done, total); }, &report);
    offload = open.db->GetStatistics().offload;
  }
  Json json = DbJson(common);
  json["source"] = arguments.source;
  json["executor"] = common.executor;
  json["config"] = common.config;
  json["input_tables"] = report.input_tables;
  json["log_files"] = report.log_files;
  json["log_records"] = report.log_records;
  json["input_file_bytes"] = report.input_file_bytes;
  json["runs"] = report.runs;
  json["tasks"] = report.tasks;
  json["device_tasks"] = offload.device_tasks;
  json["cpu_tasks"] = offload.cpu_tasks;
  json["input_records"] = report.input_records;
  json["output_records"] = report.output_records;
  json["extents"] = report.extents;
  json["output_bytes"] = report.output_bytes;
  json["last_sequence"] = report.last_sequence;
  json["seconds"] = report.seconds;
  const int code = Finish(status, common, &open, std::move(json));
  if (code == kExitOk && !common.json) {
    PrintReport(report, offload);
  }
  return code;
}

}  // namespace

void AddDbImportCommand(CLI::App* db, Action* action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* app = AddSubcommand(
      db, "import-leveldb",
      "Import a closed LevelDB database, which is not changed: all of it or, whatever happens, "
      "nothing",
      "sluice db import-leveldb /data/leveldb /data/db --create\n"
      "sluice db import-leveldb /data/leveldb /data/db --subtable old --create --executor rtl");
  app->add_option("LEVELDB", arguments->source, "The LevelDB database's directory")
      ->type_name("DIR")
      ->required();
  AddDbArguments(app, &arguments->db);
  AddCreateOption(app, &arguments->db);
  app->callback([arguments, action] { *action = [arguments] { return Import(*arguments); }; });
}

}  // namespace sluice::tools
