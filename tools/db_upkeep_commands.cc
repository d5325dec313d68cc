// sluice db stats | verify | checkpoint | compact

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bytes_text.h"
#include "colour.h"
#include "db/describe.h"
#include "db_command.h"
#include "db_report.h"
#include "progress.h"

namespace sluice::tools {

namespace {

int Stats(const DbArguments& arguments) {
  OpenDb open;
  const Status status = Open(arguments, Background::kNone, &open);
  Json json = DbJson(arguments);
  Statistics statistics;
  if (status.ok()) {
    statistics = open.db->GetStatistics();
    json.update(Json(ToJson(statistics)));
  }
  const int code = Finish(status, arguments, &open, std::move(json));
  if (code == kExitOk && !arguments.json) {
    fmt::print("{}: {}", arguments.dir, ShapeText(statistics));
  }
  return code;
}

int Verify(const DbArguments& arguments) {
  OpenDb open;
  Status status = Open(arguments, Background::kNone, &open);
  uint64_t bytes = 0;
  if (status.ok()) {
    ProgressBar progress("verifying", kBytesUnit);
    status = open.db->Verify([&](uint64_t done, uint64_t total) {
      bytes = done;
      progress.Update(done, total);
    });
  }
  Json json = DbJson(arguments);
  json["bytes"] = bytes;
  const int code = Finish(status, arguments, &open, std::move(json));
  if (code == kExitOk && !arguments.json) {
    fmt::print("{}: {}; {} bytes of extents read\n", arguments.dir,
               Coloured(stdout, Colour::kGreen, "sound"), bytes);
  }
  return code;
}

uint64_t ExtentBytes(const Statistics& statistics) {
  uint64_t bytes = 0;
  for (const SubtableStatistics& subtable : statistics.subtables) {
    bytes += subtable.set_aside.bytes;
    for (const LevelStatistics& level : subtable.levels) {
      bytes += level.bytes;
    }
  }
  return bytes;
}

struct CheckpointArguments {
  DbArguments db;
  std::string copy;
};

int Checkpoint(const CheckpointArguments& arguments) {
  OpenDb open;
  Status status = Open(arguments.db, Background::kNone, &open);
  if (status.ok()) {
    const PolledProgress progress(
        "copying", kBytesUnit, [&env = *open.env, total = ExtentBytes(open.db->GetStatistics())] {
          return ProgressCount{env.written(), total};
        });
    status = open.db->CreateCheckpoint(arguments.copy);
  }
  Json json = DbJson(arguments.db);
  json["copy"] = arguments.copy;
  return Finish(status, arguments.db, &open, std::move(json));
}

struct RepairArguments {
  std::string dir;
  std::string to;
  std::vector<std::string> level_paths;
  bool json = false;
};

int Repair(const RepairArguments& arguments) {
  Options options;
  options.level_paths = arguments.level_paths;
  RepairReport report;
  Status status;
  WatchedEnv env;
  options.env = &env;
  {
    const PolledProgress progress("reading", kBytesUnit, [&] {
      return ProgressCount{env.read(), 0};
    });
    status = DB::Repair(options, arguments.dir, arguments.to, &report);
  }
  Json json;
  json["database"] = arguments.dir;
  json["to"] = arguments.to;
  json["status"] = "ok";
  json["extents"] = report.extents;
  json["extents_damaged"] = report.extents_damaged;
  json["records_saved"] = report.records_saved;
  json["records_lost"] = report.records_lost;
  json["log_writes_saved"] = report.log_writes_saved;
  json["prepared_saved"] = report.prepared_saved;
  json["losses"] = report.losses;
  if (!status.ok()) {
    return Fail(status, arguments.json, json);
  }
  if (arguments.json) {
    PrintJson(json);
    return kExitOk;
  }
  for (const std::string& loss : report.losses) {
    fmt::print("lost: {}\n", loss);
  }
  PrintLines(
      {{"extents", fmt::format("{}, of them {} damaged", report.extents, report.extents_damaged)},
       {"saved", fmt::format("{} records, {} writes of the log, {} prepared transactions",
                             report.records_saved, report.log_writes_saved, report.prepared_saved)},
       {"lost", fmt::format("{} records of extents", report.records_lost)}});
  return kExitOk;
}

struct CompactArguments {
  DbArguments db;
  RangeArguments range;
};

int Compact(const CompactArguments& arguments) {
  const DbArguments& common = arguments.db;
  OpenDb open;
  std::string from;
  std::string to;
  Status status = RangeBytes(arguments.range, common.hex, &from, &to);
  if (status.ok()) {
    status = Open(common, Background::kNone, &open);
  }
  const auto begin = std::chrono::steady_clock::now();
  Statistics done;
  if (status.ok()) {
    const PolledProgress progress("writing", kBytesUnit, [&env = *open.env] {
      return ProgressCount{env.written(), 0};
    });
    status = open.db->CompactRange(open.subtable, from, to);
    done = open.db->GetStatistics();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Json json = DbJson(common);
  json["executor"] = common.executor;
  json["config"] = common.config;
  json["bytes_read"] = done.compaction_bytes_read;
  json["bytes_written"] = done.compaction_bytes_written;
  json["extents_reused"] = done.extents_reused;
  json["blocks_copied"] = done.blocks_copied;
  json["device_tasks"] = done.offload.device_tasks;
  json["cpu_tasks"] = done.offload.cpu_tasks;
  json["seconds"] = seconds;
  const int code = Finish(status, common, &open, std::move(json));
  if (code == kExitOk && !common.json) {
    PrintLines({{"bytes", fmt::format("{} read, {} written", done.compaction_bytes_read,
                                      done.compaction_bytes_written)},
                {"kept", fmt::format("{} extents as they are, {} blocks copied",
                                     done.extents_reused, done.blocks_copied)},
                {"merges", fmt::format("{} on units, {} on the CPU", done.offload.device_tasks,
                                       done.offload.cpu_tasks)},
                {"altogether", fmt::format("{:.2f} s", seconds)}});
  }
  return code;
}

}  // namespace

void AddDbUpkeepCommands(CLI::App* db, Action* action) {
  auto stats = std::make_shared<DbArguments>();
  CLI::App* app = AddSubcommand(db, "stats", "Show the shape of the trees and the space they take",
                                "sluice db stats /data/db\n"
                                "sluice db stats /data/db --json");
  AddDbArguments(app, stats.get());
  AddReadOnlyOption(app, stats.get());
  app->callback([stats, action] { *action = [stats] { return Stats(*stats); }; });

  auto verify = std::make_shared<DbArguments>();
  app = AddSubcommand(db, "verify",
                      "Read and check everything that is stored; print the first fault, with file "
                      "and offset",
                      "sluice db verify /data/db");
  AddDbArguments(app, verify.get());
  AddReadOnlyOption(app, verify.get());
  app->callback([verify, action] { *action = [verify] { return Verify(*verify); }; });

  auto checkpoint = std::make_shared<CheckpointArguments>();
  app = AddSubcommand(db, "checkpoint", "Copy the database consistently to a new directory",
                      "sluice db checkpoint /data/db /backup/db");
  AddDbArguments(app, &checkpoint->db);
  app->add_option("COPY", checkpoint->copy, "The new directory")->type_name("DIR")->required();
  app->callback(
      [checkpoint, action] { *action = [checkpoint] { return Checkpoint(*checkpoint); }; });

  auto repair = std::make_shared<RepairArguments>();
  app = AddSubcommand(db, "repair",
                      "Save what can be read of a damaged database, whether it opens or not, as a "
                      "new one, and report what is lost; the damaged one is only read",
                      "sluice db repair /data/db /data/repaired");
  app->add_option("DIR", repair->dir, "The damaged database")->required();
  app->add_option("TO", repair->to, "The new directory")->type_name("DIR")->required();
  app->add_option("--level-path", repair->level_paths,
                  "Directory with extents of the damaged database; repeat for each")
      ->type_name("DIR");
  AddJsonOption(app, &repair->json);
  app->callback([repair, action] { *action = [repair] { return Repair(*repair); }; });

  auto compact = std::make_shared<CompactArguments>();
  app = AddSubcommand(db, "compact", "Merge all levels of a sub-table, or of some keys, into one",
                      "sluice db compact /data/db\n"
                      "sluice db compact /data/db --from a --to b --executor rtl");
  AddDbArguments(app, &compact->db);
  AddRangeOptions(app, &compact->range);
  app->callback([compact, action] { *action = [compact] { return Compact(*compact); }; });
}

}  // namespace sluice::tools
